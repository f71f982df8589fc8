/*
 * steal.c - see steal.h. Owns `published_preempted` and the effect PUBLISH.
 *
 * Why the boundary counts: a guest that sees "preempted" may leave a TLB flush to the host's next
 * entry, which comes too late for an instruction that is half emulated with old translations.
 * Nothing is published for a paused vCPU: its memory may be on its way to another machine.
 */
#include "steal.h"

#include "out.h"

static void publish(struct cede_turn *turn, uint32_t id, uint32_t preempted)
{
    const struct cede_vcpu *vcpu = &turn->core->vcpu[id];
    struct cede_effect *effect = cede_out(turn->out, CEDE_EFFECT_PUBLISH, turn->pcpu, id,
                                          CEDE_REASON_NONE);

    effect->publish.steal_ns = vcpu->time_ns[CEDE_TIME_STEAL] + vcpu->time_ns[CEDE_TIME_THROTTLED];
    effect->publish.preempted = preempted;
}

void cede_steal_lost(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (!turn->at_boundary || vcpu->paused ||
        cede_policy_of(turn->core, vcpu, CEDE_POLICY_PUBLISH_PREEMPTED) == 0) {
        return;
    }
    vcpu->published_preempted = true;
    publish(turn, id, 1);
}

void cede_steal_got(struct cede_turn *turn, uint32_t id)
{
    turn->core->vcpu[id].published_preempted = false;
    publish(turn, id, 0);
}
