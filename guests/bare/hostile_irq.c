/*
 * hostile_irq.c - two kinds that abuse interrupts.
 *
 * storm: interrupts to itself and to all CPUs as fast as they can be sent, non-maskable ones among
 * them, timers that are due at once, a task priority that keeps changing. Checks that no vector
 * that was sent to this CPU is lost (sent twice may arrive once).
 * sipi: INIT and start-up interrupts in any order to CPUs that run, wait, halt or don't exist. The
 * started ones count themselves and halt. Checks that after all that each still starts.
 */
#include "guests/bare/acpi.h"
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"
#include "guests/bare/trap.h"

#define VECTOR_FIRST  32u
#define VECTOR_LAST   254u
#define DRAIN_CYCLES  (UINT64_C(20) * 1000 * 1000 * 1000)
#define SETTLE_CYCLES (UINT64_C(50) * 1000 * 1000) /* for INIT and what is under way */
#define START_CYCLES  (UINT64_C(2) * 1000 * 1000 * 1000)
#define START_TRIES   20u
#define SIPI_PAGE_MIN 0x10u /* 64 KiB */
#define SIPI_PAGE_MAX 0x4fu
#define SIPI_COUNTER  0x100u /* in each page */

static bool sent[256];

static void take_interrupts(void *argument)
{
    (void)argument;
    for (;;) {
        cpu_wait_for_interrupt();
    }
}

static bool storm_prepare(uint64_t *random)
{
    (void)random;
    hostile_start_others(take_interrupts);
    cpu_interrupts_on();
    return true;
}

static void storm_step(uint64_t *random)
{
    uint32_t self = cpu_this()->apic_id;
    uint32_t vector = VECTOR_FIRST + (uint32_t)random_below(random, VECTOR_LAST - VECTOR_FIRST + 1);
    switch (random_below(random, 8)) {
    case 0:
        apic_send(self, APIC_NMI);
        break;
    case 1:
        sent[vector] = true;
        apic_send(0, APIC_FIXED | APIC_ALL | vector);
        break;
    case 2:
        apic_send(0, APIC_FIXED | APIC_OTHERS | vector);
        break;
    case 3:
        apic_send(0, APIC_NMI | APIC_OTHERS);
        break;
    case 4:
        apic_start_timer(vector, (uint32_t)random_below(random, 100) + 1);
        break;
    case 5:
        apic_write(APIC_TPR, (uint32_t)random_below(random, 16) << 4);
        break;
    default:
        sent[vector] = true;
        apic_send(self, APIC_FIXED | vector);
        break;
    }
}

static bool all_taken(void)
{
    for (unsigned vector = VECTOR_FIRST; vector <= VECTOR_LAST; vector++) {
        const uint32_t *taken = &cpu_this()->interrupts[vector];
        if (sent[vector] && __atomic_load_n(taken, __ATOMIC_RELAXED) == 0) {
            return false;
        }
    }
    return true;
}

static bool storm_finish(void)
{
    apic_stop_timer();
    apic_write(APIC_TPR, 0);
    for (uint64_t start = cpu_tsc(); !all_taken();) {
        if (cpu_tsc() - start > DRAIN_CYCLES) {
            print("an interrupt sent to itself never arrived\n");
            return false;
        }
        cpu_pause();
    }
    cpu_interrupts_off();
    return true;
}

const struct hostile hostile_storm = {
    .name = "storm", .prepare = storm_prepare, .step = storm_step, .finish = storm_finish};

static uint32_t others[BARE_CPUS_MAX];
static uint32_t other_count;

static bool sipi_prepare(uint64_t *random)
{
    (void)random;
    /* lock inc dword cs:[SIPI_COUNTER]; hlt; jmp back to the hlt - in real mode */
    static const uint8_t code[] = {
        0xf0, 0x2e, 0x66, 0xff, 0x06, SIPI_COUNTER & 0xff, SIPI_COUNTER >> 8, 0xf4, 0xeb, 0xfd};
    for (uintptr_t page = SIPI_PAGE_MIN; page <= SIPI_PAGE_MAX; page++) {
        uint8_t *at = (uint8_t *)(page << 12);
        __builtin_memset(at, 0xf4, 4096);
        __builtin_memset(at + SIPI_COUNTER, 0, 4);
        __builtin_memcpy(at, code, sizeof code);
    }
    uint32_t ids[BARE_CPUS_MAX];
    uint32_t count = acpi_cpus(ids, BARE_CPUS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] != cpu_this()->apic_id) {
            others[other_count++] = ids[i];
        }
    }
    return true;
}

/* Another CPU, or none that exists. */
static uint32_t choose_destination(uint64_t *random)
{
    if (other_count == 0 || random_below(random, 8) == 0) {
        return BARE_CPUS_MAX + (uint32_t)random_below(random, 100);
    }
    return others[random_below(random, other_count)];
}

static void sipi_step(uint64_t *random)
{
    const uint32_t level_and_trigger = (uint32_t)random_next(random) & 0xc000u;
    const uint32_t page =
        SIPI_PAGE_MIN + (uint32_t)random_below(random, SIPI_PAGE_MAX - SIPI_PAGE_MIN + 1);
    switch (random_below(random, 8)) {
    case 0:
    case 1:
        apic_send(choose_destination(random), (APIC_INIT & ~0xc000u) | level_and_trigger);
        break;
    case 2:
        apic_send(0, APIC_INIT | APIC_OTHERS);
        break;
    case 3:
        apic_send(0, APIC_STARTUP | APIC_OTHERS | page);
        break;
    case 4: /* to itself: a running CPU ignores it */
        apic_send(cpu_this()->apic_id, APIC_STARTUP | page);
        break;
    default:
        apic_send(choose_destination(random), (APIC_STARTUP & ~0xc000u) | level_and_trigger | page);
        break;
    }
}

static bool within(uint64_t start, uint64_t cycles)
{
    cpu_pause();
    return cpu_tsc() - start < cycles;
}

/* INIT, time for it and for what is under way, one start-up interrupt, time for that. */
static bool start_once(uint32_t apic_id)
{
    const volatile uint32_t *counter = (volatile uint32_t *)(SIPI_PAGE_MIN << 12 | SIPI_COUNTER);
    apic_send(apic_id, APIC_INIT);
    for (uint64_t start = cpu_tsc(); within(start, SETTLE_CYCLES);) {
    }
    uint32_t before = *counter;
    apic_send(apic_id, APIC_STARTUP | SIPI_PAGE_MIN);
    for (uint64_t start = cpu_tsc(); within(start, START_CYCLES);) {
        if (*counter != before) {
            return true;
        }
    }
    return false;
}

/* More than once: QEMU takes a start-up interrupt that came before INIT after it, and the CPU,
 * which runs then, rightly ignores the next one. */
static bool starts_properly(uint32_t apic_id)
{
    for (unsigned i = 0; i < START_TRIES; i++) {
        if (start_once(apic_id)) {
            return true;
        }
    }
    print("after all that a CPU doesn't start: ");
    print_u64(apic_id);
    print("\n");
    return false;
}

static bool sipi_finish(void)
{
    bool right = true;
    for (uint32_t i = 0; i < other_count && right; i++) {
        right = starts_properly(others[i]);
    }
    return right;
}

const struct hostile hostile_sipi = {
    .name = "sipi", .prepare = sipi_prepare, .step = sipi_step, .finish = sipi_finish};
