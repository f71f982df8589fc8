/*
 * vcpu.c - see vcpu.h. Owns a vCPU's life from VCPU_ADD to VCPU_REMOVE, `paused`, `stopping`.
 */
#include "vcpu.h"

#include "account.h"
#include "base/memory.h"
#include "halt.h"
#include "out.h"
#include "place.h"
#include "record.h"
#include "runqueue.h"
#include "sets.h"
#include "switch.h"
#include "timer.h"
#include "yield.h"

static void record_state(struct cede_turn *turn, uint32_t id)
{
    const struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_STATE, CEDE_REASON_NONE,
                vcpu->pcpu, id, NONE, vcpu->state);
}

enum cede_status cede_decode_vcpu_add(const struct cede *core, const struct cede_event *event)
{
    uint32_t index = event->vcpu_add.index;

    if (!cede_turn_vm_exists(core, event->vm) ||
        event->vcpu.value >= core->config.vcpu_count) {
        return CEDE_BAD_ID;
    }
    if (index >= core->config.vm_vcpu_count) {
        return CEDE_BAD_VALUE;
    }
    return core->vcpu[event->vcpu.value].exists ||
                   cede_sets_at(core, event->vm.value, index) != NONE
               ? CEDE_EXISTS : CEDE_OK;
}

static void forget_all(struct cede_vcpu *vcpu)
{
    vcpu->ipi_target = NONE;
    vcpu->yielded_to = NONE;
    vcpu->yielder = NONE;
    vcpu->wake_ns = CEDE_NEVER_NS;
    vcpu->lag = 0;
    vcpu->mode = CEDE_MODE_KERNEL;
    vcpu->woken = false;
    vcpu->spinning = false;
    vcpu->interrupt_pending = false;
    vcpu->stopping = false;
    vcpu->poll_woken = false;
    vcpu->poll_window_ns = 0;
}

void cede_act_vcpu_add(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t priority = vcpu->priority, run_count = vcpu->run_count;
    uint32_t left = core->config.pcpu_count;

    memset(vcpu, 0, sizeof(*vcpu));
    forget_all(vcpu);
    vcpu->priority = priority;
    vcpu->run_count = run_count;
    vcpu->left = NONE;
    vcpu->right = NONE;
    vcpu->parent = NONE;
    vcpu->pcpu = NONE;
    vcpu->last_pcpu = NONE;
    vcpu->timer_pcpu = NONE;
    vcpu->timer_next = NONE;
    vcpu->timer_previous = NONE;
    vcpu->vm = (uint16_t)event->vm.value;
    vcpu->index = (uint16_t)event->vcpu_add.index;
    vcpu->exists = true;
    vcpu->state = CEDE_STATE_OFFLINE;
    vcpu->set = CEDE_SET_NONE;
    vcpu->movable = core->config.pcpu_count > 1;
    vcpu->grant_epoch = core->vm[vcpu->vm].cap_epoch;
    vcpu->since_ns = turn->now_ns;
    vcpu->added_ns = turn->now_ns;
    for (uint32_t word = 0; word < core->pcpu_words; word++) {
        core->affinity[id * core->pcpu_words + word] =
            left >= 64u ? UINT64_MAX : (UINT64_C(1) << left) - 1;
        left = left >= 64u ? left - 64u : 0;
    }
    cede_sets_attach(core, id);
}

enum cede_status cede_decode_vcpu_affinity(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_target(core, event);

    if (status == CEDE_OK && event->vcpu_affinity.word >= core->pcpu_words) {
        status = CEDE_BAD_VALUE;
    }
    return status;
}

/* Bits beyond the configured pCPUs are ignored. O(pCPU words + log q). */
void cede_act_vcpu_affinity(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value, word = event->vcpu_affinity.word, allowed_count = 0;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t *mask = &core->affinity[id * core->pcpu_words];
    uint32_t left = core->config.pcpu_count - word * 64u;

    cede_place_remove(turn, id);
    mask[word] = event->vcpu_affinity.mask;
    mask[word] &= left >= 64u ? UINT64_MAX : (UINT64_C(1) << left) - 1;
    for (uint32_t n = 0; n < core->pcpu_words; n++) {
        allowed_count += cede_bits_count(mask[n]);
    }
    vcpu->movable = allowed_count > 1;
    if (vcpu->state == CEDE_STATE_RUNNABLE) {
        cede_place(turn, id, CEDE_REASON_ROLE);
    } else if (vcpu->state == CEDE_STATE_RUNNING && !cede_allowed(core, vcpu, vcpu->pcpu)) {
        cede_place_kick(turn, vcpu->pcpu, id, CEDE_REASON_ROLE);
    }
}

enum cede_status cede_decode_vcpu_start(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_target(core, event);

    if (status != CEDE_OK) {
        return status;
    }
    if (core->vcpu[event->vcpu.value].stopping) {
        return CEDE_BUSY;
    }
    return core->vcpu[event->vcpu.value].state == CEDE_STATE_OFFLINE ? CEDE_OK : CEDE_BAD_STATE;
}

static void become_runnable(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    vcpu->woken = true;
    cede_account_enter(turn->core, id, CEDE_STATE_RUNNABLE, turn->now_ns);
    record_state(turn, id);
    cede_place(turn, id, reason);
}

