/*
 * cmd_report.c - `cede report A.json B.json ... -o out.html`: one page that a mail can carry.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "host/report.h"
#include "host/value.h"

static const char *const help =
    "usage: cede report RESULT.json ... -o OUT.html [options]\n\n"
    "RESULT.json comes from --json of cede run, cede sim or cede compare.\n\n"
    "  -o, --output FILE  the page\n"
    "  --trace FILE       draws which vCPU was on which pCPU, from --trace of run or sim\n"
    "  --from T, --to T   that part of the trace: 100ms, 1.2s (20 ms from its middle)\n"
    "  --title TEXT       of the page\n";

struct request {
    const char *output, *trace, *title, *from, *to;
};

static bool duration(const char *text, uint64_t *ns)
{
    struct host_document nowhere = {.path = "cede report"};
    struct host_node node = {.kind = HOST_NODE_SCALAR, .key = "time", .text = text};
    char error[HOST_ERROR_SIZE];
    bool fine = text == NULL || host_value_duration_ns(&nowhere, &node, ns, error);
    if (!fine) {
        fprintf(stderr, "cede report: time \"%s\": expected one such as 1.5s or 20ms\n", text);
    }
    return fine;
}

static int add_timeline(FILE *file, const struct request *request)
{
    struct host_trace trace;
    char error[HOST_ERROR_SIZE];
    if (!host_trace_read(&trace, request->trace, error)) {
        fprintf(stderr, "cede report: %s\n", error);
        return CLI_BAD_INPUT;
    }
    uint64_t last_ns = trace.count > 0 ? trace.record[trace.count - 1].now_ns : 0;
    uint64_t from_ns = last_ns / 2, to_ns = last_ns / 2 + 20000000;
    int status = CLI_BAD_INPUT;
    if (duration(request->from, &from_ns) && duration(request->to, &to_ns)) {
        host_report_timeline(file, &trace, from_ns, to_ns);
        status = CLI_DONE;
    }
    host_trace_free(&trace);
    return status;
}

static int add_results(FILE *file, const char *path)
{
    char error[HOST_ERROR_SIZE];
    json_error_t where;
    json_t *json = json_load_file(path, 0, &where);
    int status = CLI_DONE;
    if (json == NULL) {
        fprintf(stderr, "cede report: %s:%d:%d: %s\n", path, where.line, where.column, where.text);
        return CLI_BAD_INPUT;
    }
    const char *slash = strrchr(path, '/');
    if (!host_report_results(file, slash != NULL ? slash + 1 : path, json, error)) {
        fprintf(stderr, "cede report: %s\n", error);
        status = CLI_BAD_INPUT;
    }
    json_decref(json);
    return status;
}

int cmd_report(int count, char **argument)
{
    static const struct option list[] = {
        {"output", required_argument, NULL, 'o'}, {"trace", required_argument, NULL, 'T'},
        {"from", required_argument, NULL, 'f'},   {"to", required_argument, NULL, 't'},
        {"title", required_argument, NULL, 'n'},  {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct request request = {.title = "Cede: which virtual CPU runs"};
    int option;
    optind = 1;
    while ((option = getopt_long(count, argument, "o:h", list, NULL)) != -1) {
        switch (option) {
        case 'o':
            request.output = optarg;
            break;
        case 'T':
            request.trace = optarg;
            break;
        case 'f':
            request.from = optarg;
            break;
        case 't':
            request.to = optarg;
            break;
        case 'n':
            request.title = optarg;
            break;
        default:
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? CLI_DONE : CLI_BAD_INPUT;
        }
    }
    if (request.output == NULL || (optind == count && request.trace == NULL)) {
        fputs(help, stderr);
        return CLI_BAD_INPUT;
    }
    FILE *file = fopen(request.output, "w");
    if (file == NULL) {
        fprintf(stderr, "cede report: %s: %s\n", request.output, strerror(errno));
        return CLI_FAILED;
    }
    host_report_begin(file, request.title);
    int status = CLI_DONE;
    for (int i = optind; i < count && status == CLI_DONE; i++) {
        status = add_results(file, argument[i]);
    }
    if (request.trace != NULL && status == CLI_DONE) {
        status = add_timeline(file, &request);
    }
    host_report_end(file);
    if (fclose(file) != 0) {
        status = CLI_FAILED;
    }
    if (status != CLI_DONE) {
        remove(request.output);
    }
    return status;
}
