/*
 * cap.h - a VM's quota of pCPU time per period.
 *
 * A vCPU that gets a pCPU takes a grant out of its VM's budget, uses it, and hands back what is
 * left when it loses the pCPU. Without budget it is throttled until the period ends. What was
 * overrun (a late event) is owed: budgets may be negative. So no window of one period holds more
 * than the quota and, for each pCPU that runs the VM, one late event. Grants are at most
 * CEDE_CAP_GRANT_NS, so that a VM's vCPUs share what is left. Work per event is bounded: a refill
 * releases CEDE_REFILLS_MAX vCPUs and asks to be called again at once for the rest.
 */
#ifndef CORE_CAP_H
#define CORE_CAP_H

#include "turn.h"

#define CEDE_CAP_GRANT_NS 1000000

static inline bool cede_cap_none(const struct cede *core, uint32_t id)
{
    return core->vm[core->vcpu[id].vm].quota_ns == 0;
}

/* The running vCPU used span_ns up to now. O(1). */
void cede_cap_charge(struct cede *core, uint32_t id, uint64_t span_ns, uint64_t now_ns);

/* Makes sure that the vCPU has a grant; false: it must be throttled. O(1). */
bool cede_cap_grant(struct cede_turn *turn, uint32_t id);

/* Hands back what is left. O(1). */
void cede_cap_return(struct cede *core, uint32_t id);

/* Throttles a vCPU that is off every queue: at most one effect. O(1). */
void cede_cap_throttle(struct cede_turn *turn, uint32_t id);

/* What the running vCPU may run at most from now on; CEDE_NEVER_NS without a cap. O(1). */
uint64_t cede_cap_left_ns(const struct cede *core, uint32_t id);

#endif
