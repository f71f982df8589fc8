/*
 * misuse.c - bad input: each event kind with what its sender may plausibly get wrong. The status
 * says what, and nothing changes (bench_send() compares the whole memory).
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define MS UINT64_C(1000000)

/* pCPU 0 runs vCPU 0, pCPU 1 idles, pCPU 2 exists not; VM 0 has vCPUs 0 and 1 (1 is offline); VM 1
 * has none, VM 2 exists not; vCPU 2 exists not. */
static void build(void)
{
    struct cede_event event;

    bench_begin(3, 3, 4, 4);
    (void)bench_add_pcpu(0, CEDE_ROLE_SHARED, NONE, 0, 0);
    (void)bench_add_pcpu(1, CEDE_ROLE_SHARED, NONE, 1, 0);
    for (uint32_t vm = 0; vm < 2; vm++) {
        event = bench_event(CEDE_EVENT_VM_ADD, NONE, NONE);
        event.vm.value = vm;
        event.vm_add.weight = 1024;
        event.vm_add.preset = CEDE_PRESET_CEDE;
        (void)bench_send(&event);
    }
    for (uint32_t n = 0; n < 2; n++) {
        event = bench_event(CEDE_EVENT_VCPU_ADD, NONE, n);
        event.vm.value = 0;
        event.vcpu_add.index = n;
        (void)bench_send(&event);
    }
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_run(1000);
    bench.now_ns += 1000;
}

static void expect(const struct cede_event *event, enum cede_status status, const char *what)
{
    enum cede_status got = bench_send(event);

    if (!TAP(got == status && bench.fault == NULL, what)) {
        printf("# %s instead of %s\n", cede_status_name(got), cede_status_name(status));
    }
}

static struct cede_event of_vm(uint32_t kind, uint32_t vm)
{
    struct cede_event event = bench_event(kind, NONE, NONE);

    event.vm.value = vm;
    return event;
}

static void any_event(void)
{
    struct cede_event event = bench_event(CEDE_EVENT_COUNT, 0, 0);

    expect(&event, CEDE_BAD_KIND, "no such kind");
    event = bench_event(UINT32_MAX, 0, 0);
    expect(&event, CEDE_BAD_KIND, "no such kind by far");
    event = bench_event(CEDE_EVENT_RESCHED, 0, 0);
    event.now_ns = 999999;
    expect(&event, CEDE_BAD_TIME, "time went back");
}

static void pcpus(void)
{
    struct cede_event event = bench_event(CEDE_EVENT_PCPU_ADD, 3, NONE);

    event.pcpu_add.role_vm.value = NONE;
    expect(&event, CEDE_BAD_ID, "pcpu_add: out of range");
    event.pcpu.value = 0;
    expect(&event, CEDE_EXISTS, "pcpu_add: there already");
    event.pcpu.value = 2;
    event.pcpu_add.role = CEDE_ROLE_COUNT;
    expect(&event, CEDE_BAD_VALUE, "pcpu_add: no such role");
    event.pcpu_add.role = CEDE_ROLE_DEDICATED;
    expect(&event, CEDE_BAD_ID, "pcpu_add: dedicated to nobody");
    event.pcpu_add.role_vm.value = 2;
    expect(&event, CEDE_BAD_ID, "pcpu_add: dedicated to a VM that isn't there");
    event.pcpu_add.role = CEDE_ROLE_SHARED;
    expect(&event, CEDE_BAD_VALUE, "pcpu_add: shared, with a VM");

    event = bench_event(CEDE_EVENT_PCPU_ROLE, 2, NONE);
    event.pcpu_role.role_vm.value = NONE;
    expect(&event, CEDE_BAD_ID, "pcpu_role: not there");
    event.pcpu.value = 0;
    event.pcpu_role.role = 17;
    expect(&event, CEDE_BAD_VALUE, "pcpu_role: no such role");

    event = bench_event(CEDE_EVENT_PCPU_REMOVE, 2, NONE);
    expect(&event, CEDE_BAD_ID, "pcpu_remove: not there");
    event.pcpu.value = 0;
    expect(&event, CEDE_BUSY, "pcpu_remove: runs a vCPU");
    event.pcpu.value = 1;
    expect(&event, CEDE_BUSY, "pcpu_remove: not offline");
}

