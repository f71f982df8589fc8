/*
 * outcome.c - see outcome.h.
 */
#include "host/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "host/names.h"

/* When the first VM's workload was over: until then all ran. */
static uint64_t first_end_ns(const struct host_observed *seen)
{
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < seen->scenario->head.vm_count; i++) {
        const struct host_seen_vm *vm = &seen->vm[i];
        uint64_t end_ns = vm->done ? vm->done_ns : UINT64_MAX;
        for (size_t k = 0; k < vm->result_count; k++) {
            if (vm->result[k].interval == 0 && vm->result[k].arrived_ns < end_ns &&
                strcmp(vm->result[k].workload, "guest") != 0) {
                end_ns = vm->result[k].arrived_ns;
            }
        }
        first_ns = end_ns < first_ns ? end_ns : first_ns;
    }
    return first_ns;
}

static bool less_is_better(const char *metric)
{
    return strstr(metric, "late") != NULL || strstr(metric, "_ns") != NULL;
}

static struct host_result *find_result(struct host_vm_outcome *out,
                                       const struct host_guest_result *from)
{
    for (uint32_t i = 0; i < out->result_count; i++) {
        if (strcmp(out->result[i].metric, from->metric) == 0 &&
            strcmp(out->result[i].workload, from->workload) == 0) {
            return &out->result[i];
        }
    }
    if (out->result_count == HOST_RESULTS_MAX) {
        return NULL;
    }
    struct host_result *result = &out->result[out->result_count++];
    memset(result, 0, sizeof *result);
    snprintf(result->workload, sizeof result->workload, "%s", from->workload);
    snprintf(result->metric, sizeof result->metric, "%s", from->metric);
    result->less_is_better = less_is_better(from->metric);
    result->primary = out->result_count == 1;
    return result;
}

/* Means weighted by time over the intervals that count; without any, the whole run's value. */
static void take_results(struct host_vm_outcome *out, const struct host_seen_vm *vm,
                         uint64_t end_ns)
{
    for (size_t i = 0; i < vm->result_count; i++) {
        const struct host_guest_result *from = &vm->result[i];
        struct host_result *to;
        if (strcmp(from->workload, "guest") != 0 && from->interval > 0 &&
            from->arrived_ns <= end_ns && (to = find_result(out, from)) != NULL) {
            to->value += from->value * from->interval_s;
            to->interval_s += from->interval_s;
        }
    }
    for (uint32_t i = 0; i < out->result_count; i++) {
        out->result[i].value /= out->result[i].interval_s > 0 ? out->result[i].interval_s : 1;
    }
    for (size_t i = 0; i < vm->result_count; i++) {
        const struct host_guest_result *from = &vm->result[i];
        struct host_result *to;
        if (strcmp(from->workload, "guest") != 0 && from->interval == 0 &&
            (to = find_result(out, from)) != NULL && to->interval_s <= 0) {
            to->value = from->value;
            to->interval_s = from->interval_s;
        }
    }
}

static void add_vcpu(struct host_vm_outcome *out, const struct abi_vcpu_stats *stats)
{
    for (uint32_t i = 0; i < CEDE_TIME_COUNT && i < stats->time_count; i++) {
        out->time_ns[i] += stats->time_ns[i];
    }
    for (uint32_t i = 0; i < CEDE_COUNTER_COUNT && i < stats->counter_count; i++) {
        out->count[i] += stats->count[i];
    }
    for (uint32_t i = 0; i < ABI_EXIT_COUNT && i < stats->exit_count; i++) {
        out->exits[i] += stats->exits[i];
        out->exit_ns[i] += stats->exit_ns[i];
    }
    for (uint32_t i = 0; i < CEDE_HISTOGRAM_BUCKETS; i++) {
        out->wake_latency.bucket[i] += stats->wake_bucket[i];
    }
    out->wake_latency.sum_ns += stats->wake_sum_ns;
    out->wake_latency.count += stats->wake_count;
    if (out->wake_latency.max_ns < stats->wake_max_ns) {
        out->wake_latency.max_ns = stats->wake_max_ns;
    }
}

static void take_vm(struct host_vm_outcome *out, const struct host_seen_vm *vm, uint64_t end_ns)
{
    const char *state = host_vm_state_name(vm->state);
    snprintf(out->name, sizeof out->name, "%s", vm->record->name);
    snprintf(out->state, sizeof out->state, "%s", state != NULL ? state : "unknown");
    snprintf(out->text, sizeof out->text, "%s", vm->text);
    out->vcpu_count = vm->record->vcpu_count;
    out->status = vm->status;
    take_results(out, vm, end_ns);
    for (uint32_t i = 0; i < vm->record->vcpu_count; i++) {
        add_vcpu(out, &vm->vcpu[i]);
    }
}

