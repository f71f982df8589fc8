/*
 * cmd_sim.c - `cede sim SCENARIO`: runs a scenario in the simulator, prints a table, writes JSON.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/log.h"
#include "host/trace.h"
#include "host/scenario.h"
#include "sim/run.h"

#define SET_MAX 64u

struct request {
    const char *path, *json, *log, *trace;
    const char *set[SET_MAX];
    size_t set_count;
    uint64_t seed;
    bool quiet;
    char policy[64], duration[64];
};

static const char *const help =
    "usage: cede sim SCENARIO.yaml [options]\n\n"
    "  --policy NAME     off, kvm-2017, kvm-2019, kvm-mainline, cede\n"
    "  --set PATH=VALUE  change the scenario: vms.web.policy.yield=off, vms.count=2\n"
    "  --seed N          another seed than the scenario's\n"
    "  --duration T      stop after T of simulated time: 500ms, 2s\n"
    "  --log FILE        every event and decision of the core, for `cede replay`\n"
    "  --trace FILE      the core's trace, for `cede trace`\n"
    "  --json FILE       all results; - for standard output\n"
    "  --quiet           no progress, no table\n"
    "  --models          list the machine models\n";

static int list_models(void)
{
    const char *name;
    for (uint32_t i = 0; (name = sim_machine_name(i)) != NULL; i++) {
        printf("%-14s %s\n", name, sim_machine_doc(i));
    }
    return -1;
}

/* The request, or an exit status + 1 below zero: -1 done. */
static int parse(struct request *request, int count, char **argument)
{
    static const struct option options[] = {
        {"policy", required_argument, NULL, 'p'}, {"set", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'r'},   {"duration", required_argument, NULL, 'd'},
        {"log", required_argument, NULL, 'l'},    {"trace", required_argument, NULL, 'T'},
        {"json", required_argument, NULL, 'j'},   {"quiet", no_argument, NULL, 'q'},
        {"models", no_argument, NULL, 'm'},       {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    memset(request, 0, sizeof *request);
    optind = 1;
    while ((option = getopt_long(count, argument, "qh", options, NULL)) != -1) {
        if (request->set_count == SET_MAX) {
            fprintf(stderr, "cede sim: at most %u settings\n", SET_MAX);
            return -1 - CLI_BAD_INPUT;
        }
        switch (option) {
        case 'p':
            snprintf(request->policy, sizeof request->policy, "policy=%s", optarg);
            request->set[request->set_count++] = request->policy;
            break;
        case 'd':
            snprintf(request->duration, sizeof request->duration, "duration=%s", optarg);
            request->set[request->set_count++] = request->duration;
            break;
        case 's':
            request->set[request->set_count++] = optarg;
            break;
        case 'r':
            request->seed = strtoull(optarg, NULL, 0);
            break;
        case 'j':
            request->json = optarg;
            break;
        case 'T':
            request->trace = optarg;
            break;
        case 'l':
            request->log = optarg;
            break;
        case 'q':
            request->quiet = true;
            break;
        case 'm':
            return list_models();
        case 'h':
            fputs(help, stdout);
            return -1;
        default:
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

static bool show_progress(void *context, uint64_t now_ns, uint64_t end_ns, uint64_t steps)
{
    (void)context;
    fprintf(stderr, "\r%8.2f s", (double)now_ns / 1e9);
    if (end_ns != 0) {
        fprintf(stderr, " of %.2f s", (double)end_ns / 1e9);
    }
    fprintf(stderr, "  %llu steps ", (unsigned long long)steps);
    return true;
}

static double seconds_of(const struct sim_result *result, const struct sim_vm_result *vm)
{
    return (double)(vm->done ? vm->done_ns : result->simulated_ns) / 1e9;
}

static void print_metrics(const struct sim_result *result, const struct sim_vm_result *vm)
{
    double seconds = seconds_of(result, vm);
    for (uint32_t i = 0; i < vm->metric_count; i++) {
        const struct sim_metric *metric = &vm->metric[i];
        switch ((enum sim_metric_kind)metric->kind) {
        case SIM_METRIC_COUNT:
            printf("  %-24s %16.1f %s/s\n", metric->name,
                   seconds > 0 ? metric->value / seconds : 0, metric->unit);
            break;
        case SIM_METRIC_LATENCY:
            printf("  %-24s p50 %llu p99 %llu max %llu %s, %llu times\n", metric->name,
                   (unsigned long long)cede_histogram_quantile(&metric->histogram, 32768),
                   (unsigned long long)cede_histogram_quantile(&metric->histogram, 64881),
                   (unsigned long long)metric->histogram.max_ns, metric->unit,
                   (unsigned long long)metric->histogram.count);
            break;
        case SIM_METRIC_TIME:
        case SIM_METRIC_SHARE:
        case SIM_METRIC_KINDS:
            printf("  %-24s %16.4f %s\n", metric->name, metric->value, metric->unit);
            break;
        }
    }
}

static void print_vm(const struct sim_result *result, const struct sim_vm_result *vm)
{
    double all_ns = (double)result->simulated_ns * vm->vcpu_count;
    printf("%s: %u vCPUs, %s%s\n", vm->name, vm->vcpu_count,
           vm->workload[0] != '\0' ? vm->workload : "idle", vm->done ? ", done" : "");
    print_metrics(result, vm);
    printf("  time  ");
    for (uint32_t i = 0; i < SIM_LOST_COUNT; i++) {
        if ((double)vm->lost_ns[i] >= all_ns / 2000) {
            printf(" %s %.1f %%", sim_lost_name(i), 100 * (double)vm->lost_ns[i] / all_ns);
        }
    }
    printf("\n  wake   p50 %llu ns, p99 %llu ns, max %llu ns, %llu times\n",
           (unsigned long long)cede_histogram_quantile(&vm->wake_latency, 32768),
           (unsigned long long)cede_histogram_quantile(&vm->wake_latency, 64881),
           (unsigned long long)vm->wake_latency.max_ns,
           (unsigned long long)vm->wake_latency.count);
    printf("  yields %llu attempted, %llu succeeded, %llu received; %llu spin exits\n",
           (unsigned long long)vm->count[CEDE_COUNT_YIELDS_ATTEMPTED],
           (unsigned long long)vm->count[CEDE_COUNT_YIELDS_SUCCEEDED],
           (unsigned long long)vm->count[CEDE_COUNT_YIELDS_RECEIVED],
           (unsigned long long)vm->count[CEDE_COUNT_SPIN_EXITS]);
}

static json_t *named(const uint64_t *value, uint32_t count, const char *(*name)(uint32_t))
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < count; i++) {
        json_object_set_new(object, name(i), json_integer((json_int_t)value[i]));
    }
    return object;
}

static const char *exit_name(uint32_t reason)
{
    static const char *const names[] = {
#define X(NAME, name, doc) #name,
#include "abi/exit.def"
#undef X
    };
    return reason < ABI_EXIT_COUNT ? names[reason] : NULL;
}

static json_t *json_latency(const struct cede_histogram *h)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I}", "p50",
                     (json_int_t)cede_histogram_quantile(h, 32768), "p99",
                     (json_int_t)cede_histogram_quantile(h, 64881), "p999",
                     (json_int_t)cede_histogram_quantile(h, 65470), "max", (json_int_t)h->max_ns,
                     "count", (json_int_t)h->count);
}

