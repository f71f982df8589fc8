/*
 * timer.c - see timer.h. Owns the timer members of vCPUs, the lists of timers, and the effects
 * TIMER_PLACE and TIMER_UNPLACE.
 */
#include "timer.h"

#include "interrupt.h"
#include "out.h"
#include "record.h"

static void list_add(struct cede *core, uint32_t pcpu, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->timer_pcpu = pcpu;
    vcpu->timer_previous = NONE;
    vcpu->timer_next = core->pcpu[pcpu].timers;
    if (vcpu->timer_next != NONE) {
        core->vcpu[vcpu->timer_next].timer_previous = id;
    }
    core->pcpu[pcpu].timers = id;
}

static void list_drop(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (vcpu->timer_pcpu == NONE) {
        return;
    }
    if (vcpu->timer_previous != NONE) {
        core->vcpu[vcpu->timer_previous].timer_next = vcpu->timer_next;
    } else {
        core->pcpu[vcpu->timer_pcpu].timers = vcpu->timer_next;
    }
    if (vcpu->timer_next != NONE) {
        core->vcpu[vcpu->timer_next].timer_previous = vcpu->timer_previous;
    }
    vcpu->timer_pcpu = NONE;
}

static bool usable(const struct cede *core, uint32_t pcpu)
{
    return pcpu != NONE && core->pcpu[pcpu].exists && core->pcpu[pcpu].role != CEDE_ROLE_OFFLINE;
}

/* The housekeeping pCPU to use for a vCPU on `near`: awake before idle, then by distance.
 * O(housekeeping pCPUs). */
static uint32_t housekeeper(const struct cede *core, uint32_t near)
{
    uint32_t best = NONE, best_cost = UINT32_MAX;

    for (uint32_t word = 0; word < core->pcpu_words; word++) {
        uint64_t bits = core->housekeeping.word[word];
        for (; bits != 0; bits &= bits - 1) {
            uint32_t at = word * 64u + cede_bits_lowest(bits);
            const struct cede_pcpu *pcpu = &core->pcpu[at];
            uint32_t cost = pcpu->activity == CEDE_ACTIVITY_IDLE ? 4u : 0u;
            cost += pcpu->llc == core->pcpu[near].llc         ? 0u
                    : pcpu->socket == core->pcpu[near].socket ? 1u
                                                              : 2u;
            if (cost < best_cost) {
                best = at;
                best_cost = cost;
            }
        }
    }
    return best;
}

/* A pCPU for a local timer: the vCPU's, the sender's, any; NONE if all are offline. O(pCPUs). */
static uint32_t home(const struct cede_turn *turn, uint32_t id)
{
    const struct cede *core = turn->core;

    if (usable(core, core->vcpu[id].pcpu)) {
        return core->vcpu[id].pcpu;
    }
    if (usable(core, turn->pcpu)) {
        return turn->pcpu;
    }
    for (uint32_t at = 0; at < core->config.pcpu_count; at++) {
        if (usable(core, at)) {
            return at;
        }
    }
    return NONE;
}

/* Without any pCPU the timer stays armed but unplaced, until its vCPU runs. */
static void place(struct cede_turn *turn, uint32_t id, uint32_t pcpu)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t advance_ns = cede_policy_of(core, vcpu, CEDE_POLICY_TIMER_ADVANCE_NS);
    struct cede_effect *effect;

    list_drop(core, id);
    if (pcpu == NONE) {
        return;
    }
    list_add(core, pcpu, id);
    effect = cede_out(turn->out, CEDE_EFFECT_TIMER_PLACE, pcpu, id, CEDE_REASON_NONE);
    effect->deadline_ns = vcpu->timer_deadline_ns > advance_ns
                              ? vcpu->timer_deadline_ns - advance_ns : 0;
    vcpu->count[vcpu->timer_housekeeping ? CEDE_COUNT_TIMERS_HOUSEKEEPING
                                         : CEDE_COUNT_TIMERS_LOCAL]++;
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_TIMER, CEDE_REASON_NONE, pcpu, id, NONE,
                effect->deadline_ns);
}

void cede_timer_follow(struct cede_turn *turn, uint32_t id)
{
    const struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (vcpu->timer_armed && !vcpu->timer_housekeeping && vcpu->timer_pcpu != turn->pcpu) {
        place(turn, id, turn->pcpu);
    }
}

