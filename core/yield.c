/*
 * yield.c - see yield.h. Owns `last_boosted`, the no-return links, and a queue's `next`.
 *
 * A spin exit looks for a sibling that waits for a pCPU. The VM's sets (sets.h) are disjoint and
 * follow from the states, so the rules become a choice of sets, and the search is one lookup in
 * each: the cost doesn't depend on the number of vCPUs. docs/decisions/0004-directed-yield.md.
 */
#include "yield.h"

#include "cap.h"
#include "place.h"
#include "record.h"
#include "runqueue.h"
#include "sets.h"
#include "switch.h"

#define PATIENCE 2u /* measured: 1 loses S9, 3 and more lose T1 (scenarios/) */
#define PROGRESS_NS 100u    /* more than that in the guest, besides spinning */
#define UNTOLD_NS 100000u   /* or that long, where spinning can't be told apart */

#define SET(NAME) (1u << CEDE_SET_##NAME)
#define SPINNING (SET(KERNEL_SPIN) | SET(USER_SPIN) | SET(ANSWER_SPIN))

static struct cede_pcpu *here(const struct cede_turn *turn)
{
    return turn->own;
}

void cede_yield_forget(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t other = vcpu->yielded_to;

    if (other != NONE) {
        core->vcpu[other].yielder = NONE;
        vcpu->yielded_to = NONE;
        cede_sets_update(core, id);
    }
    other = vcpu->yielder;
    if (other != NONE) {
        core->vcpu[other].yielded_to = NONE;
        vcpu->yielder = NONE;
        cede_sets_update(core, other);
    }
}

/* `yielder` isn't picked again before `target` ran. */
static void remember(struct cede *core, uint32_t yielder, uint32_t target)
{
    if (cede_policy_of(core, &core->vcpu[yielder], CEDE_POLICY_YIELD_NO_RETURN) == 0 ||
        !core->vcpu[yielder].waiting || !core->vcpu[target].waiting) {
        return;
    }
    if (core->vcpu[target].yielder != NONE) {
        uint32_t before = core->vcpu[target].yielder;
        core->vcpu[before].yielded_to = NONE;
        cede_sets_update(core, before);
    }
    core->vcpu[yielder].yielded_to = target;
    core->vcpu[target].yielder = yielder;
    cede_sets_update(core, yielder);
}

static void fail(struct cede_turn *turn, uint32_t target, enum cede_counter why)
{
    uint32_t id = here(turn)->current;

    turn->core->vcpu[id].count[why]++;
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_YIELD_FAIL, CEDE_REASON_NONE,
                turn->pcpu, id, target, (uint64_t)why);
}

static void succeed(struct cede_turn *turn, uint32_t id, uint32_t target, enum cede_reason reason)
{
    struct cede *core = turn->core;

    core->vcpu[id].count[CEDE_COUNT_YIELDS_SUCCEEDED]++;
    core->vcpu[target].count[CEDE_COUNT_YIELDS_RECEIVED]++;
    core->vm[core->vcpu[id].vm].last_boosted = core->vcpu[target].index;
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_YIELD, reason, turn->pcpu, id, target,
                reason == CEDE_REASON_YIELD_PULL ? 2 : 1);
}

/* Its pCPU was idle and has been asked to run it: it needs no help. */
static bool about_to_run(const struct cede *core, uint32_t target)
{
    const struct cede_pcpu *queue = &core->pcpu[core->vcpu[target].pcpu];

    return queue->activity == CEDE_ACTIVITY_IDLE && queue->kicked && queue->waiting_count == 1;
}

/* Both queues hold one vCPU each: nothing would change. */
static bool alone(const struct cede_turn *turn, uint32_t queue)
{
    const struct cede_pcpu *there = &turn->core->pcpu[queue];

    return here(turn)->waiting_count == 0 && there->waiting_count == 1 && there->current == NONE;
}

/* The yielder gives its slice up, if somebody who waits here is owed it: whom the hint names, or
 * whom fairness would pick. */
