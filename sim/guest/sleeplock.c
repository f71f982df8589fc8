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

/* Phases of taking it, and of releasing it. */
enum { START, SPIN, QUEUE, QUEUED, SLEEP, ASLEEP, RETRY, RETRIED };
enum { RELEASE, WAKE_LOCK, WAKE_LOCKED, WAKE_UNLOCK, WAKE };
enum { NO_HANDOFF, WANTS, GRANTED }; /* t->handoff */

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

static void wake_later(struct guest *g, struct guest_cpu *c, struct guest_sleeplock *l)
{
    guest_list_push(g, &c->wakes, guest_list_pop(g, &l->waiters));
}

/* Readers at the head of the queue get the lock now; a writer is woken to try. */
static void choose_waiters(struct guest *g, struct guest_cpu *c, struct guest_sleeplock *l,
                           uint32_t lock)
{
    uint32_t head = l->waiters.head;
    if (head == GUEST_NONE || l->waking || l->writer != GUEST_NONE) {
        return;
    }
    struct guest_task *t = &g->task[head];
    if (wants_write(t)) {
        if (l->readers > 0) {
            return;
        }
        wake_later(g, c, l);
        if (t->handoff == WANTS) {
            t->handoff = GRANTED;
            own(g, l, t, lock, true);
        } else {
            l->waking = true;
        }
        return;
    }
    while (head != GUEST_NONE && !wants_write(&g->task[head])) {
        wake_later(g, c, l);
        l->readers++;
        g->task[head].handoff = GRANTED;
        guest_owe(c, g->kernel.queue_ns / 2);
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

/* Under wait_lock: into the queue; one that was there before comes first again. */
static void queue_up(struct guest *g, struct guest_task *t, struct guest_sleeplock *l, bool again)
{
    uint64_t limit_ns = g->kernel.handoff_ns;
    t->lock_since_ns = again ? t->lock_since_ns : g->now_ns;
    t->handoff = limit_ns > 0 && g->now_ns - t->lock_since_ns >= limit_ns ? WANTS : NO_HANDOFF;
    t->state = GUEST_TASK_BLOCKED; /* may be woken from here on */
    if (again) {
        push_front(g, &l->waiters, t->id);
    } else {
        guest_list_push(g, &l->waiters, t->id);
    }
}

static bool work(struct guest_task *t, uint8_t phase, uint64_t ns, struct sim_step *step)
{
    t->phase = phase;
    *step = (struct sim_step){.kind = SIM_STEP_RUN, .irq_off = 1, .ns = ns};
    return true;
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

static void got_it(struct guest *g, struct guest_sleeplock *l, struct guest_task *t, uint32_t lock,
                   bool write)
{
    own(g, l, t, lock, write);
    t->handoff = NO_HANDOFF;
    guest_op_done(t);
}

/* Without the list of waiters: at once, or by spinning. True: *step; done: the lock is taken. */
static bool try_fast(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                     bool write, struct sim_step *step)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    bool turn = t->phase == START || l->spin_head == c->id;
    if (turn && available(g, l, write)) {
        if (t->phase == SPIN) {
            leave_spinners(g, c, l);
        }
        got_it(g, l, t, lock, write);
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
    t->phase = QUEUE;
    return false;
}

/*
 * Under wait_lock: takes the lock after all, or queues. The lock may have become free without
 * anybody left to wake the queue, so a writer looks again here, as a reader without others does.
 */
static bool queue_locked(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                         bool write, struct sim_step *step)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    bool again = t->phase == RETRIED;
    if (again) {
        l->waking = false;
    }
    if (available(g, l, write)) {
        got_it(g, l, t, lock, write);
    } else {
        queue_up(g, t, l, again);
        t->phase = SLEEP;
    }
    (void)c;
    return guest_spin_release(g, l->wait_lock, step);
}

bool guest_sleep_lock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                      bool write, struct sim_step *step)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    switch (t->phase) {
    case START:
    case SPIN:
        return try_fast(g, c, t, lock, write, step);
    case QUEUE:
    case RETRY:
        if (!guest_spin_acquire(g, c, l->wait_lock, true, step)) {
            return true;
        }
        return work(t, t->phase == QUEUE ? QUEUED : RETRIED, g->kernel.queue_ns, step);
    case QUEUED:
    case RETRIED:
        return queue_locked(g, c, t, lock, write, step);
    case SLEEP:
        t->phase = ASLEEP;
        if (t->state == GUEST_TASK_BLOCKED) {
            guest_block(g, c);
        }
        return false;
    default:
        break;
    }
    if (t->handoff == GRANTED) {
        t->handoff = NO_HANDOFF;
        guest_op_done(t);
    } else {
        t->phase = RETRY;
    }
    return false;
}

/* Gives up what it holds; whether sleepers may have to be woken. */
static bool give_up(struct guest_task *t, struct guest_sleeplock *l, uint32_t lock)
{
    uint8_t kind = t->program[t->pc].kind;
    if (kind == GUEST_OP_UNREAD) {
        l->readers--;
    } else {
        l->writer = GUEST_NONE;
        l->readers += kind == GUEST_OP_DOWNGRADE;
        disown(t, lock);
    }
    return l->waiters.count > 0 && (l->readers == 0 || kind == GUEST_OP_DOWNGRADE);
}

static void wake_chosen(struct guest *g, struct guest_cpu *c)
{
    uint32_t task;
    while ((task = guest_list_pop(g, &c->wakes)) != GUEST_NONE) {
        guest_wake(g, c, task);
    }
}

bool guest_sleep_unlock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                        struct sim_step *step)
{
    struct guest_sleeplock *l = &g->sleeplock[lock];
    switch (t->phase) {
    case RELEASE:
        t->phase = give_up(t, l, lock) ? WAKE_LOCK : WAKE;
        look_again(g, l->spin_head);
        return false;
    case WAKE_LOCK:
        if (!guest_spin_acquire(g, c, l->wait_lock, true, step)) {
            return true;
        }
        return work(t, WAKE_LOCKED, g->kernel.queue_ns, step);
    case WAKE_LOCKED:
        choose_waiters(g, c, l, lock);
        t->phase = WAKE_UNLOCK; /* what that cost is paid before */
        return false;
    case WAKE_UNLOCK:
        t->phase = WAKE;
        return guest_spin_release(g, l->wait_lock, step);
    default:
        break;
    }
    wake_chosen(g, c);
    guest_op_done(t);
    return false;
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
