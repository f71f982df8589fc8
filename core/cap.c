/*
 * cap.c - see cap.h. Owns the cap members of struct cede_vm, and grants.
 */
#include "cap.h"

#include "account.h"
#include "out.h"
#include "place.h"
#include "record.h"
#include "sets.h"
#include "yield.h"

#define MS_NS UINT64_C(1000000)
#define PERIOD_MAX_NS (1000 * MS_NS)
#define QUOTA_MAX_NS (PERIOD_MAX_NS * CEDE_PCPU_COUNT_MAX)
#define PASSED_MAX (UINT64_C(1) << 20)
#define RECHECK_MAX 64u /* indices looked at in one event */

/* Begins the period that `now` lies in, if that is a later one. Unused quota is lost; what was
 * overrun is paid from it. What running vCPUs hold counts as used. */
static void begin_period(struct cede_vm *vm, uint64_t now_ns)
{
    uint64_t passed;
    int64_t left_ns;

    if (now_ns < vm->period_end_ns) {
        return;
    }
    passed = (now_ns - vm->period_end_ns) / vm->period_ns + 1;
    vm->period_end_ns += passed * vm->period_ns;
    passed = passed < PASSED_MAX ? passed : PASSED_MAX;
    left_ns = vm->budget_ns + vm->granted_ns;
    left_ns = (left_ns < 0 ? left_ns : 0) + (int64_t)(passed * vm->quota_ns);
    left_ns = left_ns < (int64_t)vm->quota_ns ? left_ns : (int64_t)vm->quota_ns;
    vm->budget_ns = left_ns - vm->granted_ns;
}

/* A grant from before the last VM_CAP is none. */
static void refresh(struct cede_vcpu *vcpu, const struct cede_vm *vm)
{
    if (vcpu->grant_epoch != vm->cap_epoch) {
        vcpu->grant_epoch = vm->cap_epoch;
        vcpu->grant_ns = 0;
    }
}

void cede_cap_charge(struct cede *core, uint32_t id, uint64_t span_ns, uint64_t now_ns)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_vm *vm = &core->vm[vcpu->vm];
    uint64_t most_ns = now_ns - vm->cap_since_ns;

    refresh(vcpu, vm);
    span_ns = span_ns < most_ns ? span_ns : most_ns;
    vcpu->grant_ns -= (int64_t)span_ns;
    vm->granted_ns -= (int64_t)span_ns;
}

bool cede_cap_grant(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];
    struct cede_vm *vm = &turn->core->vm[vcpu->vm];
    int64_t wanted_ns;

    if (vm->quota_ns == 0) {
        return true;
    }
    refresh(vcpu, vm);
    if (vcpu->grant_ns > 0) {
        return true;
    }
    begin_period(vm, turn->now_ns);
    cede_cap_return(turn->core, id);
    if (vm->budget_ns <= 0) {
        return false;
    }
    wanted_ns = vm->budget_ns < CEDE_CAP_GRANT_NS ? vm->budget_ns : CEDE_CAP_GRANT_NS;
    vm->budget_ns -= wanted_ns;
    vm->granted_ns += wanted_ns;
    vcpu->grant_ns = wanted_ns;
    return true;
}

void cede_cap_return(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_vm *vm = &core->vm[vcpu->vm];

    if (vm->quota_ns == 0) {
        return;
    }
    refresh(vcpu, vm);
    vm->budget_ns += vcpu->grant_ns;
    vm->granted_ns -= vcpu->grant_ns;
    vcpu->grant_ns = 0;
}

static void arm_refill(struct cede_turn *turn, uint32_t number, uint64_t deadline_ns)
{
    struct cede_effect *effect = cede_out(turn->out, CEDE_EFFECT_VM_TIMER, NONE, NONE,
                                          CEDE_REASON_NONE);

    effect->vm.value = number;
    effect->deadline_ns = deadline_ns;
    turn->core->vm[number].refill_armed = true;
}

void cede_cap_throttle(struct cede_turn *turn, uint32_t id)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_vm *vm = &core->vm[vcpu->vm];

    vcpu->count[CEDE_COUNT_THROTTLES]++;
    cede_yield_forget(core, id);
    cede_account_enter(core, id, CEDE_STATE_THROTTLED, turn->now_ns);
    cede_sets_update(core, id);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_THROTTLE, CEDE_REASON_THROTTLED,
                vcpu->pcpu, id, NONE, 0);
    if (!vm->refill_armed) {
        arm_refill(turn, vcpu->vm, vm->period_end_ns);
    }
}

