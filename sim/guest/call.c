/*
 * call.c - synchronous cross-calls and TLB shootdowns: the sender spins until all have answered.
 *
 * Owns `callers`, `awaited`, `answers`, `mm`, `lazy` of CPUs. An IPI goes only to a target that has
 * no call pending yet, as Linux' call queues do. The sender waits with interrupts on, so it answers
 * others meanwhile. With PV TLB flush, targets that are known to have no pCPU are left a flag
 * instead; with PV sched yield, one that has none is yielded to after the IPI.
 */
#include "sim/guest/guest.h"

#include <string.h>

void guest_mm_load(struct guest *g, struct guest_cpu *c, uint32_t mm)
{
    c->lazy = false;
    if (c->mm == mm) {
        return;
    }
    if (c->mm != GUEST_NONE) {
        guest_bit_clear(g->mm[c->mm].cpus, c->id);
    }
    if (mm != GUEST_NONE) {
        guest_bit_set(g->mm[mm].cpus, c->id);
    }
    c->mm = mm;
}

/* An idle CPU that keeps an address space only has to hear of freed page tables. */
static bool wanted(struct guest *g, const struct guest_cpu *c, uint32_t target, bool tables,
                   bool everybody)
{
    if (target == c->id || (everybody && g->cpu[target].task == GUEST_NONE)) {
        return false;
    }
    if (!everybody && g->cpu[target].lazy && !tables) {
        return false;
    }
    bool flush = !everybody && (g->config.features & GUEST_FEATURE_FLUSH) != 0;
    return !(flush && g->kernel.hint && sim_guest_flush_when_run(g->vm, target));
}

/* Notes the targets; false if none has to be interrupted. */
static bool call(struct guest *g, struct guest_cpu *c, const uint64_t *cpus, bool tables,
                 bool everybody)
{
    bool any = false;
    memset(c->send, 0, g->words * sizeof *c->send);
    for (uint32_t i = 0; i < g->config.vcpu_count; i++) {
        if ((cpus != NULL && !guest_bit(cpus, i)) || !wanted(g, c, i, tables, everybody)) {
            continue;
        }
        struct guest_cpu *target = &g->cpu[i];
        guest_owe(c, g->kernel.call_send_ns);
        guest_bit_set(c->awaited, i);
        guest_bit_set(target->callers, c->id);
        c->answers++;
        if (!target->call_pending) {
            target->call_pending = true;
            guest_bit_set(c->send, i);
            any = true;
        }
    }
    return any;
}

/* The first target that is known to have no pCPU; GUEST_NONE: none, or no such feature. */
static uint32_t yield_target(const struct guest *g, const struct guest_cpu *c)
{
    if ((g->config.features & GUEST_FEATURE_YIELD) == 0) {
        return GUEST_NONE;
    }
    uint32_t first = guest_bit_next(c->awaited, g->config.vcpu_count, 0);
    for (uint32_t i = first; i < g->config.vcpu_count && i != GUEST_NONE; i++) {
        if (guest_bit(c->awaited, i) && guest_hinted(g, i)) {
            return i;
        }
    }
    return GUEST_NONE;
}

bool guest_shootdown(struct guest *g, struct guest_cpu *c, struct guest_task *t, bool tables,
                     bool everybody, struct sim_step *step)
{
    enum { START, SEND, SENT, WAIT };
    switch (t->phase) {
    case START:
        guest_owe(c, g->kernel.call_ns);
        if (!everybody && t->mm == GUEST_NONE) {
            guest_op_done(t);
            return false;
        }
        t->phase = call(g, c, everybody ? NULL : g->mm[t->mm].cpus, tables, everybody) ? SEND
                                                                                     : WAIT;
        return false;
    case SEND:
        t->phase = SENT;
        *step = (struct sim_step){
            .kind = SIM_STEP_IPI, .irq_off = 1, .vector = SIM_VECTOR_CALL, .targets = c->send};
        return true;
    case SENT: {
        uint32_t target = yield_target(g, c);
        t->phase = WAIT;
        if (target == GUEST_NONE) {
            return false;
        }
        *step = (struct sim_step){.kind = SIM_STEP_YIELD, .irq_off = 1, .target = target};
        return true;
    }
    default:
        break;
    }
    if (c->answers == 0) {
        guest_op_done(t);
        return false;
    }
    *step = (struct sim_step){.kind = SIM_STEP_SPIN};
    return true;
}

void guest_call_answer(struct guest *g, struct guest_cpu *c)
{
    c->call_pending = false;
    if (c->lazy) {
        guest_mm_load(g, c, GUEST_NONE); /* asked once, an idle CPU lets go of it */
    }
    uint32_t caller;
    while ((caller = guest_bit_next(c->callers, g->config.vcpu_count, 0)) != GUEST_NONE) {
        guest_bit_clear(c->callers, caller);
        struct guest_cpu *sender = &g->cpu[caller];
        guest_bit_clear(sender->awaited, c->id);
        if (--sender->answers == 0) {
            sim_guest_spin_end(g->vm, caller);
        } else {
            sim_guest_spin_changed(g->vm, caller);
        }
    }
}

enum sim_spin_blame guest_call_blame(const struct guest *g, struct guest_cpu *c)
{
    if (guest_bit(c->awaited, c->last_late) && !sim_guest_on_cpu(g->vm, c->last_late)) {
        return SIM_SPIN_IPI_OFF_CPU;
    }
    for (uint32_t word = 0; word < g->words; word++) {
        for (uint64_t bits = c->awaited[word]; bits != 0; bits &= bits - 1) {
            uint32_t i = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!sim_guest_on_cpu(g->vm, i)) {
                c->last_late = i;
                return SIM_SPIN_IPI_OFF_CPU;
            }
        }
    }
    return SIM_SPIN_OTHER;
}
