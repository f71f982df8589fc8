/*
 * out.h - writing effects. Only `count` and the items up to it are ever written.
 *
 * The most that one event can return (CEDE_EFFECTS_MAX is 24). An event of a pCPU about itself:
 *   1  HOOK_BLOCKING, or a yield's KICK
 *   3  PUBLISH, KICK (where it waits now) and VM_TIMER for the vCPU that is put away;
 *      or TIMER_UNPLACE and HOOK_UNBLOCKING for one that is stopped
 *   4  evictions and timers moved: CEDE_MOVES_MAX together, one each
 *   3  VM_TIMER for those throttled while picking: CEDE_THROTTLES_MAX
 *   5  KICK by the pulls: one for each try of the pick (CEDE_THROTTLES_MAX + 1), one before a poll
 *   2  KICK by cede_place_spread() after the pick
 *   4  HOOK_UNBLOCKING, PUBLISH, TIMER_PLACE, RUN; or IDLE and a KICK to itself
 * Together 22. The host's events give one KICK, or for caps CEDE_REFILLS_MAX KICKs and a VM_TIMER.
 */
#ifndef CORE_OUT_H
#define CORE_OUT_H

#include "state.h"

#define CEDE_MOVES_MAX 4u
#define CEDE_THROTTLES_MAX 3u
#define CEDE_REFILLS_MAX 16u

static inline struct cede_effect *cede_out(struct cede_effects *out, enum cede_effect_kind kind,
                                           uint32_t pcpu, uint32_t vcpu, uint32_t reason)
{
    struct cede_effect *effect;

    if (out->count == CEDE_EFFECTS_MAX) {
        cede_panic("more effects than CEDE_EFFECTS_MAX");
    }
    effect = &out->item[out->count++];
    effect->kind = kind;
    effect->reason = reason;
    effect->pcpu.value = pcpu;
    effect->vcpu.value = vcpu;
    effect->publish.steal_ns = 0;
    effect->publish.preempted = 0;
    effect->publish.pad = 0;
    effect->vm.value = NONE;
    effect->pad = 0;
    return effect;
}

#endif
