/*
 * result.c - what comes out of a run: metrics, accounts, counters, per VM and per vCPU.
 *
 * Owns the arrays of struct sim_result until sim_result_free().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/machine.h"

static void take_metrics(struct sim_machine *m, struct sim_vm *vm)
{
    if (!vm->stopping) { /* else they were taken when the workload ended */
        vm->metric_count = vm->ops->metrics(vm->guest, m->now_ns, vm->metric, SIM_METRIC_MAX);
    }
}

void sim_result_interval(struct sim_machine *m)
{
    if (m->interval_count == m->interval_size) {
        uint32_t size = m->interval_size == 0 ? 16 : m->interval_size * 2;
        for (uint32_t i = 0; i < m->vm_count; i++) {
            size_t bytes = (size_t)size * SIM_METRIC_MAX * sizeof(double);
            double *interval = realloc(m->vm[i].interval, bytes);
            if (interval == NULL) {
                return;
            }
            m->vm[i].interval = interval;
        }
        m->interval_size = size;
    }
    for (uint32_t i = 0; i < m->vm_count; i++) {
        struct sim_vm *vm = &m->vm[i];
        double *row = vm->interval + (size_t)m->interval_count * SIM_METRIC_MAX;
        memset(row, 0, SIM_METRIC_MAX * sizeof *row);
        take_metrics(m, vm);
        for (uint32_t k = 0; k < vm->metric_count; k++) {
            bool count = vm->metric[k].kind == SIM_METRIC_COUNT;
            row[k] = vm->metric[k].value - (count ? vm->previous[k] : 0);
            vm->previous[k] = vm->metric[k].value;
        }
    }
    m->interval_count++;
}

/* The vCPU's result up to now; classes without a pCPU are the core's to tell. */
static void fill_vcpu(struct sim_machine *m, struct sim_vcpu *v)
{
    struct sim_vcpu_result *result = &v->result;
    sim_account(m, v);
    cede_vcpu_stats(m->core, m->now_ns, (struct cede_vcpu_id){v->id}, &result->stats);
    result->lost_ns[SIM_LOST_STEAL] = result->stats.time_ns[CEDE_TIME_STEAL];
    result->lost_ns[SIM_LOST_THROTTLED] = result->stats.time_ns[CEDE_TIME_THROTTLED];
    result->lost_ns[SIM_LOST_BLOCKED] = result->stats.time_ns[CEDE_TIME_BLOCKED];
    result->lost_ns[SIM_LOST_PAUSED] = result->stats.time_ns[CEDE_TIME_PAUSED];
    result->lost_ns[SIM_LOST_OFFLINE] = result->stats.time_ns[CEDE_TIME_OFFLINE];
}

static void add_all(uint64_t *to, const uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

static void subtract_all(uint64_t *from, const uint64_t *what, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        from[i] -= what[i];
    }
}

static void fill_vm(struct sim_machine *m, struct sim_vm *vm, struct sim_vm_result *result)
{
    memset(result, 0, sizeof *result);
    memcpy(result->name, vm->record->name, sizeof result->name);
    memcpy(result->workload, vm->record->workload, sizeof result->workload);
    result->vcpu_count = vm->count;
    result->first_vcpu = vm->first;
    result->done = vm->done;
    result->status = vm->status;
    result->done_ns = vm->done_ns;
    take_metrics(m, vm);
    result->metric_count = vm->metric_count;
    memcpy(result->metric, vm->metric, sizeof result->metric);
    for (uint32_t i = vm->first; i < vm->first + vm->count; i++) {
        const struct sim_vcpu_result *vcpu = &m->vcpu[i].result;
        fill_vcpu(m, &m->vcpu[i]);
        add_all(result->lost_ns, vcpu->lost_ns, SIM_LOST_COUNT);
        add_all(result->time_ns, vcpu->stats.time_ns, CEDE_TIME_COUNT);
        add_all(result->count, vcpu->stats.count, CEDE_COUNTER_COUNT);
        add_all(result->exits, vcpu->exits, ABI_EXIT_COUNT);
        add_all(result->exit_ns, vcpu->exit_ns, ABI_EXIT_COUNT);
        for (uint32_t k = 0; k < ABI_EXIT_COUNT; k++) {
            if (result->exit_max_ns[k] < vcpu->exit_max_ns[k]) {
                result->exit_max_ns[k] = vcpu->exit_max_ns[k];
            }
        }
        cede_histogram_merge(&result->wake_latency, &vcpu->stats.wake_latency);
    }
}

