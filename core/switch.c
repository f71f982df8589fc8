/*
 * switch.c - see switch.h. Owns `current` and `activity` of the sender's pCPU, and the effects RUN,
 * IDLE, PUBLISH and HOOK_UNBLOCKING.
 */
#include "switch.h"

#include "account.h"
#include "cap.h"
#include "halt.h"
#include "out.h"
#include "place.h"
#include "record.h"
#include "role.h"
#include "runqueue.h"
#include "sets.h"
#include "steal.h"
#include "timer.h"
#include "tree.h"
#include "vcpu.h"
#include "yield.h"

#define RUN_MIN_NS 20000u /* no slice is set shorter than that: it would be all switching */

static struct cede_pcpu *here(const struct cede_turn *turn)
{
    return turn->own;
}

void cede_switch_begin(struct cede_turn *turn, const struct cede_ran *ran, uint8_t mode)
{
    uint32_t id = here(turn)->current;

    cede_runqueue_charge(turn->core, turn->pcpu, turn->now_ns);
    cede_account_ran(turn->core, id, ran, turn->now_ns);
    turn->core->vcpu[id].mode = mode;
    here(turn)->kicked = false;
}

/* Between two vCPUs the pCPU is idle for no time: its marks follow when it is settled. */
static void set_activity(struct cede_turn *turn, enum cede_activity activity, uint32_t id)
{
    if (here(turn)->since_ns != turn->now_ns) {
        cede_account_pcpu(turn->core, turn->pcpu, turn->now_ns);
    }
    here(turn)->activity = (uint8_t)activity;
    here(turn)->current = id;
    if (activity != CEDE_ACTIVITY_IDLE) {
        cede_runqueue_mark(turn->core, turn->pcpu);
    }
}

/* The slice's end in real time; none if nobody waits for it to end. */
static uint64_t until_ns(const struct cede_turn *turn, uint32_t id)
{
    uint64_t left_ns = cede_cap_none(turn->core, id) ? CEDE_NEVER_NS
                                                     : cede_cap_left_ns(turn->core, id);
    uint64_t slice_ns = CEDE_NEVER_NS;

    if (here(turn)->waiting_count != 0) {
        slice_ns = cede_runqueue_slice_left_ns(turn->core, id);
    }
    left_ns = left_ns < slice_ns ? left_ns : slice_ns;
    if (left_ns == CEDE_NEVER_NS) {
        return CEDE_NEVER_NS;
    }
    return turn->now_ns + (left_ns > RUN_MIN_NS ? left_ns : RUN_MIN_NS);
}

static void emit_run(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede_effect *effect = cede_out(turn->out, CEDE_EFFECT_RUN, turn->pcpu, id, reason);

    effect->until_ns = until_ns(turn, id);
    here(turn)->until_ns = effect->until_ns;
    here(turn)->preempt = false;
}

void cede_switch_stay(struct cede_turn *turn, enum cede_reason reason)
{
    emit_run(turn, here(turn)->current, reason);
}

void cede_switch_run(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    cede_account_enter(core, id, CEDE_STATE_RUNNING, turn->now_ns);
    set_activity(turn, CEDE_ACTIVITY_RUN, id);
    vcpu->woken = false;
    vcpu->spinning = false;
    vcpu->interrupt_pending = false;
    vcpu->run_count++;
    cede_yield_forget(core, id);
    cede_sets_update(core, id);
    if (vcpu->wake_ns != CEDE_NEVER_NS) {
        cede_histogram_add(&vcpu->wake_latency, turn->now_ns - vcpu->wake_ns);
        vcpu->wake_ns = CEDE_NEVER_NS;
    }
    vcpu->count[CEDE_COUNT_SWITCHES]++;
    if (vcpu->last_pcpu != turn->pcpu) {
        vcpu->count[CEDE_COUNT_MIGRATIONS] += vcpu->last_pcpu != NONE ? 1 : 0;
        vcpu->last_pcpu = turn->pcpu;
    }
    here(turn)->switches++;
    if (vcpu->hooked) {
        vcpu->hooked = false;
        cede_out(turn->out, CEDE_EFFECT_HOOK_UNBLOCKING, turn->pcpu, id, CEDE_REASON_NONE);
    }
    cede_timer_follow(turn, id);
    cede_steal_got(turn, id);
    emit_run(turn, id, reason);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_RUN, reason, turn->pcpu, id,
                turn->before, here(turn)->until_ns);
}

void cede_switch_leave(struct cede_turn *turn, enum cede_vcpu_state state)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;

    if (here(turn)->activity == CEDE_ACTIVITY_RUN) {
        cede_runqueue_leave(core, id);
        if (!cede_cap_none(core, id)) {
            cede_cap_return(core, id);
        }
    }
    cede_account_enter(core, id, state, turn->now_ns);
    set_activity(turn, CEDE_ACTIVITY_IDLE, NONE);
    turn->before = id;
    cede_sets_update(core, id);
    if (state == CEDE_STATE_PAUSED) { /* a stop is recorded where it is completed */
        cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_STATE, CEDE_REASON_PAUSED,
                    turn->pcpu, id, NONE, state);
    }
}

