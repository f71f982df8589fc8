/*
 * oracle.c - what must hold in every run, whatever the policy: checked every 5 ms of simulated time
 * and at the end. The first violation stops the run.
 *
 *   lost-wakeup          a vCPU that the core holds for blocked has something that would wake it.
 *                        Exact: the shell tells the core at the instant the bit is set
 *   idle-while-runnable  a pCPU is idle and has been for GRACE_NS, and a vCPU has been runnable
 *                        without a pCPU for GRACE_NS that may run on it
 *   starved              a runnable vCPU has waited longer than STARVED_ROUNDS full rounds of its
 *                        pCPUs' load at the longest slice, and than STARVED_NS
 *   fairness             of VMs that all want more, one got less than its due (fairness.c)
 *   cap                  a VM used more than its quota in every period together, by more than one
 *                        slice a pCPU
 *   ipi                  each IPI sent was taken, merged with one before it, or is still pending
 *   stuck-interrupt      a vCPU in guest mode with interrupts on hasn't taken one for GRACE_NS
 *   time                 the classes of a vCPU sum to its lifetime, and the core's account of its
 *                        time on and off pCPUs is the simulator's, to the nanosecond
 *   publish-paused       the shared record of a paused VM is written
 *   refused, two-places, poll-other, guest-progress: found where they happen
 *
 * Owns the violation in the result.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/machine.h"

#define GRACE_NS 2000000u
#define STARVED_ROUNDS 20u
#define STARVED_NS UINT64_C(500000000)

void sim_oracle_violation(struct sim_machine *m, const char *oracle, const char *format, ...)
{
    struct sim_result *result = m->result;
    if (result->status == SIM_VIOLATION) {
        return; /* the first one counts */
    }
    result->status = SIM_VIOLATION;
    m->stop = true;
    result->violation.now_ns = m->now_ns;
    result->violation.event_number = m->core_events;
    snprintf(result->violation.oracle, sizeof result->violation.oracle, "%s", oracle);
    va_list list;
    va_start(list, format);
    vsnprintf(result->violation.text, sizeof result->violation.text, format, list);
    va_end(list);
    snprintf(result->error, sizeof result->error, "%s: %.160s (seed %llu, event %llu, %llu ns)",
             oracle, result->violation.text, (unsigned long long)m->seed,
             (unsigned long long)m->core_events, (unsigned long long)m->now_ns);
}

static void check_time(struct sim_machine *m, struct sim_vcpu *v,
                       const struct cede_vcpu_stats *stats)
{
    static const enum cede_time_class off[] = {CEDE_TIME_STEAL, CEDE_TIME_THROTTLED,
                                               CEDE_TIME_BLOCKED, CEDE_TIME_PAUSED,
                                               CEDE_TIME_OFFLINE};
    uint64_t on_ns = 0, core_off_ns = 0, core_ns = 0;
    sim_account(m, v);
    for (uint32_t i = 0; i <= SIM_LOST_POLL; i++) {
        on_ns += v->result.lost_ns[i];
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        core_off_ns += stats->time_ns[off[i]];
    }
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        core_ns += stats->time_ns[i];
    }
    if (on_ns + v->off_ns != m->now_ns || core_ns != m->now_ns - stats->added_ns) {
        sim_oracle_violation(m, "time", "vCPU %u: classes sum to %llu ns (core: %llu) of %llu",
                             v->id, (unsigned long long)(on_ns + v->off_ns),
                             (unsigned long long)core_ns, (unsigned long long)m->now_ns);
    } else if (core_off_ns != v->off_ns) {
        sim_oracle_violation(m, "time", "vCPU %u: off pCPUs for %llu ns, the core says %llu",
                             v->id, (unsigned long long)v->off_ns,
                             (unsigned long long)core_off_ns);
    }
}

static void check_interrupts(struct sim_machine *m, const struct sim_vcpu *v,
                             const struct cede_vcpu_stats *stats)
{
    uint64_t waiting = (uint64_t)__builtin_popcount(
        v->pending & (1u << SIM_VECTOR_CALL | 1u << SIM_VECTOR_RESCHED));
    if (stats->state == CEDE_STATE_BLOCKED && v->halted && sim_step_wakes(v)) {
        sim_oracle_violation(m, "lost-wakeup",
                             "vCPU %u is blocked with vectors 0x%x pending since %llu ns", v->id,
                             v->pending, (unsigned long long)v->pending_since_ns);
    }
    if (v->ipis_sent != v->ipis_taken + v->ipis_merged + waiting) {
        sim_oracle_violation(m, "ipi", "of %llu IPIs to vCPU %u %llu were taken, %llu merged, "
                             "%llu wait", (unsigned long long)v->ipis_sent, v->id,
                             (unsigned long long)v->ipis_taken,
                             (unsigned long long)v->ipis_merged, (unsigned long long)waiting);
    }
    if (v->pcpu != SIM_NONE && m->pcpu[v->pcpu].state == SIM_PCPU_GUEST && v->has_step &&
        !v->step.irq_off && v->pending != 0 && m->now_ns - v->pending_since_ns > GRACE_NS) {
        sim_oracle_violation(m, "stuck-interrupt",
                             "vCPU %u runs with interrupts on and 0x%x pending since %llu ns",
                             v->id, v->pending, (unsigned long long)v->pending_since_ns);
    }
}

