/*
 * pcpu.c - what pCPUs do: enter and leave guests, switch vCPUs, poll, sleep.
 *
 * Owns the members of struct sim_pcpu, and `pcpu`, `halted`, caches' state of vCPUs. The states
 * stand in machine.h. The core is only asked from HOST and POLL, as a real hypervisor would.
 */
#include "sim/engine/machine.h"

void sim_pcpu_busy(struct sim_machine *m, struct sim_pcpu *p, bool busy)
{
    if (p->busy == busy) {
        return;
    }
    uint32_t threads = m->pcpu_count / m->core_count;
    /* The other threads' work until now went at the old speed. */
    for (uint32_t i = p->core * threads; threads > 1 && i < (p->core + 1) * threads; i++) {
        if (m->pcpu[i].state == SIM_PCPU_GUEST && i != p->id) {
            sim_account(m, sim_current(m, &m->pcpu[i]));
        }
    }
    p->busy = busy;
    m->cores[p->core].busy += busy ? 1 : UINT32_MAX;
    for (uint32_t i = p->core * threads; threads > 1 && i < (p->core + 1) * threads; i++) {
        struct sim_pcpu *other = &m->pcpu[i];
        if (other->state == SIM_PCPU_GUEST && i != p->id &&
            sim_current(m, other)->place == SIM_PLACE_RUN) {
            sim_pcpu_set(m, other, m->now_ns); /* it finds its new boundary itself */
        }
    }
}

static void host_until(struct sim_machine *m, struct sim_pcpu *p, enum sim_action action,
                       uint64_t span_ns)
{
    p->state = SIM_PCPU_HOST;
    p->action = (uint8_t)action;
    sim_pcpu_set(m, p, m->now_ns + span_ns);
    sim_pcpu_busy(m, p, true);
}

void sim_pcpu_exit(struct sim_machine *m, struct sim_pcpu *p, enum abi_exit_reason reason,
                   enum sim_action action, uint64_t extra_ns)
{
    struct sim_vcpu *v = sim_current(m, p);
    sim_account_move(m, v, SIM_PLACE_HOST);
    v->result.exits[reason]++;
    p->exit_reason = (uint16_t)reason;
    p->exit_since_ns = m->now_ns;
    p->in_exit = true;
    host_until(m, p, action, m->arch->exit_ns + m->arch->handler_ns[reason] + extra_ns);
}

/* The exit is over: the vCPU enters again, or leaves the pCPU. */
static void exit_ended(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    if (!p->in_exit) {
        return;
    }
    uint64_t span_ns = m->now_ns - p->exit_since_ns;
    p->in_exit = false;
    v->result.exit_ns[p->exit_reason] += span_ns;
    if (v->result.exit_max_ns[p->exit_reason] < span_ns) {
        v->result.exit_max_ns[p->exit_reason] = span_ns;
    }
}

static void detach(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    if (v == NULL) {
        return;
    }
    exit_ended(m, p, v);
    sim_account_move(m, v, SIM_PLACE_OFF);
    v->off_since_ns = m->now_ns;
    v->last_pcpu = p->id;
    v->last_clock_ns = p->guest_clock_ns;
    v->pcpu = SIM_NONE;
    p->last_vcpu = v->id;
    p->vcpu = SIM_NONE;
    sim_account_blame(m, sim_vm_of(m, v));
}

/*
 * What the vCPU must fetch again: on the same pCPU, what others displaced, at most all; on another
 * of the same last-level cache, all from there; further away, all from memory.
 */
static uint64_t missing_ns(const struct sim_machine *m, const struct sim_pcpu *p,
                           const struct sim_vcpu *v)
{
    if (v->last_pcpu == SIM_NONE) {
        return m->arch->refill_far_ns;
    }
    const struct sim_pcpu *last = &m->pcpu[v->last_pcpu];
    if (last->id == p->id) {
        uint64_t displaced_ns = v->refill_ns +
                                (p->guest_clock_ns - v->last_clock_ns) / SIM_REFILL_PART;
        return displaced_ns < m->arch->refill_near_ns ? displaced_ns : m->arch->refill_near_ns;
    }
    if (last->core == p->core) {
        return v->refill_ns; /* the other thread shares all caches */
    }
    return last->llc == p->llc ? m->arch->refill_near_ns : m->arch->refill_far_ns;
}