static void forfeit(struct cede_turn *turn, uint32_t id, uint32_t target)
{
    struct cede *core = turn->core;
    uint32_t best = cede_runqueue_hint(core, turn->pcpu);

    if (best == NONE && here(turn)->waiting_count != 0) {
        best = cede_runqueue_best(core, turn->pcpu);
        best = cede_runqueue_eligible(core, best) ? best : NONE;
    }
    if (best == NONE) {
        core->vcpu[id].spinning = false;
        cede_switch_stay(turn, CEDE_REASON_CONTINUE);
        return;
    }
    here(turn)->next = best;
    cede_runqueue_renew(core, id);
    cede_switch_preempt(turn, CEDE_REASON_YIELD_HINT);
    remember(core, id, target);
    cede_switch_next(turn, CEDE_REASON_YIELD_HINT);
}

/* The target becomes the next pick of its own queue; the yielder forfeits its slice. */
static bool hint(struct cede_turn *turn, uint32_t target)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;
    uint32_t queue = core->vcpu[target].pcpu;
    uint32_t before = core->pcpu[queue].next;

    if (alone(turn, queue)) {
        fail(turn, target, CEDE_COUNT_YIELD_FAIL_ALONE);
        return false;
    }
    cede_runqueue_charge(core, queue, turn->now_ns);
    core->pcpu[queue].next = target;
    if (cede_runqueue_hint(core, queue) == NONE) {
        core->pcpu[queue].next = before;
        fail(turn, target, CEDE_COUNT_YIELD_FAIL_AHEAD);
        return false;
    }
    succeed(turn, id, target, CEDE_REASON_YIELD_HINT);
    if (queue != turn->pcpu) {
        cede_place_kick(turn, queue, target, CEDE_REASON_YIELD_HINT);
    }
    forfeit(turn, id, target);
    return true;
}

/* The yielder may take the target's place, and no free pCPU would be better for it. */
static bool may_exchange(struct cede_turn *turn, uint32_t id, uint32_t target)
{
    struct cede *core = turn->core;

    return cede_policy_of(core, &core->vcpu[id], CEDE_POLICY_YIELD_CREDIT) != 0 &&
           cede_allowed(core, &core->vcpu[id], core->vcpu[target].pcpu) &&
           cede_place_better(turn, turn->pcpu, id, false) == NONE;
}

/*
 * With credit, the two exchange places, and no queue's balance between VMs changes. Without, or if
 * the yielder may not wait there, the target comes to this queue with its own lag, and pays for
 * what it uses here.
 */
static void swap(struct cede_turn *turn, uint32_t id, uint32_t target)
{
    struct cede *core = turn->core;
    uint64_t left_ns = cede_runqueue_slice_left_ns(core, id);

    cede_runqueue_charge(core, core->vcpu[target].pcpu, turn->now_ns);
    if (may_exchange(turn, id, target)) {
        if (core->vcpu[target].pcpu != turn->pcpu) {
            core->vcpu[id].placed_ns = turn->now_ns;
            core->vcpu[target].placed_ns = turn->now_ns;
        }
        cede_switch_lost(turn, id, CEDE_REASON_YIELD_PULL);
        cede_runqueue_exchange(core, id, target);
        cede_sets_update(core, id);
        return;
    }
    cede_runqueue_dequeue(core, target);
    cede_switch_preempt(turn, CEDE_REASON_YIELD_PULL);
    core->vcpu[target].placed_ns = turn->now_ns;
    cede_runqueue_join(core, turn->pcpu, target);
    cede_runqueue_set_slice(core, target, left_ns);
}

/* The target runs here, now, in what is left of the yielder's slice. */
static bool pull(struct cede_turn *turn, uint32_t target)
{
    struct cede *core = turn->core;
    uint32_t id = here(turn)->current;

    cede_cap_return(core, id);
    if (!cede_cap_grant(turn, target)) {
        (void)cede_cap_grant(turn, id); /* takes back what it returned */
        fail(turn, target, CEDE_COUNT_YIELD_FAIL_THROTTLED);
        return false;
    }
    succeed(turn, id, target, CEDE_REASON_YIELD_PULL);
    swap(turn, id, target);
    cede_switch_run(turn, target, CEDE_REASON_YIELD_PULL);
    return true;
}

