/*
 * halt.c - see halt.h. Owns `halt_ns`, `poll_window_ns`, `poll_woken`, and the effect POLL.
 *
 * The window follows the blocks it sees (measured from halt to wake-up): a block longer than the
 * window but within the cap grows it; one beyond the cap shrinks it; one inside changes nothing.
 */
#include "halt.h"

#include "account.h"
#include "out.h"
#include "place.h"
#include "record.h"
#include "runqueue.h"
#include "sets.h"
#include "switch.h"
#include "vcpu.h"

static struct cede_pcpu *here(const struct cede_turn *turn)
{
    return turn->own;
}

static void grow(const struct cede *core, struct cede_vcpu *vcpu, uint64_t max_ns)
{
    uint64_t start_ns = cede_policy_of(core, vcpu, CEDE_POLICY_HALT_POLL_START_NS);
    uint64_t window_ns = vcpu->poll_window_ns;

    window_ns *= cede_policy_of(core, vcpu, CEDE_POLICY_HALT_POLL_GROW);
    window_ns = window_ns < start_ns ? start_ns : window_ns;
    vcpu->poll_window_ns = (uint32_t)(window_ns < max_ns ? window_ns : max_ns);
}

static void shrink(const struct cede *core, struct cede_vcpu *vcpu)
{
    uint32_t divisor = cede_policy_of(core, vcpu, CEDE_POLICY_HALT_POLL_SHRINK);
    uint32_t start_ns = cede_policy_of(core, vcpu, CEDE_POLICY_HALT_POLL_START_NS);

    vcpu->poll_window_ns = divisor == 0 ? 0 : vcpu->poll_window_ns / divisor;
    if (vcpu->poll_window_ns < start_ns) {
        vcpu->poll_window_ns = 0;
    }
}

static void adapt(const struct cede *core, struct cede_vcpu *vcpu, uint64_t blocked_ns)
{
    uint64_t max_ns = cede_policy_of(core, vcpu, CEDE_POLICY_HALT_POLL_MAX_NS);

    if (max_ns == 0 || blocked_ns <= vcpu->poll_window_ns) {
        return;
    }
    if (blocked_ns > max_ns) {
        shrink(core, vcpu);
    } else {
        grow(core, vcpu, max_ns);
    }
}

void cede_halt_wake(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    adapt(core, vcpu, turn->now_ns - vcpu->halt_ns);
    vcpu->count[CEDE_COUNT_WAKES]++;
    vcpu->wake_ns = turn->now_ns;
    vcpu->woken = true;
    cede_account_enter(core, id, CEDE_STATE_RUNNABLE, turn->now_ns);
    cede_place(turn, id, reason);
}

static void hook(struct cede_turn *turn, uint32_t id)
{
    if (!turn->core->vcpu[id].hooked) {
        turn->core->vcpu[id].hooked = true;
        cede_out(turn->out, CEDE_EFFECT_HOOK_BLOCKING, turn->pcpu, id, CEDE_REASON_NONE);
    }
}

/* The window that this halt gets; 0: none. Whoever waits, here or elsewhere, comes first. */
static uint64_t window_ns(struct cede_turn *turn, uint32_t id, bool poll_disabled)
{
    const struct cede_vcpu *vcpu = &turn->core->vcpu[id];
    uint64_t max_ns = cede_policy_of(turn->core, vcpu, CEDE_POLICY_HALT_POLL_MAX_NS);
    uint64_t own_ns = vcpu->poll_window_ns < max_ns ? vcpu->poll_window_ns : max_ns;

    if (poll_disabled || own_ns == 0 || here(turn)->waiting_count != 0) {
        return 0;
    }
    return cede_place_pull(turn, turn->pcpu) == NONE ? own_ns : 0;
}

static void block(struct cede_turn *turn, uint32_t id, uint64_t polled_ns)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    hook(turn, id);
    if (vcpu->paused) {
        vcpu->resumes = CEDE_STATE_BLOCKED;
    }
    cede_switch_leave(turn, vcpu->paused ? CEDE_STATE_PAUSED : CEDE_STATE_BLOCKED);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_BLOCK, CEDE_REASON_HALT, turn->pcpu, id,
                NONE, polled_ns);
    cede_switch_next(turn, CEDE_REASON_HALT);
}

