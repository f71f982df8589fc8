/*
 * task.c - the interpreter: turns the current task's operations into steps.
 *
 * Owns `pc`, `phase`, `loop` of tasks. Operations that take no time follow each other at once.
 */
#include "sim/guest/guest.h"

#define EXIT_COST_NS 3000u /* a task's end: its kernel part that no program gives */

void guest_op_done(struct guest_task *t)
{
    t->pc++;
    t->phase = 0;
}

bool guest_should_yield(const struct guest_cpu *c)
{
    return c->need_resched && c->queue.count > 0;
}

static uint64_t draw_ns(struct guest_task *t, const struct guest_op *op)
{
    if (op->spread == 0) {
        return op->ns;
    }
    if (op->spread == GUEST_SPREAD_EXPONENTIAL) {
        return sim_random_exponential(&t->random, op->ns);
    }
    return sim_random_around(&t->random, op->ns, op->spread);
}

static bool compute(struct guest_task *t, const struct guest_op *op, struct sim_step *step)
{
    *step = (struct sim_step){.kind = SIM_STEP_RUN,
                              .user = op->kind == GUEST_OP_USER,
                              .irq_off = t->irq_off != 0,
                              .ns = draw_ns(t, op)};
    guest_op_done(t);
    return true;
}

static void block(struct guest *g, struct guest_cpu *c, struct guest_task *t)
{
    t->state = GUEST_TASK_BLOCKED;
    guest_block(g, c);
}

static void sleep_until(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                        const struct guest_op *op)
{
    if (t->phase == 0) {
        t->phase = 1;
        t->wake_ns = g->now_ns + draw_ns(t, op);
    } else {
        if (op->kind == GUEST_OP_PERIOD) {
            cede_histogram_add(&g->latency, g->now_ns - t->stamp_ns);
        }
        guest_op_done(t);
        return;
    }
    if (op->kind == GUEST_OP_PERIOD) {
        t->stamp_ns = t->stamp_ns == 0 ? g->now_ns : t->stamp_ns;
        t->stamp_ns += ((g->now_ns - t->stamp_ns) / op->ns + 1) * op->ns;
        t->wake_ns = t->stamp_ns;
    }
    block(g, c, t);
    guest_clock_sleep(g, c, t);
}

void guest_sem_post(struct guest *g, struct guest_cpu *c, uint32_t sem)
{
    struct guest_sem *s = &g->sem[sem];
    uint32_t waiter = guest_list_pop(g, &s->waiters);
    if (waiter == GUEST_NONE) {
        s->value++;
    } else {
        guest_wake(g, c, waiter); /* the unit is its own already: its phase says so */
    }
}

static void wait(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t sem)
{
    struct guest_sem *s = &g->sem[sem];
    if (t->phase == 1) {
        guest_op_done(t);
    } else if (s->value > 0) {
        s->value--;
        guest_op_done(t);
    } else {
        t->phase = 1;
        block(g, c, t);
        guest_list_push(g, &s->waiters, t->id);
    }
}

static void end_task(struct guest *g, struct guest_cpu *c, struct guest_task *t)
{
    guest_owe(c, EXIT_COST_NS);
    t->state = GUEST_TASK_DEAD;
    g->tasks_living--;
    if (t->parent != GUEST_NONE) {
        struct guest_task *parent = &g->task[t->parent];
        parent->children--;
        if (parent->children == 0 && parent->waits_children) {
            parent->waits_children = false;
            guest_wake(g, c, parent->id);
        }
    }
    guest_block(g, c);
    t->next = g->dead;
    g->dead = t->id;
}

static void spawn(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                  const struct guest_op *op)
{
    bool thread = op->kind == GUEST_OP_THREAD;
    uint32_t parent = t->id;
    guest_op_done(t);
    /* A process' address space is its CPU's only while it runs; none of ours is shared. */
    uint32_t id = guest_add_task(g, t->program, thread ? t->mm : GUEST_NONE, t->pinned);
    if (id == GUEST_NONE) {
        return; /* no memory: as fork() fails */
    }
    struct guest_task *child = &g->task[id];
    child->pc = op->a;
    child->parent = parent;
    child->cpu = c->id;
    g->task[parent].children++;
    guest_wake(g, c, id);
}

static void join(struct guest *g, struct guest_cpu *c, struct guest_task *t)
{
    if (t->children == 0) {
        guest_op_done(t);
        return;
    }
    t->waits_children = true;
    block(g, c, t);
}

static void loop(struct guest_task *t, const struct guest_op *op)
{
    uint32_t *count = &t->loop[op->level];
    if (++*count < op->a) {
        t->pc = op->b;
        t->phase = 0;
    } else {
        *count = 0;
        guest_op_done(t);
    }
}

