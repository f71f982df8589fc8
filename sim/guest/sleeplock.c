/*
 * sleeplock.c - mutexes and rwsems, with optimistic spinning.
 *
 * Owns struct guest_sleeplock, `held` and `handoff` of tasks. A writer that finds the lock taken by
 * a writer whose task runs spins for it instead of sleeping; several queue up, and only the first
 * of the queue looks at the lock. It gives up when the owner sleeps or is preempted in the guest,
 * when it should let another task run, or, with the hint, when the owner's vCPU has no pCPU; those
 * behind give up, with the hint, when the one before them has none. Readers don't spin, and nobody
 * spins for readers. Released, the lock is free for whoever comes first; a writer that slept and
 * lost the race once asks to be handed it. All sleeping readers are let in at once.
 */
#include "sim/guest/guest.h"

enum { START, SPIN, ASLEEP };            /* phases of the operation */
enum { NO_HANDOFF, WANTS, GRANTED };     /* t->handoff */

static bool wants_write(const struct guest_task *t)
{
    return t->program[t->pc].kind == GUEST_OP_WRITE;
}

static bool available(const struct guest *g, const struct guest_sleeplock *l, bool write)
{
    if (l->writer != GUEST_NONE) {
        return false;
    }
    bool handoff = l->waiters.head != GUEST_NONE && g->task[l->waiters.head].handoff == WANTS;
    return write ? l->readers == 0 && !handoff : l->waiters.count == 0;
}

static void own(struct guest *g, struct guest_sleeplock *l, struct guest_task *t, uint32_t lock,
                bool write)
{
    if (l->last != t->cpu) {
        guest_owe(&g->cpu[t->cpu], g->kernel.line_ns);
        l->last = t->cpu;
    }
    if (!write) {
        l->readers++;
        return;
    }
    l->writer = t->id;
    if (t->held_count < GUEST_HELD) {
        t->held[t->held_count++] = lock;
    }
}

static void disown(struct guest_task *t, uint32_t lock)
{
    for (uint32_t i = 0; i < t->held_count; i++) {
        if (t->held[i] == lock) {
            t->held[i] = t->held[--t->held_count];
            return;
        }
    }
}

static void look_again(struct guest *g, uint32_t cpu)
{
    if (cpu != GUEST_NONE) {
        sim_guest_spin_end(g->vm, cpu);
    }
}

/* Readers at the head of the queue get the lock now; a writer is woken to try. */
static void wake_waiters(struct guest *g, struct guest_cpu *c, struct guest_sleeplock *l,
                         uint32_t lock)
{
    uint32_t head = l->waiters.head;
    if (head == GUEST_NONE || l->waking) {
        return;
    }
    struct guest_task *t = &g->task[head];
    if (wants_write(t)) {
        if (l->readers > 0) {
            return;
        }
        guest_list_pop(g, &l->waiters);
        if (t->handoff == WANTS) {
            t->handoff = GRANTED;
            own(g, l, t, lock, true);
        } else {
            l->waking = true;
        }
        guest_wake(g, c, head);
        return;
    }
    while (head != GUEST_NONE && !wants_write(&g->task[head])) {
        guest_list_pop(g, &l->waiters);
        l->readers++;
        g->task[head].handoff = GRANTED;
        guest_wake(g, c, head);
        head = l->waiters.head;
    }
}

static bool owner_runs(const struct guest *g, const struct guest_sleeplock *l)
{
    if (l->writer == GUEST_NONE) {
        return l->readers == 0; /* free at this instant */
    }
    const struct guest_task *owner = &g->task[l->writer];
    return owner->state == GUEST_TASK_RUNNING && !guest_hinted(g, owner->cpu);
}

static void push_front(struct guest *g, struct guest_list *list, uint32_t task)
{
    g->task[task].next = list->head;
    list->head = task;
    if (list->tail == GUEST_NONE) {
        list->tail = task;
    }
    list->count++;
}

static void sleep_on(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                     struct guest_sleeplock *l)
{
    bool again = t->phase == ASLEEP;
    t->phase = ASLEEP;
    t->handoff = again ? WANTS : NO_HANDOFF;
    t->state = GUEST_TASK_BLOCKED;
    guest_block(g, c);
    if (again) {
        push_front(g, &l->waiters, t->id);
    } else {
        guest_list_push(g, &l->waiters, t->id);
    }
}

static void leave_spinners(struct guest *g, struct guest_cpu *c, struct guest_sleeplock *l)
{
    bool was_head = l->spin_head == c->id;
    guest_wait_remove(g, &l->spin_head, &l->spin_tail, c);
    c->wait_sleep = GUEST_NONE;
    if (was_head) {
        look_again(g, l->spin_head);
    }
}

static bool spins_on(const struct guest *g, const struct guest_cpu *c,
                     const struct guest_sleeplock *l)
{
    if (c->need_resched) {
        return false;
    }
    return l->spin_head == c->id ? owner_runs(g, l) : !guest_hinted(g, c->wait_prev);
}

bool guest_sleep_lock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                      bool write, struct sim_step *step)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    if (t->handoff == GRANTED) {
        t->handoff = NO_HANDOFF;
        guest_op_done(t);
        return false;
    }
    if (t->phase == ASLEEP) {
        l->waking = false;
    }
    bool turn = t->phase != SPIN || l->spin_head == c->id;
    if (turn && available(g, l, write)) {
        if (t->phase == SPIN) {
            leave_spinners(g, c, l);
        }
        own(g, l, t, lock, write);
        guest_op_done(t);
        return false;
    }
    if (t->phase == START && write && g->kernel.optimistic && owner_runs(g, l) &&
        !c->need_resched) {
        t->phase = SPIN;
        c->wait_sleep = lock;
        guest_wait_add(g, &l->spin_head, &l->spin_tail, c);
    }
    if (t->phase == SPIN && spins_on(g, c, l)) {
        *step = (struct sim_step){.kind = SIM_STEP_SPIN};
        return true;
    }
    if (t->phase == SPIN) {
        leave_spinners(g, c, l);
    }
    sleep_on(g, c, t, l);
    return false;
}

void guest_sleep_unlock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                        bool write)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    guest_op_done(t);
    if (write) {
        l->writer = GUEST_NONE;
        disown(t, lock);
    } else if (--l->readers > 0) {
        return;
    }
    wake_waiters(g, c, l, lock);
    look_again(g, l->spin_head);
}

void guest_sleep_downgrade(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                           uint32_t lock)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    guest_op_done(t);
    disown(t, lock);
    l->writer = GUEST_NONE;
    l->readers = 1;
    wake_waiters(g, c, l, lock);
    look_again(g, l->spin_head);
}

void guest_sleeplock_owner_off(struct guest *g, const struct guest_task *t)
{
    for (uint32_t i = 0; i < t->held_count; i++) {
        look_again(g, g->sleeplock[t->held[i]].spin_head);
    }
}

enum sim_spin_blame guest_sleeplock_blame(const struct guest *g, const struct guest_cpu *c)
{
    const struct guest_sleeplock *l = &g->sleeplock[c->wait_sleep];
    bool prev_off = c->wait_prev != GUEST_NONE && !sim_guest_on_cpu(g->vm, c->wait_prev);
    bool owner_off = l->writer != GUEST_NONE && !sim_guest_on_cpu(g->vm, g->task[l->writer].cpu);
    return prev_off || owner_off ? SIM_SPIN_LOCK_OFF_CPU : SIM_SPIN_OTHER;
}
