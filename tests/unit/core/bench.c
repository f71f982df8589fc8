/*
 * bench.c - see bench.h.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE CEDE_ID_NONE
#define PCPUS_MAX 64u
#define VMS_MAX 64u

struct bench bench;

/* What bench_run() remembers of the last effects. */
static uint64_t due_ns[PCPUS_MAX];
static bool kicked[PCPUS_MAX];
static uint64_t refill_ns[VMS_MAX];

_Noreturn void cede_panic(const char *what)
{
    printf("not ok - panic: %s\n", what);
    fflush(stdout);
    exit(1);
}

void bench_begin(uint32_t pcpus, uint32_t vms, uint32_t vcpus, uint32_t vm_vcpus)
{
    void *memory;

    free(bench.core);
    free(bench.image);
    bench.config = (struct cede_config){.pcpu_count = pcpus, .vm_count = vms,
                                        .vcpu_count = vcpus, .vm_vcpu_count = vm_vcpus,
                                        .trace_count = 64, .seed = 1};
    bench.size = cede_size(&bench.config);
    memory = aligned_alloc(CEDE_ALIGN, bench.size);
    bench.image = malloc(bench.size);
    bench.now_ns = 1000000;
    if (cede_init(memory, bench.size, &bench.config, &bench.core) != CEDE_OK) {
        cede_panic("cede_init failed");
    }
    for (uint32_t n = 0; n < PCPUS_MAX; n++) {
        due_ns[n] = CEDE_NEVER_NS;
        kicked[n] = false;
    }
    for (uint32_t n = 0; n < VMS_MAX; n++) {
        refill_ns[n] = CEDE_NEVER_NS;
    }
}

struct cede_event bench_event(uint32_t kind, uint32_t pcpu, uint32_t vcpu)
{
    struct cede_event event;

    memset(&event, 0, sizeof(event));
    event.now_ns = bench.now_ns;
    event.kind = kind;
    event.pcpu.value = pcpu;
    event.vcpu.value = vcpu;
    event.vm.value = NONE;
    return event;
}

/* What the pCPUs were told, for bench_run(). */
static void note_effects(void)
{
    for (uint32_t n = 0; n < bench.effects.count; n++) {
        const struct cede_effect *effect = &bench.effects.item[n];
        uint32_t pcpu = effect->pcpu.value;
        if (effect->kind == CEDE_EFFECT_RUN || effect->kind == CEDE_EFFECT_POLL) {
            due_ns[pcpu % PCPUS_MAX] = effect->until_ns;
        } else if (effect->kind == CEDE_EFFECT_IDLE) {
            due_ns[pcpu % PCPUS_MAX] = CEDE_NEVER_NS;
        } else if (effect->kind == CEDE_EFFECT_KICK || effect->kind == CEDE_EFFECT_POLL_STOP) {
            kicked[pcpu % PCPUS_MAX] = true;
        } else if (effect->kind == CEDE_EFFECT_VM_TIMER) {
            refill_ns[effect->vm.value % VMS_MAX] = effect->deadline_ns;
        }
    }
}

static bool is_own(const struct cede_event *event)
{
    return event->kind == CEDE_EVENT_RESCHED || event->kind == CEDE_EVENT_SPIN ||
           event->kind == CEDE_EVENT_YIELD_TO || event->kind == CEDE_EVENT_HALT ||
           event->kind == CEDE_EVENT_POLL_END;
}

enum cede_status bench_send(const struct cede_event *event)
{
    enum cede_status status;
    const char *fault = NULL;
    uint32_t decisions;

