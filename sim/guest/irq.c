/*
 * irq.c - a guest's interrupt handlers: each is its entry and work as one RUN with interrupts off,
 * then its effect at the end of it.
 *
 * Owns `irq` of a CPU and `rest` of a task. Handlers never nest: all of their steps are irq_off.
 */
#include "sim/guest/guest.h"

static uint64_t handler_ns(const struct guest *g, const struct guest_cpu *c)
{
    switch ((enum sim_vector)(c->irq - 1)) {
    case SIM_VECTOR_CALL:
        return g->kernel.irq_ns + g->kernel.call_ns;
    case SIM_VECTOR_TIMER:
        return g->kernel.irq_ns + (g->now_ns >= c->tick_ns ? g->kernel.tick_ns : 0);
    case SIM_VECTOR_DEVICE:
        return g->kernel.irq_ns + g->kernel.device_ns * (c->completions.count + c->packets);
    case SIM_VECTOR_RESCHED:
    case SIM_VECTOR_OTHER:
    case SIM_VECTOR_COUNT:
        break;
    }
    return g->kernel.irq_ns;
}

void guest_irq_begin(struct guest *g, struct guest_cpu *c, enum sim_vector vector,
                     const struct sim_step *rest)
{
    c->irq = (uint8_t)(vector + 1);
    c->irq_phase = 0;
    if (rest->kind == SIM_STEP_RUN && c->task != GUEST_NONE) {
        struct guest_task *t = guest_current(g, c);
        t->rest = *rest;
        t->has_rest = true;
    }
}

static void effect(struct guest *g, struct guest_cpu *c)
{
    switch ((enum sim_vector)(c->irq - 1)) {
    case SIM_VECTOR_CALL:
        guest_call_answer(g, c);
        break;
    case SIM_VECTOR_TIMER:
        guest_clock_handle(g, c);
        break;
    case SIM_VECTOR_DEVICE:
        guest_device_handle(g, c);
        break;
    case SIM_VECTOR_RESCHED:
        c->look = true;
        break;
    case SIM_VECTOR_OTHER:
    case SIM_VECTOR_COUNT:
        break;
    }
}

bool guest_irq_step(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    if (c->irq_phase == 0) {
        c->irq_phase = 1;
        *step = (struct sim_step){.kind = SIM_STEP_RUN, .irq_off = 1, .ns = handler_ns(g, c)};
        return true;
    }
    effect(g, c);
    c->irq = 0;
    /* On the way back to user level another task may get the CPU; the kernel isn't preempted. */
    if (c->task != GUEST_NONE && c->need_resched) {
        const struct guest_task *t = guest_current(g, c);
        if (t->has_rest && t->rest.user != 0) {
            guest_preempt(g, c);
        }
    }
    return false;
}
