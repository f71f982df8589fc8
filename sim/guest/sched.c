/*
 * sched.c - run queues of a guest: wake-ups, preemption, idle.
 *
 * Owns `task`, `queue`, `idle` and `need_resched`. One queue per CPU, in order of arrival; a task
 * runs a slice at most while others wait; a woken task goes to its last CPU, or to an idle one;
 * a CPU that gets idle takes from the longest queue. No priorities, no run-queue locks.
 */
#include "sim/guest/guest.h"

#define PULL_NS 800u

static bool idle_usable(const struct guest *g, uint32_t cpu)
{
    return guest_bit(g->idle, cpu) && !guest_hinted(g, cpu);
}

static uint32_t choose_cpu(const struct guest *g, const struct guest_task *t)
{
    if (t->pinned != GUEST_NONE || idle_usable(g, t->cpu)) {
        return t->pinned != GUEST_NONE ? t->pinned : t->cpu;
    }
    uint32_t cpu = t->cpu;
    for (uint32_t tries = 0; tries < 8; tries++) {
        cpu = guest_bit_next(g->idle, g->config.vcpu_count, cpu + 1);
        if (cpu == GUEST_NONE) {
            break;
        }
        if (idle_usable(g, cpu)) {
            return cpu;
        }
    }
    return t->cpu;
}

static void ask_resched(struct guest *g, struct guest_cpu *c, struct guest_cpu *target)
{
    target->need_resched = true;
    if (target == c) {
        return;
    }
    if (target->polling) {
        sim_guest_spin_end(g->vm, target->id); /* an idle CPU that polls sees the flag */
        return;
    }
    if (!guest_bit(c->resched, target->id)) {
        guest_bit_set(c->resched, target->id);
        c->resched_count++;
    }
    if (target->task != GUEST_NONE) {
        /* Optimistic spinners look at the flag. */
        if (target->wait_sleep != GUEST_NONE) {
            sim_guest_spin_end(g->vm, target->id);
        }
    }
}

void guest_wake(struct guest *g, struct guest_cpu *c, uint32_t task)
{
    struct guest_task *t = &g->task[task];
    if (t->state != GUEST_TASK_BLOCKED) {
        return;
    }
    guest_owe(c, g->kernel.wake_ns);
    if (g->cpu[t->cpu].task == task) {
        t->state = GUEST_TASK_RUNNING; /* it was about to sleep, and won't */
        return;
    }
    t->state = GUEST_TASK_READY;
    t->cpu = choose_cpu(g, t);
    struct guest_cpu *target = &g->cpu[t->cpu];
    bool was_idle = target->task == GUEST_NONE;
    guest_list_push(g, &target->queue, task);
    guest_bit_clear(g->idle, target->id);
    if (was_idle ? target->queue.count == 1
                 : g->now_ns - target->since_ns > g->kernel.granule_ns) {
        ask_resched(g, c, target);
    }
}

static void leave(struct guest *g, struct guest_cpu *c)
{
    struct guest_task *t = guest_current(g, c);
    guest_sleeplock_owner_off(g, t);
    c->task = GUEST_NONE;
    c->need_resched = false;
    c->look = true;
    c->since_ns = g->now_ns;
}

void guest_block(struct guest *g, struct guest_cpu *c)
{
    leave(g, c);
    if (c->queue.count == 0) {
        guest_bit_set(g->idle, c->id);
    }
}

void guest_preempt(struct guest *g, struct guest_cpu *c)
{
    struct guest_task *t = guest_current(g, c);
    if (c->queue.count == 0) {
        c->need_resched = false;
        c->since_ns = g->now_ns;
        return;
    }
    t->state = GUEST_TASK_READY;
    leave(g, c);
    guest_list_push(g, &c->queue, t->id);
}

static struct guest_cpu *longest(struct guest *g, const struct guest_cpu *c)
{
    struct guest_cpu *best = NULL;
    for (uint32_t i = 1; i < g->config.vcpu_count; i++) {
        struct guest_cpu *other = &g->cpu[(c->id + i) % g->config.vcpu_count];
        if (other->task != GUEST_NONE && other->queue.count > 0 &&
            (best == NULL || other->queue.count > best->queue.count)) {
            best = other;
        }
    }
    return best;
}

/* The first task of a longer queue that may run here. */
static uint32_t pull(struct guest *g, struct guest_cpu *c)
{
    struct guest_cpu *from = longest(g, c);
    if (from == NULL) {
        return GUEST_NONE;
    }
    uint32_t count = from->queue.count;
    uint32_t found = GUEST_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = guest_list_pop(g, &from->queue);
        if (found == GUEST_NONE && g->task[task].pinned == GUEST_NONE) {
            found = task;
        } else {
            guest_list_push(g, &from->queue, task);
        }
    }
    return found;
}

bool guest_pick(struct guest *g, struct guest_cpu *c, bool may_pull)
{
    uint32_t task = guest_list_pop(g, &c->queue);
    if (task == GUEST_NONE && may_pull) {
        task = pull(g, c);
        guest_owe(c, PULL_NS);
    }
    if (task == GUEST_NONE) {
        return false;
    }
    struct guest_task *t = &g->task[task];
    t->state = GUEST_TASK_RUNNING;
    t->cpu = c->id;
    c->task = task;
    c->need_resched = false;
    c->poll_done = false;
    c->polling = false;
    c->since_ns = g->now_ns;
    guest_bit_clear(g->idle, c->id);
    guest_owe(c, g->kernel.switch_ns);
    guest_mm_load(g, c, t->mm);
    guest_clock_busy(g, c);
    return true;
}

bool guest_idle_step(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    bool look = c->look;
    c->look = false;
    c->need_resched = false;
    if (guest_pick(g, c, look)) {
        return false;
    }
    guest_bit_set(g->idle, c->id);
    if (c->owed_ns > 0) {
        return false; /* the look is paid for first */
    }
    c->lazy = true;
    if (g->kernel.poll_ns > 0 && !c->poll_done) {
        uint64_t left_ns = c->spin_broken ? c->spin_left_ns : g->kernel.poll_ns;
        c->poll_done = c->polling && !c->spin_broken;
        c->polling = !c->poll_done;
        if (c->polling) {
            *step = (struct sim_step){.kind = SIM_STEP_SPIN, .ns = left_ns};
            return true;
        }
    }
    c->polling = false;
    guest_clock_idle(g, c);
    if (g->kernel.poll_ns > 0 && !c->poll_told &&
        (g->config.features & GUEST_FEATURE_POLL_CONTROL) != 0) {
        c->poll_told = true;
        *step = (struct sim_step){.kind = SIM_STEP_POLL_CONTROL, .irq_off = 1, .poll_off = 1};
        return true;
    }
    *step = (struct sim_step){.kind = SIM_STEP_HALT};
    return true;
}
