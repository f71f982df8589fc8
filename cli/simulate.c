/*
 * simulate.c - see simulate.h.
 */
#include "cli/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "host/names.h"

_Static_assert(SIM_LOST_COUNT <= 32, "the account of lost time fits an outcome");

static void take_metrics(struct host_vm_outcome *out, const struct sim_vm_result *vm,
                         double seconds)
{
    for (uint32_t i = 0; i < vm->metric_count && i < HOST_RESULTS_MAX; i++) {
        const struct sim_metric *metric = &vm->metric[i];
        struct host_result *result = &out->result[out->result_count++];
        memset(result, 0, sizeof *result);
        snprintf(result->workload, sizeof result->workload, "%s", vm->workload);
        snprintf(result->metric, sizeof result->metric, "%s", metric->name);
        result->interval_s = seconds;
        result->value = metric->value;
        result->primary = metric->primary != 0;
        result->less_is_better = metric->kind == SIM_METRIC_TIME || metric->kind == SIM_METRIC_LATENCY;
        if (metric->kind == SIM_METRIC_COUNT) {
            result->value = seconds > 0 ? metric->value / seconds : 0;
        } else if (metric->kind == SIM_METRIC_LATENCY) {
            snprintf(result->metric, sizeof result->metric, "%.24s_p99_ns", metric->name);
            result->value = (double)cede_histogram_quantile(&metric->histogram, 64881);
        }
    }
}

static void take_vm(struct host_vm_outcome *out, const struct sim_result *result,
                    const struct sim_vm_result *vm)
{
    snprintf(out->name, sizeof out->name, "%s", vm->name);
    snprintf(out->state, sizeof out->state, "%s", vm->done ? "done" : "running");
    out->vcpu_count = vm->vcpu_count;
    out->status = vm->status;
    take_metrics(out, vm, (double)(vm->done ? vm->done_ns : result->simulated_ns) / 1e9);
    memcpy(out->time_ns, vm->time_ns, sizeof out->time_ns);
    memcpy(out->count, vm->count, sizeof out->count);
    memcpy(out->exits, vm->exits, sizeof out->exits);
    memcpy(out->exit_ns, vm->exit_ns, sizeof out->exit_ns);
    out->wake_latency = vm->wake_latency;
    out->has_lost = true;
    memcpy(out->lost_ns, vm->lost_ns, sizeof vm->lost_ns);
}

bool cli_outcome_of_sim(struct host_outcome *outcome, const struct host_scenario *scenario,
                        const struct sim_result *result)
{
    const char *policy = host_preset_name(scenario->vm[0].preset);
    memset(outcome, 0, sizeof *outcome);
    outcome->world = "sim";
    for (uint32_t i = 1; i < scenario->head.vm_count; i++) {
        policy = scenario->vm[i].preset == scenario->vm[0].preset ? policy : "mixed";
    }
    snprintf(outcome->policy, sizeof outcome->policy, "%s", policy);
    snprintf(outcome->model, sizeof outcome->model, "%s", result->model);
    snprintf(outcome->accel, sizeof outcome->accel, "sim");
    outcome->pcpu_count = result->pcpu_count;
    outcome->seed = result->seed;
    outcome->seconds = (double)result->simulated_ns / 1e9;
    outcome->fine = true;
    outcome->vm_count = result->vm_count;
    outcome->vm = calloc(result->vm_count, sizeof *outcome->vm);
    for (uint32_t i = 0; outcome->vm != NULL && i < result->vm_count; i++) {
        take_vm(&outcome->vm[i], result, &result->vm[i]);
    }
    for (uint32_t i = 0; i < result->pcpu_count; i++) {
        outcome->polled_ns += result->pcpu[i].time_ns[CEDE_PCPU_TIME_POLL];
    }
    return outcome->vm != NULL;
}

bool cli_simulate(const struct host_scenario *scenario, const struct sim_options *options,
                  struct host_outcome *outcome, char *error)
{
    struct sim_result result;
    size_t size;
    void *manifest = host_scenario_manifest(scenario, &size);
    enum sim_status status = sim_run(manifest, size, options, &result);
    bool fine = status == SIM_OK && cli_outcome_of_sim(outcome, scenario, &result);
    if (!fine) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %.400s", sim_status_name(status), result.error);
    }
    sim_result_free(&result);
    free(manifest);
    return fine;
}
