/*
 * ports.c - port I/O of the guest. What isn't here reads as all ones and swallows writes, as an
 * empty ISA bus does.
 *
 * Sources: ACPI 6.4 chapter 4 (PM1, PM timer); Intel 8254 (PIT, only channel 2 as a reference for
 * the guest's calibration); MC146818 (RTC, only as far as it reads as a clock that is not updating).
 */
#include "hv/dev/ports.h"

#include "hv/time/clock.h"
#include "hv/vm/vm.h"

#define COM1 0x3f8u
#define PM_TIMER_HZ 3579545u
#define PIT_HZ 1193182u

static uint32_t pm_timer(void)
{
    uint64_t now_ns = hv_now_ns();
    return (uint32_t)(now_ns / 1000000000 * PM_TIMER_HZ +
                      now_ns % 1000000000 * PM_TIMER_HZ / 1000000000);
}

/* ---- PIT channel 2 and port 0x61 ---- */

static uint64_t pit_gone(const struct hv_vm *vm)
{
    return (hv_now_ns() - vm->pit_latch_ns) * (PIT_HZ / 1000) / 1000000;
}

static uint8_t read_61(const struct hv_vm *vm)
{
    uint32_t count = vm->pit_count != 0 ? vm->pit_count : 65536;
    return (uint8_t)(vm->port61 | (pit_gone(vm) >= count ? 0x20 : 0));
}

static uint8_t read_pit(struct hv_vm *vm)
{
    uint16_t left = (uint16_t)(vm->pit_count - pit_gone(vm));
    vm->pit_bytes ^= 1;
    return (uint8_t)((vm->pit_bytes & 1) != 0 ? left : left >> 8);
}

static void write_pit(struct hv_vm *vm, uint8_t value)
{
    vm->pit_bytes ^= 1;
    if ((vm->pit_bytes & 1) != 0) {
        vm->pit_count = value;
    } else {
        vm->pit_count = (uint16_t)(vm->pit_count | value << 8);
        vm->pit_latch_ns = hv_now_ns();
    }
}

static void write_61(struct hv_vm *vm, uint8_t value)
{
    if ((value & ~vm->port61 & 1) != 0) {
        vm->pit_latch_ns = hv_now_ns(); /* the gate's rising edge starts the count */
    }
    vm->port61 = value & 3;
}

/* ---- RTC: 1 January 2026, 00:00, plus uptime; 24 hours. In BCD, since Linux on x86 reads it as BCD
 * whatever register B's DM bit says: a binary 26 was 2020 to it. ---- */

static uint8_t bcd(uint64_t value)
{
    return (uint8_t)(value / 10 << 4 | value % 10);
}

static uint8_t read_cmos(const struct hv_vm *vm)
{
    uint64_t s = hv_now_ns() / 1000000000;
    switch (vm->cmos_index & 0x7f) {
    case 0x00:
        return bcd(s % 60);
    case 0x02:
        return bcd(s / 60 % 60);
    case 0x04:
        return bcd(s / 3600 % 24);
    case 0x06:
        return 5;
    case 0x07:
        return bcd(1 + s / 86400 % 28);
    case 0x08:
        return 1;
    case 0x09:
        return bcd(26);
    case 0x0a:
        return 0x26;
    case 0x0b:
        return 0x02; /* 24 hours, BCD */
    case 0x0d:
        return 0x80;
    case 0x32:
        return bcd(20);
    default:
        return 0;
    }
}

uint32_t hv_port_read(struct hv_vcpu *vcpu, uint16_t port, unsigned size)
{
    struct hv_vm *vm = vcpu->vm;
    if (port >= COM1 && port < COM1 + 8) {
        return hv_uart_read(vm, port - COM1);
    }
    switch (port) {
    case 0x42:
        return read_pit(vm);
    case 0x61:
        return read_61(vm);
    case 0x71:
        return read_cmos(vm);
    case 0x64:
        return 0; /* no keyboard controller's data, no command in progress */
    case HV_PM1_EVENT:
        return vm->pm_status;
    case HV_PM1_EVENT + 2:
        return vm->pm_enable;
    case HV_PM1_CONTROL:
        return 1; /* SCI_EN: ACPI mode */
    case HV_PM_TIMER:
        return pm_timer();
    default:
        return size == 1 ? 0xff : size == 2 ? 0xffff : UINT32_MAX;
    }
}

void hv_port_write(struct hv_vcpu *vcpu, uint16_t port, unsigned size, uint32_t value)
{
    struct hv_vm *vm = vcpu->vm;
    (void)size;
    if (port >= COM1 && port < COM1 + 8) {
        hv_uart_write(vm, port - COM1, (uint8_t)value);
        return;
    }
    switch (port) {
    case 0x42:
        write_pit(vm, (uint8_t)value);
        break;
    case 0x43:
        vm->pit_bytes = 0;
        break;
    case 0x61:
        write_61(vm, (uint8_t)value);
        break;
    case 0x70:
        vm->cmos_index = (uint8_t)value;
        break;
    case 0x64:
        if ((uint8_t)value == 0xfe) {
            hv_vm_end(vm, HV_VM_RESETTING, "reset by the keyboard controller's port");
        }
        break;
    case 0xcf9:
        if ((value & 4) != 0) {
            hv_vm_end(vm, HV_VM_RESETTING, "reset by port cf9");
        }
        break;
    case HV_PM1_EVENT:
        vm->pm_status = (uint16_t)(vm->pm_status & ~value);
        break;
    case HV_PM1_EVENT + 2:
        vm->pm_enable = (uint16_t)value;
        break;
    case HV_PM1_CONTROL:
        if ((value >> 13 & 1) != 0 && (value >> 10 & 7) == HV_S5_TYPE) {
            hv_vm_end(vm, HV_VM_DONE, "powered off");
        }
        break;
    default:
        break;
    }
}
