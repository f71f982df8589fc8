/*
 * yield.c - directed yields: rules, both semantics, follow-ups, and the hazards around them.
 */
#include "bench.h"

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static enum cede_status yield_to(uint32_t pcpu, uint32_t target, uint8_t cause)
{
    struct cede_event event = bench_event(CEDE_EVENT_YIELD_TO, pcpu, bench_current(pcpu));

    event.yield_to.target.value = target;
    event.yield_to.cause = cause;
    event.yield_to.mode = CEDE_MODE_KERNEL;
    event.yield_to.at_boundary = 1;
    return bench_send(&event);
}

/* `vcpu` loses pCPU `pcpu` at its slice's end, in that mode, to whoever waits there. */
static void preempt(uint32_t pcpu, uint8_t mode)
{
    struct cede_event event;

    bench.now_ns += 4 * MS;
    event = bench_event(CEDE_EVENT_RESCHED, pcpu, bench_current(pcpu));
    event.resched.mode = mode;
    event.resched.at_boundary = 1;
    (void)bench_send(&event);
}

/*
 * One VM, pinned: vCPU 0 runs on pCPU 0 (vCPU 1 may join it), 2 and 3 share pCPU 1, where 2 has
 * just been preempted in that mode. vCPU 2 is the only candidate that isn't woken.
 */
static void pairs(uint32_t preset, uint8_t mode)
{
    bench_build(2, 1, 4, preset, false);
    (void)bench_policy(0, CEDE_POLICY_YIELD_TO_WOKEN, 0);
    (void)bench_policy(0, CEDE_POLICY_WAKE_PREEMPT, 0);
    for (uint32_t n = 0; n < 4; n++) {
        (void)bench_affinity(n, UINT64_C(1) << (n / 2));
    }
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 2);
    (void)bench_run(US);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 3);
    (void)bench_resched(0, 0);
    preempt(1, mode);
    (void)bench_resched(0, 0);
}

/* vCPU 1 waits behind vCPU 0. */
static void join(void)
{
    (void)bench_simple(CEDE_EVENT_VCPU_START, 1);
    (void)bench_resched(0, 0);
}

/* Two free vCPUs of VM 0 run on 2 pCPUs; two more wait. Returns the pCPU where `who` waits. */
static void four_on_two(uint32_t preset)
{
    bench_build(2, 1, 4, preset, true);
    (void)bench_run(100 * US);
}

static uint32_t waiting_sibling(uint32_t vcpus)
{
    for (uint32_t n = 0; n < vcpus; n++) {
        if (bench_state(n) == CEDE_STATE_RUNNABLE) {
            return n;
        }
    }
    return NONE;
}

static void pulls(void)
{
    uint32_t me, target;

    four_on_two(CEDE_PRESET_CEDE);
    me = bench_current(0);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    target = bench_current(0);
    TAP(target != me && bench_ran(0, target), "pull: a sibling runs here, now");
    TAP(bench_state(me) == CEDE_STATE_RUNNABLE, "pull: the yielder waits");
    TAP(bench_find(CEDE_EFFECT_RUN)->reason == CEDE_REASON_YIELD_PULL, "pull: the reason says so");
    TAP(bench_counter(me, CEDE_COUNT_YIELDS_SUCCEEDED) == 1 &&
            bench_counter(target, CEDE_COUNT_YIELDS_RECEIVED) == 1,
        "pull: counted for both");
    TAP(bench_count(CEDE_EFFECT_PUBLISH) == 2, "pull: one is published preempted, one running");
    (void)bench_run(100 * US);
    TAP(bench_state(target) == CEDE_STATE_RUNNING, "pull: it keeps the CPU");
}

