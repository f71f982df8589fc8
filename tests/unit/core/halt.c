/*
 * halt.c - halts, polling, wake-ups, placement, interrupts: nothing is lost, hooks pair.
 */
#include "bench.h"

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static enum cede_status poll_end(uint32_t pcpu, uint8_t woken)
{
    struct cede_event event = bench_event(CEDE_EVENT_POLL_END, pcpu, bench_current(pcpu));

    event.poll_end.woken = woken;
    return bench_send(&event);
}

static void one(uint32_t pcpus, uint32_t preset)
{
    bench_build(pcpus, 1, 2, preset, false);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_run(US);
}

static void blocks_and_wakes(void)
{
    struct cede_vcpu_stats stats;

    one(2, CEDE_PRESET_OFF);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_IDLE) != NULL && bench_state(0) == CEDE_STATE_BLOCKED,
        "a halt blocks, and the pCPU idles");
    TAP(bench.effects.item[0].kind == CEDE_EFFECT_HOOK_BLOCKING, "the late hook comes before IDLE");
    bench.now_ns += 5 * MS;
    (void)bench_interrupt(NONE, 0);
    TAP(bench_find(CEDE_EFFECT_KICK) != NULL && bench_find(CEDE_EFFECT_KICK)->pcpu.value == 0,
        "an interrupt wakes it where its cache is warm");
    (void)bench_resched(0, 2 * US);
    TAP(bench_ran(0, 0) && bench_count(CEDE_EFFECT_HOOK_UNBLOCKING) == 1,
        "it runs, after its hook was undone");
    (void)cede_vcpu_stats(bench.core, bench.now_ns, (struct cede_vcpu_id){0}, &stats);
    TAP(stats.wake_latency.count == 1 && stats.wake_latency.max_ns == 2 * US,
        "the wake-up's latency is recorded");
    TAP(stats.time_ns[CEDE_TIME_BLOCKED] == 5 * MS && stats.time_ns[CEDE_TIME_STEAL] == 2 * US,
        "blocked and steal time are exact");
    TAP(bench_find(CEDE_EFFECT_PUBLISH)->publish.steal_ns == 2 * US, "steal time is published");
}

static void pending_at_halt(void)
{
    struct cede_event event;

    one(1, CEDE_PRESET_CEDE);
    event = bench_event(CEDE_EVENT_HALT, 0, 0);
    event.halt.interrupt_pending = 1;
    (void)bench_send(&event);
    TAP(bench_ran(0, 0) && bench_state(0) == CEDE_STATE_RUNNING,
        "a wake between check and block isn't lost: a halt with work pending goes on");
}

/* Blocks for `ns`, once; the pCPU is told to look and runs it again. */
static void nap(uint64_t ns)
{
    (void)bench_halt(0, 10 * US);
    if (bench_find(CEDE_EFFECT_POLL) != NULL) {
        uint64_t window_ns = bench_find(CEDE_EFFECT_POLL)->until_ns - bench.now_ns;
        if (ns < window_ns) {
            bench.now_ns += ns;
            (void)bench_interrupt(NONE, 0);
            (void)poll_end(0, 1);
            return;
        }
        bench.now_ns += window_ns;
        ns -= window_ns;
        (void)poll_end(0, 0);
    }
    bench.now_ns += ns;
    (void)bench_interrupt(NONE, 0);
    (void)bench_resched(0, 0);
}

static void window_adapts(void)
{
    uint64_t at_ns;

    one(1, CEDE_PRESET_CEDE);
    nap(50 * US);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_POLL) != NULL &&
            bench_find(CEDE_EFFECT_POLL)->until_ns == bench.now_ns + 10 * US,
        "after a short block, the window starts at its first size");
    (void)bench_interrupt(NONE, 0);
    TAP(bench_count(CEDE_EFFECT_POLL_STOP) == 1, "an interrupt stops the poll");
    bench.now_ns += US;
    (void)poll_end(0, 0);
    TAP(bench_ran(0, 0),
        "it runs on, even if the poller's sample was too early to see it");
    TAP(bench_counter(0, CEDE_COUNT_POLLS_SUCCEEDED) == 1, "counted as a successful poll");
    nap(50 * US);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_POLL)->until_ns == bench.now_ns + 20 * US,
        "a block just longer than the window doubles it");
    at_ns = bench_find(CEDE_EFFECT_POLL)->until_ns;
    bench.now_ns += 5 * US;
    (void)poll_end(0, 0);
    TAP(bench_find(CEDE_EFFECT_POLL) != NULL && bench_find(CEDE_EFFECT_POLL)->until_ns == at_ns,
        "a poll that ends early for nothing goes on");
    bench.now_ns = at_ns;
    (void)poll_end(0, 0);
    TAP(bench_state(0) == CEDE_STATE_BLOCKED && bench_counter(0, CEDE_COUNT_POLLS_FAILED) == 2,
        "a window that runs out blocks");
    bench.now_ns += 50 * MS;
    (void)bench_interrupt(NONE, 0);
    (void)bench_resched(0, 0);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_POLL) != NULL &&
            bench_find(CEDE_EFFECT_POLL)->until_ns == bench.now_ns + 10 * US,
        "a block much longer than the cap shrinks it");
    bench.now_ns += 10 * US;
    (void)poll_end(0, 0);
    bench.now_ns += 50 * MS;
    (void)bench_interrupt(NONE, 0);
    (void)bench_resched(0, 0);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_POLL) == NULL, "below its first size it is 0");
}