void cede_act_vcpu_start(struct cede_turn *turn, const struct cede_event *event)
{
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (vcpu->paused) {
        vcpu->resumes = CEDE_STATE_RUNNABLE;
        cede_account_enter(turn->core, id, CEDE_STATE_PAUSED, turn->now_ns);
        record_state(turn, id);
        return;
    }
    become_runnable(turn, id, CEDE_REASON_START);
}

/* By itself: sent by the pCPU on which it is current. */
static bool stops_itself(const struct cede *core, const struct cede_event *event)
{
    return !cede_pcpu_is_none(event->pcpu) &&
           core->pcpu[event->pcpu.value].current == event->vcpu.value;
}

enum cede_status cede_decode_vcpu_stop(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_target(core, event);
    const struct cede_vcpu *vcpu = &core->vcpu[event->vcpu.value];

    if (status != CEDE_OK) {
        return status;
    }
    if (vcpu->state == CEDE_STATE_OFFLINE) {
        return CEDE_BAD_STATE;
    }
    if (stops_itself(core, event)) {
        return event->stop.mode < CEDE_MODE_COUNT && event->stop.at_boundary <= 1 &&
                       cede_account_fits(core, event->vcpu.value, &event->stop.ran, event->now_ns)
                   ? CEDE_OK : CEDE_BAD_VALUE;
    }
    return vcpu->stopping ? CEDE_BUSY : CEDE_OK;
}

/* What every way to offline has in common; it is off its pCPU and queue. Two effects at most. */
static void stopped(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    cede_yield_forget(turn->core, id);
    cede_timer_cancel(turn, id);
    if (vcpu->hooked) {
        vcpu->hooked = false;
        cede_out(turn->out, CEDE_EFFECT_HOOK_UNBLOCKING, vcpu->pcpu, id, CEDE_REASON_STOPPED);
    }
    forget_all(vcpu);
    record_state(turn, id);
}

void cede_vcpu_leave_stopped(struct cede_turn *turn)
{
    uint32_t id = turn->core->pcpu[turn->pcpu].current;

    cede_switch_leave(turn, CEDE_STATE_OFFLINE);
    stopped(turn, id);
    cede_switch_next(turn, CEDE_REASON_STOPPED);
}

void cede_act_vcpu_stop(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (stops_itself(core, event)) {
        core->pcpu[turn->pcpu].kicked = false;
        if (vcpu->state == CEDE_STATE_RUNNING) {
            cede_switch_begin(turn, &event->stop.ran, event->stop.mode);
        }
        cede_vcpu_leave_stopped(turn);
    } else if (vcpu->state == CEDE_STATE_RUNNING || vcpu->state == CEDE_STATE_POLLING) {
        vcpu->stopping = true;
        cede_place_kick(turn, vcpu->pcpu, id, CEDE_REASON_STOPPED);
    } else {
        cede_place_remove(turn, id);
        cede_account_enter(core, id, CEDE_STATE_OFFLINE, turn->now_ns);
        cede_sets_update(core, id);
        stopped(turn, id);
    }
}

enum cede_status cede_decode_vcpu_pause(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_target(core, event);

    if (status == CEDE_OK && core->vcpu[event->vcpu.value].paused) {
        status = CEDE_BAD_STATE;
    }
    return status;
}

void cede_act_vcpu_pause(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->paused = true;
    if (vcpu->state == CEDE_STATE_RUNNING || vcpu->state == CEDE_STATE_POLLING) {
        cede_place_kick(turn, vcpu->pcpu, id, CEDE_REASON_PAUSED);
    } else if (vcpu->state != CEDE_STATE_OFFLINE) {
        vcpu->resumes = vcpu->state == CEDE_STATE_BLOCKED ? CEDE_STATE_BLOCKED
                                                          : CEDE_STATE_RUNNABLE;
        cede_place_remove(turn, id);
        cede_yield_forget(core, id);
        cede_account_enter(core, id, CEDE_STATE_PAUSED, turn->now_ns);
        cede_sets_update(core, id);
        record_state(turn, id);
    }
}

enum cede_status cede_decode_vcpu_resume(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_target(core, event);

    if (status == CEDE_OK && !core->vcpu[event->vcpu.value].paused) {
        status = CEDE_BAD_STATE;
    }
    return status;
}

void cede_act_vcpu_resume(struct cede_turn *turn, const struct cede_event *event)
{
    uint32_t id = event->vcpu.value;
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    vcpu->paused = false;
    if (vcpu->state != CEDE_STATE_PAUSED) {
        return; /* offline, or it hadn't left its pCPU yet */
    }
    if (vcpu->resumes == CEDE_STATE_BLOCKED) {
        cede_account_enter(turn->core, id, CEDE_STATE_BLOCKED, turn->now_ns);
        record_state(turn, id);
    } else {
        become_runnable(turn, id, CEDE_REASON_RESUME);
    }
}

enum cede_status cede_decode_vcpu_remove(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vcpu_exists(core, event->vcpu)) {
        return CEDE_BAD_ID;
    }
    return core->vcpu[event->vcpu.value].state == CEDE_STATE_OFFLINE ? CEDE_OK : CEDE_BUSY;
}

void cede_act_vcpu_remove(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[event->vcpu.value];

    cede_sets_detach(turn->core, event->vcpu.value);
    vcpu->exists = false;
    vcpu->run_count++; /* references to it are void */
}
