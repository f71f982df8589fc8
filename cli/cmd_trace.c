/*
 * cmd_trace.c - `cede trace FILE`: a trace as text, for the Perfetto UI, or as the answer to why.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "host/trace.h"
#include "host/value.h"

static const char *const help =
    "usage: cede trace FILE [options]\n\n"
    "FILE comes from `cede run --trace` or `cede sim --trace`.\n\n"
    "  --perfetto FILE   JSON that ui.perfetto.dev and chrome://tracing open\n"
    "  --why VCPU@TIME   what led to what it did then: web-1/2@1.5s\n"
    "  --from T, --to T  only that part: 100ms, 1.2s\n"
    "Without --perfetto and --why: text, one line a record.\n";

struct request {
    const char *path, *perfetto, *why;
    uint64_t from_ns, to_ns;
};

static bool duration(const char *text, uint64_t *ns)
{
    struct host_document nowhere = {.path = "cede trace"};
    struct host_node node = {.kind = HOST_NODE_SCALAR, .key = "time", .text = text};
    char error[HOST_ERROR_SIZE];
    if (!host_value_duration_ns(&nowhere, &node, ns, error)) {
        fprintf(stderr, "cede trace: time \"%s\": expected one such as 1.5s or 20ms\n", text);
        return false;
    }
    return true;
}

static int parse(struct request *request, int count, char **argument)
{
    static const struct option options[] = {
        {"perfetto", required_argument, NULL, 'p'}, {"why", required_argument, NULL, 'w'},
        {"from", required_argument, NULL, 'f'},     {"to", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    int option;
    *request = (struct request){.to_ns = UINT64_MAX};
    optind = 1;
    while ((option = getopt_long(count, argument, "h", options, NULL)) != -1) {
        bool fine = true;
        if (option == 'p') {
            request->perfetto = optarg;
        } else if (option == 'w') {
            request->why = optarg;
        } else if (option == 'f') {
            fine = duration(optarg, &request->from_ns);
        } else if (option == 't') {
            fine = duration(optarg, &request->to_ns);
        } else if (option == 'h') {
            fputs(help, stdout);
            return -1;
        } else {
            fine = false;
        }
        if (!fine) {
            return -1 - CLI_BAD_INPUT;
        }
    }
    if (optind + 1 != count) {
        fputs(help, stderr);
        return -1 - CLI_BAD_INPUT;
    }
    request->path = argument[optind];
    return 0;
}

static int answer(const struct host_trace *trace, const char *why)
{
    char name[64];
    uint32_t vcpu;
    uint64_t at_ns;
    const char *at = strchr(why, '@');
    if (at == NULL || (size_t)(at - why) >= sizeof name) {
        fprintf(stderr, "cede trace: --why %s: expected VCPU@TIME, as in web-1/2@1.5s\n", why);
        return CLI_BAD_INPUT;
    }
    snprintf(name, sizeof name, "%.*s", (int)(at - why), why);
    if (!host_trace_find_vcpu(trace, name, &vcpu)) {
        fprintf(stderr, "cede trace: no vCPU \"%s\"; they are", name);
        for (uint32_t i = 0; i < trace->head.vm_count; i++) {
            fprintf(stderr, " %s/0..%u", trace->vm[i].name, trace->vm[i].vcpu_count - 1);
        }
        fputc('\n', stderr);
        return CLI_BAD_INPUT;
    }
    if (!duration(at + 1, &at_ns)) {
        return CLI_BAD_INPUT;
    }
    host_trace_why(stdout, trace, vcpu, at_ns);
    return CLI_DONE;
}

static int perfetto(const struct host_trace *trace, const struct request *request)
{
    FILE *file = strcmp(request->perfetto, "-") == 0 ? stdout : fopen(request->perfetto, "w");
    if (file == NULL) {
        fprintf(stderr, "cede trace: %s: %s\n", request->perfetto, strerror(errno));
        return CLI_FAILED;
    }
    host_trace_perfetto(file, trace, request->from_ns, request->to_ns);
    bool fine = ferror(file) == 0;
    if (file != stdout) {
        fine = fclose(file) == 0 && fine;
    }
    return fine ? CLI_DONE : CLI_FAILED;
}

int cmd_trace(int count, char **argument)
{
    struct request request;
    struct host_trace trace;
    char error[HOST_ERROR_SIZE];
    int status = parse(&request, count, argument);
    if (status != 0) {
        return -status - 1;
    }
    if (!host_trace_read(&trace, request.path, error)) {
        fprintf(stderr, "cede trace: %s\n", error);
        return CLI_BAD_INPUT;
    }
    if (trace.lost > 0) {
        fprintf(stderr, "cede trace: %llu records were overwritten before they were read\n",
                (unsigned long long)trace.lost);
    }
    status = CLI_DONE;
    if (request.perfetto != NULL) {
        status = perfetto(&trace, &request);
    }
    if (request.why != NULL && status == CLI_DONE) {
        status = answer(&trace, request.why);
    }
    if (request.perfetto == NULL && request.why == NULL) {
        host_trace_text(stdout, &trace, request.from_ns, request.to_ns);
    }
    host_trace_free(&trace);
    return status;
}
