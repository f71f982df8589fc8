/*
 * ioapic.c - the guest's IO-APIC. See ioapic.h.
 */
#include "hv/dev/ioapic.h"

#include "hv/dev/lapic.h"
#include "hv/vm/vm.h"

#define ENTRY_MASKED (1u << 16)
#define ENTRY_LEVEL (1u << 15)
#define ENTRY_REMOTE_IRR (1u << 14)
#define ENTRY_LOGICAL (1u << 11)

void hv_ioapic_reset(struct hv_vm *vm)
{
    for (unsigned i = 0; i < HV_IOAPIC_PINS; i++) {
        vm->ioapic.entry[i] = ENTRY_MASKED;
    }
    vm->ioapic.select = 0;
    vm->ioapic.level = 0;
}

static void set_trigger(struct hv_vm *vm, uint8_t vector, bool level)
{
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        uint32_t *word = &vm->vcpu[i]->lapic.tmr[vector >> 5];
        uint32_t bit = 1u << (vector & 31);
        *word = level ? *word | bit : *word & ~bit;
    }
}

static void deliver(struct hv_vm *vm, unsigned pin)
{
    uint64_t *entry = &vm->ioapic.entry[pin];
    bool level = (*entry & ENTRY_LEVEL) != 0;
    if ((*entry & ENTRY_MASKED) != 0 || (level && (*entry & ENTRY_REMOTE_IRR) != 0)) {
        return;
    }
    set_trigger(vm, (uint8_t)*entry, level);
    if (level) {
        *entry |= ENTRY_REMOTE_IRR;
    }
    hv_lapic_deliver(vm->vcpu[0], (uint32_t)(*entry >> 56), (*entry & ENTRY_LOGICAL) != 0,
                     (uint8_t)*entry);
}

void hv_ioapic_set_line(struct hv_vm *vm, unsigned pin, bool raised)
{
    uint32_t bit = 1u << pin;
    bool was = (vm->ioapic.level & bit) != 0;
    vm->ioapic.level = raised ? vm->ioapic.level | bit : vm->ioapic.level & ~bit;
    if (raised && (!was || (vm->ioapic.entry[pin] & ENTRY_LEVEL) != 0)) {
        deliver(vm, pin);
    }
}

void hv_ioapic_eoi(struct hv_vm *vm, uint8_t vector)
{
    hv_lock(&vm->lock);
    for (unsigned pin = 0; pin < HV_IOAPIC_PINS; pin++) {
        uint64_t *entry = &vm->ioapic.entry[pin];
        if ((*entry & ENTRY_LEVEL) != 0 && (uint8_t)*entry == vector) {
            *entry &= ~(uint64_t)ENTRY_REMOTE_IRR;
            if ((vm->ioapic.level >> pin & 1) != 0) {
                deliver(vm, pin);
            }
        }
    }
    hv_unlock(&vm->lock);
}

static uint32_t read_register(const struct hv_vm *vm, uint32_t reg)
{
    if (reg == 1) {
        return (HV_IOAPIC_PINS - 1) << 16 | 0x11;
    }
    if (reg >= 0x10 && reg < 0x10 + 2 * HV_IOAPIC_PINS) {
        return (uint32_t)(vm->ioapic.entry[(reg - 0x10) / 2] >> (reg & 1 ? 32 : 0));
    }
    return 0;
}

static void write_register(struct hv_vm *vm, uint32_t reg, uint32_t value)
{
    if (reg < 0x10 || reg >= 0x10 + 2 * HV_IOAPIC_PINS) {
        return;
    }
    unsigned pin = (reg - 0x10) / 2;
    uint64_t *entry = &vm->ioapic.entry[pin];
    if ((reg & 1) != 0) {
        *entry = (uint64_t)value << 32 | (uint32_t)*entry;
    } else {
        uint32_t kept = (uint32_t)*entry & ENTRY_REMOTE_IRR;
        *entry = (*entry & ~UINT64_C(0xffffffff)) | (value & 0x1afff) | kept;
        if ((*entry & ENTRY_LEVEL) == 0) {
            *entry &= ~(uint64_t)ENTRY_REMOTE_IRR;
        } else if ((vm->ioapic.level >> pin & 1) != 0) {
            deliver(vm, pin);
        }
    }
}

uint32_t hv_ioapic_read(struct hv_vm *vm, uint32_t offset)
{
    hv_lock(&vm->lock);
    uint32_t value = offset == 0      ? vm->ioapic.select
                     : offset == 0x10 ? read_register(vm, vm->ioapic.select)
                                      : 0;
    hv_unlock(&vm->lock);
    return value;
}

void hv_ioapic_write(struct hv_vm *vm, uint32_t offset, uint32_t value)
{
    hv_lock(&vm->lock);
    if (offset == 0) {
        vm->ioapic.select = value & 0xff;
    } else if (offset == 0x10) {
        write_register(vm, vm->ioapic.select, value);
    }
    hv_unlock(&vm->lock);
}
