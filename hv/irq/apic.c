/*
 * apic.c - the local APIC by MMIO at 0xfee00000 (AMD64 APM volume 2, chapter 16).
 *
 * Owns the timer's measured rate, constant after the boot CPU's hv_apic_init().
 */
#include "hv/irq/apic.h"

#include "cede/types.h"
#include "hv/arch/x86/cpu.h"
#include "hv/log.h"
#include "hv/time/clock.h"

#define APIC_BASE 0xfee00000u

enum apic_register {
    APIC_ID = 0x20,
    APIC_EOI = 0xb0,
    APIC_SPURIOUS = 0xf0,
    APIC_ICR_LOW = 0x300,
    APIC_ICR_HIGH = 0x310,
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3e0
};

static uint64_t ticks_per_ns_q32;

static uint32_t apic_read(enum apic_register reg)
{
    return *(volatile uint32_t *)(uintptr_t)(APIC_BASE + (uint32_t)reg);
}

static void apic_write(enum apic_register reg, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)(APIC_BASE + (uint32_t)reg) = value;
}

void hv_delay_us(uint64_t us)
{
    uint64_t end = hv_now_ns() + us * 1000;
    while (hv_now_ns() < end) {
        cpu_pause();
    }
}

static void measure_timer(void)
{
    apic_write(APIC_LVT_TIMER, 0x10000);
    apic_write(APIC_TIMER_INITIAL, UINT32_MAX);
    uint64_t start_ns = hv_now_ns();
    hv_delay_us(20000);
    uint64_t ticks = UINT32_MAX - apic_read(APIC_TIMER_CURRENT);
    uint64_t span_ns = hv_now_ns() - start_ns;
    apic_write(APIC_TIMER_INITIAL, 0);
    ticks_per_ns_q32 = (ticks << 32) / span_ns;
    if (ticks_per_ns_q32 == 0) {
        hv_panic("the APIC timer does not run");
    }
}

uint32_t hv_apic_init(void)
{
    cpu_wrmsr(0x1b, (cpu_rdmsr(0x1b) & 0xfffu) | APIC_BASE | 0x800u);
    apic_write(APIC_SPURIOUS, 0x100u | HV_VECTOR_SPURIOUS);
    apic_write(APIC_LVT_LINT0, 0x10000);
    apic_write(APIC_LVT_LINT1, 0x10000);
    apic_write(APIC_LVT_ERROR, 0x10000);
    apic_write(APIC_TIMER_DIVIDE, 0xb); /* by 1 */
    if (ticks_per_ns_q32 == 0) {
        cpu_out8(0x21, 0xff); /* the 8259s stay silent */
        cpu_out8(0xa1, 0xff);
        measure_timer();
    }
    apic_write(APIC_LVT_TIMER, HV_VECTOR_TIMER);
    return apic_read(APIC_ID) >> 24;
}

void hv_apic_arm_ns(uint64_t deadline_ns)
{
    uint64_t now_ns = hv_now_ns();
    uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    if (deadline_ns == CEDE_NEVER_NS) {
        apic_write(APIC_TIMER_INITIAL, 0);
        return;
    }
    wait_ns = wait_ns < 1000000000 ? wait_ns : 1000000000;
    uint64_t ticks = (uint64_t)(((unsigned __int128)wait_ns * ticks_per_ns_q32) >> 32) + 1;
    apic_write(APIC_TIMER_INITIAL, ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX);
}

void hv_apic_end(void)
{
    apic_write(APIC_EOI, 0);
}

static void wait_for_icr(void)
{
    while ((apic_read(APIC_ICR_LOW) & 0x1000) != 0) {
        cpu_pause();
    }
}

void hv_apic_send(uint32_t apic_id, uint8_t vector)
{
    wait_for_icr();
    apic_write(APIC_ICR_HIGH, apic_id << 24);
    apic_write(APIC_ICR_LOW, 0x4000u | vector);
}

void hv_apic_send_others(uint8_t vector)
{
    wait_for_icr();
    apic_write(APIC_ICR_LOW, 0xc4000u | vector);
}

void hv_apic_start(uint32_t apic_id, uint8_t page)
{
    apic_write(APIC_ICR_HIGH, apic_id << 24);
    apic_write(APIC_ICR_LOW, 0x4500);
    hv_delay_us(10000);
    for (unsigned i = 0; i < 2; i++) {
        apic_write(APIC_ICR_HIGH, apic_id << 24);
        apic_write(APIC_ICR_LOW, 0x4600u | page);
        hv_delay_us(300);
        wait_for_icr();
    }
}
