/*
 * event.c - turns what happens on the modelled machine into the core's events. Twin of hv/shell.
 *
 * The one place that calls cede_handle(). Owns the count and digest of core events. An event that
 * the core refuses is a defect of one of the two and stops the run.
 */
#include "cede/digest.h"
#include "sim/engine/machine.h"
#include "sim/shell/shell.h"

bool sim_shell_send(struct sim_machine *m, struct cede_event *event)
{
    struct cede_effects effects;
    event->now_ns = m->now_ns;
    enum cede_status status = cede_handle(m->core, event, &effects);
    uint64_t digest = cede_digest_decision(status, &effects);
    m->result->digest = cede_digest_word(m->result->digest, digest);
    if (m->options.event != NULL) {
        m->options.event(m->options.context, m->core_events, event, status, digest);
    }
    m->core_events++;
    if (status != CEDE_OK) {
        m->result->core_refusals++;
        sim_oracle_violation(m, "refused", "the core refused %s (pCPU %d, vCPU %d): %s",
                             cede_event_name(event->kind), (int)event->pcpu.value,
                             (int)event->vcpu.value, cede_status_name(status));
        return false;
    }
    sim_shell_apply(m, event, &effects);
    return true;
}

struct cede_event sim_shell_event(enum cede_event_kind kind, const struct sim_pcpu *p,
                                  const struct sim_vcpu *v)
{
    struct cede_event event = {.kind = kind};
    event.pcpu = p != NULL ? (struct cede_pcpu_id){p->id} : CEDE_PCPU_NONE;
    event.vcpu = v != NULL ? (struct cede_vcpu_id){v->id} : CEDE_VCPU_NONE;
    event.vm = v != NULL ? (struct cede_vm_id){v->vm} : CEDE_VM_NONE;
    return event;
}

static uint8_t mode_of(const struct sim_machine *m, const struct sim_vcpu *v)
{
    if (!m->arch->mode_known) {
        return CEDE_MODE_NEVER;
    }
    return v->step.user ? CEDE_MODE_USER : CEDE_MODE_KERNEL;
}

bool sim_shell_resched(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct cede_event event = sim_shell_event(CEDE_EVENT_RESCHED, p, v);
    p->resched_wanted = false;
    if (v != NULL) {
        event.resched.ran = sim_account_take_ran(m, v);
        event.resched.mode = mode_of(m, v);
        event.resched.at_boundary = 1; /* exits are handled to their end before this is asked */
    }
    return sim_shell_send(m, &event);
}

bool sim_shell_spin(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct cede_event event = sim_shell_event(CEDE_EVENT_SPIN, p, v);
    event.spin.ran = sim_account_take_ran(m, v);
    event.spin.mode = mode_of(m, v);
    event.spin.at_boundary = 1;
    p->resched_wanted = false; /* the answer is a fresh decision */
    return sim_shell_send(m, &event);
}

bool sim_shell_halt(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct cede_event event = sim_shell_event(CEDE_EVENT_HALT, p, v);
    event.halt.ran = sim_account_take_ran(m, v);
    event.halt.interrupt_pending = sim_step_wakes(v);
    event.halt.poll_disabled = v->poll_off;
    event.halt.mode = mode_of(m, v);
    v->halted = true;
    return sim_shell_send(m, &event);
}

bool sim_shell_poll_end(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct cede_event event = sim_shell_event(CEDE_EVENT_POLL_END, p, v);
    sim_account(m, v);
    event.poll_end.woken = sim_step_wakes(v);
    return sim_shell_send(m, &event);
}

bool sim_shell_yield_to(struct sim_machine *m, struct sim_pcpu *p, uint32_t target,
                        enum cede_yield_cause cause)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct cede_event event = sim_shell_event(CEDE_EVENT_YIELD_TO, p, v);
    event.yield_to.ran = sim_account_take_ran(m, v);
    event.yield_to.target = (struct cede_vcpu_id){target};
    event.yield_to.cause = (uint8_t)cause;
    event.yield_to.mode = mode_of(m, v);
    event.yield_to.at_boundary = 1;
    p->resched_wanted = false;
    return sim_shell_send(m, &event);
}

bool sim_shell_vcpu_stop(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_VCPU_STOP, p, v);
    if (p != NULL && p->vcpu == v->id) {
        event.stop.ran = sim_account_take_ran(m, v);
        event.stop.mode = mode_of(m, v);
        event.stop.at_boundary = 1;
    }
    return sim_shell_send(m, &event);
}

static bool pause_or_resume(struct sim_machine *m, struct sim_vm *vm, bool pause)
{
    bool fine = true;
    vm->paused = pause;
    for (uint32_t i = vm->first; i < vm->first + vm->count && fine; i++) {
        struct cede_event event = sim_shell_event(
            pause ? CEDE_EVENT_VCPU_PAUSE : CEDE_EVENT_VCPU_RESUME, NULL, &m->vcpu[i]);
        fine = m->vcpu[i].stopped || sim_shell_send(m, &event);
    }
    return fine;
}

bool sim_shell_command(struct sim_machine *m, const struct sim_command *command)
{
    struct sim_vm *vm = &m->vm[command->vm < m->vm_count ? command->vm : 0];
    struct cede_event event = sim_shell_event(CEDE_EVENT_VM_POLICY, NULL, NULL);
    event.vm = (struct cede_vm_id){vm->id};
    switch ((enum sim_command_kind)command->kind) {
    case SIM_COMMAND_PAUSE:
    case SIM_COMMAND_RESUME:
        return pause_or_resume(m, vm, command->kind == SIM_COMMAND_PAUSE);
    case SIM_COMMAND_POLICY:
        event.vm_policy.key = command->key;
        event.vm_policy.value = command->value;
        return sim_shell_send(m, &event);
    case SIM_COMMAND_PRESET:
        event.kind = CEDE_EVENT_VM_PRESET;
        event.vm_preset.preset = (uint32_t)command->value;
        return sim_shell_send(m, &event);
    }
    return false;
}

bool sim_shell_refill(struct sim_machine *m, struct sim_vm *vm)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_VM_REFILL, NULL, NULL);
    event.vm = (struct cede_vm_id){vm->id};
    return sim_shell_send(m, &event);
}

bool sim_shell_timer_arm(struct sim_machine *m, struct sim_pcpu *p, const struct sim_step *step)
{
    static const uint8_t kind_of[] = {
        [SIM_TIMER_ONE_SHOT] = CEDE_TIMER_ONE_SHOT,
        [SIM_TIMER_PERIODIC] = CEDE_TIMER_PERIODIC,
        [SIM_TIMER_DEADLINE] = CEDE_TIMER_DEADLINE,
    };
    struct sim_vcpu *v = sim_current(m, p);
    if (step->timer >= SIM_TIMER_CANCEL) {
        struct cede_event cancel = sim_shell_event(CEDE_EVENT_TIMER_CANCEL, p, v);
        return sim_shell_send(m, &cancel);
    }
    struct cede_event event = sim_shell_event(CEDE_EVENT_TIMER_ARM, p, v);
    event.timer_arm.deadline_ns = step->deadline_ns;
    event.timer_arm.period_ns = step->timer == SIM_TIMER_PERIODIC ? step->period_ns : 0;
    event.timer_arm.kind = kind_of[step->timer];
    event.timer_arm.can_post = sim_arch_posts(m->arch) && sim_vm_of(m, v)->dedicated;
    return sim_shell_send(m, &event);
}
