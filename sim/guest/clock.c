/*
 * clock.c - a guest CPU's timer: ticks and sleeping tasks share one deadline timer.
 *
 * Owns `sleepers`, `tick_ns`, `armed_ns`. The timer is programmed only when something is due
 * earlier than what it is set to; a later deadline lets it fire for nothing, as Linux does. An idle
 * CPU keeps its tick if its idle spells are shorter than a tick, and stops it when one fires.
 */
#include "sim/guest/guest.h"

#define NEVER UINT64_MAX

void guest_clock_sleep(struct guest *g, struct guest_cpu *c, struct guest_task *t)
{
    uint32_t before = GUEST_NONE, at = c->sleepers.head;
    while (at != GUEST_NONE && g->task[at].wake_ns <= t->wake_ns) {
        before = at;
        at = g->task[at].next;
    }
    t->next = at;
    if (before == GUEST_NONE) {
        c->sleepers.head = t->id;
    } else {
        g->task[before].next = t->id;
    }
    if (at == GUEST_NONE) {
        c->sleepers.tail = t->id;
    }
    c->sleepers.count++;
}

static uint64_t earliest(const struct guest *g, const struct guest_cpu *c)
{
    uint64_t sleep_ns = c->sleepers.head != GUEST_NONE ? g->task[c->sleepers.head].wake_ns : NEVER;
    return sleep_ns < c->tick_ns ? sleep_ns : c->tick_ns;
}

bool guest_clock_arm(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    uint64_t want_ns = earliest(g, c);
    if (want_ns >= c->armed_ns) {
        return false;
    }
    c->armed_ns = want_ns;
    *step = (struct sim_step){.kind = SIM_STEP_TIMER,
                              .irq_off = 1,
                              .timer = SIM_TIMER_DEADLINE,
                              .deadline_ns = want_ns > g->now_ns ? want_ns : g->now_ns + 1};
    return true;
}

/* Tasks wait here while another CPU is idle: let it come and take one. */
static void offer(struct guest *g, struct guest_cpu *c)
{
    uint32_t idle = guest_bit_next(g->idle, g->config.vcpu_count, c->id + 1);
    if (idle != GUEST_NONE && !guest_bit(c->resched, idle)) {
        guest_bit_set(c->resched, idle);
        c->resched_count++;
    }
}

static void tick(struct guest *g, struct guest_cpu *c)
{
    if (c->task == GUEST_NONE) {
        c->tick_ns = NEVER; /* idle for a whole tick: stop it */
        return;
    }
    c->tick_ns = (g->now_ns / g->kernel.period_ns + 1) * g->kernel.period_ns;
    if (c->queue.count == 0) {
        return;
    }
    if (g->now_ns - c->since_ns >= g->kernel.slice_ns) {
        c->need_resched = true;
    }
    offer(g, c);
}

void guest_clock_handle(struct guest *g, struct guest_cpu *c)
{
    c->armed_ns = NEVER;
    while (c->sleepers.head != GUEST_NONE && g->task[c->sleepers.head].wake_ns <= g->now_ns) {
        guest_wake(g, c, guest_list_pop(g, &c->sleepers));
    }
    if (g->now_ns >= c->tick_ns) {
        tick(g, c);
    }
}

void guest_clock_idle(struct guest *g, struct guest_cpu *c)
{
    if (c->idle_since_ns == 0) {
        c->idle_since_ns = g->now_ns;
    }
    if (c->tick_ns != NEVER && c->idle_average_ns > g->kernel.period_ns) {
        c->tick_ns = NEVER;
    }
}

void guest_clock_busy(struct guest *g, struct guest_cpu *c)
{
    uint64_t idle_ns = g->now_ns - c->idle_since_ns;
    if (c->idle_since_ns != 0) {
        c->idle_average_ns += idle_ns / 8;
        c->idle_average_ns -= c->idle_average_ns / 8;
        c->idle_since_ns = 0;
    }
    if (c->tick_ns == NEVER) {
        c->tick_ns = (g->now_ns / g->kernel.period_ns + 1) * g->kernel.period_ns;
    }
}
