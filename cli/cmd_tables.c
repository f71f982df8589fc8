/*
 * cmd_tables.c - `cede tables`: the published tables beside what the simulator gets.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tables.h"

static const char *const help =
    "usage: cede tables [options]\n\n"
    "  --only PREFIX   rows whose id begins so: T1, T3.copy\n"
    "  --seeds N       runs of each kind, 2 to 64; standard 10\n"
    "  --threads N     simulations at once; standard 2\n"
    "  --folder DIR    of the testbeds; standard scenarios/tables\n"
    "  --published     the published pair only, not kvm-mainline and cede\n"
    "  --json FILE     one object a row; - for standard output\n"
    "  --quiet         no progress\n";

struct request {
    const char *only, *json;
    bool quiet;
    struct tables_request tables;
};

static void show_progress(uint32_t done, uint32_t all)
{
    fprintf(stderr, "\r%u of %u runs ", done, all);
}

static bool take_number(const char *text, uint32_t low, uint32_t high, uint32_t *to)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *to = (uint32_t)value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value >= low && value <= high;
}

/* 0, or the exit status + 1 below zero. */
static int parse(struct request *request, int count, char **argument)
{
    static const struct option options[] = {
        {"only", required_argument, NULL, 'o'},   {"seeds", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'}, {"folder", required_argument, NULL, 'f'},
        {"published", no_argument, NULL, 'p'},    {"json", required_argument, NULL, 'j'},
        {"quiet", no_argument, NULL, 'q'},        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    bool fine = true;
    optind = 1;
    while (fine && (option = getopt_long(count, argument, "qh", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            request->only = optarg;
            break;
        case 's':
            fine = take_number(optarg, 2, TABLES_SEEDS_MAX, &request->tables.seeds);
            break;
        case 't':
            fine = take_number(optarg, 1, 16, &request->tables.threads);
            break;
        case 'f':
            request->tables.folder = optarg;
            break;
        case 'p':
            request->tables.last_side = TABLES_AFTER;
            break;
        case 'j':
            request->json = optarg;
            break;
        case 'q':
            request->quiet = true;
            break;
        case 'h':
            fputs(help, stdout);
            return -1 - CLI_DONE;
        default:
            fine = false;
        }
    }
    if (!fine || optind != count) {
        fputs(help, stderr);
        return -1 - CLI_BAD_INPUT;
    }
    return 0;
}

static void print_row(const struct request *request, const struct tables_row *row,
                      const struct tables_outcome *o)
{
    printf("%-11s %-40s %11.5g %11.5g %6.3f  %6.3f [%.3f, %.3f] %-9s", row->id, row->label,
           row->published_before, row->published_after, o->published_ratio, o->ratio.mean,
           o->ratio.low, o->ratio.high, tables_verdict_name(o->verdict));
    for (uint32_t side = 0; side <= request->tables.last_side; side++) {
        printf(" %11.5g", o->side[side].mean);
    }
    printf("%s%s\n", o->error[0] != '\0' ? "\n  " : "", o->error);
}

static void print_table(const struct request *request, const struct tables_outcome *outcome)
{
    uint32_t count[TABLES_FAILED + 1] = {0};
    printf("%-11s %-40s %11s %11s %6s  %6s %-16s %-9s %11s %11s", "row", "workload", "before",
           "after", "ratio", "sim", "95 %", "verdict", "sim before", "sim after");
    printf(request->tables.last_side > TABLES_AFTER ? " %11s %11s\n" : "\n", "mainline", "cede");
    for (size_t i = 0; i < tables_row_count; i++) {
        if (request->tables.wanted[i]) {
            print_row(request, &tables_rows[i], &outcome[i]);
            count[outcome[i].verdict]++;
        }
    }
    printf("%u same, %u direction, %u wrong, %u failed; %u seeds\n", count[TABLES_SAME],
           count[TABLES_DIRECTION], count[TABLES_WRONG], count[TABLES_FAILED],
           request->tables.seeds);
}

static json_t *json_mean(const struct tables_mean *mean)
{
    return json_pack("{s:f,s:f,s:f}", "mean", mean->mean, "lo", mean->low, "hi", mean->high);
}

static json_t *json_row(const struct request *request, const struct tables_row *row,
                        const struct tables_outcome *o)
{
    static const char *const sides[] = {"sim_before", "sim_after", "sim_mainline", "sim_cede"};
    json_t *object = json_pack(
        "{s:s,s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:s,s:i}", "id", row->id, "workload", row->label,
        "published_before", row->published_before, "published_after", row->published_after,
        "published_ratio", o->published_ratio, "sim_ratio", o->ratio.mean, "lo", o->ratio.low,
        "hi", o->ratio.high, "verdict", tables_verdict_name(o->verdict), "seeds",
        (int)request->tables.seeds);
    for (uint32_t side = 0; side <= request->tables.last_side; side++) {
        json_object_set_new(object, sides[side], json_mean(&o->side[side]));
    }
    if (o->error[0] != '\0') {
        json_object_set_new(object, "error", json_string(o->error));
    }
    return object;
}

static int write_json(const struct request *request, const struct tables_outcome *outcome)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < tables_row_count; i++) {
        if (request->tables.wanted[i]) {
            json_array_append_new(rows, json_row(request, &tables_rows[i], &outcome[i]));
        }
    }
    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(6);
    int status = strcmp(request->json, "-") == 0 ? json_dumpf(rows, stdout, flags)
                                                 : json_dump_file(rows, request->json, flags);
    json_decref(rows);
    if (status != 0) {
        fprintf(stderr, "cede tables: %s can't be written\n", request->json);
    }
    return status == 0 ? CLI_DONE : CLI_FAILED;
}

int cmd_tables(int count, char **argument)
{
    struct request request = {.tables = {.folder = "scenarios/tables",
                                         .seeds = 10,
                                         .threads = 2,
                                         .last_side = TABLES_CEDE}};
    int status = parse(&request, count, argument);
    if (status < 0) {
        return -1 - status;
    }
    bool *wanted = calloc(tables_row_count, sizeof *wanted);
    struct tables_outcome *outcome = calloc(tables_row_count, sizeof *outcome);
    bool any = false;
    for (size_t i = 0; wanted != NULL && i < tables_row_count; i++) {
        wanted[i] = request.only == NULL ||
                    strncmp(tables_rows[i].id, request.only, strlen(request.only)) == 0;
        any |= wanted[i];
    }
    if (!any || outcome == NULL) {
        fprintf(stderr, "cede tables: no row begins with \"%s\"\n",
                request.only != NULL ? request.only : "");
        free(wanted);
        free(outcome);
        return CLI_BAD_INPUT;
    }
    request.tables.wanted = wanted;
    request.tables.progress =
        !request.quiet && isatty(STDERR_FILENO) != 0 ? show_progress : NULL;
    tables_run(&request.tables, outcome);
    if (request.json == NULL || strcmp(request.json, "-") != 0) {
        print_table(&request, outcome);
    }
    status = request.json != NULL ? write_json(&request, outcome) : CLI_DONE;
    for (size_t i = 0; i < tables_row_count; i++) {
        status = outcome[i].error[0] != '\0' ? CLI_FAILED : status;
    }
    free(wanted);
    free(outcome);
    return status;
}
