/*
 * transitions.c - runs one kind of transition many times over a machine of a given size, so that
 * callgrind can count the instructions of exactly those calls: only measured() is collected
 * (bench/core/run). Linked with the shipping libcede.a.
 *
 *   transitions KIND VCPUS [PCPUS]
 *
 * One VM of VCPUS on PCPUS pCPUs (VCPUS / 4 by default), so that four share one.
 */
#include "cede/core.h"
#include "cede/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 64u
#define NONE CEDE_ID_NONE

static struct cede *core;
static struct cede_effects effects;
static uint64_t now_ns = 1000000;
static uint32_t pcpus, vcpus;
static uint32_t calls; /* of measured() */

_Noreturn void cede_panic(const char *what)
{
    fprintf(stderr, "panic: %s\n", what);
    exit(1);
}

/* The one function whose instructions count. */
__attribute__((noinline)) void measured(const struct cede_event *event);
__attribute__((noinline)) void measured(const struct cede_event *event)
{
    calls++;
    if (cede_handle(core, event, &effects) != CEDE_OK) {
        abort();
    }
}

static void quiet(const struct cede_event *event)
{
    enum cede_status status = cede_handle(core, event, &effects);

    if (status != CEDE_OK) {
        fprintf(stderr, "%s: %s\n", cede_event_name(event->kind), cede_status_name(status));
        exit(1);
    }
}

static struct cede_event event_of(uint32_t kind, uint32_t pcpu, uint32_t vcpu)
{
    struct cede_event event;

    memset(&event, 0, sizeof(event));
    event.now_ns = now_ns;
    event.kind = kind;
    event.pcpu.value = pcpu;
    event.vcpu.value = vcpu;
    event.vm.value = 0;
    return event;
}

static uint32_t current(uint32_t pcpu)
{
    struct cede_pcpu_stats stats;

    (void)cede_pcpu_stats(core, now_ns, (struct cede_pcpu_id){pcpu}, &stats);
    return stats.current.value;
}

static uint32_t state(uint32_t vcpu)
{
    static struct cede_vcpu_stats stats;

    (void)cede_vcpu_stats(core, now_ns, (struct cede_vcpu_id){vcpu}, &stats);
    return stats.state;
}

static struct cede_event resched(uint32_t pcpu)
{
    struct cede_event event = event_of(CEDE_EVENT_RESCHED, pcpu, current(pcpu));

    event.resched.mode = CEDE_MODE_KERNEL;
    event.resched.at_boundary = 1;
    return event;
}

static struct cede_event interrupt(uint32_t vcpu)
{
    struct cede_event event = event_of(CEDE_EVENT_INTERRUPT, 0, vcpu);

    event.interrupt.sender.value = NONE;
    event.interrupt.in_guest = 1;
    event.interrupt.can_post = 1;
    return event;
}

static void build(uint32_t preset, uint32_t started)
{
    struct cede_config config = {.pcpu_count = pcpus, .vm_count = 1, .vcpu_count = vcpus,
                                 .vm_vcpu_count = vcpus, .trace_count = 64, .seed = 1};
    size_t size = cede_size(&config);
    struct cede_event event;

    if (cede_init(aligned_alloc(CEDE_ALIGN, size), size, &config, &core) != CEDE_OK) {
        exit(1);
    }
    event = event_of(CEDE_EVENT_VM_ADD, NONE, NONE);
    event.vm_add.weight = 1024;
    event.vm_add.preset = preset;
    quiet(&event);
    for (uint32_t n = 0; n < pcpus; n++) {
        event = event_of(CEDE_EVENT_PCPU_ADD, n, NONE);
        event.pcpu_add.role_vm.value = NONE;
        event.pcpu_add.core = n / 2;
        event.pcpu_add.llc = n / 16;
        quiet(&event);
    }
    for (uint32_t n = 0; n < vcpus; n++) {
        event = event_of(CEDE_EVENT_VCPU_ADD, NONE, n);
        event.vcpu_add.index = n;
        quiet(&event);
    }
    for (uint32_t n = 0; n < started; n++) {
        event = event_of(CEDE_EVENT_VCPU_START, NONE, n);
        quiet(&event);
    }
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t n = 0; n < pcpus; n++) {
            event = resched(n);
            quiet(&event);
        }
        now_ns += 4000000;
    }
}

static void spin(uint32_t preset)
{
    build(preset, vcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        uint32_t pcpu = n % pcpus;
        struct cede_event event = resched(pcpu);
        quiet(&event);
        now_ns += 20000;
        event = event_of(CEDE_EVENT_SPIN, pcpu, current(pcpu));
        event.spin.mode = CEDE_MODE_KERNEL;
        event.spin.at_boundary = 1;
        measured(&event);
    }
}

/* As many vCPUs as pCPUs: nobody to yield to. */
static void spin_alone(void)
{
    build(CEDE_PRESET_CEDE, pcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        now_ns += 20000;
        struct cede_event event = event_of(CEDE_EVENT_SPIN, n % pcpus, current(n % pcpus));
        event.spin.mode = CEDE_MODE_KERNEL;
        measured(&event);
    }
}

static void slice_end(void)
{
    build(CEDE_PRESET_CEDE, vcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        now_ns += 4000000;
        struct cede_event event = resched(n % pcpus);
        measured(&event);
    }
}