/* What every loss of a pCPU while runnable has in common. */
void cede_switch_lost(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (!cede_cap_none(core, id)) {
        cede_cap_return(core, id);
    }
    cede_account_enter(core, id, CEDE_STATE_RUNNABLE, turn->now_ns);
    set_activity(turn, CEDE_ACTIVITY_IDLE, NONE);
    turn->before = id;
    vcpu->woken = false;
    vcpu->count[CEDE_COUNT_PREEMPTIONS]++;
    cede_steal_lost(turn, id);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_PREEMPT, reason, turn->pcpu, id, NONE,
                vcpu->mode == CEDE_MODE_USER ? 0 : vcpu->mode == CEDE_MODE_KERNEL ? 1 : 2);
}

void cede_switch_preempt(struct cede_turn *turn, enum cede_reason reason)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;
    bool slice_over = reason == CEDE_REASON_SLICE_END;
    uint32_t elsewhere = cede_place_better(turn, turn->pcpu, id, slice_over);

    cede_switch_lost(turn, id, reason);
    if (elsewhere == NONE) {
        cede_runqueue_wait(core, id);
        cede_sets_update(core, id);
    } else {
        cede_runqueue_leave(core, id);
        cede_place_on(turn, elsewhere, id, slice_over ? CEDE_REASON_BALANCE : reason);
    }
}

bool cede_switch_wanted(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (vcpu->stopping) {
        cede_vcpu_leave_stopped(turn);
    } else if (vcpu->paused) {
        vcpu->resumes = CEDE_STATE_RUNNABLE;
        vcpu->count[CEDE_COUNT_PREEMPTIONS]++;
        cede_switch_leave(turn, CEDE_STATE_PAUSED);
        cede_switch_next(turn, CEDE_REASON_PAUSED);
    } else if (!cede_allowed(core, vcpu, turn->pcpu)) {
        cede_switch_lost(turn, id, CEDE_REASON_ROLE);
        cede_runqueue_leave(core, id);
        cede_place(turn, id, CEDE_REASON_ROLE);
        cede_switch_next(turn, CEDE_REASON_ROLE);
    } else {
        return false;
    }
    return true;
}

/* The one that waits goes before the running one. */
static bool goes_first(const struct cede *core, uint32_t waiting, uint32_t running)
{
    return cede_runqueue_eligible(core, waiting) &&
           (!cede_runqueue_eligible(core, running) || cede_earlier(core, waiting, running));
}

/* Why the current vCPU should give way to somebody who waits here; NONE: it shouldn't. */
static enum cede_reason give_way(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current, best;
    bool over = cede_runqueue_slice_over(core, id);

    if (over) {
        cede_runqueue_renew(core, id);
    }
    if (cede_runqueue_hint(core, turn->pcpu) != NONE) {
        return CEDE_REASON_YIELD_HINT;
    }
    if (here(turn)->waiting_count == 0 || !(over || here(turn)->preempt)) {
        return CEDE_REASON_NONE;
    }
    best = cede_runqueue_best(core, turn->pcpu);
    if (!goes_first(core, best, id)) {
        return CEDE_REASON_NONE;
    }
    return over ? CEDE_REASON_SLICE_END : (enum cede_reason)here(turn)->preempt_reason;
}

bool cede_switch_due(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;
    enum cede_reason reason;

    if (cede_switch_wanted(turn)) {
        return true;
    }
    if (core->limbo != NONE) {
        cede_place_limbo(turn, turn->pcpu);
    }
    if (here(turn)->evict) {
        cede_role_evict(turn, turn->pcpu);
    }
    if (!cede_cap_none(core, id) && !cede_cap_grant(turn, id)) {
        cede_switch_lost(turn, id, CEDE_REASON_THROTTLED);
        cede_runqueue_leave(core, id);
        cede_cap_throttle(turn, id);
        cede_switch_next(turn, CEDE_REASON_THROTTLED);
        return true;
    }
    reason = give_way(turn);
    if (reason == CEDE_REASON_NONE) {
        return false;
    }
    cede_switch_preempt(turn, reason);
    cede_switch_next(turn, reason);
    return true;
}

void cede_switch_decide(struct cede_turn *turn)
{
    if (!cede_switch_due(turn)) {
        cede_switch_stay(turn, CEDE_REASON_CONTINUE);
    }
}

void cede_switch_poll(struct cede_turn *turn, uint32_t id, uint64_t until)
{
    struct cede_effect *effect;

    if (here(turn)->activity != CEDE_ACTIVITY_POLL) {
        set_activity(turn, CEDE_ACTIVITY_POLL, id);
    }
    effect = cede_out(turn->out, CEDE_EFFECT_POLL, turn->pcpu, id, CEDE_REASON_HALT);
    effect->until_ns = until;
    here(turn)->until_ns = until;
}

