/*
 * exitbench.c - what single exits cost, in TSC cycles and ns: one line each with the median, the
 * smallest and the 99th percentile.
 *
 * Parameters: cede.repeats=N (samples each, 1000 unless given). With one CPU the IPI lines are
 * missing; where a hypercall isn't understood, that line is.
 */
#include "guests/bare/acpi.h"
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/clock.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/trap.h"

#define SAMPLES_MAX    10000
#define VECTOR_PING    0x40
#define VECTOR_TIMER   0x41
#define PAUSES         64
#define TIMEOUT_CYCLES (UINT64_C(20) * 1000 * 1000 * 1000)
#define KVM_CALL_POLL  1 /* does nothing, by definition */

static uint64_t samples[SAMPLES_MAX];
static unsigned repeats;
static uint32_t sibling;
static bool timed_out;

/* Shell's method; gaps after Ciura, "Best increments for the average case of shellsort", 2001. */
static void sort_samples(void)
{
    static const unsigned gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (unsigned g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        for (unsigned i = gaps[g]; i < repeats; i++) {
            uint64_t value = samples[i];
            unsigned at = i;
            for (; at >= gaps[g] && samples[at - gaps[g]] > value; at -= gaps[g]) {
                samples[at] = samples[at - gaps[g]];
            }
            samples[at] = value;
        }
    }
}

/* Takes the samples of one operation and prints its line. `each`: operations in a sample. */
static void measure(const char *metric, void (*operation)(void), unsigned each)
{
    timed_out = false;
    for (unsigned i = 0; i < repeats && !timed_out; i++) {
        uint64_t start = cpu_tsc();
        operation();
        samples[i] = (cpu_tsc() - start) / each;
    }
    if (timed_out) {
        print("timed out: ");
        print(metric);
        print("\n");
        return;
    }
    sort_samples();
    result_begin("exitbench", metric, samples[repeats / 2]);
    result_member("min", samples[0]);
    result_member("p99", samples[(uint64_t)repeats * 99 / 100]);
    result_member("ns", clock_ns_of_cycles(samples[repeats / 2]));
    result_member("count", repeats);
    result_end();
}

static void nothing(void)
{
}

static void cpuid(void)
{
    cpu_id(0, 0);
}

static void pauses(void)
{
    for (unsigned i = 0; i < PAUSES; i++) {
        cpu_pause();
    }
}

static void port_read(void)
{
    cpu_in8(0x3fd);
}

static void task_priority(void)
{
    apic_write(APIC_TPR, 0);
}

static void hypercall_amd(void)
{
    uint64_t result;
    __asm__ volatile("vmmcall" : "=a"(result) : "a"(KVM_CALL_POLL) : "memory");
}

static void hypercall_intel(void)
{
    uint64_t result;
    __asm__ volatile("vmcall" : "=a"(result) : "a"(KVM_CALL_POLL) : "memory");
}

static bool is_amd(void)
{
    uint32_t vendor = cpu_id(0, 0).ebx;
    return vendor == 0x68747541u || vendor == 0x6f677948u; /* "Auth", "Hygo" */
}

/* Waits, halted or spinning, until `cpu` has taken one more interrupt of the vector. */
static void await_interrupt(const struct cpu *cpu, unsigned vector, uint32_t before, bool halted)
{
    const uint32_t *taken = &cpu->interrupts[vector];
    for (uint64_t start = cpu_tsc(); __atomic_load_n(taken, __ATOMIC_ACQUIRE) == before;) {
        if (halted) {
            cpu_wait_for_interrupt();
            continue;
        }
        if (cpu_tsc() - start > TIMEOUT_CYCLES) {
            timed_out = true;
            return;
        }
    }
}

static void self_ipi(void)
{
    const struct cpu *cpu = cpu_this();
    uint32_t before = cpu->interrupts[VECTOR_PING];
    cpu_interrupts_on();
    apic_send(cpu->apic_id, APIC_FIXED | VECTOR_PING);
    await_interrupt(cpu, VECTOR_PING, before, false);
    cpu_interrupts_off();
}

static void sibling_ipi(void)
{
    const struct cpu *cpu = cpu_of(sibling);
    uint32_t before = cpu->interrupts[VECTOR_PING];
    apic_send(sibling, APIC_FIXED | VECTOR_PING);
    await_interrupt(cpu, VECTOR_PING, before, false);
}

/* From arming a timer that is due at once to the return of its handler. */
static void timer(bool halted)
{
    const struct cpu *cpu = cpu_this();
    uint32_t before = cpu->interrupts[VECTOR_TIMER];
    apic_start_timer(VECTOR_TIMER, 1);
    if (!halted) {
        cpu_interrupts_on();
    }
    await_interrupt(cpu, VECTOR_TIMER, before, halted);
    cpu_interrupts_off();
}

static void timer_running(void)
{
    timer(false);
}

static void timer_halted(void)
{
    timer(true);
}

/* The sibling's life: first it spins with interrupts on, then, when told, it halts. */
static uint32_t sibling_halts;

static void be_sibling(void *argument)
{
    (void)argument;
    cpu_interrupts_on();
    while (__atomic_load_n(&sibling_halts, __ATOMIC_RELAXED) == 0) {
    }
    cpu_interrupts_off();
    for (;;) {
        cpu_wait_for_interrupt();
    }
}

static bool start_sibling(void)
{
    uint32_t ids[BARE_CPUS_MAX];
    uint32_t count = acpi_cpus(ids, BARE_CPUS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] != cpu_this()->apic_id && ids[i] < BARE_CPUS_MAX) {
            sibling = ids[i];
            return smp_start(sibling, be_sibling, NULL);
        }
    }
    return false;
}

static void try_hypercall(void *argument)
{
    void (*operation)(void) = (void (*)(void))argument;
    operation();
}

static void measure_hypercall(void)
{
    void (*operation)(void) = is_amd() ? hypercall_amd : hypercall_intel;
    if (trap_catch(try_hypercall, (void *)operation) == 0) {
        measure("hypercall_cycles", operation, 1);
    }
}

static void measure_sibling(void)
{
    if (!start_sibling()) {
        return;
    }
    measure("ipi_running_cycles", sibling_ipi, 1);
    __atomic_store_n(&sibling_halts, 1, __ATOMIC_RELEASE);
    sibling_ipi(); /* it may still be on its way to its halt */
    measure("ipi_halted_cycles", sibling_ipi, 1);
}

int bare_main(void)
{
    bare_await_start();
    clock_init();
    repeats = (unsigned)param_u64("repeats", 1000);
    repeats = repeats < 1 ? 1 : repeats > SAMPLES_MAX ? SAMPLES_MAX : repeats;
    measure("tsc_cycles", nothing, 1);
    measure("cpuid_cycles", cpuid, 1);
    measure("pause_cycles", pauses, PAUSES);
    measure("port_read_cycles", port_read, 1);
    measure("apic_write_cycles", task_priority, 1);
    measure_hypercall();
    measure("self_ipi_cycles", self_ipi, 1);
    measure("timer_running_cycles", timer_running, 1);
    measure("timer_halted_cycles", timer_halted, 1);
    measure_sibling();
    return 0;
}