static void poll_gives_way(void)
{
    one(1, CEDE_PRESET_CEDE);
    nap(50 * US);
    (void)bench_halt(0, 10 * US);
    TAP(bench_find(CEDE_EFFECT_POLL) != NULL, "it polls");
    (void)bench_simple(CEDE_EVENT_VCPU_START, 1);
    TAP(bench_count(CEDE_EFFECT_POLL_STOP) == 1, "polling stops when another vCPU wants the pCPU");
    (void)poll_end(0, 0);
    TAP(bench_ran(0, 1) && bench_state(0) == CEDE_STATE_BLOCKED, "which then runs");
    (void)bench_interrupt(NONE, 0);
    (void)bench_resched(0, 5 * MS);
    (void)bench_halt(0, 0);
    TAP(bench_find(CEDE_EFFECT_POLL) == NULL, "no poll at all while another one waits");
}

static void poll_disabled(void)
{
    struct cede_event event;

    one(1, CEDE_PRESET_CEDE);
    nap(50 * US);
    event = bench_event(CEDE_EVENT_HALT, 0, 0);
    event.halt.poll_disabled = 1;
    (void)bench_send(&event);
    TAP(bench_state(0) == CEDE_STATE_BLOCKED, "no poll for a guest that switched it off");
}

static void early_hook(void)
{
    one(1, CEDE_PRESET_CEDE);
    (void)bench_policy(0, CEDE_POLICY_HALT_HOOK, CEDE_HOOK_EARLY);
    nap(50 * US);
    (void)bench_halt(0, 10 * US);
    TAP(bench.effects.count == 2 && bench.effects.item[0].kind == CEDE_EFFECT_HOOK_BLOCKING &&
            bench.effects.item[1].kind == CEDE_EFFECT_POLL, "early: the hook comes before POLL");
    (void)poll_end(0, 1);
    TAP(bench_count(CEDE_EFFECT_HOOK_UNBLOCKING) == 1 && bench_ran(0, 0),
        "early: a successful poll undoes it before RUN");
    (void)bench_halt(0, 10 * US);
    (void)bench_simple(CEDE_EVENT_VCPU_STOP, 0);
    (void)poll_end(0, 0);
    TAP(bench_state(0) == CEDE_STATE_OFFLINE && bench_count(CEDE_EFFECT_HOOK_UNBLOCKING) == 1,
        "a stop undoes it as well");
}

static void paused_and_woken(void)
{
    one(1, CEDE_PRESET_OFF);
    (void)bench_halt(0, 10 * US);
    (void)bench_simple(CEDE_EVENT_VCPU_PAUSE, 0);
    (void)bench_interrupt(NONE, 0);
    TAP(bench.effects.count == 0 && bench_state(0) == CEDE_STATE_PAUSED,
        "a paused vCPU isn't woken");
    (void)bench_simple(CEDE_EVENT_VCPU_RESUME, 0);
    TAP(bench_state(0) == CEDE_STATE_RUNNABLE, "but its wake-up is kept until it is resumed");
    (void)bench_resched(0, 0);
    (void)bench_simple(CEDE_EVENT_VCPU_PAUSE, 0);
    TAP(bench_count(CEDE_EFFECT_KICK) == 1, "pausing a running one kicks it");
    (void)bench_resched(0, US);
    TAP(bench_state(0) == CEDE_STATE_PAUSED && bench_count(CEDE_EFFECT_PUBLISH) == 0,
        "it leaves, and nothing is published for it");
    (void)bench_simple(CEDE_EVENT_VCPU_RESUME, 0);
    (void)bench_resched(0, 0);
    TAP(bench_ran(0, 0), "it runs on when resumed");
}

static void preempted_hint(void)
{
    struct cede_event event;
    uint32_t first;

    bench_build(1, 1, 2, CEDE_PRESET_CEDE, true);
    (void)bench_run(US);
    first = bench_current(0);
    (void)bench_resched(0, 4 * MS);
    TAP(bench_find(CEDE_EFFECT_PUBLISH) != NULL &&
            bench_find(CEDE_EFFECT_PUBLISH)->vcpu.value == first &&
            bench_find(CEDE_EFFECT_PUBLISH)->publish.preempted == 1,
        "losing the pCPU while runnable is published");
    bench.now_ns += 4 * MS;
    event = bench_event(CEDE_EVENT_RESCHED, 0, bench_current(0));
    event.resched.mode = CEDE_MODE_KERNEL;
    event.resched.at_boundary = 0;
    (void)bench_send(&event);
    TAP(bench_count(CEDE_EFFECT_PUBLISH) == 1 &&
            bench_find(CEDE_EFFECT_PUBLISH)->publish.preempted == 0,
        "unless an instruction is half emulated");
    (void)bench_policy(0, CEDE_POLICY_PUBLISH_PREEMPTED, 0);
    (void)bench_resched(0, 4 * MS);
    TAP(bench_count(CEDE_EFFECT_PUBLISH) == 1, "or the policy says no");
}