static void go_idle(struct cede_turn *turn, bool again)
{
    cede_runqueue_mark(turn->core, turn->pcpu);
    cede_out(turn->out, CEDE_EFFECT_IDLE, turn->pcpu, NONE, CEDE_REASON_NONE);
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_IDLE, CEDE_REASON_NONE,
                turn->pcpu, NONE, turn->before, 0);
    here(turn)->until_ns = CEDE_NEVER_NS;
    here(turn)->preempt = false;
    if (again) {
        cede_place_kick(turn, turn->pcpu, NONE, CEDE_REASON_ROLE);
    }
}

/* Takes the chosen vCPU out of the tree and runs it, or finds that it can't run: false. */
static bool take(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede *core = turn->core;

    cede_runqueue_take(core, id);
    if (!cede_allowed(core, &core->vcpu[id], turn->pcpu)) {
        turn->moves++;
        cede_runqueue_leave(core, id);
        cede_place(turn, id, CEDE_REASON_ROLE);
        return false;
    }
    if (!cede_cap_none(core, id) && !cede_cap_grant(turn, id)) {
        turn->throttles++;
        cede_runqueue_leave(core, id);
        cede_cap_throttle(turn, id);
        return false;
    }
    cede_switch_run(turn, id, reason);
    return true;
}

/* This pCPU was asked to pull a vCPU, and took another: whoever else idles should be asked. */
static void pass_on(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->asked_for;

    here(turn)->asked_for = NONE;
    if (id != NONE && core->idle.summary != 0 && core->vcpu[id].waiting &&
        core->vcpu[id].pcpu != turn->pcpu) {
        cede_place_spread(turn, core->vcpu[id].pcpu);
    }
}

/* The next to try: the hint, the fairest, or somebody from elsewhere. */
static uint32_t candidate(struct cede_turn *turn, enum cede_reason *reason)
{
    uint32_t id = cede_runqueue_hint(turn->core, turn->pcpu);

    here(turn)->next = NONE; /* a hint is for one pick */
    if (id != NONE) {
        *reason = CEDE_REASON_YIELD_HINT;
        return id;
    }
    id = cede_runqueue_best(turn->core, turn->pcpu);
    if (id == NONE) {
        *reason = CEDE_REASON_IDLE_PULL;
        id = cede_place_pull(turn, turn->pcpu);
    }
    return id;
}

/* Bounded by CEDE_MOVES_MAX and CEDE_THROTTLES_MAX: beyond them, it kicks itself and goes on. */
static void pick(struct cede_turn *turn, enum cede_reason reason)
{
    struct cede *core = turn->core;

    while (turn->moves < CEDE_MOVES_MAX && turn->throttles < CEDE_THROTTLES_MAX) {
        enum cede_reason why = reason;
        uint32_t id = candidate(turn, &why);
        if (id == NONE) {
            go_idle(turn, false);
            return;
        }
        if (take(turn, id, why)) {
            if (core->idle.summary != 0 && here(turn)->movable_count != 0) {
                cede_place_spread(turn, turn->pcpu);
            }
            return;
        }
    }
    go_idle(turn, true);
}

void cede_switch_next(struct cede_turn *turn, enum cede_reason reason)
{
    if (turn->core->limbo != NONE) {
        cede_place_limbo(turn, turn->pcpu);
    }
    if (here(turn)->evict) {
        cede_role_evict(turn, turn->pcpu);
    }
    pick(turn, reason);
    if (here(turn)->asked_for != NONE) {
        pass_on(turn);
    }
}

enum cede_status cede_decode_resched(const struct cede *core, const struct cede_event *event)
{
    const struct cede_pcpu *pcpu;

    if (!cede_turn_pcpu_exists(core, event->pcpu)) {
        return CEDE_BAD_ID;
    }
    pcpu = &core->pcpu[event->pcpu.value];
    if (pcpu->current != event->vcpu.value) {
        return CEDE_BAD_STATE;
    }
    if (event->resched.mode >= CEDE_MODE_COUNT || event->resched.at_boundary > 1) {
        return CEDE_BAD_VALUE;
    }
    if (pcpu->current == NONE) {
        return (event->resched.ran.user_ns | event->resched.ran.kernel_ns |
                event->resched.ran.spin_ns) == 0 ? CEDE_OK : CEDE_BAD_VALUE;
    }
    return cede_account_fits(core, pcpu->current, &event->resched.ran, event->now_ns)
               ? CEDE_OK : CEDE_BAD_VALUE;
}

void cede_act_resched(struct cede_turn *turn, const struct cede_event *event)
{
    turn->at_boundary = event->resched.at_boundary != 0;
    if (here(turn)->activity == CEDE_ACTIVITY_RUN) {
        cede_switch_begin(turn, &event->resched.ran, event->resched.mode);
        cede_switch_decide(turn);
    } else if (here(turn)->activity == CEDE_ACTIVITY_POLL) {
        cede_halt_poll_ended(turn, false);
    } else {
        enum cede_reason reason = (enum cede_reason)here(turn)->preempt_reason;
        here(turn)->kicked = false;
        cede_account_pcpu(turn->core, turn->pcpu, turn->now_ns);
        cede_switch_next(turn, reason);
    }
}