static json_t *json_metric(const struct sim_result *result, const struct sim_vm_result *vm,
                           const struct sim_metric *metric)
{
    double seconds = seconds_of(result, vm);
    double value = metric->value;
    if (metric->kind == SIM_METRIC_COUNT) {
        value = seconds > 0 ? value / seconds : 0;
    }
    json_t *object = json_pack("{s:s,s:s,s:s,s:f,s:f}", "workload", vm->workload, "metric",
                               metric->name, "unit", metric->unit, "value", value, "interval_s",
                               seconds);
    if (metric->kind == SIM_METRIC_LATENCY) {
        json_object_set_new(object, "latency_ns", json_latency(&metric->histogram));
    }
    return object;
}

static json_t *json_vm(const struct sim_result *result, const struct sim_vm_result *vm)
{
    json_t *object = json_object();
    json_t *results = json_array();
    for (uint32_t i = 0; i < vm->metric_count; i++) {
        json_array_append_new(results, json_metric(result, vm, &vm->metric[i]));
    }
    json_object_set_new(object, "name", json_string(vm->name));
    json_object_set_new(object, "vcpus", json_integer(vm->vcpu_count));
    json_object_set_new(object, "done", json_boolean(vm->done));
    json_object_set_new(object, "results", results);
    json_object_set_new(object, "time_ns",
                        named(vm->time_ns, CEDE_TIME_COUNT, cede_time_class_name));
    json_object_set_new(object, "lost_ns", named(vm->lost_ns, SIM_LOST_COUNT, sim_lost_name));
    json_object_set_new(object, "counters",
                        named(vm->count, CEDE_COUNTER_COUNT, cede_counter_name));
    json_object_set_new(
        object, "yields",
        json_pack("{s:I,s:I,s:I,s:I}", "attempted",
                  (json_int_t)vm->count[CEDE_COUNT_YIELDS_ATTEMPTED], "succeeded",
                  (json_int_t)vm->count[CEDE_COUNT_YIELDS_SUCCEEDED], "failed",
                  (json_int_t)(vm->count[CEDE_COUNT_YIELDS_ATTEMPTED] -
                               vm->count[CEDE_COUNT_YIELDS_SUCCEEDED]),
                  "received", (json_int_t)vm->count[CEDE_COUNT_YIELDS_RECEIVED]));
    json_object_set_new(object, "exits", named(vm->exits, ABI_EXIT_COUNT, exit_name));
    json_object_set_new(object, "exit_ns", named(vm->exit_ns, ABI_EXIT_COUNT, exit_name));
    json_object_set_new(object, "wake_latency_ns", json_latency(&vm->wake_latency));
    return object;
}