enum cede_status cede_decode_halt(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_current(core, event, &event->halt.ran, event->halt.mode);

    if (status == CEDE_OK && (event->halt.interrupt_pending > 1 || event->halt.poll_disabled > 1)) {
        status = CEDE_BAD_VALUE;
    }
    return status;
}

void cede_act_halt(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t polls_ns;

    turn->at_boundary = true; /* after the halt instruction */
    cede_switch_begin(turn, &event->halt.ran, event->halt.mode);
    vcpu->count[CEDE_COUNT_HALTS]++;
    if (event->halt.interrupt_pending != 0 || vcpu->stopping) {
        cede_switch_decide(turn);
        return;
    }
    vcpu->halt_ns = turn->now_ns;
    polls_ns = vcpu->paused ? 0 : window_ns(turn, id, event->halt.poll_disabled != 0);
    if (polls_ns == 0) {
        block(turn, id, 0);
        return;
    }
    if (cede_policy_of(core, vcpu, CEDE_POLICY_HALT_HOOK) == CEDE_HOOK_EARLY) {
        hook(turn, id);
    }
    vcpu->poll_woken = false;
    cede_switch_leave(turn, CEDE_STATE_POLLING);
    cede_switch_poll(turn, id, turn->now_ns + polls_ns);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_POLL, CEDE_REASON_HALT, turn->pcpu, id,
                NONE, polls_ns);
}

/* The wake-up came in time: the vCPU runs on, or competes with whoever came to wait meanwhile. */
static void hit(struct cede_turn *turn, uint32_t id)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->count[CEDE_COUNT_POLLS_SUCCEEDED]++;
    vcpu->wake_ns = vcpu->poll_woken ? vcpu->wake_ns : turn->now_ns;
    vcpu->poll_woken = false;
    vcpu->woken = true;
    if (vcpu->paused) {
        vcpu->resumes = CEDE_STATE_RUNNABLE;
        cede_switch_leave(turn, CEDE_STATE_PAUSED);
        cede_switch_next(turn, CEDE_REASON_PAUSED);
        return;
    }
    cede_switch_leave(turn, CEDE_STATE_RUNNABLE);
    if (!cede_allowed(core, vcpu, turn->pcpu)) {
        cede_place(turn, id, CEDE_REASON_ROLE);
    } else {
        cede_runqueue_charge(core, turn->pcpu, turn->now_ns);
        cede_runqueue_enqueue(core, turn->pcpu, id);
        cede_sets_update(core, id);
    }
    cede_switch_next(turn, CEDE_REASON_POLL_HIT);
}

void cede_halt_poll_ended(struct cede_turn *turn, bool woken)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t polled_ns = turn->now_ns - vcpu->halt_ns;
    bool over = turn->now_ns >= here(turn)->until_ns;

    here(turn)->kicked = false;
    if (vcpu->stopping) {
        cede_vcpu_leave_stopped(turn);
        return;
    }
    if (woken || vcpu->poll_woken) {
        cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_POLL_END, CEDE_REASON_POLL_HIT,
                    turn->pcpu, id, NONE, polled_ns);
        hit(turn, id);
        return;
    }
    if (!over && !vcpu->paused && here(turn)->waiting_count == 0 && !here(turn)->evict &&
        core->limbo == NONE && cede_place_pull(turn, turn->pcpu) == NONE) {
        cede_switch_poll(turn, id, here(turn)->until_ns);
        return;
    }
    vcpu->count[CEDE_COUNT_POLLS_FAILED]++;
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_POLL_END,
                over ? CEDE_REASON_HALT : CEDE_REASON_POLL_WANTED, turn->pcpu, id, NONE, polled_ns);
    block(turn, id, polled_ns);
}

enum cede_status cede_decode_poll_end(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_pcpu_exists(core, event->pcpu) || !cede_turn_vcpu_exists(core, event->vcpu)) {
        return CEDE_BAD_ID;
    }
    if (core->pcpu[event->pcpu.value].activity != CEDE_ACTIVITY_POLL ||
        core->pcpu[event->pcpu.value].current != event->vcpu.value) {
        return CEDE_BAD_STATE;
    }
    return event->poll_end.woken > 1 ? CEDE_BAD_VALUE : CEDE_OK;
}

void cede_act_poll_end(struct cede_turn *turn, const struct cede_event *event)
{
    cede_halt_poll_ended(turn, event->poll_end.woken != 0);
}
