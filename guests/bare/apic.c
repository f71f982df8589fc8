/*
 * apic.c - see apic.h.
 */
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"

#define MSR_APIC_BASE 0x1bu
#define BASE_ENABLED  (1u << 11)
#define BASE_X2       (1u << 10)
#define MSR_X2(reg)   (0x800u + (uint32_t)(reg) / 16)
#define MSR_X2_ICR    0x830u
#define SPURIOUS_ON   0x1ffu /* software enable; vector 255 */
#define ICR_PENDING   (1u << 12)

static bool x2;

static volatile uint32_t *memory_register(enum apic_register reg)
{
    return (volatile uint32_t *)(uintptr_t)(APIC_BASE + (uint32_t)reg);
}

void apic_init(void)
{
    uint64_t base = cpu_read_msr(MSR_APIC_BASE);
    bool has_x2 = (cpu_id(1, 0).ecx & 1u << 21) != 0;
    x2 = (base & BASE_X2) != 0 || (has_x2 && !param_is("apic", "xapic"));
    cpu_write_msr(MSR_APIC_BASE, base | BASE_ENABLED | (x2 ? BASE_X2 : 0));
    apic_write(APIC_SPURIOUS, SPURIOUS_ON);
    apic_write(APIC_TPR, 0);
}

bool apic_is_x2(void)
{
    return x2;
}

uint32_t apic_read(enum apic_register reg)
{
    return x2 ? (uint32_t)cpu_read_msr(MSR_X2(reg)) : *memory_register(reg);
}

void apic_write(enum apic_register reg, uint32_t value)
{
    if (x2) {
        cpu_write_msr(MSR_X2(reg), value);
    } else {
        *memory_register(reg) = value;
    }
}

void apic_end_of_interrupt(void)
{
    apic_write(APIC_EOI, 0);
}

void apic_send(uint32_t apic_id, uint32_t command)
{
    if (x2) {
        cpu_write_msr(MSR_X2_ICR, (uint64_t)apic_id << 32 | command);
        return;
    }
    apic_write(APIC_ICR_HIGH, apic_id << 24);
    apic_write(APIC_ICR, command);
    for (int i = 0; i < 100000 && (apic_read(APIC_ICR) & ICR_PENDING) != 0; i++) {
        cpu_pause();
    }
}

void apic_start_timer(unsigned vector, uint32_t ticks)
{
    apic_write(APIC_TIMER_DIVIDE, 0xb); /* by 1 */
    apic_write(APIC_TIMER, vector);
    apic_write(APIC_TIMER_INITIAL, ticks);
}

void apic_stop_timer(void)
{
    apic_write(APIC_TIMER, APIC_MASKED);
    apic_write(APIC_TIMER_INITIAL, 0);
}