/* True: somebody was given the CPU, and the turn is over. */
static bool try_target(struct cede_turn *turn, uint32_t target)
{
    const struct cede_vcpu *me = &turn->core->vcpu[here(turn)->current];

    if (about_to_run(turn->core, target)) {
        fail(turn, target, CEDE_COUNT_YIELD_FAIL_RUNNING);
        return false;
    }
    /* Where affinity or role forbids to bring it here, it can still be the next on its own pCPU. */
    if (cede_policy_of(turn->core, me, CEDE_POLICY_YIELD) == CEDE_YIELD_PULL &&
        cede_allowed(turn->core, &turn->core->vcpu[target], turn->pcpu)) {
        return pull(turn, target);
    }
    return hint(turn, target);
}

/*
 * Candidates that are in a spin exit themselves: a hint skips them every other time. A pull takes
 * the CPU away at once. After a short wait that's a loss: what the vCPU spins for is held by one
 * that runs, and others who spin can't help. After a long one it isn't: the lock's next owner, or
 * who waits for its own answer, may be any of them, and only trying tells. So spinners are skipped
 * until PATIENCE spin exits in a row found the vCPU doing nothing else.
 */
static bool skips_spinning(const struct cede_vm *vm, struct cede_vcpu *me)
{
    if (vm->policy[CEDE_POLICY_YIELD] == CEDE_YIELD_PULL) {
        return me->fruitless < PATIENCE;
    }
    me->fruitless = me->fruitless == 0 ? 1 : 0;
    return me->fruitless != 0;
}

static uint32_t members(const struct cede_vm *vm, uint32_t sets)
{
    uint32_t count = 0;

    for (; sets != 0; sets &= sets - 1) {
        count += vm->set_count[__builtin_ctz(sets)];
    }
    return count;
}

/* Which sets the rules leave; counts what each rule skips. */
static uint32_t allowed_sets(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    struct cede_vcpu *me = &core->vcpu[here(turn)->current];
    const struct cede_vm *vm = &core->vm[me->vm];
    const uint32_t *count = vm->set_count;
    uint32_t sets = SET(WOKEN) | SET(KERNEL) | SET(USER) | SPINNING;

    me->count[CEDE_COUNT_SKIP_NO_RETURN] += count[CEDE_SET_NO_RETURN];
    if (vm->policy[CEDE_POLICY_YIELD_TO_WOKEN] == 0) {
        sets &= ~SET(WOKEN);
    }
    if (vm->policy[CEDE_POLICY_YIELD_KERNEL_FILTER] != 0 && me->mode == CEDE_MODE_KERNEL) {
        me->count[CEDE_COUNT_SKIP_USER_MODE] += count[CEDE_SET_USER] + count[CEDE_SET_USER_SPIN];
        sets &= ~(SET(USER) | SET(USER_SPIN));
    }
    if (vm->policy[CEDE_POLICY_YIELD_ALTERNATE] != 0) {
        if (skips_spinning(vm, me)) {
            uint32_t skipped = sets & SPINNING;
            if (vm->policy[CEDE_POLICY_YIELD] == CEDE_YIELD_PULL) {
                skipped &= ~SET(ANSWER_SPIN);
            }
            me->count[CEDE_COUNT_SKIP_SPINNING] += members(vm, skipped);
            sets &= ~skipped;
        }
    }
    return sets;
}

