/*
 * guest_calls.c - what guest models may call (sim/model.h), and what is put off until they return.
 *
 * None of these calls back into a guest: what would is noted in m->deferred and done when the
 * callback that asked has returned, at the same instant of simulated time.
 */
#include <stdlib.h>

#include "sim/engine/machine.h"

static struct sim_vcpu *vcpu_of(const struct sim_vm *vm, uint32_t index)
{
    return &vm->machine->vcpu[vm->first + index];
}

uint64_t sim_guest_now_ns(const struct sim_vm *vm)
{
    return vm->machine->now_ns;
}

static bool spins_in_guest(const struct sim_machine *m, const struct sim_vcpu *v)
{
    return v->pcpu != SIM_NONE && m->pcpu[v->pcpu].state == SIM_PCPU_GUEST &&
           v->place == SIM_PLACE_SPIN;
}

void sim_guest_spin_end(struct sim_vm *vm, uint32_t vcpu)
{
    struct sim_machine *m = vm->machine;
    struct sim_vcpu *v = vcpu_of(vm, vcpu);
    if (!v->has_step || v->step.kind != SIM_STEP_SPIN || v->spin_done) {
        return;
    }
    v->spin_done = true;
    if (spins_in_guest(m, v)) {
        sim_pcpu_set(m, &m->pcpu[v->pcpu], m->now_ns);
    }
}

void sim_guest_spin_changed(struct sim_vm *vm, uint32_t vcpu)
{
    struct sim_vcpu *v = vcpu_of(vm, vcpu);
    if (v->spinner != SIM_NONE && !v->blame_stale) {
        v->blame_stale = true;
        sim_defer(vm->machine, SIM_DEFERRED_BLAME, v->id, 0);
    }
}

bool sim_guest_on_cpu(const struct sim_vm *vm, uint32_t vcpu)
{
    return vcpu_of(vm, vcpu)->pcpu != SIM_NONE;
}

bool sim_guest_preempted(const struct sim_vm *vm, uint32_t vcpu)
{
    return vcpu_of(vm, vcpu)->preempted;
}

uint64_t sim_guest_steal_ns(const struct sim_vm *vm, uint32_t vcpu)
{
    return vcpu_of(vm, vcpu)->steal_ns;
}

bool sim_guest_flush_when_run(struct sim_vm *vm, uint32_t vcpu)
{
    struct sim_vcpu *v = vcpu_of(vm, vcpu);
    if (!v->preempted) {
        return false;
    }
    v->flush = true;
    return true;
}

void sim_guest_done(struct sim_vm *vm, int status)
{
    struct sim_machine *m = vm->machine;
    if (vm->done) {
        return;
    }
    vm->done = true;
    vm->status = status;
    vm->done_ns = m->now_ns;
    sim_queue_set(&m->queue, m->slot_stop + vm->id, m->now_ns);
}

void sim_guest_device_irq(struct sim_vm *vm, uint32_t vcpu, enum sim_vector vector)
{
    sim_defer(vm->machine, SIM_DEFERRED_INTERRUPT, vm->first + vcpu, (uint32_t)vector);
}

static bool outside_grow(struct sim_machine *m)
{
    uint32_t size = m->outside_count == 0 ? 64 : m->outside_count * 2;
    struct sim_outside *outside = realloc(m->outside, size * sizeof *outside);
    if (outside == NULL) {
        return false;
    }
    m->outside = outside;
    if (!sim_queue_grow(&m->queue, m->slot_outside + size)) {
        return false;
    }
    for (uint32_t i = size; i-- > m->outside_count;) {
        outside[i].next_free = m->outside_free;
        m->outside_free = i;
    }
    m->outside_count = size;
    return true;
}

void sim_guest_at(struct sim_vm *vm, uint64_t when_ns, uint64_t cookie)
{
    struct sim_machine *m = vm->machine;
    if (m->outside_free == SIM_NONE && !outside_grow(m)) {
        sim_oracle_violation(m, "memory", "no memory for more than %u outside events",
                             m->outside_count);
        return;
    }
    uint32_t index = m->outside_free;
    m->outside_free = m->outside[index].next_free;
    m->outside[index].cookie = cookie;
    m->outside[index].vm = vm->id;
    sim_queue_set(&m->queue, m->slot_outside + index, when_ns < m->now_ns ? m->now_ns : when_ns);
}

void sim_outside_due(struct sim_machine *m, uint32_t index)
{
    struct sim_vm *vm = &m->vm[m->outside[index].vm];
    uint64_t cookie = m->outside[index].cookie;
    m->outside[index].next_free = m->outside_free;
    m->outside_free = index;
    if (!vm->stopping) {
        vm->ops->outside(vm->guest, cookie, m->now_ns);
        sim_deferred_run(m);
    }
}

void sim_defer(struct sim_machine *m, enum sim_deferred_kind kind, uint32_t vcpu, uint32_t vector)
{
    if (m->deferred_count == m->deferred_size) {
        uint32_t size = m->deferred_size == 0 ? 64 : m->deferred_size * 2;
        struct sim_deferred *deferred = realloc(m->deferred, size * sizeof *deferred);
        if (deferred == NULL) {
            sim_oracle_violation(m, "memory", "no memory for %u deferred actions", size);
            return;
        }
        m->deferred = deferred;
        m->deferred_size = size;
    }
    m->deferred[m->deferred_count++] = (struct sim_deferred){(uint32_t)kind, vcpu, vector};
}

static void blame_again(struct sim_machine *m, struct sim_vcpu *v)
{
    struct sim_vm *vm = sim_vm_of(m, v);
    v->blame_stale = false;
    if (v->spinner != SIM_NONE) {
        enum sim_spin_blame blame = vm->ops->spin_blame(vm->guest, v->index);
        if (blame != v->blame) {
            sim_account(m, v);
            v->blame = (uint8_t)blame;
        }
    }
}

void sim_deferred_run(struct sim_machine *m)
{
    /* Actions may add further ones: they are done in the same pass, in order. */
    for (uint32_t i = 0; i < m->deferred_count; i++) {
        struct sim_deferred item = m->deferred[i];
        struct sim_vcpu *v = &m->vcpu[item.vcpu];
        switch ((enum sim_deferred_kind)item.kind) {
        case SIM_DEFERRED_INTERRUPT:
            sim_shell_device_interrupt(m, v, (enum sim_vector)item.vector);
            break;
        case SIM_DEFERRED_TELL:
            sim_shell_tell(m, v);
            break;
        case SIM_DEFERRED_BLAME:
            blame_again(m, v);
            break;
        }
    }
    m->deferred_count = 0;
}

/* A VM's workload is finished: its figures are taken, then its vCPUs go offline. */
void sim_vm_stop_due(struct sim_machine *m, struct sim_vm *vm)
{
    vm->metric_count = vm->ops->metrics(vm->guest, m->now_ns, vm->metric, SIM_METRIC_MAX);
    vm->stopping = true;
    m->vms_done++;
    for (uint32_t i = vm->first; i < vm->first + vm->count; i++) {
        struct sim_vcpu *v = &m->vcpu[i];
        if (!v->stopped) {
            v->stopped = true;
            sim_shell_vcpu_stop(m, NULL, v);
        }
    }
    if (m->vms_done == m->vm_count || m->options.stop_vm == vm->id + 1) {
        m->stop = true;
    }
}