static void attach(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    p->vcpu = v->id;
    v->refill_ns = missing_ns(m, p, v);
    v->pcpu = p->id;
    v->spin_window_ns = m->arch->spin_window_ns;
    sim_account_move(m, v, SIM_PLACE_HOST);
    sim_account_blame(m, sim_vm_of(m, v));
}

static void begin_entry(struct sim_machine *m, struct sim_pcpu *p, uint64_t before_ns)
{
    struct sim_vcpu *v = sim_current(m, p);
    uint64_t span_ns = before_ns + m->arch->entry_ns + p->debt_ns;
    p->debt_ns = 0;
    if (v->pending != 0) {
        span_ns += m->arch->inject_ns;
    }
    if (v->flush) {
        span_ns += m->arch->flush_ns;
        v->flush = false;
    }
    host_until(m, p, SIM_ACTION_ENTER, span_ns);
}

void sim_pcpu_run(struct sim_machine *m, struct sim_pcpu *p, uint32_t vcpu, uint64_t until_ns,
                  uint64_t after_ns)
{
    struct sim_vcpu *v = &m->vcpu[vcpu];
    p->until_ns = until_ns;
    if (p->vcpu != vcpu) {
        if (v->pcpu != SIM_NONE) {
            sim_oracle_violation(m, "two-places", "vCPU %u is to run on pCPU %u but is on %u",
                                 vcpu, p->id, v->pcpu);
            return;
        }
        detach(m, p);
        attach(m, p, v);
        after_ns += m->arch->switch_ns;
    } else {
        sim_account_move(m, v, SIM_PLACE_HOST);
    }
    if (v->halted) {
        v->halted = false;
        v->kicked = false;
        v->has_step = false;
    }
    begin_entry(m, p, after_ns);
}

void sim_pcpu_idle(struct sim_machine *m, struct sim_pcpu *p)
{
    detach(m, p);
    p->debt_ns = 0;
    if (p->resched_wanted || p->expired != SIM_NONE) {
        host_until(m, p, SIM_ACTION_RESUME, m->arch->handler_ns[ABI_EXIT_EXTERNAL]);
        return;
    }
    p->state = SIM_PCPU_IDLE;
    p->idle_since_ns = m->now_ns;
    sim_pcpu_unset(m, p);
    sim_pcpu_busy(m, p, false);
}

void sim_pcpu_poll(struct sim_machine *m, struct sim_pcpu *p, uint32_t vcpu, uint64_t until_ns,
                   uint64_t after_ns)
{
    struct sim_vcpu *v = &m->vcpu[vcpu];
    if (p->vcpu != vcpu) {
        sim_oracle_violation(m, "poll-other", "pCPU %u is to poll for vCPU %u, which isn't there",
                             p->id, vcpu);
        return;
    }
    exit_ended(m, p, v);
    sim_account_move(m, v, SIM_PLACE_POLL);
    p->state = SIM_PCPU_POLL;
    p->until_ns = until_ns;
    uint64_t first_ns = m->now_ns + after_ns;
    bool look = p->resched_wanted || sim_step_wakes(v);
    sim_pcpu_set(m, p, look ? first_ns : (until_ns > first_ns ? until_ns : first_ns));
}

static void fire_expired(struct sim_machine *m, struct sim_pcpu *p)
{
    while (p->expired != SIM_NONE) {
        struct sim_vcpu *v = &m->vcpu[p->expired];
        p->expired = v->next_expired;
        v->next_expired = SIM_NONE;
        sim_shell_timer_fire(m, p, v);
    }
}

/* Whoever was here goes on, unless something was asked meanwhile. */
static void leave_host(struct sim_machine *m, struct sim_pcpu *p)
{
    fire_expired(m, p);
    if (p->resched_wanted) {
        sim_shell_resched(m, p);
    } else if (p->vcpu == SIM_NONE) {
        sim_pcpu_idle(m, p);
    } else {
        begin_entry(m, p, 0);
    }
}