/* The candidate with the next index after `after`, and how far that is; NONE. O(sets). */
static uint32_t nearest(const struct cede *core, uint32_t vm, uint32_t sets, uint32_t after,
                        uint32_t *distance)
{
    uint32_t found = NONE;

    *distance = CEDE_VM_VCPU_COUNT_MAX;
    for (uint32_t set = 0; set < CEDE_SET_WAITING_COUNT; set++) {
        uint32_t id, steps;
        if ((sets >> set & 1u) == 0 || core->vm[vm].set_count[set] == 0) {
            continue;
        }
        id = cede_sets_next(core, vm, (enum cede_set)set, after);
        steps = (core->vcpu[id].index - after - 1) % CEDE_VM_VCPU_COUNT_MAX;
        if (steps < *distance) {
            *distance = steps;
            found = id;
        }
    }
    return found;
}

/* Who has yet to answer the current vCPU's last IPI, and waits for a pCPU; NONE. */
static uint32_t owes_answer(const struct cede_turn *turn)
{
    const struct cede *core = turn->core;
    const struct cede_vcpu *me = &core->vcpu[here(turn)->current];
    const struct cede_vcpu *target;

    if (me->ipi_target == NONE || cede_policy_of(core, me, CEDE_POLICY_YIELD_IPI_FIRST) == 0) {
        return NONE;
    }
    target = &core->vcpu[me->ipi_target];
    if (!target->exists || target->vm != me->vm || !target->waiting ||
        target->run_count != me->ipi_run_count || target->set == CEDE_SET_NO_RETURN) {
        return NONE;
    }
    return me->ipi_target;
}

/* Nobody was found: because there is nobody, or because the rules skip whom there is. */
static void fail_empty(struct cede_turn *turn)
{
    const struct cede *core = turn->core;
    const struct cede_vm *vm = &core->vm[core->vcpu[here(turn)->current].vm];
    uint32_t waiting = 0;

    for (uint32_t set = 0; set < CEDE_SET_WAITING_COUNT; set++) {
        waiting += vm->set_count[set];
    }
    if (waiting != 0) {
        fail(turn, NONE, CEDE_COUNT_YIELD_FAIL_FILTERED);
    } else if (vm->set_count[CEDE_SET_THROTTLED] != 0) {
        fail(turn, NONE, CEDE_COUNT_YIELD_FAIL_THROTTLED);
    } else {
        fail(turn, NONE, CEDE_COUNT_YIELD_FAIL_NO_CANDIDATE);
    }
}

/* At most yield_failures_max targets, each once. True: somebody was given the CPU. */
static bool yield_to_any(struct cede_turn *turn)
{
    struct cede *core = turn->core;
    struct cede_vcpu *me = &core->vcpu[here(turn)->current];
    uint32_t left = cede_policy_of(core, me, CEDE_POLICY_YIELD_FAILURES_MAX);
    uint32_t sets = allowed_sets(turn);
    uint32_t first = owes_answer(turn);
    uint32_t after = core->vm[me->vm].last_boosted, travelled = 0, distance;

    if (first != NONE) {
        if (try_target(turn, first)) {
            return true;
        }
        left--;
    }
    for (bool any = first != NONE; left > 0; left--, any = true) {
        uint32_t target = nearest(core, me->vm, sets, after, &distance);
        travelled += distance + 1;
        if (target == NONE || travelled > CEDE_VM_VCPU_COUNT_MAX) {
            if (!any) {
                fail_empty(turn);
            }
            return false;
        }
        if (target != first && try_target(turn, target)) {
            return true;
        }
        after = core->vcpu[target].index;
    }
    return false;
}

/* Counts spin exits in a row without progress. Where the shell can't tell spinning from kernel
 * mode, a long stretch passes for progress. */
static void note_progress(const struct cede *core, struct cede_vcpu *me,
                          const struct cede_ran *ran)
{
    uint64_t other_ns = ran->user_ns + ran->kernel_ns;

    if (cede_policy_of(core, me, CEDE_POLICY_YIELD) != CEDE_YIELD_PULL) {
        return;
    }
    if (other_ns > (ran->spin_ns == 0 ? UNTOLD_NS : PROGRESS_NS)) {
        me->fruitless = 0;
    } else if (me->fruitless < PATIENCE) {
        me->fruitless++;
    }
}

