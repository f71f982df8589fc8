/*
 * effect.c - applies the core's effects to the modelled machine. Twin of hv/shell.
 *
 * Effects on other pCPUs travel: they are set in a queue slot and arrive when an IPI would. RUN,
 * IDLE and POLL are applied last, after the hooks that must come before them.
 */
#include "sim/shell/shell.h"

static void arrival(struct sim_machine *m, struct sim_pcpu *p)
{
    uint32_t slot = m->slot_arrival + p->id;
    uint64_t when_ns = m->now_ns + m->arch->ipi_ns;
    if (sim_queue_when(&m->queue, slot) > when_ns) {
        sim_queue_set(&m->queue, slot, when_ns);
    }
}

static void kick(struct sim_machine *m, struct sim_pcpu *sender, uint32_t pcpu)
{
    struct sim_pcpu *p = &m->pcpu[pcpu];
    if (p == sender) {
        p->resched_wanted = true;
        if (p->state == SIM_PCPU_POLL) {
            sim_pcpu_set(m, p, m->now_ns);
        }
        return;
    }
    if (m->options.fault == SIM_FAULT_LOSE_KICK && p->state == SIM_PCPU_IDLE && !m->fault_done &&
        m->now_ns > 20000000) {
        m->fault_done = true;
        return;
    }
    if (sender != NULL) {
        sender->debt_ns += m->arch->ipi_send_ns;
    }
    p->kick_sent = true;
    arrival(m, p);
}

static void notify(struct sim_machine *m, struct sim_pcpu *sender, uint32_t pcpu)
{
    struct sim_pcpu *p = &m->pcpu[pcpu];
    if (p == sender) {
        return; /* it takes it along at its next entry */
    }
    if (sender != NULL) {
        sender->debt_ns += m->arch->ipi_send_ns;
    }
    p->notify_sent = true;
    arrival(m, p);
}

static void post(struct sim_machine *m, uint32_t pcpu)
{
    uint32_t slot = m->slot_post + pcpu;
    uint64_t when_ns = m->now_ns + m->arch->post_ns;
    if (sim_queue_when(&m->queue, slot) > when_ns) {
        sim_queue_set(&m->queue, slot, when_ns);
    }
}

static void publish(struct sim_machine *m, struct sim_vcpu *v,
                    const struct cede_effect_publish *publish)
{
    struct sim_vm *vm = sim_vm_of(m, v);
    bool was = v->preempted;
    if ((vm->features & 1u << 5) == 0) {
        return; /* this guest has no such record */
    }
    if (vm->paused) {
        sim_oracle_violation(m, "publish-paused", "the record of vCPU %u of the paused %s is written",
                             v->index, vm->record->name);
        return;
    }
    v->steal_ns = publish->steal_ns;
    v->preempted = publish->preempted != 0;
    if (v->preempted != was && !vm->stopping) {
        vm->ops->published(vm->guest, v->index, v->preempted);
    }
}

static void hook_blocking(struct sim_machine *m, struct sim_vcpu *v)
{
    v->hook_done = true;
    if (v->hidden != 0) {
        /* Doorbells are on and the state was read back: what was hidden is found. */
        v->pending |= v->hidden;
        v->hidden = 0;
        sim_defer(m, SIM_DEFERRED_TELL, v->id, 0);
    }
}

/* It may have expired already, without the pCPU having told yet. */
static void timer_unplace(struct sim_machine *m, struct sim_vcpu *v)
{
    sim_queue_clear(&m->queue, m->slot_timer + v->id);
    if (v->timer_pcpu == SIM_NONE) {
        return;
    }
    uint32_t *link = &m->pcpu[v->timer_pcpu].expired;
    while (*link != SIM_NONE && *link != v->id) {
        link = &m->vcpu[*link].next_expired;
    }
    if (*link == v->id) {
        *link = v->next_expired;
        v->next_expired = SIM_NONE;
    }
    v->timer_pcpu = SIM_NONE;
}

static void timer_place(struct sim_machine *m, const struct cede_effect *effect)
{
    struct sim_vcpu *v = &m->vcpu[effect->vcpu.value];
    uint64_t when_ns = effect->deadline_ns > m->now_ns ? effect->deadline_ns : m->now_ns;
    timer_unplace(m, v); /* the earlier one may wait where it expired */
    v->timer_pcpu = effect->pcpu.value;
    v->timer_deadline_ns = effect->deadline_ns;
    sim_queue_set(&m->queue, m->slot_timer + v->id, when_ns);
}

