/*
 * fairness.c - the oracle "fairness": VMs that all want more than there is get what their weights say.
 *
 * Looked at over windows of WINDOW_NS, and only where the answer is plain: every pCPU is shared, no VM
 * is capped, pinned or kept to some pCPUs, and each VM wanted its pCPUs all the time or not at all.
 * Then a VM's due is its weight's part of the pCPU time that all got, at most its vCPUs' whole time,
 * what it can't use going to the others. The bound: it gets at least BOUND_PERCENT of that, less one
 * slice for each of its vCPUs.
 */
#include "sim/engine/machine.h"

#define WINDOW_NS UINT64_C(500000000)
#define BOUND_PERCENT 85u
#define ROUNDS 16u

static bool is_plain(const struct sim_machine *m)
{
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        if (m->pcpu[i].role != CEDE_ROLE_SHARED) {
            return false;
        }
    }
    for (uint32_t i = 0; i < m->vm_count; i++) {
        const struct abi_manifest_vm *record = m->vm[i].record;
        uint32_t allowed = 0;
        for (uint32_t k = 0; k < ABI_MANIFEST_PCPU_MAX / 64; k++) {
            allowed += (uint32_t)__builtin_popcountll(record->affinity[k]);
        }
        if (record->quota_ns != 0 || record->pin != ABI_PIN_NONE || allowed != m->pcpu_count ||
            m->vm[i].dedicated) {
            return false;
        }
    }
    return true;
}

/* What the VM got and what it wanted since the last window: pCPU time, and that plus steal. */
static void measure(struct sim_machine *m, struct sim_vm *vm, uint64_t *got_ns, uint64_t *want_ns)
{
    struct cede_vcpu_stats stats;
    uint64_t got = 0, want = 0;
    for (uint32_t i = vm->first; i < vm->first + vm->count; i++) {
        if (cede_vcpu_stats(m->core, m->now_ns, (struct cede_vcpu_id){i}, &stats) != CEDE_OK) {
            continue;
        }
        got += stats.time_ns[CEDE_TIME_GUEST_USER] + stats.time_ns[CEDE_TIME_GUEST_KERNEL] +
               stats.time_ns[CEDE_TIME_SPIN] + stats.time_ns[CEDE_TIME_HYPERVISOR];
        want += stats.time_ns[CEDE_TIME_STEAL];
    }
    *got_ns = got - vm->fair_got_ns;
    *want_ns = got + want - vm->fair_want_ns;
    vm->fair_got_ns = got;
    vm->fair_want_ns = got + want;
}

/*
 * Divides what all got: in each round those that are still below their most take by weight; who
 * reaches it leaves the rest to the others.
 */
static void divide(struct sim_machine *m, uint64_t total_ns, uint64_t window_ns)
{
    for (uint32_t i = 0; i < m->vm_count; i++) {
        m->vm[i].fair_due_ns = 0;
    }
    for (uint32_t round = 0; round < ROUNDS && total_ns > 1000; round++) {
        uint64_t weights = 0, given = 0;
        for (uint32_t i = 0; i < m->vm_count; i++) {
            const struct sim_vm *vm = &m->vm[i];
            bool more = vm->fair_wants && vm->fair_due_ns < vm->count * window_ns;
            weights += more ? vm->record->weight : 0;
        }
        for (uint32_t i = 0; i < m->vm_count && weights > 0; i++) {
            struct sim_vm *vm = &m->vm[i];
            uint64_t most_ns = vm->count * window_ns;
            if (!vm->fair_wants || vm->fair_due_ns >= most_ns) {
                continue;
            }
            uint64_t part_ns =
                (uint64_t)((unsigned __int128)total_ns * vm->record->weight / weights);
            uint64_t room_ns = most_ns - vm->fair_due_ns;
            part_ns = part_ns < room_ns ? part_ns : room_ns;
            vm->fair_due_ns += part_ns;
            given += part_ns;
        }
        total_ns -= given < total_ns ? given : total_ns;
        if (given == 0) {
            return;
        }
    }
}

void sim_oracle_fairness(struct sim_machine *m)
{
    uint64_t window_ns = m->now_ns - m->fair_since_ns, total_ns = 0;
    bool plain = true;
    if (window_ns < WINDOW_NS) {
        return;
    }
    m->fair_since_ns = m->now_ns;
    for (uint32_t i = 0; i < m->vm_count; i++) {
        struct sim_vm *vm = &m->vm[i];
        uint64_t want_ns, all_ns = vm->count * window_ns;
        measure(m, vm, &vm->fair_last_ns, &want_ns);
        total_ns += vm->fair_last_ns;
        vm->fair_wants = want_ns >= all_ns / 100 * 99;
        plain = plain && !vm->stopping && !vm->paused &&
                (vm->fair_wants || want_ns <= all_ns / 100);
    }
    if (!plain || !is_plain(m)) {
        return;
    }
    divide(m, total_ns, window_ns);
    for (uint32_t i = 0; i < m->vm_count; i++) {
        const struct sim_vm *vm = &m->vm[i];
        uint64_t slack_ns = vm->count * vm->record->policy[CEDE_POLICY_SLICE_NS];
        if (vm->fair_wants &&
            vm->fair_last_ns + slack_ns < vm->fair_due_ns / 100 * BOUND_PERCENT) {
            sim_oracle_violation(m, "fairness", "%s got %llu ms of pCPU time in %llu ms; due: %llu",
                                 vm->record->name,
                                 (unsigned long long)(vm->fair_last_ns / 1000000),
                                 (unsigned long long)(window_ns / 1000000),
                                 (unsigned long long)(vm->fair_due_ns / 1000000));
        }
    }
}
