/*
 * ioapic.h - the guest's IO-APIC at 0xfec00000: 24 pins. Intel 82093AA data sheet.
 *
 * Everything under the VM's device lock.
 */
#ifndef HV_DEV_IOAPIC_H
#define HV_DEV_IOAPIC_H

#include <stdbool.h>
#include <stdint.h>

#define HV_IOAPIC_PINS 24u

struct hv_vm;

struct hv_ioapic {
    uint32_t select;
    uint64_t entry[HV_IOAPIC_PINS];
    uint32_t level; /* lines asserted, a bit a pin */
};

void hv_ioapic_reset(struct hv_vm *vm);
uint32_t hv_ioapic_read(struct hv_vm *vm, uint32_t offset);
void hv_ioapic_write(struct hv_vm *vm, uint32_t offset, uint32_t value);

/* A device raises or lowers its line. Device lock held. */
void hv_ioapic_set_line(struct hv_vm *vm, unsigned pin, bool raised);

/* A vCPU ended a level-triggered interrupt: takes the device lock. */
void hv_ioapic_eoi(struct hv_vm *vm, uint8_t vector);

#endif