enum cede_status cede_decode_spin(const struct cede *core, const struct cede_event *event)
{
    enum cede_status status = cede_turn_current(core, event, &event->spin.ran, event->spin.mode);

    return status == CEDE_OK && event->spin.at_boundary > 1 ? CEDE_BAD_VALUE : status;
}

void cede_act_spin(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    struct cede_vcpu *me = &core->vcpu[event->vcpu.value];

    turn->at_boundary = event->spin.at_boundary != 0;
    cede_switch_begin(turn, &event->spin.ran, event->spin.mode);
    me->count[CEDE_COUNT_SPIN_EXITS]++;
    note_progress(core, me, &event->spin.ran);
    me->spinning = true;
    if (cede_switch_due(turn)) {
        return;
    }
    if (cede_policy_of(core, me, CEDE_POLICY_YIELD) != CEDE_YIELD_OFF &&
        core->vm[me->vm].vcpu_count > 1) {
        me->count[CEDE_COUNT_YIELDS_ATTEMPTED]++;
        if (yield_to_any(turn)) {
            return;
        }
    }
    me->spinning = false;
    cede_switch_stay(turn, CEDE_REASON_CONTINUE);
}

/* Why a named target can't be yielded to; CEDE_COUNTER_COUNT: it can. */
static enum cede_counter obstacle(const struct cede *core, uint32_t id, uint32_t target)
{
    const struct cede_vcpu *vcpu;

    if (target == NONE || target == id) {
        return CEDE_COUNT_YIELD_FAIL_GONE;
    }
    vcpu = &core->vcpu[target];
    if (vcpu->state == CEDE_STATE_RUNNING || vcpu->state == CEDE_STATE_POLLING) {
        return CEDE_COUNT_YIELD_FAIL_RUNNING;
    }
    if (vcpu->state == CEDE_STATE_THROTTLED) {
        return CEDE_COUNT_YIELD_FAIL_THROTTLED;
    }
    return vcpu->waiting ? CEDE_COUNTER_COUNT : CEDE_COUNT_YIELD_FAIL_GONE;
}

enum cede_status cede_decode_yield_to(const struct cede *core, const struct cede_event *event)
{
    const struct cede_event_yield_to *facts = &event->yield_to;
    enum cede_status status = cede_turn_current(core, event, &facts->ran, facts->mode);

    if (status != CEDE_OK) {
        return status;
    }
    if (facts->target.value != NONE &&
        (!cede_turn_vcpu_exists(core, facts->target) ||
         core->vcpu[facts->target.value].vm != core->vcpu[event->vcpu.value].vm)) {
        return CEDE_BAD_ID;
    }
    return facts->cause >= CEDE_YIELD_CAUSE_COUNT || facts->at_boundary > 1 ? CEDE_BAD_VALUE
                                                                            : CEDE_OK;
}

void cede_act_yield_to(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t id = event->vcpu.value, target = event->yield_to.target.value;
    enum cede_policy_key key = event->yield_to.cause == CEDE_YIELD_CAUSE_KICK
                                   ? CEDE_POLICY_YIELD_ON_KICK : CEDE_POLICY_YIELD_ON_SCHED_YIELD;
    enum cede_counter why;

    turn->at_boundary = event->yield_to.at_boundary != 0;
    cede_switch_begin(turn, &event->yield_to.ran, event->yield_to.mode);
    if (cede_switch_due(turn)) {
        return;
    }
    if (cede_policy_of(core, &core->vcpu[id], key) != 0) {
        core->vcpu[id].count[CEDE_COUNT_YIELDS_ATTEMPTED]++;
        why = obstacle(core, id, target);
        if (why != CEDE_COUNTER_COUNT) {
            fail(turn, target, why);
        } else if (try_target(turn, target)) {
            return;
        }
    }
    cede_switch_stay(turn, CEDE_REASON_CONTINUE);
}