static void interrupts(void)
{
    struct cede_event event;

    one(1, CEDE_PRESET_CEDE);
    event = bench_event(CEDE_EVENT_INTERRUPT, NONE, 0);
    event.interrupt.sender.value = NONE;
    event.interrupt.in_guest = 1;
    event.interrupt.can_post = 1;
    (void)bench_send(&event);
    TAP(bench.effects.count == 1 && bench_count(CEDE_EFFECT_POST) == 1, "in the guest: posted");
    event.interrupt.can_post = 0;
    (void)bench_send(&event);
    TAP(bench.effects.count == 1 && bench_count(CEDE_EFFECT_NOTIFY) == 1,
        "without interrupt virtualization: an exit is forced");
    event.interrupt.in_guest = 0;
    (void)bench_send(&event);
    TAP(bench.effects.count == 0, "outside the guest it is seen at the next entry");
    TAP(bench_counter(0, CEDE_COUNT_INTERRUPTS_POSTED) == 1 &&
            bench_counter(0, CEDE_COUNT_INTERRUPTS_KICKED) == 1, "counted");
}

static void placement(void)
{
    bench_begin(4, 1, 4, 4);
    for (uint32_t n = 0; n < 4; n++) {
        (void)bench_add_pcpu(n, CEDE_ROLE_SHARED, NONE, n / 2, n / 2);
    }
    struct cede_event event = bench_event(CEDE_EVENT_VM_ADD, NONE, NONE);
    event.vm.value = 0;
    event.vm_add.weight = 1024;
    event.vm_add.preset = CEDE_PRESET_OFF;
    (void)bench_send(&event);
    for (uint32_t n = 0; n < 4; n++) {
        event = bench_event(CEDE_EVENT_VCPU_ADD, NONE, n);
        event.vm.value = 0;
        event.vcpu_add.index = n;
        (void)bench_send(&event);
    }
    (void)bench_affinity(0, 4);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_run(US);
    TAP(bench_current(2) == 0, "the affinity mask is kept");
    (void)bench_halt(2, US);
    (void)bench_affinity(0, 15);
    (void)bench_affinity(1, 4);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 1);
    (void)bench_run(US);
    (void)bench_interrupt(NONE, 0);
    TAP(bench_find(CEDE_EFFECT_KICK) != NULL && bench_find(CEDE_EFFECT_KICK)->pcpu.value == 3,
        "its pCPU being busy, a woken vCPU goes to an idle one of the same cache");
    (void)bench_run(US);
    (void)bench_affinity(2, 12);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 2);
    (void)bench_run(US);
    TAP(bench_state(2) == CEDE_STATE_RUNNABLE, "a vCPU waits if its mask leaves only busy ones");
    (void)bench_affinity(2, 2);
    (void)bench_run(US);
    TAP(bench_current(1) == 2, "and goes where a new mask allows");
    (void)bench_affinity(2, 0);
    (void)bench_run(US);
    TAP(bench_state(2) == CEDE_STATE_RUNNABLE && bench_current(1) == NONE,
        "with an empty mask it may run nowhere");
    (void)bench_affinity(2, 2);
    (void)bench_run(US);
    TAP(bench_current(1) == 2, "until it gets a pCPU back");
}

static void pulls_when_idle(void)
{
    bench_build(2, 1, 2, CEDE_PRESET_OFF, false);
    (void)bench_affinity(0, 1);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_affinity(1, 1);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 1);
    (void)bench_run(US);
    TAP(bench_current(1) == NONE, "two vCPUs on one pCPU by their masks");
    (void)bench_affinity(bench_state(0) == CEDE_STATE_RUNNABLE ? 0 : 1, 3);
    (void)bench_run(US);
    TAP(bench_current(1) != NONE, "no pCPU idles while a vCPU that may run there waits");
    bench_build(2, 1, 3, CEDE_PRESET_OFF, true);
    (void)bench_run(US);
    (void)bench_halt(0, US);
    TAP(bench_current(0) != NONE, "a pCPU whose vCPU halts takes one that waits elsewhere");
    (void)bench_halt(0, US);
    TAP(bench_current(0) == NONE, "until nobody waits");
}

int main(void)
{
    blocks_and_wakes();
    pending_at_halt();
    window_adapts();
    poll_gives_way();
    poll_disabled();
    early_hook();
    paused_and_woken();
    preempted_hint();
    interrupts();
    placement();
    pulls_when_idle();
    TAP(bench.fault == NULL, "every invariant held");
    return tap_done();
}