static void vms(void)
{
    struct cede_event event = of_vm(CEDE_EVENT_VM_ADD, 3);

    event.vm_add.weight = 1;
    expect(&event, CEDE_BAD_ID, "vm_add: out of range");
    event.vm.value = 1;
    expect(&event, CEDE_EXISTS, "vm_add: there already");
    event.vm.value = 2;
    event.vm_add.weight = 0;
    expect(&event, CEDE_BAD_VALUE, "vm_add: no weight");
    event.vm_add.weight = 1048577;
    expect(&event, CEDE_BAD_VALUE, "vm_add: too much weight");
    event.vm_add.weight = 1024;
    event.vm_add.preset = CEDE_PRESET_COUNT;
    expect(&event, CEDE_BAD_VALUE, "vm_add: no such preset");

    event = of_vm(CEDE_EVENT_VM_WEIGHT, 2);
    event.vm_weight.weight = 1;
    expect(&event, CEDE_BAD_ID, "vm_weight: not there");
    event.vm.value = 0;
    event.vm_weight.weight = 0;
    expect(&event, CEDE_BAD_VALUE, "vm_weight: none");

    event = of_vm(CEDE_EVENT_VM_CAP, 2);
    expect(&event, CEDE_BAD_ID, "vm_cap: not there");
    event.vm.value = 0;
    event.vm_cap.quota_ns = MS - 1;
    event.vm_cap.period_ns = 10 * MS;
    expect(&event, CEDE_BAD_VALUE, "vm_cap: quota too small");
    event.vm_cap.quota_ns = MS;
    event.vm_cap.period_ns = MS - 1;
    expect(&event, CEDE_BAD_VALUE, "vm_cap: period too short");
    event.vm_cap.period_ns = 1001 * MS;
    expect(&event, CEDE_BAD_VALUE, "vm_cap: period too long");

    event = of_vm(CEDE_EVENT_VM_POLICY, 2);
    expect(&event, CEDE_BAD_ID, "vm_policy: not there");
    event.vm.value = 0;
    event.vm_policy.key = CEDE_POLICY_COUNT;
    expect(&event, CEDE_BAD_VALUE, "vm_policy: no such key");
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        const struct cede_policy_info *info = cede_policy_info((enum cede_policy_key)key);
        event.vm_policy.key = key;
        event.vm_policy.value = info->max + 1;
        expect(&event, CEDE_BAD_VALUE, info->name);
        if (info->min != 0) {
            event.vm_policy.value = info->min - 1;
            expect(&event, CEDE_BAD_VALUE, info->name);
        }
    }
    event = of_vm(CEDE_EVENT_VM_PRESET, 2);
    expect(&event, CEDE_BAD_ID, "vm_preset: not there");
    event.vm.value = 0;
    event.vm_preset.preset = CEDE_PRESET_COUNT;
    expect(&event, CEDE_BAD_VALUE, "vm_preset: no such preset");
    event = of_vm(CEDE_EVENT_VM_REFILL, 2);
    expect(&event, CEDE_BAD_ID, "vm_refill: not there");
    event = of_vm(CEDE_EVENT_VM_REFILL, 0);
    event.pcpu.value = 2;
    expect(&event, CEDE_BAD_ID, "vm_refill: sender not there");
    event = of_vm(CEDE_EVENT_VM_REMOVE, 2);
    expect(&event, CEDE_BAD_ID, "vm_remove: not there");
    event.vm.value = 0;
    expect(&event, CEDE_BUSY, "vm_remove: it has vCPUs");
}