/* The first idle pCPU that a long-waiting vCPU may use; SIM_NONE if there's none. */
static uint32_t idle_for(const struct sim_machine *m, const struct sim_vcpu *v)
{
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        const struct sim_pcpu *p = &m->pcpu[i];
        if (p->state == SIM_PCPU_IDLE && m->now_ns - p->idle_since_ns > GRACE_NS &&
            sim_shell_usable(m, v, i)) {
            return i;
        }
    }
    return SIM_NONE;
}

static bool any_idle(const struct sim_machine *m)
{
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        if (m->pcpu[i].state == SIM_PCPU_IDLE && m->now_ns - m->pcpu[i].idle_since_ns > GRACE_NS) {
            return true;
        }
    }
    return false;
}

static uint64_t longest_slice_ns(const struct sim_machine *m)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->vm_count; i++) {
        uint64_t slice_ns = m->vm[i].record->policy[CEDE_POLICY_SLICE_NS];
        most = slice_ns > most ? slice_ns : most;
    }
    return most;
}

static uint64_t weight_ratio(const struct sim_machine *m, const struct sim_vm *vm)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < m->vm_count; i++) {
        total += m->vm[i].record->weight;
    }
    return total / vm->record->weight + 1;
}

static void check_waiting(struct sim_machine *m, const struct sim_vcpu *v,
                          const struct cede_vcpu_stats *stats, bool idle)
{
    if (stats->state != CEDE_STATE_RUNNABLE || v->pcpu != SIM_NONE) {
        return;
    }
    uint64_t waited_ns = m->now_ns - v->runnable_seen_ns;
    if (idle && waited_ns > GRACE_NS) {
        uint32_t pcpu = idle_for(m, v);
        if (pcpu != SIM_NONE) {
            sim_oracle_violation(m, "idle-while-runnable",
                                 "pCPU %u is idle; vCPU %u of %s has waited %llu us", pcpu,
                                 v->index, m->vm[v->vm].record->name,
                                 (unsigned long long)(waited_ns / 1000));
        }
    }
    /* A vCPU that the core still thinks runnable since it last had a pCPU. */
    uint64_t rounds = (m->vcpu_count / m->pcpu_count + 1) * weight_ratio(m, &m->vm[v->vm]);
    uint64_t bound_ns = STARVED_ROUNDS * rounds * longest_slice_ns(m);
    if (waited_ns > STARVED_NS && waited_ns > bound_ns) {
        sim_oracle_violation(m, "starved", "vCPU %u of %s has waited %llu ms for a pCPU (bound %llu)",
                             v->index, m->vm[v->vm].record->name,
                             (unsigned long long)(waited_ns / 1000000),
                             (unsigned long long)(bound_ns / 1000000));
    }
}

static void note_waiting(struct sim_machine *m, struct sim_vcpu *v,
                         const struct cede_vcpu_stats *stats)
{
    bool waits = stats->state == CEDE_STATE_RUNNABLE && v->pcpu == SIM_NONE;
    uint64_t switches = stats->count[CEDE_COUNT_SWITCHES];
    if (!waits || !v->runnable_seen || v->switches_seen != switches) {
        v->runnable_seen_ns = m->now_ns; /* begins now, as far as these checks can see */
    }
    v->runnable_seen = waits;
    v->switches_seen = switches;
}

static uint64_t used_ns(struct sim_machine *m, const struct sim_vm *vm)
{
    uint64_t sum = 0;
    for (uint32_t i = vm->first; i < vm->first + vm->count; i++) {
        for (uint32_t k = 0; k < SIM_LOST_POLL; k++) {
            sum += m->vcpu[i].result.lost_ns[k];
        }
    }
    return sum;
}

static void check_cap(struct sim_machine *m, const struct sim_vm *vm)
{
    const struct abi_manifest_vm *record = vm->record;
    if (record->quota_ns == 0) {
        return;
    }
    uint64_t periods = m->now_ns / record->period_ns + 1;
    uint64_t slack_ns = (uint64_t)vm->count * record->policy[CEDE_POLICY_SLICE_NS];
    uint64_t used = used_ns(m, vm);
    if (used > periods * record->quota_ns + slack_ns) {
        sim_oracle_violation(m, "cap", "%s used %llu ms in %llu periods of %llu ms quota",
                             record->name, (unsigned long long)(used / 1000000),
                             (unsigned long long)periods,
                             (unsigned long long)(record->quota_ns / 1000000));
    }
}

void sim_oracle_check(struct sim_machine *m)
{
    struct cede_vcpu_stats stats;
    bool idle = any_idle(m);
    for (uint32_t i = 0; i < m->vcpu_count && !m->stop; i++) {
        struct sim_vcpu *v = &m->vcpu[i];
        if (cede_vcpu_stats(m->core, m->now_ns, (struct cede_vcpu_id){i}, &stats) != CEDE_OK) {
            sim_oracle_violation(m, "refused", "no statistics of vCPU %u", i);
            return;
        }
        note_waiting(m, v, &stats);
        if (v->stopped) {
            continue;
        }
        check_time(m, v, &stats);
        check_interrupts(m, v, &stats);
        check_waiting(m, v, &stats, idle);
    }
    if (!m->stop) {
        sim_oracle_fairness(m);
    }
    for (uint32_t i = 0; i < m->vm_count && !m->stop; i++) {
        check_cap(m, &m->vm[i]);
    }
}

void sim_oracle_final(struct sim_machine *m)
{
    bool stopped = m->stop;
    m->stop = false;
    sim_oracle_check(m);
    m->stop = m->stop || stopped;
}
