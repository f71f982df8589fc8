/*
 * host.c - what the host's management does: roles, hot add and remove, caps, timers, policy, trace,
 * names, histograms, memory.
 */
#include "bench.h"

#include <string.h>

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static enum cede_status role(uint32_t pcpu, uint32_t to, uint32_t vm)
{
    struct cede_event event = bench_event(CEDE_EVENT_PCPU_ROLE, pcpu, NONE);

    event.pcpu_role.role = to;
    event.pcpu_role.role_vm.value = vm;
    return bench_send(&event);
}

static enum cede_status arm(uint32_t vcpu, uint64_t in_ns, uint64_t period_ns, uint8_t can_post)
{
    struct cede_event event = bench_event(CEDE_EVENT_TIMER_ARM, NONE, vcpu);

    event.timer_arm.deadline_ns = bench.now_ns + in_ns;
    event.timer_arm.period_ns = period_ns;
    event.timer_arm.kind = period_ns != 0 ? CEDE_TIMER_PERIODIC : CEDE_TIMER_DEADLINE;
    event.timer_arm.can_post = can_post;
    return bench_send(&event);
}

static enum cede_status fire(uint32_t pcpu, uint32_t vcpu, uint8_t in_guest, uint8_t can_post)
{
    struct cede_event event = bench_event(CEDE_EVENT_TIMER_FIRE, pcpu, vcpu);

    event.timer_fire.in_guest = in_guest;
    event.timer_fire.can_post = can_post;
    return bench_send(&event);
}

static void roles(void)
{
    bench_build(4, 2, 3, CEDE_PRESET_CEDE, true);
    (void)bench_run(MS);
    TAP(role(3, CEDE_ROLE_DEDICATED, 1) == CEDE_OK && role(2, CEDE_ROLE_DEDICATED, 1) == CEDE_OK,
        "two pCPUs are dedicated to a VM");
    (void)bench_run(20 * MS);
    TAP(bench_current(3) >= 3 && bench_current(2) >= 3, "they run that VM only");
    TAP(role(0, CEDE_ROLE_OFFLINE, NONE) == CEDE_OK, "a busy pCPU goes offline");
    (void)bench_run(20 * MS);
    TAP(bench_current(0) == NONE && bench.fault == NULL, "its vCPUs leave");
    TAP(bench_simple(CEDE_EVENT_PCPU_REMOVE, NONE) == CEDE_BAD_ID, "removing needs an id");
    struct cede_event event = bench_event(CEDE_EVENT_PCPU_REMOVE, 0, NONE);
    TAP(bench_send(&event) == CEDE_OK, "an offline, empty pCPU is removed");
    event = bench_event(CEDE_EVENT_VM_REMOVE, NONE, NONE);
    event.vm.value = 1;
    TAP(bench_send(&event) == CEDE_BUSY, "a VM with pCPUs of its own can't go");
    TAP(bench_add_pcpu(0, CEDE_ROLE_SHARED, NONE, 0, 0) == CEDE_OK, "the pCPU comes back");
    (void)bench_run(20 * MS);
    TAP(bench_current(0) != NONE, "and finds work by itself");
    for (uint32_t n = 0; n < 4; n++) {
        (void)role(n, CEDE_ROLE_OFFLINE, NONE);
    }
    (void)bench_run(20 * MS);
    TAP(bench_current(0) == NONE && bench_current(3) == NONE && bench.fault == NULL,
        "all pCPUs may be offline");
    (void)role(1, CEDE_ROLE_SHARED, NONE);
    (void)bench_run(200 * MS);
    TAP(bench_current(1) != NONE && bench_time(5, CEDE_TIME_HYPERVISOR) > 0,
        "and the first that comes back runs whom it may");
}

static uint64_t used(void)
{
    uint64_t sum_ns = 0;

    for (uint32_t n = 0; n < 4; n++) {
        sum_ns += bench_time(n, CEDE_TIME_HYPERVISOR);
    }
    return sum_ns;
}