static void vcpus(void)
{
    struct cede_event event = bench_event(CEDE_EVENT_VCPU_ADD, NONE, 4);
    static const uint32_t needs_vcpu[] = {
        CEDE_EVENT_VCPU_AFFINITY, CEDE_EVENT_VCPU_START,  CEDE_EVENT_VCPU_STOP,
        CEDE_EVENT_VCPU_PAUSE,    CEDE_EVENT_VCPU_RESUME, CEDE_EVENT_VCPU_REMOVE,
        CEDE_EVENT_INTERRUPT,     CEDE_EVENT_TIMER_ARM,   CEDE_EVENT_TIMER_CANCEL,
    };

    event.vm.value = 0;
    expect(&event, CEDE_BAD_ID, "vcpu_add: out of range");
    event.vcpu.value = 2;
    event.vm.value = 2;
    expect(&event, CEDE_BAD_ID, "vcpu_add: VM not there");
    event.vm.value = 0;
    event.vcpu_add.index = 1;
    expect(&event, CEDE_EXISTS, "vcpu_add: index taken");
    event.vcpu_add.index = 4;
    expect(&event, CEDE_BAD_VALUE, "vcpu_add: index out of range");
    event.vcpu.value = 1;
    event.vcpu_add.index = 2;
    expect(&event, CEDE_EXISTS, "vcpu_add: there already");

    for (size_t n = 0; n < sizeof(needs_vcpu) / sizeof(needs_vcpu[0]); n++) {
        event = bench_event(needs_vcpu[n], NONE, 3);
        event.interrupt.sender.value = NONE;
        expect(&event, CEDE_BAD_ID, cede_event_name(needs_vcpu[n]));
        event.vcpu.value = 70000;
        expect(&event, CEDE_BAD_ID, cede_event_name(needs_vcpu[n]));
        if (needs_vcpu[n] != CEDE_EVENT_VCPU_REMOVE) {
            event.vcpu.value = 0;
            event.pcpu.value = 2;
            expect(&event, CEDE_BAD_ID, "its sender isn't there");
        }
    }
    event = bench_event(CEDE_EVENT_VCPU_AFFINITY, NONE, 0);
    event.vcpu_affinity.word = 1;
    expect(&event, CEDE_BAD_VALUE, "vcpu_affinity: no such word");
    event = bench_event(CEDE_EVENT_VCPU_START, NONE, 0);
    expect(&event, CEDE_BAD_STATE, "vcpu_start: runs already");
    event = bench_event(CEDE_EVENT_VCPU_STOP, NONE, 1);
    expect(&event, CEDE_BAD_STATE, "vcpu_stop: offline");
    event = bench_event(CEDE_EVENT_VCPU_STOP, 0, 0);
    event.stop.ran.user_ns = 2001;
    expect(&event, CEDE_BAD_VALUE, "vcpu_stop: ran for longer than it had");
    event = bench_event(CEDE_EVENT_VCPU_RESUME, NONE, 0);
    expect(&event, CEDE_BAD_STATE, "vcpu_resume: not paused");
    event = bench_event(CEDE_EVENT_VCPU_REMOVE, NONE, 0);
    expect(&event, CEDE_BUSY, "vcpu_remove: runs");
    event = bench_event(CEDE_EVENT_INTERRUPT, NONE, 1);
    event.interrupt.sender.value = NONE;
    expect(&event, CEDE_BAD_STATE, "interrupt: for an offline vCPU");
    event.vcpu.value = 0;
    event.interrupt.sender.value = 3;
    expect(&event, CEDE_BAD_ID, "interrupt: sender not there");
    event.interrupt.sender.value = NONE;
    event.interrupt.source = CEDE_SOURCE_COUNT;
    expect(&event, CEDE_BAD_VALUE, "interrupt: no such source");
    event.interrupt.source = CEDE_SOURCE_IPI;
    event.interrupt.in_guest = 2;
    expect(&event, CEDE_BAD_VALUE, "interrupt: a flag of 2");
}

/* Facts that the five events of a running vCPU share. */
static void own_events(void)
{
    static const uint32_t own[] = {CEDE_EVENT_RESCHED, CEDE_EVENT_SPIN, CEDE_EVENT_YIELD_TO,
                                   CEDE_EVENT_HALT};

    for (size_t n = 0; n < sizeof(own) / sizeof(own[0]); n++) {
        struct cede_event event = bench_event(own[n], 2, 0);
        if (own[n] == CEDE_EVENT_YIELD_TO) {
            event.yield_to.target.value = 1;
        }
        expect(&event, CEDE_BAD_ID, "an own event of a pCPU that isn't there");
        event.pcpu.value = 1;
        expect(&event, CEDE_BAD_STATE, "an own event with another pCPU's vCPU");
        event.pcpu.value = 0;
        event.vcpu.value = 1;
        expect(&event, CEDE_BAD_STATE, "an own event with a vCPU that isn't current");
        event.vcpu.value = 0;
        event.words[0] = 600; /* ran.user_ns */
        event.words[1] = 1401;
        expect(&event, CEDE_BAD_VALUE, "it ran for longer than it had the pCPU");
        event.words[1] = 1400;
        event.words[2] = 1;
        expect(&event, CEDE_BAD_VALUE, "with its spinning");
        event.words[2] = 0;
        event.words[0] = UINT64_MAX;
        event.words[1] = 2;
        expect(&event, CEDE_BAD_VALUE, "and its parts overflow");
    }
    struct cede_event event = bench_event(CEDE_EVENT_RESCHED, 0, 0);
    event.resched.mode = CEDE_MODE_COUNT;
    expect(&event, CEDE_BAD_VALUE, "resched: no such mode");
    event = bench_event(CEDE_EVENT_RESCHED, 0, NONE);
    expect(&event, CEDE_BAD_STATE, "resched: none, where one runs");
    event = bench_event(CEDE_EVENT_RESCHED, 1, NONE);
    event.resched.ran.user_ns = 1;
    expect(&event, CEDE_BAD_VALUE, "resched: an idle pCPU ran something");
    event = bench_event(CEDE_EVENT_SPIN, 0, 0);
    event.spin.at_boundary = 2;
    expect(&event, CEDE_BAD_VALUE, "spin: a flag of 2");
    event = bench_event(CEDE_EVENT_HALT, 0, 0);
    event.halt.poll_disabled = 2;
    expect(&event, CEDE_BAD_VALUE, "halt: a flag of 2");
    event = bench_event(CEDE_EVENT_YIELD_TO, 0, 0);
    event.yield_to.target.value = 3;
    expect(&event, CEDE_BAD_ID, "yield_to: target not there");
    event.yield_to.target.value = 1;
    event.yield_to.cause = CEDE_YIELD_CAUSE_COUNT;
    expect(&event, CEDE_BAD_VALUE, "yield_to: no such cause");
    event = bench_event(CEDE_EVENT_POLL_END, 0, 0);
    expect(&event, CEDE_BAD_STATE, "poll_end: it doesn't poll");
    event = bench_event(CEDE_EVENT_POLL_END, 2, 0);
    expect(&event, CEDE_BAD_ID, "poll_end: not there");
}