uint64_t cede_cap_left_ns(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];

    if (core->vm[vcpu->vm].quota_ns == 0) {
        return CEDE_NEVER_NS;
    }
    if (vcpu->grant_epoch != core->vm[vcpu->vm].cap_epoch) {
        return 0;
    }
    return vcpu->grant_ns > 0 ? (uint64_t)vcpu->grant_ns : 0;
}

/* Asks running vCPUs that have no grant yet to take one; goes on at `recheck` next time. */
static void recheck(struct cede_turn *turn, uint32_t number)
{
    struct cede *core = turn->core;
    struct cede_vm *vm = &core->vm[number];

    for (uint32_t n = 0; n < RECHECK_MAX && vm->recheck != NONE && turn->moves < CEDE_REFILLS_MAX;
         n++) {
        uint32_t id = cede_sets_at(core, number, vm->recheck);
        if (id != NONE && core->vcpu[id].state == CEDE_STATE_RUNNING) {
            turn->moves++;
            cede_place_kick(turn, core->vcpu[id].pcpu, id, CEDE_REASON_THROTTLED);
        }
        vm->recheck = vm->recheck + 1 < core->config.vm_vcpu_count ? vm->recheck + 1 : NONE;
    }
}

/* Releases a batch of throttled vCPUs, by index; asks for another call if some remain. */
static void release(struct cede_turn *turn, uint32_t number)
{
    struct cede *core = turn->core;
    struct cede_vm *vm = &core->vm[number];

    while (turn->moves < CEDE_REFILLS_MAX && vm->set_count[CEDE_SET_THROTTLED] != 0) {
        uint32_t id = cede_sets_next(core, number, CEDE_SET_THROTTLED, vm->last_boosted);
        turn->moves++;
        cede_account_enter(core, id, CEDE_STATE_RUNNABLE, turn->now_ns);
        cede_place(turn, id, CEDE_REASON_REFILL);
    }
    recheck(turn, number);
    if (vm->set_count[CEDE_SET_THROTTLED] != 0 || vm->recheck != NONE) {
        arm_refill(turn, number, turn->now_ns);
    }
}

enum cede_status cede_decode_vm_cap(const struct cede *core, const struct cede_event *event)
{
    uint64_t quota_ns = event->vm_cap.quota_ns, period_ns = event->vm_cap.period_ns;

    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    if (quota_ns == 0) {
        return CEDE_OK;
    }
    if (quota_ns < MS_NS || quota_ns > QUOTA_MAX_NS || period_ns < MS_NS ||
        period_ns > PERIOD_MAX_NS) {
        return CEDE_BAD_VALUE;
    }
    return CEDE_OK;
}

/* Those throttled start again, and those that run are asked to take a grant of the new cap. */
void cede_act_vm_cap(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede_vm *vm = &turn->core->vm[event->vm.value];

    vm->quota_ns = event->vm_cap.quota_ns;
    vm->period_ns = event->vm_cap.quota_ns == 0 ? 0 : event->vm_cap.period_ns;
    vm->period_end_ns = turn->now_ns + vm->period_ns;
    vm->budget_ns = (int64_t)vm->quota_ns;
    vm->granted_ns = 0;
    vm->cap_since_ns = turn->now_ns;
    vm->cap_epoch++;
    vm->recheck = vm->quota_ns == 0 ? NONE : 0;
    vm->refill_armed = false;
    release(turn, event->vm.value);
}

enum cede_status cede_decode_vm_refill(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    if (!cede_pcpu_is_none(event->pcpu) && !cede_turn_pcpu_exists(core, event->pcpu)) {
        return CEDE_BAD_ID;
    }
    return CEDE_OK;
}

void cede_act_vm_refill(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede_vm *vm = &turn->core->vm[event->vm.value];

    vm->refill_armed = false;
    if (vm->quota_ns != 0) {
        begin_period(vm, turn->now_ns);
        if (vm->budget_ns <= 0) {
            arm_refill(turn, event->vm.value, vm->period_end_ns);
            return;
        }
    }
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_REFILL, CEDE_REASON_REFILL,
                turn->pcpu, NONE, event->vm.value, vm->quota_ns);
    release(turn, event->vm.value);
}