static void jump(struct guest_task *t, const struct guest_op *op)
{
    if (op->kind == GUEST_OP_JUMP) {
        t->pc = op->a;
        t->phase = 0;
    } else if (sim_random_below(&t->random, 1024) < op->a) {
        t->pc = op->b;
        t->phase = 0;
    } else {
        guest_op_done(t);
    }
}

static void take(struct guest *g, struct guest_task *t, const struct guest_op *op)
{
    if (g->sem[op->a].value > 0) {
        g->sem[op->a].value--;
        guest_op_done(t);
    } else {
        t->pc = op->b;
        t->phase = 0;
    }
}

/* Operations of the program's own bookkeeping: no time passes in the guest. */
static void note(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                 const struct guest_op *op)
{
    switch (op->kind) {
    case GUEST_OP_TALLY:
        g->count[op->a]++;
        guest_op_done(t);
        break;
    case GUEST_OP_STAMP:
        t->stamp_ns = g->now_ns;
        guest_op_done(t);
        break;
    case GUEST_OP_RECORD:
        cede_histogram_add(&g->latency, g->now_ns - t->stamp_ns);
        guest_op_done(t);
        break;
    case GUEST_OP_LOOP:
        loop(t, op);
        break;
    case GUEST_OP_TAKE:
        take(g, t, op);
        break;
    case GUEST_OP_FINISH:
        g->done_ns = g->now_ns;
        guest_op_done(t);
        sim_guest_done(g->vm, 0);
        break;
    case GUEST_OP_YIELD:
        guest_op_done(t);
        guest_preempt(g, c);
        break;
    default:
        jump(t, op);
        break;
    }
}

static bool execute(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                    const struct guest_op *op, struct sim_step *step)
{
    switch ((enum guest_op_kind)op->kind) {
    case GUEST_OP_USER:
    case GUEST_OP_KERNEL:
        return compute(t, op, step);
    case GUEST_OP_LOCK:
    case GUEST_OP_IRQ_LOCK:
        return guest_spin_lock(g, c, t, op->a, step);
    case GUEST_OP_UNLOCK:
    case GUEST_OP_IRQ_UNLOCK:
        return guest_spin_unlock(g, t, op->a, step);
    case GUEST_OP_WRITE:
        return guest_sleep_lock(g, c, t, op->a, true, step);
    case GUEST_OP_READ:
        return guest_sleep_lock(g, c, t, op->a, false, step);
    case GUEST_OP_UNWRITE:
    case GUEST_OP_UNREAD:
    case GUEST_OP_DOWNGRADE:
        return guest_sleep_unlock(g, c, t, op->a, step);
    case GUEST_OP_SHOOTDOWN:
        return guest_shootdown(g, c, t, op->a != 0, false, step);
    case GUEST_OP_CALL:
        return guest_shootdown(g, c, t, false, true, step);
    case GUEST_OP_SLEEP:
    case GUEST_OP_PERIOD:
        sleep_until(g, c, t, op);
        return false;
    case GUEST_OP_POST:
        guest_op_done(t);
        guest_sem_post(g, c, op->a);
        return false;
    case GUEST_OP_WAIT:
        wait(g, c, t, op->a);
        return false;
    case GUEST_OP_IO:
    case GUEST_OP_DOORBELL:
        return guest_request(g, c, t, op, step);
    case GUEST_OP_SPAWN:
    case GUEST_OP_THREAD:
        spawn(g, c, t, op);
        return false;
    case GUEST_OP_JOIN:
        join(g, c, t);
        return false;
    case GUEST_OP_END:
        end_task(g, c, t);
        return false;
    case GUEST_OP_TALLY:
    case GUEST_OP_STAMP:
    case GUEST_OP_RECORD:
    case GUEST_OP_LOOP:
    case GUEST_OP_JUMP:
    case GUEST_OP_CHANCE:
    case GUEST_OP_YIELD:
    case GUEST_OP_FINISH:
    case GUEST_OP_TAKE:
    case GUEST_OP_COUNT:
        break;
    }
    note(g, c, t, op);
    return false;
}

bool guest_task_step(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    struct guest_task *t = guest_current(g, c);
    if (t->has_rest) {
        t->has_rest = false;
        *step = t->rest;
        return true;
    }
    const struct guest_op *op = &t->program[t->pc];
    if (op->kind == GUEST_OP_USER && guest_should_yield(c)) {
        guest_preempt(g, c);
        return false;
    }
    return execute(g, c, t, op, step);
}
