/*
 * smp.c - starts every CPU that the MADT names, sends each an interrupt while it is halted, and
 * checks that all answered. Status 1 when one didn't.
 *
 * Parameters: cede.vcpus=N (as many are expected; else as many as the MADT has).
 */
#include "guests/bare/acpi.h"
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/trap.h"

#define VECTOR_PING    0x40
#define TIMEOUT_CYCLES (UINT64_C(20) * 1000 * 1000 * 1000)

static uint32_t ids[BARE_CPUS_MAX];

/* Halts until pinged; the interrupt's count in struct cpu is the answer. */
static void sleeper(void *argument)
{
    (void)argument;
    while (__atomic_load_n(&cpu_this()->interrupts[VECTOR_PING], __ATOMIC_RELAXED) == 0) {
        cpu_wait_for_interrupt();
    }
}

static bool ping(uint32_t apic_id)
{
    const uint32_t *taken = &cpu_of(apic_id)->interrupts[VECTOR_PING];
    apic_send(apic_id, APIC_FIXED | VECTOR_PING);
    for (uint64_t start = cpu_tsc(); cpu_tsc() - start < TIMEOUT_CYCLES;) {
        if (__atomic_load_n(taken, __ATOMIC_ACQUIRE) != 0) {
            return true;
        }
        cpu_pause();
    }
    return false;
}

static bool start_and_ping(uint32_t apic_id)
{
    bool started = smp_start(apic_id, sleeper, NULL);
    bool answered = started && ping(apic_id);
    if (!answered) {
        print("CPU ");
        print_u64(apic_id);
        print(started ? ": no answer to an interrupt\n" : ": did not start\n");
    }
    return answered;
}

int bare_main(void)
{
    bare_await_start();
    uint32_t count = acpi_cpus(ids, BARE_CPUS_MAX);
    uint32_t expected = (uint32_t)param_u64("vcpus", count);
    uint32_t up = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] != cpu_this()->apic_id && ids[i] < BARE_CPUS_MAX) {
            up += start_and_ping(ids[i]) ? 1 : 0;
        }
    }
    result_begin("smp", "cpus", up);
    result_member("expected", expected);
    result_member("x2apic", apic_is_x2());
    result_end();
    return up == expected && count != 0 ? 0 : 1;
}