static void timers(void)
{
    struct cede_event event = bench_event(CEDE_EVENT_TIMER_ARM, 0, 1);

    expect(&event, CEDE_BAD_STATE, "timer_arm: an offline vCPU");
    event.vcpu.value = 0;
    event.timer_arm.kind = CEDE_TIMER_COUNT;
    expect(&event, CEDE_BAD_VALUE, "timer_arm: no such kind");
    event.timer_arm.kind = CEDE_TIMER_PERIODIC;
    expect(&event, CEDE_BAD_VALUE, "timer_arm: periodic without a period");
    event.timer_arm.kind = CEDE_TIMER_ONE_SHOT;
    event.timer_arm.period_ns = 5;
    expect(&event, CEDE_BAD_VALUE, "timer_arm: a period, and not periodic");
    event = bench_event(CEDE_EVENT_TIMER_FIRE, 0, 0);
    expect(&event, CEDE_BAD_STATE, "timer_fire: not armed");
    event = bench_event(CEDE_EVENT_TIMER_ARM, 0, 0);
    event.timer_arm.deadline_ns = bench.now_ns + MS;
    expect(&event, CEDE_OK, "timer_arm");
    event = bench_event(CEDE_EVENT_TIMER_FIRE, 1, 0);
    expect(&event, CEDE_BAD_STATE, "timer_fire: placed elsewhere");
    event = bench_event(CEDE_EVENT_TIMER_FIRE, 2, 0);
    expect(&event, CEDE_BAD_ID, "timer_fire: pCPU not there");
}

static void other_calls(void)
{
    struct cede_config config = bench.config, bad;
    struct cede_vcpu_stats vcpu_stats;
    struct cede_pcpu_stats pcpu_stats;
    struct cede_policy policy;
    struct cede *core = NULL;
    unsigned char *memory = aligned_alloc(CEDE_ALIGN, bench.size + CEDE_ALIGN);

    bad = config;
    bad.pcpu_count = CEDE_PCPU_COUNT_MAX + 1;
    TAP(cede_size(&bad) == 0, "cede_size: too many pCPUs");
    bad = config;
    bad.vm_vcpu_count = 0;
    TAP(cede_size(&bad) == 0, "cede_size: no vCPUs");
    bad = config;
    bad.trace_count = 3;
    TAP(cede_size(&bad) == 0, "cede_size: rings of 3");
    TAP(cede_init(memory, bench.size, &bad, &core) == CEDE_BAD_VALUE, "cede_init: bad config");
    TAP(cede_init(memory, bench.size - 1, &config, &core) == CEDE_BAD_MEMORY,
        "cede_init: too small");
    TAP(cede_init(memory + 8, bench.size, &config, &core) == CEDE_BAD_MEMORY,
        "cede_init: misaligned");
    TAP(cede_init(NULL, bench.size, &config, &core) == CEDE_BAD_MEMORY && core == NULL,
        "cede_init: no memory");
    TAP(cede_vcpu_stats(bench.core, bench.now_ns, (struct cede_vcpu_id){3}, &vcpu_stats) ==
            CEDE_BAD_ID, "cede_vcpu_stats: not there");
    TAP(cede_vcpu_stats(bench.core, 1, (struct cede_vcpu_id){0}, &vcpu_stats) == CEDE_BAD_TIME,
        "cede_vcpu_stats: the past");
    TAP(cede_pcpu_stats(bench.core, bench.now_ns, (struct cede_pcpu_id){2}, &pcpu_stats) ==
            CEDE_BAD_ID, "cede_pcpu_stats: not there");
    TAP(cede_pcpu_stats(bench.core, 1, (struct cede_pcpu_id){0}, &pcpu_stats) == CEDE_BAD_TIME,
        "cede_pcpu_stats: the past");
    TAP(cede_vm_policy(bench.core, (struct cede_vm_id){2}, &policy) == CEDE_BAD_ID,
        "cede_vm_policy: not there");
    free(memory);
}

int main(void)
{
    build();
    any_event();
    pcpus();
    vms();
    vcpus();
    own_events();
    timers();
    other_calls();
    TAP(bench.fault == NULL, "no refused event changed anything");
    return tap_done();
}