    memcpy(bench.image, bench.core, bench.size);
    status = cede_handle(bench.core, event, &bench.effects);
    if (status != CEDE_OK) {
        if (memcmp(bench.image, bench.core, bench.size) != 0) {
            fault = "a refused event changed something";
        } else if (bench.effects.count != 0) {
            fault = "a refused event has effects";
        }
    } else {
        fault = cede_check_all(bench.core);
        decisions = bench_count(CEDE_EFFECT_RUN) + bench_count(CEDE_EFFECT_IDLE) +
                    bench_count(CEDE_EFFECT_POLL);
        if (fault == NULL && is_own(event) && decisions != 1) {
            fault = "an own event didn't return exactly one of RUN, IDLE, POLL";
        }
        if (fault == NULL && !is_own(event) && event->kind != CEDE_EVENT_VCPU_STOP &&
            decisions != 0) {
            fault = "another's event returned RUN, IDLE or POLL";
        }
        if (is_own(event)) {
            kicked[event->pcpu.value % PCPUS_MAX] = false;
        }
        note_effects();
    }
    if (fault != NULL && bench.fault == NULL) {
        bench.fault = fault;
        printf("# at %llu, %s: %s\n", (unsigned long long)event->now_ns,
               cede_event_name(event->kind), fault);
    }
    return status;
}

enum cede_status bench_add_pcpu(uint32_t pcpu, uint32_t role, uint32_t vm, uint32_t core,
                                uint32_t llc)
{
    struct cede_event event = bench_event(CEDE_EVENT_PCPU_ADD, pcpu, NONE);

    event.pcpu_add.role = role;
    event.pcpu_add.role_vm.value = vm;
    event.pcpu_add.core = core;
    event.pcpu_add.llc = llc;
    return bench_send(&event);
}

void bench_build(uint32_t pcpus, uint32_t vms, uint32_t each, uint32_t preset, bool start)
{
    bench_begin(pcpus, vms, vms * each, each);
    for (uint32_t n = 0; n < pcpus; n++) {
        (void)bench_add_pcpu(n, CEDE_ROLE_SHARED, NONE, n, 0);
    }
    for (uint32_t vm = 0; vm < vms; vm++) {
        struct cede_event event = bench_event(CEDE_EVENT_VM_ADD, NONE, NONE);
        event.vm.value = vm;
        event.vm_add.weight = 1024;
        event.vm_add.preset = preset;
        (void)bench_send(&event);
        for (uint32_t n = 0; n < each; n++) {
            event = bench_event(CEDE_EVENT_VCPU_ADD, NONE, vm * each + n);
            event.vm.value = vm;
            event.vcpu_add.index = n;
            (void)bench_send(&event);
        }
    }
    for (uint32_t n = 0; start && n < vms * each; n++) {
        (void)bench_simple(CEDE_EVENT_VCPU_START, n);
    }
}

enum cede_status bench_resched(uint32_t pcpu, uint64_t ns)
{
    struct cede_event event;

    bench.now_ns += ns;
    event = bench_event(CEDE_EVENT_RESCHED, pcpu, bench_current(pcpu));
    if (event.vcpu.value != NONE && bench_state(event.vcpu.value) == CEDE_STATE_RUNNING) {
        event.resched.ran.kernel_ns = ns;
    }
    event.resched.mode = CEDE_MODE_KERNEL;
    event.resched.at_boundary = 1;
    return bench_send(&event);
}

enum cede_status bench_spin(uint32_t pcpu, uint64_t ns, uint8_t mode)
{
    struct cede_event event;

    bench.now_ns += ns;
    event = bench_event(CEDE_EVENT_SPIN, pcpu, bench_current(pcpu));
    event.spin.ran.spin_ns = ns;
    event.spin.mode = mode;
    event.spin.at_boundary = 1;
    return bench_send(&event);
}

enum cede_status bench_halt(uint32_t pcpu, uint64_t ns)
{
    struct cede_event event;

    bench.now_ns += ns;
    event = bench_event(CEDE_EVENT_HALT, pcpu, bench_current(pcpu));
    event.halt.ran.kernel_ns = ns;
    event.halt.mode = CEDE_MODE_KERNEL;
    return bench_send(&event);
}

enum cede_status bench_interrupt(uint32_t pcpu, uint32_t vcpu)
{
    struct cede_event event = bench_event(CEDE_EVENT_INTERRUPT, pcpu, vcpu);

    event.interrupt.sender.value = NONE;
    event.interrupt.source = CEDE_SOURCE_DEVICE;
    return bench_send(&event);
}

enum cede_status bench_simple(uint32_t kind, uint32_t vcpu)
{
    struct cede_event event = bench_event(kind, NONE, vcpu);

