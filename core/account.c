/*
 * account.c - see account.h. Owns since_ns and time_ns of vCPUs and pCPUs.
 */
#include "account.h"

enum cede_time_class cede_account_class(uint8_t state)
{
    static const uint8_t class_of[CEDE_STATE_COUNT] = {
        [CEDE_STATE_OFFLINE] = CEDE_TIME_OFFLINE,   [CEDE_STATE_RUNNABLE] = CEDE_TIME_STEAL,
        [CEDE_STATE_RUNNING] = CEDE_TIME_HYPERVISOR, [CEDE_STATE_POLLING] = CEDE_TIME_POLL,
        [CEDE_STATE_BLOCKED] = CEDE_TIME_BLOCKED,   [CEDE_STATE_PAUSED] = CEDE_TIME_PAUSED,
        [CEDE_STATE_THROTTLED] = CEDE_TIME_THROTTLED,
    };

    return class_of[state];
}

enum cede_pcpu_time_class cede_account_pcpu_class(const struct cede_pcpu *pcpu)
{
    switch (pcpu->activity) {
    case CEDE_ACTIVITY_RUN:
        return CEDE_PCPU_TIME_HYPERVISOR;
    case CEDE_ACTIVITY_POLL:
        return CEDE_PCPU_TIME_POLL;
    default:
        return pcpu->role == CEDE_ROLE_OFFLINE ? CEDE_PCPU_TIME_OFFLINE : CEDE_PCPU_TIME_IDLE;
    }
}

bool cede_account_fits(const struct cede *core, uint32_t id, const struct cede_ran *ran,
                       uint64_t now_ns)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t left_ns = vcpu->state == CEDE_STATE_RUNNING ? now_ns - vcpu->since_ns : 0;

    if (ran->user_ns > left_ns) {
        return false;
    }
    left_ns -= ran->user_ns;
    if (ran->kernel_ns > left_ns) {
        return false;
    }
    return ran->spin_ns <= left_ns - ran->kernel_ns;
}

void cede_account_ran(struct cede *core, uint32_t id, const struct cede_ran *ran, uint64_t now_ns)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_pcpu *pcpu = &core->pcpu[vcpu->pcpu];
    uint64_t guest_ns = ran->user_ns + ran->kernel_ns + ran->spin_ns;
    uint64_t rest_ns = now_ns - vcpu->since_ns - guest_ns;

    vcpu->time_ns[CEDE_TIME_GUEST_USER] += ran->user_ns;
    vcpu->time_ns[CEDE_TIME_GUEST_KERNEL] += ran->kernel_ns;
    vcpu->time_ns[CEDE_TIME_SPIN] += ran->spin_ns;
    vcpu->time_ns[CEDE_TIME_HYPERVISOR] += rest_ns;
    vcpu->since_ns = now_ns;
    pcpu->time_ns[CEDE_PCPU_TIME_GUEST] += guest_ns;
    pcpu->time_ns[CEDE_PCPU_TIME_HYPERVISOR] += rest_ns;
    pcpu->since_ns = now_ns;
}

void cede_account_enter(struct cede *core, uint32_t id, enum cede_vcpu_state state,
                        uint64_t now_ns)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->time_ns[cede_account_class(vcpu->state)] += now_ns - vcpu->since_ns;
    vcpu->since_ns = now_ns;
    vcpu->state = (uint8_t)state;
}

void cede_account_pcpu(struct cede *core, uint32_t pcpu, uint64_t now_ns)
{
    struct cede_pcpu *owner = &core->pcpu[pcpu];

    owner->time_ns[cede_account_pcpu_class(owner)] += now_ns - owner->since_ns;
    owner->since_ns = now_ns;
}
