/*
 * timer.c - emulated timers, on the pCPU where the core placed them.
 *
 * Owns each pCPU's list of vCPUs with a timer there (core's lock). A list is as long as the vCPUs
 * that last ran on its pCPU: the next deadline is found by a walk, and cached.
 */
#include "hv/dev/lapic.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"
#include "hv/time/clock.h"

void shell_timer_unplace(struct hv_vcpu *vcpu)
{
    if (vcpu->timer_ns == CEDE_NEVER_NS) {
        return;
    }
    struct hv_vcpu **link = &hv_pcpu(vcpu->timer_pcpu)->timers;
    while (*link != vcpu) {
        link = &(*link)->timer_link;
    }
    *link = vcpu->timer_link;
    vcpu->timer_ns = CEDE_NEVER_NS;
}

void shell_timer_place(struct hv_vcpu *vcpu, uint32_t index, uint64_t deadline_ns)
{
    struct hv_pcpu *pcpu = hv_pcpu(index);
    shell_timer_unplace(vcpu);
    vcpu->timer_ns = deadline_ns;
    vcpu->timer_pcpu = index;
    vcpu->timer_link = pcpu->timers;
    pcpu->timers = vcpu;
    if (deadline_ns < __atomic_load_n(&pcpu->timers_next_ns, __ATOMIC_RELAXED)) {
        __atomic_store_n(&pcpu->timers_next_ns, deadline_ns, __ATOMIC_RELEASE);
    }
}

uint64_t shell_timers_next_ns(const struct hv_pcpu *pcpu)
{
    return __atomic_load_n(&pcpu->timers_next_ns, __ATOMIC_ACQUIRE);
}

static struct hv_vcpu *find_due(struct hv_pcpu *pcpu, uint64_t now_ns)
{
    uint64_t next_ns = CEDE_NEVER_NS;
    struct hv_vcpu *due = NULL;
    for (struct hv_vcpu *vcpu = pcpu->timers; vcpu != NULL; vcpu = vcpu->timer_link) {
        if (vcpu->timer_ns <= now_ns && due == NULL) {
            due = vcpu;
        } else if (vcpu->timer_ns < next_ns) {
            next_ns = vcpu->timer_ns;
        }
    }
    __atomic_store_n(&pcpu->timers_next_ns, next_ns, __ATOMIC_RELEASE);
    return due;
}

static void fire(struct hv_pcpu *pcpu, struct hv_vcpu *vcpu, struct cede_effects *effects)
{
    struct cede_event event = {
        .kind = CEDE_EVENT_TIMER_FIRE,
        .pcpu = {pcpu->index},
        .vcpu = vcpu->id,
        .vm = CEDE_VM_NONE,
    };
    event.timer_fire.in_guest = (uint8_t)__atomic_load_n(&vcpu->in_guest, __ATOMIC_ACQUIRE);
    shell_timer_unplace(vcpu);
    hv_lapic_timer_fire(vcpu);
    shell_send_locked(&event, effects);
}

void shell_timers_fire(struct hv_pcpu *pcpu)
{
    /* a bound for one visit: a guest's fastest periodic timer can't hold the host here */
    for (unsigned i = 0; i < 32 && shell_timers_next_ns(pcpu) <= hv_now_ns(); i++) {
        struct cede_effects effects;
        effects.count = 0;
        shell_lock();
        struct hv_vcpu *due = find_due(pcpu, hv_now_ns());
        if (due != NULL) {
            fire(pcpu, due, &effects);
        }
        shell_unlock();
        shell_apply_after(&effects);
    }
}

void hv_shell_timer_arm(struct hv_vcpu *vcpu, uint64_t deadline_ns, uint64_t period_ns,
                        enum cede_timer_kind kind)
{
    struct cede_event event = {
        .kind = CEDE_EVENT_TIMER_ARM,
        .pcpu = {hv_this_pcpu()->index},
        .vcpu = vcpu->id,
        .vm = CEDE_VM_NONE,
    };
    event.timer_arm.deadline_ns = deadline_ns;
    event.timer_arm.period_ns = period_ns;
    event.timer_arm.kind = (uint8_t)kind;
    shell_must(&event, NULL, NULL);
}

void hv_shell_timer_cancel(struct hv_vcpu *vcpu)
{
    struct cede_event event = {
        .kind = CEDE_EVENT_TIMER_CANCEL,
        .pcpu = {hv_this_pcpu()->index},
        .vcpu = vcpu->id,
        .vm = CEDE_VM_NONE,
    };
    shell_send(&event, NULL, NULL); /* refused if it has just fired: then there is nothing to do */
}