    return bench_send(&event);
}

enum cede_status bench_policy(uint32_t vm, uint32_t key, uint64_t value)
{
    struct cede_event event = bench_event(CEDE_EVENT_VM_POLICY, NONE, NONE);

    event.vm.value = vm;
    event.vm_policy.key = key;
    event.vm_policy.value = value;
    return bench_send(&event);
}

enum cede_status bench_affinity(uint32_t vcpu, uint64_t mask)
{
    struct cede_event event = bench_event(CEDE_EVENT_VCPU_AFFINITY, NONE, vcpu);

    event.vcpu_affinity.mask = mask;
    return bench_send(&event);
}

enum cede_status bench_cap(uint32_t vm, uint64_t quota_ns, uint64_t period_ns)
{
    struct cede_event event = bench_event(CEDE_EVENT_VM_CAP, NONE, NONE);

    event.vm.value = vm;
    event.vm_cap.quota_ns = quota_ns;
    event.vm_cap.period_ns = period_ns;
    return bench_send(&event);
}

uint32_t bench_count(uint32_t kind)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < bench.effects.count; n++) {
        count += bench.effects.item[n].kind == kind ? 1 : 0;
    }
    return count;
}

const struct cede_effect *bench_find(uint32_t kind)
{
    for (uint32_t n = 0; n < bench.effects.count; n++) {
        if (bench.effects.item[n].kind == kind) {
            return &bench.effects.item[n];
        }
    }
    return NULL;
}

bool bench_ran(uint32_t pcpu, uint32_t vcpu)
{
    const struct cede_effect *run = bench_find(CEDE_EFFECT_RUN);

    return run != NULL && run->pcpu.value == pcpu && run->vcpu.value == vcpu;
}

uint32_t bench_current(uint32_t pcpu)
{
    struct cede_pcpu_stats stats = {.current = {NONE}};

    (void)cede_pcpu_stats(bench.core, bench.now_ns, (struct cede_pcpu_id){pcpu}, &stats);
    return stats.current.value;
}

static struct cede_vcpu_stats stats_of(uint32_t vcpu)
{
    struct cede_vcpu_stats stats;

    memset(&stats, 0, sizeof(stats));
    (void)cede_vcpu_stats(bench.core, bench.now_ns, (struct cede_vcpu_id){vcpu}, &stats);
    return stats;
}

uint32_t bench_state(uint32_t vcpu)
{
    return stats_of(vcpu).state;
}

uint64_t bench_counter(uint32_t vcpu, uint32_t counter)
{
    return stats_of(vcpu).count[counter];
}

uint64_t bench_time(uint32_t vcpu, uint32_t time_class)
{
    return stats_of(vcpu).time_ns[time_class];
}

/* Charges nothing to the guest: what it computes counts as hypervisor time, which is as good. */
static bool answer(uint32_t pcpu)
{
    return bench_resched(pcpu, 0) == CEDE_OK;
}

bool bench_run(uint64_t ns)
{
    uint64_t end_ns = bench.now_ns + ns;

    for (;;) {
        uint64_t next_ns = end_ns;
        uint32_t pcpu = NONE, vm = NONE;
        for (uint32_t n = 0; n < bench.config.pcpu_count; n++) {
            uint64_t at_ns = kicked[n] ? bench.now_ns : due_ns[n];
            if (at_ns < next_ns) {
                next_ns = at_ns;
                pcpu = n;
            }
        }
        for (uint32_t n = 0; n < bench.config.vm_count; n++) {
            if (refill_ns[n] < next_ns) {
                next_ns = refill_ns[n];
                vm = n;
            }
        }
        bench.now_ns = next_ns > bench.now_ns ? next_ns : bench.now_ns;
        if (vm != NONE) {
            struct cede_event event = bench_event(CEDE_EVENT_VM_REFILL, NONE, NONE);
            event.vm.value = vm;
            refill_ns[vm] = CEDE_NEVER_NS;
            if (bench_send(&event) != CEDE_OK) {
                return false;
            }
        } else if (pcpu == NONE) {
            return bench.fault == NULL;
        } else if (!answer(pcpu)) {
            return false;
        }
    }
}