static uint32_t faulty_run(struct sim_machine *m, uint32_t vcpu)
{
    struct sim_vcpu *v = &m->vcpu[vcpu];
    const struct sim_vm *vm = sim_vm_of(m, v);
    if (m->options.fault != SIM_FAULT_WRONG_RUN || m->fault_done || m->now_ns < 20000000) {
        return vcpu;
    }
    for (uint32_t i = vm->first; i < vm->first + vm->count; i++) {
        if (i != vcpu && m->vcpu[i].pcpu == SIM_NONE && !m->vcpu[i].halted) {
            m->fault_done = true;
            return i;
        }
    }
    return vcpu;
}

static uint64_t faulty_until(const struct sim_machine *m, uint32_t vcpu, uint64_t until_ns)
{
    if (m->options.fault == SIM_FAULT_STARVE && m->vcpu[vcpu].vm == 0 &&
        until_ns != CEDE_NEVER_NS) {
        return m->now_ns + (until_ns - m->now_ns) * 400;
    }
    return until_ns;
}

static void decide(struct sim_machine *m, const struct cede_effect *effect, uint64_t hooks_ns)
{
    struct sim_pcpu *p = &m->pcpu[effect->pcpu.value];
    if (effect->kind == CEDE_EFFECT_RUN) {
        uint32_t vcpu = faulty_run(m, effect->vcpu.value);
        sim_pcpu_run(m, p, vcpu, faulty_until(m, vcpu, effect->until_ns), hooks_ns);
    } else if (effect->kind == CEDE_EFFECT_POLL) {
        sim_pcpu_poll(m, p, effect->vcpu.value, effect->until_ns, hooks_ns);
    } else {
        sim_pcpu_idle(m, p);
    }
}

void sim_shell_apply(struct sim_machine *m, const struct cede_event *event,
                     const struct cede_effects *effects)
{
    struct sim_pcpu *sender =
        cede_pcpu_is_none(event->pcpu) || event->kind == CEDE_EVENT_PCPU_ADD
            ? NULL
            : &m->pcpu[event->pcpu.value];
    const struct cede_effect *decision = NULL;
    uint64_t hooks_ns = 0;
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct cede_effect *effect = &effects->item[i];
        switch ((enum cede_effect_kind)effect->kind) {
        case CEDE_EFFECT_RUN:
        case CEDE_EFFECT_IDLE:
        case CEDE_EFFECT_POLL:
            decision = effect;
            break;
        case CEDE_EFFECT_POLL_STOP:
            sim_pcpu_set(m, &m->pcpu[effect->pcpu.value], m->now_ns + m->arch->poll_look_ns);
            break;
        case CEDE_EFFECT_KICK:
            kick(m, sender, effect->pcpu.value);
            break;
        case CEDE_EFFECT_POST:
            post(m, effect->pcpu.value);
            break;
        case CEDE_EFFECT_NOTIFY:
            notify(m, sender, effect->pcpu.value);
            break;
        case CEDE_EFFECT_PUBLISH:
            publish(m, &m->vcpu[effect->vcpu.value], &effect->publish);
            break;
        case CEDE_EFFECT_HOOK_BLOCKING:
            hooks_ns += m->arch->hook_ns;
            hook_blocking(m, &m->vcpu[effect->vcpu.value]);
            break;
        case CEDE_EFFECT_HOOK_UNBLOCKING:
            hooks_ns += m->arch->hook_ns;
            m->vcpu[effect->vcpu.value].hook_done = false;
            break;
        case CEDE_EFFECT_TIMER_PLACE:
            timer_place(m, effect);
            break;
        case CEDE_EFFECT_TIMER_UNPLACE:
            timer_unplace(m, &m->vcpu[effect->vcpu.value]);
            break;
        case CEDE_EFFECT_VM_TIMER:
            sim_queue_set(&m->queue, m->slot_refill + effect->vm.value,
                          effect->deadline_ns > m->now_ns ? effect->deadline_ns : m->now_ns);
            break;
        case CEDE_EFFECT_COUNT:
            break;
        }
    }
    if (decision != NULL) {
        decide(m, decision, hooks_ns);
    }
}
