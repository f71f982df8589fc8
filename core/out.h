/*
 * out.h - writing effects. Only `count` and the items up to it are ever written.
 *
 * The most that one event can return (CEDE_EFFECTS_MAX is 24): an event of a pCPU about itself
 * gives at most HOOK_BLOCKING or a yield's KICK (1), PUBLISH and a KICK for whom it puts away (2),
 * VM_TIMER for it (1), KICKs from limbo and eviction (CEDE_MOVES_MAX each: 8), timers that leave an
 * offline pCPU (CEDE_MOVES_MAX: 4), VM_TIMER for those throttled while picking
 * (CEDE_THROTTLES_MAX: 3), HOOK_UNBLOCKING, PUBLISH, TIMER_PLACE, RUN for whom it takes (4) and a
 * KICK to itself (1): 24. The host's events give one KICK, or for a refill CEDE_REFILLS_MAX KICKs
 * and a VM_TIMER.
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
