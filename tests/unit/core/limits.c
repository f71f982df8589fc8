/*
 * limits.c - the largest machine: 1024 pCPUs, 65536 vCPUs, VMs of 4096, indices spread as far apart
 * as they go. A few thousand events, invariants checked now and then (each check walks all).
 */
#include "cede/core.h"
#include "cede/stats.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define VM_VCPUS CEDE_VM_VCPU_COUNT_MAX
#define VMS (CEDE_VCPU_COUNT_MAX / VM_VCPUS)

static struct cede *core;
static struct cede_effects effects;
static uint64_t now_ns = 1;
static uint32_t refused;

static void send(uint32_t kind, uint32_t pcpu, uint32_t vcpu, uint32_t vm, uint64_t word)
{
    struct cede_event event;

    memset(&event, 0, sizeof(event));
    event.now_ns = now_ns;
    event.kind = kind;
    event.pcpu.value = pcpu;
    event.vcpu.value = vcpu;
    event.vm.value = vm;
    event.words[0] = word;
    if (kind == CEDE_EVENT_PCPU_ADD) {
        event.pcpu_add.role_vm.value = NONE;
        event.pcpu_add.core = pcpu / 2;
        event.pcpu_add.llc = pcpu / 32;
    } else if (kind == CEDE_EVENT_VM_ADD) {
        event.vm_add.weight = 1024;
        event.vm_add.preset = CEDE_PRESET_CEDE;
    } else if (kind == CEDE_EVENT_INTERRUPT) {
        event.interrupt.sender.value = NONE;
    }
    refused += cede_handle(core, &event, &effects) != CEDE_OK ? 1 : 0;
}

static uint32_t current(uint32_t pcpu)
{
    struct cede_pcpu_stats stats;

    (void)cede_pcpu_stats(core, now_ns, (struct cede_pcpu_id){pcpu}, &stats);
    return stats.current.value;
}

int main(void)
{
    struct cede_config config = {.pcpu_count = CEDE_PCPU_COUNT_MAX, .vm_count = VMS,
                                 .vcpu_count = CEDE_VCPU_COUNT_MAX, .vm_vcpu_count = VM_VCPUS,
                                 .trace_count = 16, .seed = 3};
    size_t size = cede_size(&config);
    uint32_t running = 0;

    if (cede_init(aligned_alloc(CEDE_ALIGN, size), size, &config, &core) != CEDE_OK) {
        return 1;
    }
    printf("# %zu MiB\n", size >> 20);
    for (uint32_t n = 0; n < VMS; n++) {
        send(CEDE_EVENT_VM_ADD, NONE, NONE, n, 0);
    }
    for (uint32_t n = 0; n < CEDE_VCPU_COUNT_MAX; n++) {
        send(CEDE_EVENT_VCPU_ADD, NONE, n, n % VMS, n / VMS);
    }
    for (uint32_t n = 0; n < CEDE_PCPU_COUNT_MAX; n++) {
        send(CEDE_EVENT_PCPU_ADD, n, NONE, NONE, 0);
    }
    TAP(refused == 0 && cede_check_all(core) == NULL, "1024 pCPUs, 16 VMs of 4096 vCPUs are added");
    for (uint32_t n = 0; n < CEDE_VCPU_COUNT_MAX; n++) {
        send(CEDE_EVENT_VCPU_START, NONE, n, NONE, 0);
    }
    TAP(refused == 0 && cede_check_all(core) == NULL, "all start");
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t n = 0; n < CEDE_PCPU_COUNT_MAX; n++) {
            send(CEDE_EVENT_RESCHED, n, current(n), NONE, 0);
        }
        now_ns += 4000000;
    }
    for (uint32_t n = 0; n < CEDE_PCPU_COUNT_MAX; n++) {
        running += current(n) != NONE ? 1 : 0;
    }
    TAP(running == CEDE_PCPU_COUNT_MAX && refused == 0 && cede_check_all(core) == NULL,
        "every pCPU runs one");
    for (uint32_t n = 0; n < CEDE_PCPU_COUNT_MAX; n++) {
        uint32_t vcpu = current(n);
        now_ns += 1000;
        send(n % 3 == 0 ? CEDE_EVENT_HALT : CEDE_EVENT_SPIN, n, vcpu, NONE, 0);
        send(CEDE_EVENT_INTERRUPT, n, vcpu, NONE, 0);
    }
    TAP(refused == 0 && cede_check_all(core) == NULL, "spins, halts, wake-ups");
    config.vcpu_count++;
    TAP(cede_size(&config) == 0, "one vCPU more is refused");
    return tap_done();
}