static void caps(void)
{
    uint64_t before_ns, period_ns;
    bool within = true;

    bench_build(4, 1, 4, CEDE_PRESET_CEDE, true);
    (void)bench_run(500 * MS);
    before_ns = used();
    (void)bench_cap(0, 30 * MS, 20 * MS);
    for (uint32_t n = 0; n < 20; n++) {
        uint64_t start_ns = used();
        (void)bench_run(20 * MS);
        period_ns = used() - start_ns;
        within = within && period_ns <= 30 * MS + 4 * 100 * US;
    }
    TAP(within, "a cap isn't exceeded in any period by more than a kick takes");
    TAP(used() - before_ns >= 20 * 29 * MS, "and its quota can be used");
    TAP(bench_counter(0, CEDE_COUNT_THROTTLES) > 0, "throttling is counted");
    TAP(bench_time(0, CEDE_TIME_THROTTLED) > 0, "and its time has its own class");
    (void)bench_cap(0, 0, 0);
    before_ns = used();
    (void)bench_run(10 * MS);
    TAP(used() - before_ns == 40 * MS, "without the cap, all run");

    bench_build(2, 1, 40, CEDE_PRESET_CEDE, true);
    (void)bench_cap(0, 2 * MS, 10 * MS);
    TAP(bench_run(300 * MS) && bench.fault == NULL,
        "more throttled vCPUs than one refill releases");
}

static void timers_of_shared(void)
{
    bench_build(2, 1, 2, CEDE_PRESET_CEDE, false);
    (void)role(1, CEDE_ROLE_HOUSEKEEPING, NONE);
    (void)bench_affinity(0, 1);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_run(US);
    (void)arm(0, MS, 0, 1);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value == 0 &&
            bench_counter(0, CEDE_COUNT_TIMERS_LOCAL) == 1, "a shared vCPU's timer is local");
    (void)bench_halt(0, US);
    (void)bench_affinity(0, 2);
    bench.now_ns += MS;
    (void)fire(0, 0, 0, 0);
    TAP(bench_find(CEDE_EFFECT_KICK) != NULL && bench_state(0) == CEDE_STATE_RUNNABLE,
        "it wakes its vCPU");
    (void)bench_run(US);
    (void)arm(0, MS, 0, 0);
    (void)bench_affinity(0, 1);
    (void)bench_resched(1, 0);
    (void)bench_resched(0, 0);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE) != NULL &&
            bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value == 0, "it follows its vCPU");
    TAP(fire(1, 0, 0, 0) == CEDE_BAD_STATE, "and can't fire where it was");
    (void)bench_simple(CEDE_EVENT_TIMER_CANCEL, 0);
    TAP(bench_count(CEDE_EFFECT_TIMER_UNPLACE) == 1, "a cancelled timer is disarmed");
    (void)arm(0, MS, MS, 0);
    bench.now_ns += 10 * MS;
    (void)fire(0, 0, 1, 0);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->deadline_ns == bench.now_ns,
        "a late periodic timer is clamped to now: no storm");
    TAP(bench_count(CEDE_EFFECT_NOTIFY) == 1, "its interrupt forces an exit");
    (void)bench_simple(CEDE_EVENT_VCPU_STOP, 0);
    (void)bench_resched(0, 0);
    TAP(bench_count(CEDE_EFFECT_TIMER_UNPLACE) == 1, "a stopped vCPU's timer is disarmed");
}

static void timers_of_dedicated(void)
{
    bench_build(4, 2, 1, CEDE_PRESET_CEDE, false);
    (void)role(0, CEDE_ROLE_DEDICATED, 0);
    (void)role(1, CEDE_ROLE_HOUSEKEEPING, NONE);
    (void)role(2, CEDE_ROLE_HOUSEKEEPING, NONE);
    (void)bench_affinity(0, 1);
    (void)bench_affinity(1, 4);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 0);
    (void)bench_simple(CEDE_EVENT_VCPU_START, 1);
    (void)bench_run(US);
    (void)arm(0, MS, 0, 1);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value == 2,
        "a dedicated vCPU's timer goes to the busy housekeeping pCPU, not to an idle one");
    TAP(bench_counter(0, CEDE_COUNT_TIMERS_HOUSEKEEPING) == 1, "counted");
    bench.now_ns += MS;
    (void)fire(2, 0, 1, 1);
    TAP(bench.effects.count == 1 && bench_count(CEDE_EFFECT_POST) == 1,
        "its interrupt is posted, without an exit");
    (void)arm(0, MS, 0, 0);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value == 0,
        "without interrupt virtualization it is local");
    (void)bench_policy(0, CEDE_POLICY_TIMER_POST, 0);
    (void)arm(0, MS, 0, 1);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value == 0, "and if the policy says so");
    (void)bench_policy(0, CEDE_POLICY_TIMER_ADVANCE_NS, 5000);
    (void)arm(0, MS, 0, 1);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE)->deadline_ns == bench.now_ns + MS - 5000,
        "timer advance makes it fire early");
    (void)role(0, CEDE_ROLE_OFFLINE, NONE);
    (void)bench_resched(0, 0);
    TAP(bench_find(CEDE_EFFECT_TIMER_PLACE) != NULL &&
            bench_find(CEDE_EFFECT_TIMER_PLACE)->pcpu.value != 0,
        "timers leave a pCPU that goes offline");
}

