/*
 * cmd_compare.c - `cede compare SCENARIO --policies a,b,c`: which policy, and how sure.
 */
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compare.h"
#include "host/names.h"
#include "host/statistics.h"

static const char *const help =
    "usage: cede compare SCENARIO.yaml [options]\n\n"
    "  --policies A,B,C  compared with the first (off,kvm-2019,cede)\n"
    "  --on WORLD        sim (standard) or hv\n"
    "  --runs N          of each (10 in the simulator, 3 on the hypervisor), interleaved\n"
    "  --vary KEY=A,B    repeat all of it for each value: vms.count=1,2,3\n"
    "  --set PATH=VALUE  change the scenario\n"
    "  --no-alone        don't run each VM alone: no fraction of fair share\n"
    "  --threads N       simulations at once (as many as there are CPUs)\n"
    "  --seed N          of the first simulation of each; the next take the next ones\n"
    "  --accel NAME, --timeout S   as in cede run\n"
    "  --mpi             spread over machines: not in this build, which has no MPI\n"
    "  --json FILE       all values; - for standard output\n"
    "  --quiet           no progress\n";

struct options {
    struct compare_request *request;
    const char *json;
    char policies[256], varied[256];
};

static bool split(char *text, const char **part, uint32_t max, uint32_t *count)
{
    char *rest = NULL;
    *count = 0;
    for (char *at = strtok_r(text, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        if (*count == max) {
            return false;
        }
        part[(*count)++] = at;
    }
    return *count > 0;
}

static bool take_varied(struct options *options, const char *text)
{
    struct compare_request *r = options->request;
    const char *equals = strchr(text, '='), *part[COMPARE_VARIED_MAX];
    if (equals == NULL || (size_t)(equals - text) >= sizeof r->varied_key) {
        return false;
    }
    snprintf(r->varied_key, sizeof r->varied_key, "%.*s", (int)(equals - text), text);
    snprintf(options->varied, sizeof options->varied, "%s", equals + 1);
    if (!split(options->varied, part, COMPARE_VARIED_MAX, &r->varied_count)) {
        return false;
    }
    for (uint32_t i = 0; i < r->varied_count; i++) {
        snprintf(r->varied[i], sizeof r->varied[i], "%s", part[i]);
    }
    return true;
}

static int bad(const char *what, const char *expected)
{
    fprintf(stderr, "cede compare: %s: expected %s\n", what, expected);
    return -1 - CLI_BAD_INPUT;
}

static int take_option(struct options *options, int option)
{
    struct compare_request *r = options->request;
    switch (option) {
    case 'p':
        snprintf(options->policies, sizeof options->policies, "%s", optarg);
        return 0;
    case 'o':
        r->on_hypervisor = strcmp(optarg, "hv") == 0;
        return r->on_hypervisor || strcmp(optarg, "sim") == 0 ? 0 : bad("--on", "sim or hv");
    case 'n':
        r->runs = (uint32_t)strtoul(optarg, NULL, 10);
        return r->runs > 0 && r->runs <= 1000 ? 0 : bad("--runs", "1 to 1000");
    case 'v':
        return take_varied(options, optarg) ? 0 : bad("--vary", "KEY=VALUE,VALUE");
    case 's':
        if (r->set_count + 2 >= COMPARE_SET_MAX) {
            return bad("--set", "fewer of them");
        }
        r->set[r->set_count++] = optarg;
        return 0;
    case 'A':
        r->alone = false;
        return 0;
    case 't':
        r->threads = (uint32_t)strtoul(optarg, NULL, 10);
        return r->threads > 0 && r->threads <= 64 ? 0 : bad("--threads", "1 to 64");
    case 'r':
        r->seed = strtoull(optarg, NULL, 0);
        return 0;
    case 'a':
        r->run.accel = optarg;
        return 0;
    case 'T':
        r->run.timeout_s = atof(optarg);
        return 0;
    case 'm':
        return bad("--mpi", "a build with MPI, which this isn't; --threads uses this machine");
    case 'j':
        options->json = optarg;
        return 0;
    case 'q':
        r->quiet = true;
        return 0;
    case 'h':
        fputs(help, stdout);
        return -1;
    default:
        return -1 - CLI_BAD_INPUT;
    }
}

static int parse(struct options *options, int count, char **argument)
{
    static const struct option list[] = {
        {"policies", required_argument, NULL, 'p'}, {"on", required_argument, NULL, 'o'},
        {"runs", required_argument, NULL, 'n'},     {"vary", required_argument, NULL, 'v'},
        {"set", required_argument, NULL, 's'},      {"no-alone", no_argument, NULL, 'A'},
        {"threads", required_argument, NULL, 't'},  {"seed", required_argument, NULL, 'r'},
        {"accel", required_argument, NULL, 'a'},    {"timeout", required_argument, NULL, 'T'},
        {"mpi", no_argument, NULL, 'm'},            {"json", required_argument, NULL, 'j'},
        {"quiet", no_argument, NULL, 'q'},          {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct compare_request *r = options->request;
    int option, taken;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    r->alone = true;
    r->threads = cpus > 0 && cpus <= 64 ? (uint32_t)cpus : 1;
    r->varied_count = 1;
    snprintf(options->policies, sizeof options->policies, "off,kvm-2019,cede");
    optind = 1;
    while ((option = getopt_long(count, argument, "qh", list, NULL)) != -1) {
        if ((taken = take_option(options, option)) != 0) {
            return taken;
        }
    }
    if (optind + 1 != count) {
        fputs(help, stderr);
        return -1 - CLI_BAD_INPUT;
    }
    if (!split(options->policies, r->policy, COMPARE_POLICIES_MAX, &r->policy_count)) {
        return bad("--policies", "one to eight names, separated by commas");
    }
    r->runs = r->runs > 0 ? r->runs : r->on_hypervisor ? 3 : 10;
    r->path = argument[optind];
    return 0;
}

/* The values of runs that gave one, packed; their count. */
static size_t packed(const double *value, uint32_t runs, double *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < runs; i++) {
        if (!isnan(value[i])) {
            out[count++] = value[i];
        }
    }
    return count;
}

/* Fraction of fair share in each run; less time is more. */
static size_t fair_shares(const struct compare_cell *cell, uint32_t runs, double *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < runs; i++) {
        double alone = cell->alone[i], beside = cell->value[i];
        if (!isnan(alone) && !isnan(beside) && alone > 0 && beside > 0) {
            out[count++] = (cell->less_is_better ? alone / beside : beside / alone) *
                           cell->vm_count;
        }
    }
    return count;
}

static double share_of(const uint64_t *ns, size_t count, size_t which)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)ns[i];
    }
    return sum > 0 ? (double)ns[which] / sum : 0;
}

