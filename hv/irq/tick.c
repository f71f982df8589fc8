/*
 * tick.c - the slow tick that stands behind every one-shot timer and IPI.
 *
 * An emulator may lose the notice of an interrupt that comes while it enters a guest; the next
 * interrupt brings both. So PIT channel 0 interrupts the boot CPU 50 times a second through the
 * IO-APIC, and the boot CPU passes it on to all others. Lost notices then cost 20 ms, not for ever.
 * Sources: Intel 8254 and 82093AA data sheets; PC firmware wires the PIT to pin 2 of the IO-APIC.
 */
#include "hv/irq/tick.h"

#include "hv/arch/x86/cpu.h"
#include "hv/irq/apic.h"
#include "hv/pcpu.h"

#define IOAPIC 0xfec00000u
#define PIT_PIN 2u
#define PIT_COUNT 23864u /* 1.193182 MHz / 50 Hz */

static void ioapic_write(uint32_t reg, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)IOAPIC = reg;
    *(volatile uint32_t *)(uintptr_t)(IOAPIC + 0x10) = value;
}

void hv_tick_start(void)
{
    ioapic_write(0x10 + 2 * PIT_PIN + 1, hv_this_pcpu()->apic_id << 24);
    ioapic_write(0x10 + 2 * PIT_PIN, HV_VECTOR_TICK); /* fixed, physical, edge, unmasked */
    cpu_out8(0x43, 0x34);                             /* channel 0, both bytes, mode 2 */
    cpu_out8(0x40, PIT_COUNT & 0xff);
    cpu_out8(0x40, PIT_COUNT >> 8);
}

void hv_tick_pass_on(void)
{
    if (hv_pcpu_count > 1) {
        hv_apic_send_others(HV_VECTOR_KICK);
    }
}
