/*
 * apic.h - the local APIC, through MSRs (x2APIC) or memory (xAPIC), whichever it was started in.
 * Each CPU uses its own; no state but the mode.
 */
#ifndef GUESTS_BARE_APIC_H
#define GUESTS_BARE_APIC_H

#include <stdbool.h>
#include <stdint.h>

#define APIC_BASE 0xfee00000u

/* Register offsets in the memory form; the MSR is 0x800 + offset / 16. */
enum apic_register {
    APIC_ID = 0x20,
    APIC_TPR = 0x80,
    APIC_EOI = 0xb0,
    APIC_SPURIOUS = 0xf0,
    APIC_ICR = 0x300,
    APIC_ICR_HIGH = 0x310,
    APIC_TIMER = 0x320,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3e0,
};

/* Low half of the interrupt command (APM volume 2, 16.5). */
#define APIC_FIXED   0x4000u
#define APIC_NMI     0x4400u
#define APIC_INIT    0x4500u
#define APIC_STARTUP 0x4600u
#define APIC_SELF    0x40000u
#define APIC_ALL     0x80000u
#define APIC_OTHERS  0xc0000u

#define APIC_TIMER_PERIODIC 0x20000u
#define APIC_MASKED         0x10000u

/* Switches the calling CPU's APIC on; takes x2APIC if the CPU is in it or has it, except with
 * cede.apic=xapic. */
void apic_init(void);
bool apic_is_x2(void);
uint32_t apic_read(enum apic_register reg);
void apic_write(enum apic_register reg, uint32_t value);
void apic_end_of_interrupt(void);

/* Sends an interrupt: to `apic_id`, or by one of the shorthands to several. */
void apic_send(uint32_t apic_id, uint32_t command);

/* One-shot timer on `vector`, `ticks` of the APIC's clock from now. */
void apic_start_timer(unsigned vector, uint32_t ticks);
void apic_stop_timer(void);

#endif