static const char *interval_text(const struct host_interval *interval, char *text, size_t size)
{
    if (isfinite(interval->lo)) {
        snprintf(text, size, "%.4g [%.4g, %.4g]", interval->value, interval->lo, interval->hi);
    } else {
        snprintf(text, size, "%.4g [one run]", interval->value);
    }
    return text;
}

static void print_time(const struct compare_cell *cell)
{
    printf("      time");
    if (cell->has_lost) {
        for (uint32_t i = 0; host_lost_name(i) != NULL; i++) {
            double share = share_of(cell->lost_ns, 32, i);
            if (share >= 0.005) {
                printf(" %s %.1f %%", host_lost_name(i), 100 * share);
            }
        }
    } else {
        for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
            double share = share_of(cell->time_ns, CEDE_TIME_COUNT, i);
            if (share >= 0.005) {
                printf(" %s %.1f %%", host_time_class_name(i), 100 * share);
            }
        }
    }
    printf("\n");
}

static void print_cell(const struct compare_cell *cell, uint32_t runs, double *scratch)
{
    char text[96];
    size_t count = packed(cell->value, runs, scratch);
    struct host_interval mean = host_mean(scratch, count);
    printf("    %-12s %s %s%s", cell->vm, cell->metric, interval_text(&mean, text, sizeof text),
           cell->less_is_better ? " (less is better)" : "");
    count = fair_shares(cell, runs, scratch);
    if (count > 0) {
        struct host_interval fair = host_mean(scratch, count);
        printf("; fair share %s", interval_text(&fair, text, sizeof text));
    }
    printf("\n      wake p50 %.1f us, p99 %.1f us, p99.9 %.1f us\n",
           (double)cede_histogram_quantile(&cell->wake, 32768) / 1000,
           (double)cede_histogram_quantile(&cell->wake, 64881) / 1000,
           (double)cede_histogram_quantile(&cell->wake, 65470) / 1000);
    print_time(cell);
}