void cede_timer_cancel(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (vcpu->timer_armed && vcpu->timer_pcpu != NONE) {
        cede_out(turn->out, CEDE_EFFECT_TIMER_UNPLACE, vcpu->timer_pcpu, id, CEDE_REASON_NONE);
    }
    list_drop(turn->core, id);
    vcpu->timer_armed = false;
}

void cede_timer_evict(struct cede_turn *turn, uint32_t pcpu)
{
    struct cede *core = turn->core;

    while (core->pcpu[pcpu].timers != NONE && turn->moves < CEDE_MOVES_MAX) {
        uint32_t id = core->pcpu[pcpu].timers;
        uint32_t to = home(turn, id);
        turn->moves++;
        core->vcpu[id].timer_housekeeping = false;
        if (to == NONE) {
            cede_out(turn->out, CEDE_EFFECT_TIMER_UNPLACE, pcpu, id, CEDE_REASON_ROLE);
        }
        place(turn, id, to);
    }
}

enum cede_status cede_decode_timer_arm(const struct cede *core, const struct cede_event *event)
{
    const struct cede_event_timer_arm *facts = &event->timer_arm;
    enum cede_status status = cede_turn_target(core, event);

    if (status != CEDE_OK) {
        return status;
    }
    if (facts->kind >= CEDE_TIMER_COUNT || facts->can_post > 1 ||
        (facts->kind == CEDE_TIMER_PERIODIC) != (facts->period_ns != 0)) {
        return CEDE_BAD_VALUE;
    }
    return core->vcpu[event->vcpu.value].state == CEDE_STATE_OFFLINE ? CEDE_BAD_STATE : CEDE_OK;
}

void cede_act_timer_arm(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value, to = NONE;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->timer_armed = true;
    vcpu->timer_deadline_ns = event->timer_arm.deadline_ns;
    vcpu->timer_period_ns = event->timer_arm.period_ns;
    if (event->timer_arm.can_post != 0 && vcpu->state == CEDE_STATE_RUNNING &&
        core->pcpu[vcpu->pcpu].role == CEDE_ROLE_DEDICATED &&
        cede_policy_of(core, vcpu, CEDE_POLICY_TIMER_POST) != 0) {
        to = housekeeper(core, vcpu->pcpu);
    }
    vcpu->timer_housekeeping = to != NONE;
    place(turn, id, to != NONE ? to : home(turn, id));
}

enum cede_status cede_decode_timer_cancel(const struct cede *core, const struct cede_event *event)
{
    return cede_turn_target(core, event);
}

void cede_act_timer_cancel(struct cede_turn *turn, const struct cede_event *event)
{
    cede_timer_cancel(turn, event->vcpu.value);
}

enum cede_status cede_decode_timer_fire(const struct cede *core, const struct cede_event *event)
{
    const struct cede_vcpu *vcpu;

    if (!cede_turn_pcpu_exists(core, event->pcpu) || !cede_turn_vcpu_exists(core, event->vcpu)) {
        return CEDE_BAD_ID;
    }
    vcpu = &core->vcpu[event->vcpu.value];
    if (!vcpu->timer_armed || vcpu->timer_pcpu != event->pcpu.value) {
        return CEDE_BAD_STATE;
    }
    return event->timer_fire.in_guest > 1 || event->timer_fire.can_post > 1 ? CEDE_BAD_VALUE
                                                                            : CEDE_OK;
}

/* A periodic timer that is late fires once more at once, and never for each period missed. */
void cede_act_timer_fire(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t pcpu = vcpu->timer_pcpu;

    list_drop(core, id);
    if (vcpu->timer_period_ns == 0) {
        vcpu->timer_armed = false;
    } else {
        uint64_t next_ns = vcpu->timer_deadline_ns + vcpu->timer_period_ns;
        if (next_ns < vcpu->timer_deadline_ns) {
            next_ns = CEDE_NEVER_NS;
        }
        vcpu->timer_deadline_ns = next_ns > turn->now_ns ? next_ns : turn->now_ns;
        place(turn, id, pcpu);
    }
    cede_interrupt_deliver(turn, id, NONE, CEDE_SOURCE_TIMER, event->timer_fire.in_guest != 0,
                           event->timer_fire.can_post != 0);
}
