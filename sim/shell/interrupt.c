/*
 * interrupt.c - interrupts for vCPUs: from devices, siblings and timers. Twin of hv/shell.
 *
 * The order of event.h's "No wake-up is lost": the pending bit first, then the event. Everything
 * here happens at one instant of simulated time, which is what the real shell's lock gives.
 */
#include "sim/shell/shell.h"

static bool in_guest(const struct sim_machine *m, const struct sim_vcpu *v)
{
    return v->pcpu != SIM_NONE && m->pcpu[v->pcpu].state == SIM_PCPU_GUEST;
}

static void set_pending(struct sim_machine *m, struct sim_vcpu *target, enum sim_vector vector,
                        enum cede_interrupt_source source)
{
    if (target->pending == 0) {
        target->pending_since_ns = m->now_ns;
    }
    if (source == CEDE_SOURCE_IPI) {
        target->ipis_sent++;
        target->ipis_merged += (target->pending >> vector) & 1;
    }
    target->pending |= (uint8_t)(1u << vector);
}

static void tell(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *target,
                 enum cede_interrupt_source source, uint32_t sender)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_INTERRUPT, p, target);
    event.interrupt.sender = (struct cede_vcpu_id){sender};
    event.interrupt.source = (uint8_t)source;
    event.interrupt.in_guest = in_guest(m, target);
    event.interrupt.can_post = sim_arch_posts(m->arch);
    sim_shell_send(m, &event);
}

/* True, once: the fault is to lose this one. */
static bool fault_loses(struct sim_machine *m, const struct sim_vcpu *target,
                        enum sim_vector vector, enum cede_interrupt_source source)
{
    if (m->fault_done || m->now_ns < 20000000) {
        return false;
    }
    if (m->options.fault == SIM_FAULT_LOSE_IPI && source == CEDE_SOURCE_IPI) {
        m->fault_done = true;
        m->vcpu[target->id].ipis_sent++;
        return true;
    }
    return m->options.fault == SIM_FAULT_LOSE_INTERRUPT && target->halted &&
           target->pcpu == SIM_NONE && vector < SIM_VECTOR_COUNT;
}

void sim_shell_interrupt(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *target,
                         enum sim_vector vector, enum cede_interrupt_source source,
                         uint32_t sender)
{
    if (target->stopped) {
        return;
    }
    if (m->options.fault != SIM_FAULT_NONE && fault_loses(m, target, vector, source)) {
        if (m->options.fault == SIM_FAULT_LOSE_INTERRUPT) {
            m->fault_done = true;
            set_pending(m, target, vector, source); /* there, but nobody was told */
        }
        return;
    }
    set_pending(m, target, vector, source);
    tell(m, p, target, source, sender);
}

void sim_shell_kick_vcpu(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *target)
{
    if (target->stopped) {
        return;
    }
    target->kicked = true;
    tell(m, p, target, CEDE_SOURCE_KICK, sim_current(m, p)->id);
}

/*
 * With direct injection a device's interrupt reaches a vCPU that has a pCPU without the host: in
 * guest mode at once, else at its next entry. One that halts hides it from the host until the
 * about-to-wait hook has run; after that a doorbell rings.
 */
void sim_shell_device_interrupt(struct sim_machine *m, struct sim_vcpu *target,
                                enum sim_vector vector)
{
    if (m->arch->irq != SIM_ARCH_IRQ_DIRECT || (target->halted && target->hook_done)) {
        sim_shell_interrupt(m, NULL, target, vector, CEDE_SOURCE_DEVICE, SIM_NONE);
        return;
    }
    target->hidden |= (uint8_t)(1u << vector);
    if (in_guest(m, target)) {
        uint32_t slot = m->slot_post + target->pcpu;
        if (sim_queue_when(&m->queue, slot) > m->now_ns + m->arch->post_ns) {
            sim_queue_set(&m->queue, slot, m->now_ns + m->arch->post_ns);
        }
    }
}

void sim_shell_tell(struct sim_machine *m, struct sim_vcpu *target)
{
    if (!target->stopped) {
        tell(m, NULL, target, CEDE_SOURCE_DEVICE, SIM_NONE);
    }
}

/* AVIC: a sender's write reaches siblings in guest mode by itself; any other needs an exit. */
bool sim_shell_direct_ipi(struct sim_machine *m, struct sim_vcpu *sender)
{
    struct sim_vm *vm = sim_vm_of(m, sender);
    if (m->arch->irq != SIM_ARCH_IRQ_AVIC || sender->step.targets != NULL ||
        sender->step.target >= vm->count) {
        return false;
    }
    struct sim_vcpu *target = &m->vcpu[vm->first + sender->step.target];
    if (!in_guest(m, target)) {
        return false;
    }
    set_pending(m, target, (enum sim_vector)sender->step.vector, CEDE_SOURCE_IPI);
    uint32_t slot = m->slot_post + target->pcpu;
    if (sim_queue_when(&m->queue, slot) > m->now_ns + m->arch->post_ns) {
        sim_queue_set(&m->queue, slot, m->now_ns + m->arch->post_ns);
    }
    return true;
}

bool sim_shell_timer_fire(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_TIMER_FIRE, p, v);
    if (v->stopped) {
        return true;
    }
    v->timer_pcpu = SIM_NONE;
    set_pending(m, v, SIM_VECTOR_TIMER, CEDE_SOURCE_TIMER);
    event.timer_fire.in_guest = in_guest(m, v);
    event.timer_fire.can_post = sim_arch_posts(m->arch) && sim_vm_of(m, v)->dedicated;
    return sim_shell_send(m, &event);
}