/* Of one VM: a policy against the first; run by run. */
static bool difference(const struct compare *c, uint32_t v, uint32_t p, uint32_t vm,
                       struct host_interval *ratio, double *scratch)
{
    const struct compare_column *base = &c->column[v][0], *other = &c->column[v][p];
    uint32_t runs = c->request.runs;
    if (vm >= base->cell_count || vm >= other->cell_count) {
        return false;
    }
    size_t a = 0, b = 0;
    const double *was = base->cell[vm].value, *is = other->cell[vm].value;
    for (uint32_t i = 0; i < runs; i++) {
        if (!isnan(was[i]) && !isnan(is[i])) {
            scratch[a++] = is[i];
            scratch[runs + b++] = was[i];
        }
    }
    *ratio = host_ratio(scratch, a, scratch + runs, b);
    return a > 0;
}

static void print_setting(const struct compare *c, uint32_t v, double *scratch)
{
    const struct compare_request *r = &c->request;
    if (r->varied_key[0] != '\0') {
        printf("%s = %s\n", r->varied_key, r->varied[v]);
    }
    for (uint32_t p = 0; p < r->policy_count; p++) {
        const struct compare_column *column = &c->column[v][p];
        printf("  %s: polling burnt %.2f %% of the host's CPUs\n", r->policy[p],
               100 * column->polled_share);
        if (column->failed > 0) {
            printf("    %u runs failed\n", column->failed);
        }
        for (uint32_t i = 0; i < column->cell_count; i++) {
            print_cell(&column->cell[i], r->runs, scratch);
        }
    }
    for (uint32_t p = 1; p < r->policy_count; p++) {
        for (uint32_t i = 0; i < c->column[v][p].cell_count; i++) {
            struct host_interval ratio;
            char text[96];
            if (difference(c, v, p, i, &ratio, scratch)) {
                printf("  %s / %s, %s: %s%s\n", r->policy[p], r->policy[0],
                       c->column[v][p].cell[i].vm, interval_text(&ratio, text, sizeof text),
                       host_shown(&ratio, 1) ? "" : ": no difference shown");
            }
        }
    }
}

static json_t *json_values(const double *value, uint32_t runs)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < runs; i++) {
        json_array_append_new(list, isnan(value[i]) ? json_null() : json_real(value[i]));
    }
    return list;
}

static json_t *json_interval(const struct host_interval *interval)
{
    json_t *object = json_pack("{s:f}", "value", isfinite(interval->value) ? interval->value : 0);
    bool finite = isfinite(interval->lo) && isfinite(interval->hi);
    json_object_set_new(object, "lo", finite ? json_real(interval->lo) : json_null());
    json_object_set_new(object, "hi", finite ? json_real(interval->hi) : json_null());
    return object;
}

static json_t *json_named(const uint64_t *value, const char *(*name)(uint32_t))
{
    json_t *object = json_object();
    for (uint32_t i = 0; name(i) != NULL; i++) {
        json_object_set_new(object, name(i), json_integer((json_int_t)value[i]));
    }
    return object;
}