static void hints(void)
{
    pairs(CEDE_PRESET_KVM_2019, CEDE_MODE_KERNEL);
    TAP(bench_current(0) == 0 && bench_current(1) == 3, "2 was preempted, 3 runs in its place");
    join();
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_find(CEDE_EFFECT_KICK) != NULL && bench_find(CEDE_EFFECT_KICK)->pcpu.value == 1,
        "hint: the target's pCPU is asked to reschedule");
    TAP(bench_current(0) == 1, "hint: the yielder forfeits its slice");
    (void)bench_resched(1, 0);
    TAP(bench_ran(1, 2), "hint: the target is the next pick of its own queue");
    TAP(bench_find(CEDE_EFFECT_RUN)->reason == CEDE_REASON_YIELD_HINT, "hint: the reason says so");
    (void)bench_resched(1, 0);
    TAP(bench_ran(1, 2), "hint: for one pick");
}

static void falls_back(void)
{
    pairs(CEDE_PRESET_CEDE, CEDE_MODE_KERNEL);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_find(CEDE_EFFECT_KICK) != NULL && bench_find(CEDE_EFFECT_KICK)->pcpu.value == 1,
        "pull: where the target may not run here, it gets a hint on its own pCPU");
}

static void passes(uint8_t candidate, uint8_t spinner, bool expected, const char *what)
{
    pairs(CEDE_PRESET_CEDE, candidate);
    (void)bench_spin(0, 20 * US, spinner);
    TAP((bench_counter(0, CEDE_COUNT_YIELDS_SUCCEEDED) == 1) == expected, what);
}

static void filter(void)
{
    passes(CEDE_MODE_USER, CEDE_MODE_KERNEL, false,
           "filter: a kernel spinner skips who was preempted in user mode, and spins on");
    TAP(bench_counter(0, CEDE_COUNT_YIELD_FAIL_FILTERED) == 1 &&
            bench_counter(0, CEDE_COUNT_SKIP_USER_MODE) == 1, "filter: counted");
    (void)bench_interrupt(NONE, 2);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(0, CEDE_COUNT_YIELDS_SUCCEEDED) == 1,
        "filter: with an interrupt pending it counts as in kernel mode");
    passes(CEDE_MODE_USER, CEDE_MODE_USER, true, "filter: a spinner in user mode skips nobody");
    passes(CEDE_MODE_USER, CEDE_MODE_NEVER, true,
           "filter: doesn't apply where a spin exit tells no mode");
    passes(CEDE_MODE_UNKNOWN, CEDE_MODE_KERNEL, true,
           "filter: a candidate whose mode can't be read counts as in kernel mode");
    passes(CEDE_MODE_KERNEL, CEDE_MODE_KERNEL, true, "filter: kernel mode passes");
}

static void woken(void)
{
    uint32_t me;

    bench_build(1, 1, 2, CEDE_PRESET_KVM_2017, true);
    (void)bench_run(US);
    me = bench_current(0);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_current(0) == me && bench_counter(me, CEDE_COUNT_YIELD_FAIL_FILTERED) == 1,
        "kvm-2017: a woken sibling is no candidate");
    (void)bench_policy(0, CEDE_POLICY_YIELD_TO_WOKEN, 1);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(me, CEDE_COUNT_YIELDS_SUCCEEDED) == 1, "M1: it is one with the boost");
}

static void nobody(void)
{
    bench_build(2, 1, 2, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_ran(0, bench_current(0)) &&
            bench_counter(bench_current(0), CEDE_COUNT_YIELD_FAIL_NO_CANDIDATE) == 1,
        "1:1: a candidate that is already running isn't one; the spinner goes on");
    TAP(bench.effects.count == 1 && bench_find(CEDE_EFFECT_RUN)->until_ns == CEDE_NEVER_NS,
        "1:1: nothing else happens");

    bench_build(1, 1, 1, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(0, CEDE_COUNT_YIELDS_ATTEMPTED) == 0 &&
            bench_counter(0, CEDE_COUNT_SPIN_EXITS) == 1,
        "a VM with one vCPU returns at once");

    bench_build(1, 1, 2, CEDE_PRESET_OFF, true);
    (void)bench_run(US);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(bench_current(0), CEDE_COUNT_YIELDS_ATTEMPTED) == 0 &&
            bench_counter(bench_current(0), CEDE_COUNT_SPIN_EXITS) == 1,
        "off: spin exits are only counted");
}