static void take_pcpus(struct host_outcome *outcome, const struct host_observed *seen)
{
    uint64_t sum_ns = 0, count = 0;
    for (uint32_t i = 0; i < outcome->pcpu_count; i++) {
        const struct abi_pcpu_stats *pcpu = &seen->pcpu[i];
        outcome->kicks_resent += pcpu->kicks_resent;
        outcome->polled_ns += pcpu->time_ns[CEDE_PCPU_TIME_POLL];
        sum_ns += pcpu->lock_hold_sum_ns;
        count += pcpu->lock_count;
        if (outcome->lock_hold_max_ns < pcpu->lock_hold_max_ns) {
            outcome->lock_hold_max_ns = pcpu->lock_hold_max_ns;
        }
    }
    outcome->lock_hold_mean_ns = count > 0 ? (double)sum_ns / (double)count : 0;
}

static void describe(struct host_outcome *outcome, const struct host_scenario *scenario)
{
    const char *name = host_preset_name(scenario->vm[0].preset);
    for (uint32_t i = 1; i < scenario->head.vm_count; i++) {
        if (scenario->vm[i].preset != scenario->vm[0].preset) {
            name = "mixed";
        }
    }
    snprintf(outcome->policy, sizeof outcome->policy, "%s", name != NULL ? name : "unknown");
    snprintf(outcome->model, sizeof outcome->model, "%s", scenario->head.model);
    outcome->pcpu_count = scenario->head.pcpu_count;
    outcome->vm_count = scenario->head.vm_count;
}

bool host_outcome_of(struct host_outcome *outcome, const struct host_observed *seen)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->world = "hv";
    describe(outcome, seen->scenario);
    outcome->seconds = (double)seen->now_ns / 1e9;
    for (uint32_t i = 0; i < 32; i++) {
        snprintf(outcome->core_hash + 2 * i, 3, "%02x", seen->hello.core_hash[i]);
    }
    outcome->vm = calloc(outcome->vm_count, sizeof *outcome->vm);
    if (outcome->vm == NULL) {
        return false;
    }
    uint64_t end_ns = first_end_ns(seen);
    outcome->fine = seen->ended;
    for (uint32_t i = 0; i < outcome->vm_count; i++) {
        const struct host_seen_vm *vm = &seen->vm[i];
        take_vm(&outcome->vm[i], vm, end_ns);
        if (outcome->fine && (vm->state != ABI_VM_STATE_DONE || vm->status != 0)) {
            outcome->fine = false;
            snprintf(outcome->trouble, sizeof outcome->trouble, "VM %s: %s, status %d %s",
                     vm->record->name, outcome->vm[i].state, vm->status, vm->text);
        }
    }
    take_pcpus(outcome, seen);
    return true;
}

void host_outcome_free(struct host_outcome *outcome)
{
    free(outcome->vm);
    outcome->vm = NULL;
}

const struct host_result *host_outcome_primary(const struct host_vm_outcome *vm)
{
    for (uint32_t i = 0; i < vm->result_count; i++) {
        if (vm->result[i].primary) {
            return &vm->result[i];
        }
    }
    return NULL;
}

static json_t *named(const uint64_t *value, const char *(*name)(uint32_t), bool zeros)
{
    json_t *object = json_object();
    for (uint32_t i = 0; name(i) != NULL; i++) {
        if (zeros || value[i] != 0) {
            json_object_set_new(object, name(i), json_integer((json_int_t)value[i]));
        }
    }
    return object;
}

static json_t *json_results(const struct host_vm_outcome *vm)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < vm->result_count; i++) {
        const struct host_result *result = &vm->result[i];
        json_array_append_new(list, json_pack("{s:s,s:s,s:f,s:f}", "workload", result->workload,
                                              "metric", result->metric, "value", result->value,
                                              "interval_s", result->interval_s));
    }
    return list;
}

static json_t *json_vm(const struct host_vm_outcome *vm)
{
    const uint64_t *count = vm->count;
    const struct cede_histogram *wake = &vm->wake_latency;
    json_t *object = json_pack("{s:s,s:i,s:s,s:i}", "name", vm->name, "vcpus",
                               (int)vm->vcpu_count, "state", vm->state, "status", vm->status);
    json_object_set_new(object, "results", json_results(vm));
    json_object_set_new(object, "time_ns", named(vm->time_ns, host_time_class_name, true));
    if (vm->has_lost) {
        json_object_set_new(object, "lost_ns", named(vm->lost_ns, host_lost_name, true));
    }
    json_object_set_new(
        object, "yields",
        json_pack("{s:I,s:I,s:I,s:I}", "attempted",
                  (json_int_t)count[CEDE_COUNT_YIELDS_ATTEMPTED], "succeeded",
                  (json_int_t)count[CEDE_COUNT_YIELDS_SUCCEEDED], "failed",
                  (json_int_t)(count[CEDE_COUNT_YIELDS_ATTEMPTED] -
                               count[CEDE_COUNT_YIELDS_SUCCEEDED]),
                  "received", (json_int_t)count[CEDE_COUNT_YIELDS_RECEIVED]));
    json_object_set_new(object, "counters", named(count, host_counter_name, true));
    json_object_set_new(object, "exits", named(vm->exits, host_exit_name, false));
    json_object_set_new(object, "exit_ns", named(vm->exit_ns, host_exit_name, false));
    json_object_set_new(object, "wake_latency_ns",
                        json_pack("{s:I,s:I,s:I,s:I,s:I}", "p50", (json_int_t)cede_histogram_quantile(wake, 32768),
                                  "p99", (json_int_t)cede_histogram_quantile(wake, 64881), "p999",
                                  (json_int_t)cede_histogram_quantile(wake, 65470), "max",
                                  (json_int_t)wake->max_ns, "count", (json_int_t)wake->count));
    return object;
}