static json_t *json_cell(const struct compare *c, uint32_t v, uint32_t p, uint32_t i,
                         double *scratch)
{
    const struct compare_request *r = &c->request;
    const struct compare_cell *cell = &c->column[v][p].cell[i];
    json_t *row = json_pack("{s:s,s:s,s:s,s:s,s:b,s:i}", "setting", r->varied[v], "policy",
                            r->policy[p], "vm", cell->vm, "metric", cell->metric,
                            "less_is_better", (int)cell->less_is_better, "vms",
                            (int)cell->vm_count);
    size_t count = packed(cell->value, r->runs, scratch);
    struct host_interval mean = host_mean(scratch, count);
    json_object_set_new(row, "mean", json_interval(&mean));
    json_object_set_new(row, "values", json_values(cell->value, r->runs));
    json_object_set_new(row, "alone", json_values(cell->alone, r->runs));
    count = fair_shares(cell, r->runs, scratch);
    if (count > 0) {
        struct host_interval fair = host_mean(scratch, count);
        json_object_set_new(row, "fair_share", json_interval(&fair));
    }
    json_object_set_new(row, "time_ns", json_named(cell->time_ns, host_time_class_name));
    if (cell->has_lost) {
        json_object_set_new(row, "lost_ns", json_named(cell->lost_ns, host_lost_name));
    }
    json_object_set_new(row, "counters", json_named(cell->count, host_counter_name));
    json_object_set_new(
        row, "wake_latency_ns",
        json_pack("{s:I,s:I,s:I,s:I,s:I}", "p50",
                  (json_int_t)cede_histogram_quantile(&cell->wake, 32768), "p99",
                  (json_int_t)cede_histogram_quantile(&cell->wake, 64881), "p999",
                  (json_int_t)cede_histogram_quantile(&cell->wake, 65470), "max",
                  (json_int_t)cell->wake.max_ns, "count", (json_int_t)cell->wake.count));
    json_object_set_new(row, "polled_share", json_real(c->column[v][p].polled_share));
    return row;
}

static json_t *json_all(const struct compare *c, double *scratch)
{
    const struct compare_request *r = &c->request;
    json_t *rows = json_array(), *differences = json_array();
    for (uint32_t v = 0; v < r->varied_count; v++) {
        for (uint32_t p = 0; p < r->policy_count; p++) {
            for (uint32_t i = 0; i < c->column[v][p].cell_count; i++) {
                struct host_interval ratio;
                json_array_append_new(rows, json_cell(c, v, p, i, scratch));
                if (p > 0 && difference(c, v, p, i, &ratio, scratch)) {
                    json_t *row = json_pack("{s:s,s:s,s:s,s:s,s:b}", "setting", r->varied[v],
                                            "policy", r->policy[p], "base", r->policy[0], "vm",
                                            c->column[v][p].cell[i].vm, "shown",
                                            (int)host_shown(&ratio, 1));
                    json_object_set_new(row, "ratio", json_interval(&ratio));
                    json_array_append_new(differences, row);
                }
            }
        }
    }
    return json_pack("{s:s,s:s,s:s,s:i,s:s,s:o,s:o}", "kind", "compare", "scenario", r->path, "on",
                     r->on_hypervisor ? "hv" : "sim", "runs", (int)r->runs, "varied",
                     r->varied_key, "rows", rows, "differences", differences);
}

static int report(const struct compare *c, const char *json)
{
    const struct compare_request *r = &c->request;
    double *scratch = malloc(2 * r->runs * sizeof *scratch);
    if (scratch == NULL) {
        return CLI_FAILED;
    }
    if (json == NULL || strcmp(json, "-") != 0) {
        printf("%s on %s, %u interleaved runs of each, 95 %% bootstrap intervals\n", r->path,
               r->on_hypervisor ? "the hypervisor" : "the simulator", r->runs);
        for (uint32_t v = 0; v < r->varied_count; v++) {
            print_setting(c, v, scratch);
        }
    }
    int status = CLI_DONE;
    if (json != NULL && !host_json_write(json, json_all(c, scratch))) {
        fprintf(stderr, "cede compare: can't write %s\n", json);
        status = CLI_FAILED;
    }
    if (c->trouble[0] != '\0') {
        fprintf(stderr, "cede compare: runs failed; the first: %s\n", c->trouble);
        status = CLI_FAILED;
    }
    free(scratch);
    return status;
}

int cmd_compare(int count, char **argument)
{
    struct compare *compare = calloc(1, sizeof *compare);
    struct options options = {.json = NULL};
    char error[HOST_ERROR_SIZE] = "no memory";
    if (compare == NULL) {
        return CLI_FAILED;
    }
    options.request = &compare->request;
    int status = parse(&options, count, argument);
    if (status != 0) {
        free(compare);
        return -status - 1;
    }
    signal(SIGPIPE, SIG_IGN);
    if (compare_run(compare, error)) {
        status = report(compare, options.json);
    } else {
        fprintf(stderr, "cede compare: %s\n", error);
        status = CLI_BAD_INPUT;
    }
    compare_free(compare);
    free(compare);
    return status;
}