/* Two spinners on one pCPU, and one that computes: it isn't starved. */
static void for_ever(uint32_t preset, const char *what)
{
    bench_build(1, 1, 3, preset, true);
    for (uint32_t n = 0; n < 20000; n++) {
        uint32_t current = bench_current(0);
        if (current == 2 || current == NONE) {
            (void)bench_run(20 * US);
        } else {
            (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
        }
    }
    TAP(bench_time(2, CEDE_TIME_HYPERVISOR) > bench.now_ns / 4, what);
}

static void last_boosted(void)
{
    uint32_t target;

    bench_build(1, 1, 3, CEDE_PRESET_CEDE, true);
    (void)bench_run(100 * US);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    target = bench_current(0);
    (void)bench_simple(CEDE_EVENT_VCPU_STOP, target);
    (void)bench_resched(0, US);
    TAP(bench_state(target) == CEDE_STATE_OFFLINE, "the boosted vCPU is stopped");
    TAP(bench_simple(CEDE_EVENT_VCPU_REMOVE, target) == CEDE_OK, "and removed");
    for (uint32_t n = 0; n < 20; n++) {
        (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    }
    TAP(bench.fault == NULL && bench_state(bench_current(0)) == CEDE_STATE_RUNNING,
        "yields go on after the last boosted one was removed");
}

/* A target is stopped between being hinted and being picked. */
static void torn_down(void)
{
    pairs(CEDE_PRESET_KVM_2019, CEDE_MODE_KERNEL);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_simple(CEDE_EVENT_VCPU_STOP, 2) == CEDE_OK, "a hinted target is stopped");
    TAP(bench_simple(CEDE_EVENT_VCPU_REMOVE, 2) == CEDE_OK, "and removed");
    (void)bench_resched(1, US);
    TAP(bench_ran(1, 3), "its pCPU runs somebody else");
}

static void paused(void)
{
    uint32_t target;

    bench_build(1, 1, 2, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    target = waiting_sibling(2);
    (void)bench_simple(CEDE_EVENT_VCPU_PAUSE, target);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_state(target) == CEDE_STATE_PAUSED && bench_current(0) != target,
        "a paused vCPU is never a candidate");
    TAP(yield_to(0, target, CEDE_YIELD_CAUSE_SCHED) == CEDE_OK &&
            bench_counter(bench_current(0), CEDE_COUNT_YIELD_FAIL_GONE) == 1,
        "naming it fails as gone");
}

static void ipi_first(void)
{
    struct cede_event event;
    uint32_t me, owes = NONE;

    bench_build(1, 1, 6, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    me = bench_current(0);
    owes = me == 4 ? 3 : 4;
    event = bench_event(CEDE_EVENT_INTERRUPT, 0, owes);
    event.interrupt.sender.value = me;
    event.interrupt.source = CEDE_SOURCE_IPI;
    (void)bench_send(&event);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_ran(0, owes), "the vCPU that owes the answer to the last IPI is preferred");
}

static void named(void)
{
    uint32_t me, target;

    bench_build(1, 1, 4, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    me = bench_current(0);
    target = me == 3 ? 2 : 3;
    (void)yield_to(0, target, CEDE_YIELD_CAUSE_SCHED);
    TAP(bench_ran(0, target), "PV sched yield: the named vCPU runs");
    TAP(yield_to(0, target, CEDE_YIELD_CAUSE_SCHED) == CEDE_OK && bench_ran(0, target),
        "naming itself changes nothing");
    TAP(bench_counter(target, CEDE_COUNT_YIELD_FAIL_GONE) == 1, "and is counted");
    (void)bench_policy(0, CEDE_POLICY_YIELD_ON_KICK, 0);
    (void)yield_to(0, me, CEDE_YIELD_CAUSE_KICK);
    TAP(bench_ran(0, target), "with yield_on_kick off, a kick yields to nobody");
}

static void alternate(void)
{
    uint32_t first, second;

    bench_build(1, 1, 2, CEDE_PRESET_KVM_2019, true);
    (void)bench_run(US);
    first = bench_current(0);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    second = bench_current(0);
    TAP(first != second, "a spinner yields to a sibling that isn't spinning");
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_current(0) == second && bench_counter(second, CEDE_COUNT_SKIP_SPINNING) == 1,
        "the sibling, spinning too, skips the first one once");
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_current(0) == first || bench_counter(second, CEDE_COUNT_YIELD_FAIL_AHEAD) == 1,
        "and yields to it the next time, unless it has had its share");
}