static bool write_json(const char *path, const struct sim_result *result)
{
    char digest[20];
    json_t *vms = json_array();
    for (uint32_t i = 0; i < result->vm_count; i++) {
        json_array_append_new(vms, json_vm(result, &result->vm[i]));
    }
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)result->digest);
    json_t *object = json_pack(
        "{s:s,s:s,s:i,s:I,s:f,s:I,s:I,s:s,s:o}", "world", "sim", "model", result->model, "pcpus",
        (int)result->pcpu_count, "seed", (json_int_t)result->seed, "seconds",
        (double)result->simulated_ns / 1e9, "steps", (json_int_t)result->steps, "core_events",
        (json_int_t)result->core_events, "digest", digest, "vms", vms);
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool fine = object != NULL && file != NULL && json_dumpf(object, file, JSON_INDENT(1)) == 0;
    fine = fine && fputc('\n', file) != EOF;
    if (file != NULL && file != stdout) {
        fine = fclose(file) == 0 && fine;
    }
    json_decref(object);
    return fine;
}

static int report(const struct request *request, const struct sim_result *result)
{
    bool to_stdout = request->json != NULL && strcmp(request->json, "-") == 0;
    if (!request->quiet && !to_stdout) {
        for (uint32_t i = 0; i < result->vm_count; i++) {
            print_vm(result, &result->vm[i]);
        }
        printf("%s, %u pCPUs, %.3f s simulated, %llu steps, seed %llu, decisions %016llx\n",
               result->model, result->pcpu_count, (double)result->simulated_ns / 1e9,
               (unsigned long long)result->steps, (unsigned long long)result->seed,
               (unsigned long long)result->digest);
    }
    if (request->json != NULL && !write_json(request->json, result)) {
        fprintf(stderr, "cede sim: can't write %s\n", request->json);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

/* What the callbacks write to. */
struct sinks {
    struct host_log log;
    FILE *trace;
};

static void record_trace(void *context, uint32_t pcpu, const struct abi_trace_record *records,
                         uint32_t count, uint64_t lost)
{
    struct sinks *sinks = context;
    host_trace_chunk(sinks->trace, pcpu, records, count, lost);
}

static void record(void *context, uint64_t number, const struct cede_event *event,
                   enum cede_status status, uint64_t digest)
{
    (void)status;
    struct sinks *sinks = context;
    host_log_events(&sinks->log, number, event, 1);
    host_log_digests(&sinks->log, number, &digest, 1);
}

static bool write_log(struct host_log *log, const struct host_scenario *scenario,
                      const struct sim_result *result, const char *path)
{
    char error[HOST_ERROR_SIZE];
    log->head.pcpu_count = result->pcpu_count;
    log->head.vm_count = result->vm_count;
    log->head.vcpu_count = result->vcpu_count;
    log->head.seed = (uint32_t)result->seed;
    for (uint32_t i = 0; i < scenario->head.vm_count; i++) {
        if (log->head.vm_vcpu_count < scenario->vm[i].vcpu_count) {
            log->head.vm_vcpu_count = scenario->vm[i].vcpu_count;
        }
    }
    snprintf(log->head.world, sizeof log->head.world, "sim");
    bool fine = host_log_write(log, path, error);
    if (!fine) {
        fprintf(stderr, "cede sim: %s\n", error);
    }
    return fine;
}

static int simulate(const struct request *request, const struct host_scenario *scenario)
{
    struct sim_options options = {.seed = request->seed};
    struct sinks sinks = {.trace = NULL};
    options.context = &sinks;
    struct sim_result result;
    size_t size;
    void *manifest = host_scenario_manifest(scenario, &size);
    if (!request->quiet && isatty(2)) {
        options.progress = show_progress;
    }
    if (request->log != NULL) {
        options.event = record;
    }
    if (request->trace != NULL) {
        sinks.trace = fopen(request->trace, "wb");
        if (sinks.trace == NULL || !host_trace_begin(sinks.trace, scenario, "sim")) {
            fprintf(stderr, "cede sim: can't write %s\n", request->trace);
            free(manifest);
            return CLI_FAILED;
        }
        options.trace = record_trace;
    }
    enum sim_status status = sim_run(manifest, size, &options, &result);
    if (options.progress != NULL) {
        fprintf(stderr, "\r%60s\r", "");
    }
    int exit_status = CLI_BAD_INPUT;
    if (status == SIM_OK) {
        exit_status = report(request, &result);
    } else {
        fprintf(stderr, "cede sim: %s: %s: %s\n", request->path, sim_status_name(status),
                result.error);
        if (status == SIM_VIOLATION) {
            fprintf(stderr, "cede sim: to see it again: cede sim %s --seed %llu\n", request->path,
                    (unsigned long long)result.seed);
            exit_status = CLI_FAILED;
        }
    }
    if (request->log != NULL && result.vcpu != NULL &&
        !write_log(&sinks.log, scenario, &result, request->log)) {
        exit_status = CLI_FAILED;
    }
    host_log_free(&sinks.log);
    if (sinks.trace != NULL && fclose(sinks.trace) != 0) {
        exit_status = CLI_FAILED;
    }
    sim_result_free(&result);
    free(manifest);
    return exit_status;
}

int cmd_sim(int count, char **argument)
{
    struct request request;
    struct host_scenario scenario;
    char error[HOST_ERROR_SIZE];
    int parsed = parse(&request, count, argument);
    if (parsed != 0) {
        return -parsed - 1;
    }
    if (!host_scenario_load(&scenario, request.path, request.set, request.set_count, error)) {
        fprintf(stderr, "cede sim: %s\n", error);
        return CLI_BAD_INPUT;
    }
    int status = simulate(&request, &scenario);
    host_scenario_free(&scenario);
    return status;
}