json_t *host_outcome_json(const struct host_outcome *outcome)
{
    json_t *vms = json_array();
    for (uint32_t i = 0; i < outcome->vm_count; i++) {
        json_array_append_new(vms, json_vm(&outcome->vm[i]));
    }
    json_t *object = json_pack("{s:s,s:s,s:s,s:i,s:s,s:s,s:f,s:b,s:s}", "world", outcome->world,
                               "core_hash", outcome->core_hash, "policy", outcome->policy, "pcpus",
                               (int)outcome->pcpu_count, "accel", outcome->accel, "model",
                               outcome->model, "seconds", outcome->seconds, "fine",
                               (int)outcome->fine, "trouble", outcome->trouble);
    json_object_set_new(object, "seed", json_integer((json_int_t)outcome->seed));
    json_object_set_new(object, "polled_ns", json_integer((json_int_t)outcome->polled_ns));
    json_object_set_new(object, "kicks_resent", json_integer((json_int_t)outcome->kicks_resent));
    json_object_set_new(object, "core_lock_ns",
                        json_pack("{s:f,s:I}", "mean", outcome->lock_hold_mean_ns, "max",
                                  (json_int_t)outcome->lock_hold_max_ns));
    json_object_set_new(object, "vms", vms);
    return object;
}

bool host_json_write(const char *path, json_t *json)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool fine = json != NULL && file != NULL && json_dumpf(json, file, JSON_INDENT(1)) == 0 &&
                fputc('\n', file) != EOF;
    if (file != NULL && file != stdout) {
        fine = fclose(file) == 0 && fine;
    }
    json_decref(json);
    return fine;
}

static void print_vm(FILE *file, const struct host_vm_outcome *vm)
{
    uint64_t all_ns = 0;
    fprintf(file, "%-12s %u vCPUs, %s", vm->name, vm->vcpu_count, vm->state);
    fprintf(file, vm->text[0] != '\0' ? " (%s)\n" : "%s\n", vm->text);
    for (uint32_t i = 0; i < vm->result_count; i++) {
        fprintf(file, "  %s %s: %.1f over %.1f s\n", vm->result[i].workload, vm->result[i].metric,
                vm->result[i].value, vm->result[i].interval_s);
    }
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        all_ns += vm->time_ns[i];
    }
    fprintf(file, "  time  ");
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        if (vm->time_ns[i] * 1000 >= all_ns && all_ns > 0) {
            fprintf(file, " %s %.1f %%", host_time_class_name(i),
                    100 * (double)vm->time_ns[i] / (double)all_ns);
        }
    }
    fprintf(file, "\n  wake   p50 %.1f us, p99 %.1f us, max %.1f us, %llu times\n",
            (double)cede_histogram_quantile(&vm->wake_latency, 32768) / 1000,
            (double)cede_histogram_quantile(&vm->wake_latency, 64881) / 1000,
            (double)vm->wake_latency.max_ns / 1000, (unsigned long long)vm->wake_latency.count);
    fprintf(file, "  yields %llu attempted, %llu succeeded, %llu received; %llu spin exits\n",
            (unsigned long long)vm->count[CEDE_COUNT_YIELDS_ATTEMPTED],
            (unsigned long long)vm->count[CEDE_COUNT_YIELDS_SUCCEEDED],
            (unsigned long long)vm->count[CEDE_COUNT_YIELDS_RECEIVED],
            (unsigned long long)vm->count[CEDE_COUNT_SPIN_EXITS]);
}

void host_outcome_print(FILE *file, const struct host_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->vm_count; i++) {
        print_vm(file, &outcome->vm[i]);
    }
    fprintf(file, "policy %s, %u pCPUs, %s, %.1f s; core's lock held %.0f ns on average\n",
            outcome->policy, outcome->pcpu_count, outcome->accel, outcome->seconds,
            outcome->lock_hold_mean_ns);
}