static void no_return(void)
{
    pairs(CEDE_PRESET_KVM_2019, CEDE_MODE_KERNEL);
    (void)bench_policy(0, CEDE_POLICY_YIELD_NO_RETURN, 1);
    (void)bench_policy(0, CEDE_POLICY_YIELD_ALTERNATE, 0);
    join();
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL); /* 0 hints to 2, which hasn't run yet */
    TAP(bench_current(0) == 1, "the yielder gave way");
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(1, CEDE_COUNT_SKIP_NO_RETURN) == 1,
        "a yielder isn't picked again before its target ran");
    (void)bench_resched(1, 0);
    TAP(bench_current(1) == 2, "the target runs");
    (void)bench_run(4 * MS);
    (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_counter(1, CEDE_COUNT_SKIP_NO_RETURN) + bench_counter(0, CEDE_COUNT_SKIP_NO_RETURN)
            == 1, "and then the yielder may be picked again");
}

static void goes_round(void)
{
    uint32_t seen = 0;

    bench_build(1, 1, 4, CEDE_PRESET_CEDE, true);
    (void)bench_policy(0, CEDE_POLICY_YIELD_ALTERNATE, 0);
    (void)bench_run(US);
    for (uint32_t n = 0; n < 4; n++) {
        (void)bench_spin(0, 20 * US, CEDE_MODE_KERNEL);
        seen |= 1u << bench_current(0);
    }
    TAP(seen == 15, "the search starts after the one boosted last: four yields, four vCPUs");
}

static void on_its_way(void)
{
    bench_build(2, 1, 2, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    (void)bench_halt(bench_current(0) == 1 ? 0 : 1, US);
    (void)bench_interrupt(NONE, 1);
    (void)bench_spin(bench_current(0) == 0 ? 0 : 1, 20 * US, CEDE_MODE_KERNEL);
    TAP(bench_ran(0, 0) && bench_counter(0, CEDE_COUNT_YIELD_FAIL_RUNNING) == 1,
        "a sibling that an idle pCPU was just asked to run is left to it");
}

static void throttled(void)
{
    uint32_t me;

    bench_build(2, 1, 3, CEDE_PRESET_CEDE, true);
    (void)bench_cap(0, 4 * MS, 100 * MS);
    (void)bench_run(20 * MS);
    me = NONE;
    for (uint32_t n = 0; n < 3; n++) {
        me = bench_state(n) == CEDE_STATE_THROTTLED ? n : me;
    }
    TAP(me != NONE, "a VM over its quota is throttled");
    TAP(bench_current(0) == NONE && bench_current(1) == NONE, "all of it");
    TAP(bench_run(81 * MS) && bench_current(0) != NONE, "and runs again in the next period");
}

int main(void)
{
    pulls();
    hints();
    falls_back();
    filter();
    woken();
    nobody();
    for_ever(CEDE_PRESET_CEDE, "two vCPUs that yield to each other don't starve a third: cede");
    for_ever(CEDE_PRESET_KVM_2017, "two vCPUs that yield to each other don't starve a third: hint");
    last_boosted();
    torn_down();
    paused();
    ipi_first();
    named();
    alternate();
    no_return();
    goes_round();
    on_its_way();
    throttled();
    TAP(bench.fault == NULL, "every invariant held");
    return tap_done();
}