static void enter(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    fire_expired(m, p);
    if (p->resched_wanted) {
        sim_shell_resched(m, p);
        return;
    }
    exit_ended(m, p, v);
    v->pending |= v->hidden;
    v->hidden = 0;
    v->visible = v->pending;
    v->hook_done = false;
    p->state = SIM_PCPU_GUEST;
    if (v->visible != 0 && v->has_step && v->step.irq_off &&
        m->arch->irq == SIM_ARCH_IRQ_INJECT) {
        v->window_wanted = true;
    }
    sim_step_go(m, p);
}

static void host_boundary(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    switch ((enum sim_action)p->action) {
    case SIM_ACTION_RESUME:
        leave_host(m, p);
        return;
    case SIM_ACTION_ENTER:
        enter(m, p);
        return;
    case SIM_ACTION_RESCHED:
        fire_expired(m, p);
        sim_shell_resched(m, p);
        return;
    case SIM_ACTION_SPIN:
        v->spin_window_ns = sim_arch_spin_grown_ns(m->arch, v->spin_window_ns);
        sim_shell_spin(m, p);
        return;
    case SIM_ACTION_HALT:
        sim_shell_halt(m, p);
        return;
    case SIM_ACTION_STEP:
        if (sim_step_emulate(m, p)) {
            leave_host(m, p);
        }
        return;
    }
}

void sim_pcpu_boundary(struct sim_machine *m, struct sim_pcpu *p)
{
    switch ((enum sim_pcpu_state)p->state) {
    case SIM_PCPU_HOST:
        host_boundary(m, p);
        return;
    case SIM_PCPU_GUEST:
        sim_step_boundary(m, p);
        return;
    case SIM_PCPU_POLL:
        p->resched_wanted = false;
        p->state = SIM_PCPU_HOST;
        sim_shell_poll_end(m, p);
        return;
    case SIM_PCPU_IDLE:
    case SIM_PCPU_OFF:
        return;
    }
}

void sim_pcpu_arrival(struct sim_machine *m, struct sim_pcpu *p)
{
    bool kick = p->kick_sent;
    bool notify = p->notify_sent;
    p->kick_sent = false;
    p->notify_sent = false;
    switch ((enum sim_pcpu_state)p->state) {
    case SIM_PCPU_IDLE:
        if (kick) {
            host_until(m, p, SIM_ACTION_RESCHED, m->arch->idle_wake_ns);
        }
        return;
    case SIM_PCPU_HOST:
        p->resched_wanted |= kick;
        return;
    case SIM_PCPU_GUEST:
        if (kick || notify) {
            sim_pcpu_exit(m, p, ABI_EXIT_EXTERNAL,
                          kick ? SIM_ACTION_RESCHED : SIM_ACTION_RESUME, 0);
        }
        return;
    case SIM_PCPU_POLL:
        p->resched_wanted |= kick;
        sim_pcpu_set(m, p, m->now_ns + m->arch->poll_look_ns);
        return;
    case SIM_PCPU_OFF:
        return;
    }
}

void sim_pcpu_posted(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    if (p->state != SIM_PCPU_GUEST) {
        return; /* the next entry takes it along */
    }
    sim_account(m, v);
    v->pending |= v->hidden;
    v->hidden = 0;
    v->visible = v->pending;
    v->result.posted++;
    if (v->step.irq_off) {
        return; /* taken at the next step that allows it */
    }
    if (v->place == SIM_PLACE_HALT) {
        sim_pcpu_busy(m, p, true);
    }
    sim_step_go(m, p);
}

void sim_pcpu_timer(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    v->next_expired = p->expired;
    p->expired = v->id;
    switch ((enum sim_pcpu_state)p->state) {
    case SIM_PCPU_IDLE:
        host_until(m, p, SIM_ACTION_RESUME,
                   m->arch->idle_wake_ns + m->arch->handler_ns[ABI_EXIT_EXTERNAL]);
        return;
    case SIM_PCPU_GUEST:
        sim_pcpu_exit(m, p, ABI_EXIT_EXTERNAL, SIM_ACTION_RESUME, 0);
        return;
    case SIM_PCPU_POLL:
        fire_expired(m, p);
        return;
    case SIM_PCPU_HOST:
    case SIM_PCPU_OFF:
        return;
    }
}