static void tick(void)
{
    build(CEDE_PRESET_CEDE, vcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        struct cede_event event = resched(n % pcpus);
        quiet(&event);
        now_ns += 1000;
        event = resched(n % pcpus);
        measured(&event);
    }
}

/* Halts with others waiting; each is woken again outside the measurement, or inside it. */
static void halt_and_wake(bool measure_wake)
{
    build(CEDE_PRESET_CEDE, vcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        uint32_t pcpu = n % pcpus, vcpu = current(pcpu);
        struct cede_event event;
        if (vcpu == NONE) {
            continue;
        }
        now_ns += 20000;
        event = event_of(CEDE_EVENT_HALT, pcpu, vcpu);
        event.halt.mode = CEDE_MODE_KERNEL;
        if (measure_wake) {
            quiet(&event);
        } else {
            measured(&event);
        }
        now_ns += 1000000;
        event = interrupt(vcpu);
        if (measure_wake && state(vcpu) == CEDE_STATE_BLOCKED) {
            measured(&event);
        } else {
            quiet(&event);
        }
    }
}

/* Everything idles but for one vCPU at a time: the wake-up finds an idle pCPU. */
static void wake_idle(void)
{
    build(CEDE_PRESET_OFF, 1);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        struct cede_event event;
        uint32_t pcpu = NONE;
        for (uint32_t at = 0; at < pcpus && pcpu == NONE; at++) {
            pcpu = current(at) == 0 ? at : NONE;
        }
        now_ns += 1000;
        event = event_of(CEDE_EVENT_HALT, pcpu, 0);
        quiet(&event);
        now_ns += 1000;
        event = interrupt(0);
        measured(&event);
        event = resched(effects.item[0].pcpu.value);
        quiet(&event);
    }
}

static void interrupt_running(void)
{
    build(CEDE_PRESET_CEDE, vcpus);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        struct cede_event event = interrupt(current(n % pcpus));
        measured(&event);
    }
}

/* What a loop over the VM's vCPUs costs: the same question, asked of each vCPU in turn. The scan
 * finds its target half-way round on average: the one candidate. */
struct plain_vcpu {
    uint32_t state, mode;
    bool preempted, spinning, eligible;
    unsigned char rest[1000];
};

__attribute__((noinline)) static uint32_t scan(struct plain_vcpu *all, uint32_t count,
                                               uint32_t last, uint32_t me)
{
    for (uint32_t n = 1; n <= count; n++) {
        uint32_t at = (last + n) % count;
        struct plain_vcpu *vcpu = &all[at];
        if (at == me || !vcpu->preempted || vcpu->state != CEDE_STATE_RUNNABLE ||
            vcpu->mode == CEDE_MODE_USER) {
            continue;
        }
        if (vcpu->spinning) {
            vcpu->eligible = !vcpu->eligible;
            if (vcpu->eligible) {
                continue;
            }
        }
        return at;
    }
    return NONE;
}

__attribute__((noinline)) void measured_scan(struct plain_vcpu *all, uint32_t last);
__attribute__((noinline)) void measured_scan(struct plain_vcpu *all, uint32_t last)
{
    volatile uint32_t found = scan(all, vcpus, last, 0);
    calls++;
    (void)found;
}

static void naive_scan(void)
{
    struct plain_vcpu *all = calloc(vcpus, sizeof(*all));

    all[vcpus / 2] = (struct plain_vcpu){.state = CEDE_STATE_RUNNABLE, .mode = CEDE_MODE_KERNEL,
                                         .preempted = true};
    for (uint32_t n = 0; n < ROUNDS; n++) {
        measured_scan(all, 0);
    }
    free(all);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";

    vcpus = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
    pcpus = argc > 3 ? (uint32_t)atoi(argv[3]) : vcpus / 4 == 0 ? 1 : vcpus / 4;
    if (strcmp(kind, "spin_pull") == 0) {
        spin(CEDE_PRESET_CEDE);
    } else if (strcmp(kind, "spin_hint") == 0) {
        spin(CEDE_PRESET_KVM_MAINLINE);
    } else if (strcmp(kind, "spin_alone") == 0) {
        spin_alone();
    } else if (strcmp(kind, "slice_end") == 0) {
        slice_end();
    } else if (strcmp(kind, "tick") == 0) {
        tick();
    } else if (strcmp(kind, "block") == 0) {
        halt_and_wake(false);
    } else if (strcmp(kind, "wake") == 0) {
        halt_and_wake(true);
    } else if (strcmp(kind, "wake_idle") == 0) {
        wake_idle();
    } else if (strcmp(kind, "interrupt_running") == 0) {
        interrupt_running();
    } else if (strcmp(kind, "naive_scan") == 0) {
        naive_scan();
    } else if (strcmp(kind, "memory") == 0) {
        struct cede_config config = {.pcpu_count = pcpus, .vm_count = 1, .vcpu_count = vcpus,
                                     .vm_vcpu_count = vcpus};
        printf("%zu\n", cede_size(&config));
    } else {
        fprintf(stderr, "usage: transitions KIND VCPUS [PCPUS]\n");
        return 2;
    }
    if (calls != 0) {
        printf("%u calls\n", calls);
    }
    return 0;
}