static void presets(void)
{
    struct cede_policy policy;
    uint64_t value = 9;
    bool all = true;

    bench_build(1, 1, 1, CEDE_PRESET_KVM_2019, false);
    (void)cede_vm_policy(bench.core, (struct cede_vm_id){0}, &policy);
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        const struct cede_policy_info *info = cede_policy_info((enum cede_policy_key)key);
        all = all && policy.value[key] == info->preset[CEDE_PRESET_KVM_2019] &&
              cede_policy_key_by_name(info->name) == key && info->doc[0] != '\0';
        for (uint32_t preset = 0; preset < CEDE_PRESET_COUNT; preset++) {
            all = all && info->preset[preset] >= info->min && info->preset[preset] <= info->max;
        }
    }
    TAP(all, "a preset gives each key its value, in range");
    TAP(cede_preset_by_name("cede") == CEDE_PRESET_CEDE &&
            cede_preset_by_name("none") == CEDE_PRESET_COUNT, "presets by name");
    TAP(cede_policy_key_by_name("yields") == CEDE_POLICY_COUNT, "no such key");
    TAP(strcmp(cede_policy_value_name(CEDE_POLICY_YIELD, 2), "pull") == 0 &&
            cede_policy_value_name(CEDE_POLICY_YIELD, 3) == NULL &&
            cede_policy_value_name(CEDE_POLICY_SLICE_NS, 1) == NULL, "names of values");
    TAP(cede_policy_value_by_name(CEDE_POLICY_HALT_HOOK, "late", &value) && value == 1 &&
            !cede_policy_value_by_name(CEDE_POLICY_HALT_HOOK, "pull", &value) &&
            cede_policy_value_by_name(CEDE_POLICY_YIELD_CREDIT, "off", &value) && value == 0,
        "values by name");
}

static void trace(void)
{
    struct abi_trace_record records[64];
    uint64_t lost = 0;
    uint32_t count, runs = 0;

    bench_build(1, 1, 2, CEDE_PRESET_CEDE, true);
    (void)bench_run(50 * MS);
    count = cede_trace_read(bench.core, (struct cede_pcpu_id){0}, records, 64, &lost);
    for (uint32_t n = 0; n < count; n++) {
        runs += records[n].kind == CEDE_TRACE_RUN ? 1 : 0;
    }
    TAP(count > 10 && runs > 5 && lost == 0, "the trace tells what ran");
    (void)bench_run(500 * MS);
    count = cede_trace_read(bench.core, (struct cede_pcpu_id){0}, records, 10, &lost);
    TAP(count == 10 && lost > 0, "a full ring says how many it lost");
    TAP(records[0].now_ns <= records[9].now_ns, "oldest first");
    lost = 0;
    count = cede_trace_read(bench.core, (struct cede_pcpu_id){0}, records, 64, &lost);
    TAP(count == 54 && lost == 0, "the rest comes next, and nothing is counted twice");
    TAP(cede_trace_read(bench.core, (struct cede_pcpu_id){7}, records, 64, &lost) == 0,
        "no ring of an unknown pCPU");
}

static void histograms(void)
{
    struct cede_histogram a, b;
    bool bounded = true;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    for (uint64_t value = 0; value < 3000000; value = value * 5 / 4 + 1) {
        struct cede_histogram one;
        memset(&one, 0, sizeof(one));
        cede_histogram_add(&one, value);
        one.max_ns = UINT64_MAX; /* shows the bucket's bound */
        uint64_t bound = cede_histogram_quantile(&one, 65536);
        bounded = bounded && bound >= value && bound <= value + value / 4 + 1;
        cede_histogram_add(&a, value);
    }
    TAP(bounded, "a bucket is at most a quarter wider than its lower bound");
    TAP(cede_histogram_quantile(&a, 65536) == a.max_ns, "the last quantile is the maximum");
    TAP(cede_histogram_quantile(&b, 32768) == 0, "nothing recorded: 0");
    cede_histogram_add(&b, UINT64_MAX);
    cede_histogram_merge(&a, &b);
    TAP(a.max_ns == UINT64_MAX && a.bucket[CEDE_HISTOGRAM_BUCKETS - 1] == 1,
        "the last bucket is open; merging adds");
}