void sim_result_warmup(struct sim_machine *m)
{
    for (uint32_t i = 0; i < m->vm_count; i++) {
        m->vm[i].baseline = malloc(sizeof *m->vm[i].baseline);
        if (m->vm[i].baseline != NULL) {
            fill_vm(m, &m->vm[i], m->vm[i].baseline);
        }
    }
}

/* Largest values can't be taken back: max_ns stays that of the whole run. */
static void subtract_histogram(struct cede_histogram *from, const struct cede_histogram *what)
{
    for (uint32_t i = 0; i < CEDE_HISTOGRAM_BUCKETS; i++) {
        from->bucket[i] -= what->bucket[i];
    }
    from->sum_ns -= what->sum_ns;
    from->count -= what->count;
}

static void subtract_baseline(struct sim_vm_result *result, const struct sim_vm_result *base)
{
    subtract_all(result->lost_ns, base->lost_ns, SIM_LOST_COUNT);
    subtract_all(result->time_ns, base->time_ns, CEDE_TIME_COUNT);
    subtract_all(result->count, base->count, CEDE_COUNTER_COUNT);
    subtract_all(result->exits, base->exits, ABI_EXIT_COUNT);
    subtract_all(result->exit_ns, base->exit_ns, ABI_EXIT_COUNT);
    subtract_histogram(&result->wake_latency, &base->wake_latency);
    for (uint32_t i = 0; i < result->metric_count; i++) {
        if (result->metric[i].kind == SIM_METRIC_COUNT) {
            result->metric[i].value -= base->metric[i].value;
        } else if (result->metric[i].kind == SIM_METRIC_LATENCY) {
            subtract_histogram(&result->metric[i].histogram, &base->metric[i].histogram);
        }
    }
}

bool sim_result_collect(struct sim_machine *m)
{
    struct sim_result *result = m->result;
    snprintf(result->model, sizeof result->model, "%s", m->arch->name);
    result->seed = m->seed;
    result->simulated_ns = m->now_ns;
    result->interval_ns = m->interval_ns;
    result->interval_count = m->interval_count;
    result->pcpu_count = m->pcpu_count;
    result->vm_count = m->vm_count;
    result->vcpu_count = m->vcpu_count;
    result->steps = m->steps;
    result->core_events = m->core_events;
    result->vm = calloc(m->vm_count, sizeof *result->vm);
    result->vcpu = calloc(m->vcpu_count, sizeof *result->vcpu);
    result->pcpu = calloc(m->pcpu_count, sizeof *result->pcpu);
    if (result->vm == NULL || result->vcpu == NULL || result->pcpu == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < m->vm_count; i++) {
        fill_vm(m, &m->vm[i], &result->vm[i]);
        if (m->vm[i].baseline != NULL) {
            subtract_baseline(&result->vm[i], m->vm[i].baseline);
        }
        result->vm[i].interval = m->vm[i].interval;
        m->vm[i].interval = NULL;
    }
    for (uint32_t i = 0; i < m->vcpu_count; i++) {
        result->vcpu[i] = m->vcpu[i].result;
    }
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        cede_pcpu_stats(m->core, m->now_ns, (struct cede_pcpu_id){i}, &result->pcpu[i]);
    }
    return true;
}

void sim_result_free(struct sim_result *result)
{
    for (uint32_t i = 0; result->vm != NULL && i < result->vm_count; i++) {
        free(result->vm[i].interval);
    }
    free(result->vm);
    free(result->vcpu);
    free(result->pcpu);
    result->vm = NULL;
    result->vcpu = NULL;
    result->pcpu = NULL;
}

const char *sim_lost_name(uint32_t lost)
{
    static const char *const names[] = {
#define X(NAME, name, doc) #name,
#include "sim/lost.def"
#undef X
    };
    return lost < SIM_LOST_COUNT ? names[lost] : NULL;
}

const char *sim_status_name(enum sim_status status)
{
    static const char *const names[] = {
        [SIM_OK] = "ok",
        [SIM_BAD_MANIFEST] = "bad scenario",
        [SIM_BAD_MODEL] = "bad machine model",
        [SIM_BAD_WORKLOAD] = "bad workload",
        [SIM_NO_MEMORY] = "no memory",
        [SIM_VIOLATION] = "violation",
        [SIM_STOPPED] = "stopped",
    };
    return status < SIM_STATUS_COUNT ? names[status] : "no such status";
}

const char *sim_machine_name(uint32_t index)
{
    return sim_arch_at(index) != NULL ? sim_arch_at(index)->name : NULL;
}

const char *sim_machine_doc(uint32_t index)
{
    return sim_arch_at(index) != NULL ? sim_arch_at(index)->doc : NULL;
}
