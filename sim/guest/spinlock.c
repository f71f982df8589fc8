/*
 * spinlock.c - spinlocks of four kinds, and the queue of CPUs that both kinds of lock use.
 *
 * Owns struct guest_spinlock, and `wait_*` of CPUs. A task that holds a spinlock keeps its CPU (the
 * guest doesn't preempt the kernel), so the owner is a CPU.
 *
 *   ticket, queued  in order of arrival: the next one owns it as soon as it is released, pCPU or not
 *   unfair          whoever has a pCPU takes it (test and set)
 *   pv              queued; a waiter halts after pv_spin_ns, or at once if the CPU before it is
 *                   known to have no pCPU; a release kicks a halted head; while the head is halted
 *                   others may take the lock
 *
 * Taking a lock that another CPU had last costs line_ns, whatever its kind: ticket and queued locks
 * behave the same (in truth many waiters on one line make ticket locks slower).
 */
#include "sim/guest/guest.h"

void guest_wait_add(struct guest *g, uint32_t *head, uint32_t *tail, struct guest_cpu *c)
{
    c->wait_prev = *tail;
    c->wait_next = GUEST_NONE;
    if (*tail == GUEST_NONE) {
        *head = c->id;
    } else {
        g->cpu[*tail].wait_next = c->id;
    }
    *tail = c->id;
}

void guest_wait_remove(struct guest *g, uint32_t *head, uint32_t *tail, struct guest_cpu *c)
{
    if (c->wait_prev == GUEST_NONE) {
        *head = c->wait_next;
    } else {
        g->cpu[c->wait_prev].wait_next = c->wait_next;
    }
    if (c->wait_next == GUEST_NONE) {
        *tail = c->wait_prev;
    } else {
        g->cpu[c->wait_next].wait_prev = c->wait_prev;
        sim_guest_spin_changed(g->vm, c->wait_next);
    }
    c->wait_prev = c->wait_next = GUEST_NONE;
}

static void take(struct guest *g, struct guest_spinlock *l, struct guest_cpu *c)
{
    l->owner = c->id;
    if (l->last != c->id) {
        guest_owe(c, g->kernel.line_ns);
        l->last = c->id;
    }
}

static void leave_queue(struct guest *g, struct guest_spinlock *l, struct guest_cpu *c)
{
    guest_wait_remove(g, &l->head, &l->tail, c);
    c->wait_lock = GUEST_NONE;
    c->wait_halted = false;
}

static void spin(struct sim_step *step, bool irq_off, uint64_t ns)
{
    *step = (struct sim_step){.kind = SIM_STEP_SPIN, .irq_off = irq_off, .ns = ns};
}

static bool may_take(const struct guest *g, const struct guest_spinlock *l,
                     const struct guest_cpu *c)
{
    if (l->owner != GUEST_NONE) {
        return false;
    }
    if (l->head == GUEST_NONE || l->head == c->id || g->kernel.spinlock == GUEST_LOCK_UNFAIR) {
        return true;
    }
    return g->kernel.spinlock == GUEST_LOCK_PV && g->cpu[l->head].wait_halted;
}

/* A PV waiter's spin ended without the lock: halt until kicked, or spin on. */
static void wait_pv(struct guest *g, struct guest_cpu *c, bool irq_off, struct sim_step *step)
{
    if (c->spin_broken) {
        c->spin_broken = false;
        spin(step, irq_off, c->spin_left_ns);
    } else if (c->wait_halted) {
        c->wait_halted = false;
        spin(step, irq_off, g->kernel.pv_spin_ns);
    } else {
        c->wait_halted = true;
        *step = (struct sim_step){.kind = SIM_STEP_HALT, .irq_off = irq_off};
    }
}

static void enter_queue(struct guest *g, struct guest_spinlock *l, struct guest_cpu *c,
                        uint32_t lock, bool irq_off, struct sim_step *step)
{
    c->wait_lock = lock;
    c->wait_halted = false;
    guest_wait_add(g, &l->head, &l->tail, c);
    bool early = c->wait_prev != GUEST_NONE && guest_hinted(g, c->wait_prev);
    bool pv = g->kernel.spinlock == GUEST_LOCK_PV;
    spin(step, irq_off, !pv ? 0 : early ? 1 : g->kernel.pv_spin_ns);
}

