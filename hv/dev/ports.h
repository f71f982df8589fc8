/*
 * ports.h - port I/O of the guest: serial port, ACPI power management, PIT channel 2, RTC, reset.
 */
#ifndef HV_DEV_PORTS_H
#define HV_DEV_PORTS_H

#include <stdint.h>

struct hv_vcpu;

/* Addresses that the ACPI tables name. */
#define HV_PM1_EVENT 0x600u
#define HV_PM1_CONTROL 0x604u
#define HV_PM_TIMER 0x608u
#define HV_S5_TYPE 5u

/* One access of 1, 2 or 4 bytes. Ports that nothing is at read as all ones. Takes device locks. */
uint32_t hv_port_read(struct hv_vcpu *vcpu, uint16_t port, unsigned size);
void hv_port_write(struct hv_vcpu *vcpu, uint16_t port, unsigned size, uint32_t value);

#endif
