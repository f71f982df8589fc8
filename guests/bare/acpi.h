/*
 * acpi.h - what bare guests need of the ACPI tables: which CPUs there are, and how to power off.
 */
#ifndef GUESTS_BARE_ACPI_H
#define GUESTS_BARE_ACPI_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the tables; false when there are none or a checksum is wrong (said on the console). */
bool acpi_init(void);

/* APIC ids of the enabled CPUs in the MADT: their number, at most `limit` of them in `ids`. */
uint32_t acpi_cpus(uint32_t *ids, uint32_t limit);

/* Port of the PM1a control register, 0 when unknown. */
uint16_t acpi_power_port(void);

/* Powers off as the tables say, else by what QEMU's machine understands. May return: a machine can
 * take its time. */
void acpi_power_off(void);

#endif