static void names(void)
{
    bool all = true;

    for (uint32_t n = 0; n < CEDE_EVENT_COUNT; n++) {
        all = all && cede_event_name(n) != NULL;
    }
    for (uint32_t n = 0; n < CEDE_STATUS_COUNT; n++) {
        all = all && cede_status_name((enum cede_status)n)[0] != 'u';
    }
    TAP(all && cede_event_name(CEDE_EVENT_COUNT) == NULL &&
            cede_effect_name(CEDE_EFFECT_COUNT) == NULL &&
            cede_reason_name(CEDE_REASON_COUNT) == NULL &&
            cede_counter_name(CEDE_COUNTER_COUNT) == NULL &&
            cede_time_class_name(CEDE_TIME_COUNT) == NULL &&
            cede_pcpu_time_class_name(CEDE_PCPU_TIME_COUNT) == NULL &&
            cede_vcpu_state_name(CEDE_STATE_COUNT) == NULL &&
            cede_trace_name(CEDE_TRACE_COUNT) == NULL, "everything has a name, and nothing else");
    TAP(strcmp(cede_time_class_name(CEDE_TIME_STEAL), "steal") == 0 &&
            strcmp(cede_pcpu_time_class_name(CEDE_PCPU_TIME_IDLE), "idle") == 0 &&
            strcmp(cede_vcpu_state_name(CEDE_STATE_POLLING), "polling") == 0 &&
            strcmp(cede_trace_name(CEDE_TRACE_RUN), "run") == 0, "the right one");
}

static void memory(void)
{
    struct cede_config config = {.pcpu_count = 64, .vm_count = 64, .vcpu_count = 4096,
                                 .vm_vcpu_count = 4096};
    size_t small = cede_size(&config);

    printf("# %zu bytes for 64 pCPUs, 64 VMs, 4096 vCPUs: %zu a vCPU\n", small, small / 4096);
    TAP(small / 4096 < 2048, "under 2 KiB a vCPU, histograms included");
    config = (struct cede_config){.pcpu_count = 1024, .vm_count = 65536, .vcpu_count = 65536,
                                  .vm_vcpu_count = 64};
    printf("# %zu a vCPU at 1024 pCPUs, 65536 VMs and vCPUs\n", cede_size(&config) / 65536);
    TAP(cede_size(&config) / 65536 < 2048, "at the limits too");
}

static void sums(void)
{
    struct cede_vcpu_stats stats;
    struct cede_pcpu_stats pcpu;
    bool exact = true;

    bench_build(3, 2, 4, CEDE_PRESET_CEDE, true);
    (void)bench_run(37 * MS);
    bench.now_ns += 12345;
    for (uint32_t n = 0; n < 8; n++) {
        uint64_t sum_ns = 0;
        (void)cede_vcpu_stats(bench.core, bench.now_ns, (struct cede_vcpu_id){n}, &stats);
        for (uint32_t c = 0; c < CEDE_TIME_COUNT; c++) {
            sum_ns += stats.time_ns[c];
        }
        exact = exact && sum_ns == bench.now_ns - stats.added_ns;
    }
    for (uint32_t n = 0; n < 3; n++) {
        uint64_t sum_ns = 0;
        (void)cede_pcpu_stats(bench.core, bench.now_ns, (struct cede_pcpu_id){n}, &pcpu);
        for (uint32_t c = 0; c < CEDE_PCPU_TIME_COUNT; c++) {
            sum_ns += pcpu.time_ns[c];
        }
        exact = exact && sum_ns == bench.now_ns - pcpu.added_ns;
    }
    TAP(exact, "no nanosecond is missing, of vCPUs and of pCPUs");
}

int main(void)
{
    roles();
    caps();
    timers_of_shared();
    timers_of_dedicated();
    presets();
    trace();
    histograms();
    names();
    memory();
    sums();
    TAP(bench.fault == NULL, "every invariant held");
    return tap_done();
}