bool guest_spin_acquire(struct guest *g, struct guest_cpu *c, uint32_t lock, bool irq_off,
                        struct sim_step *step)
{
    struct guest_spinlock *l = &g->spinlock[lock];
    bool waiting = c->wait_lock == lock;
    if (l->owner == c->id || may_take(g, l, c)) {
        if (waiting) {
            leave_queue(g, l, c);
        }
        take(g, l, c);
        return true;
    }
    if (!waiting) {
        enter_queue(g, l, c, lock, irq_off, step);
    } else if (g->kernel.spinlock == GUEST_LOCK_PV) {
        wait_pv(g, c, irq_off, step);
    } else {
        spin(step, irq_off, 0);
    }
    return false;
}

/* Test and set: a waiter that spins on a pCPU sees it first; else whoever gets one first. */
static void offer_unfair(struct guest *g, const struct guest_spinlock *l)
{
    for (uint32_t i = l->head; i != GUEST_NONE; i = g->cpu[i].wait_next) {
        if (sim_guest_on_cpu(g->vm, i) && g->cpu[i].irq == 0) {
            sim_guest_spin_end(g->vm, i);
            return;
        }
    }
    for (uint32_t i = l->head; i != GUEST_NONE; i = g->cpu[i].wait_next) {
        sim_guest_spin_end(g->vm, i);
    }
}

bool guest_spin_release(struct guest *g, uint32_t lock, struct sim_step *step)
{
    struct guest_spinlock *l = &g->spinlock[lock];
    uint32_t head = l->head;
    l->owner = GUEST_NONE;
    if (head == GUEST_NONE) {
        return false;
    }
    if (g->kernel.spinlock == GUEST_LOCK_UNFAIR) {
        offer_unfair(g, l);
        return false;
    }
    if (g->kernel.spinlock == GUEST_LOCK_PV && g->cpu[head].wait_halted) {
        *step = (struct sim_step){.kind = SIM_STEP_KICK, .irq_off = 1, .target = head};
        return true;
    }
    l->owner = head;
    sim_guest_spin_end(g->vm, head);
    for (uint32_t i = g->cpu[head].wait_next; i != GUEST_NONE; i = g->cpu[i].wait_next) {
        sim_guest_spin_changed(g->vm, i);
    }
    return false;
}

bool guest_spin_lock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                     struct sim_step *step)
{
    bool irq_off = t->program[t->pc].kind == GUEST_OP_IRQ_LOCK;
    if (!guest_spin_acquire(g, c, lock, irq_off || t->irq_off != 0, step)) {
        return true;
    }
    t->irq_off = (uint8_t)(t->irq_off + irq_off);
    guest_op_done(t);
    return false;
}

bool guest_spin_unlock(struct guest *g, struct guest_task *t, uint32_t lock, struct sim_step *step)
{
    if (t->program[t->pc].kind == GUEST_OP_IRQ_UNLOCK && t->irq_off > 0) {
        t->irq_off--;
    }
    guest_op_done(t);
    return guest_spin_release(g, lock, step);
}

void guest_wait_predecessor_off(struct guest *g, const struct guest_cpu *c)
{
    if (c->wait_next == GUEST_NONE) {
        return;
    }
    if (c->wait_sleep != GUEST_NONE || g->kernel.spinlock == GUEST_LOCK_PV) {
        sim_guest_spin_end(g->vm, c->wait_next);
    }
}

enum sim_spin_blame guest_spinlock_blame(const struct guest *g, const struct guest_cpu *c)
{
    const struct guest_spinlock *l = &g->spinlock[c->wait_lock];
    uint32_t owner = l->owner != GUEST_NONE ? l->owner : l->head;
    bool off = owner != GUEST_NONE && owner != c->id && !sim_guest_on_cpu(g->vm, owner);
    bool prev_off = c->wait_prev != GUEST_NONE && g->kernel.spinlock != GUEST_LOCK_UNFAIR &&
                    !sim_guest_on_cpu(g->vm, c->wait_prev);
    return off || prev_off ? SIM_SPIN_LOCK_OFF_CPU : SIM_SPIN_OTHER;
}
