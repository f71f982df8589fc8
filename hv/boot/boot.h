/*
 * boot.h - what the boot loader and the firmware told us. Boot CPU only; constant afterwards.
 */
#ifndef HV_BOOT_BOOT_H
#define HV_BOOT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HV_RAM_RANGES_MAX 32u

struct hv_range {
    uint64_t start;
    uint64_t end; /* exclusive */
};

struct hv_boot_info {
    struct hv_range ram[HV_RAM_RANGES_MAX]; /* usable, as the firmware says */
    uint32_t ram_count;
    struct hv_range module; /* the bundle; empty if there is none */
    uint64_t rsdp;          /* 0: not told by the loader; look for it */
    uint32_t apic_id[256];  /* of the enabled pCPUs, from the MADT */
    uint32_t apic_count;
};

extern struct hv_boot_info hv_boot_info;

/* Reads the loader's information (Multiboot 1 or 2, by its magic); panics on anything else. */
void hv_multiboot_read(uint32_t magic, uint32_t address);

/* Reads the MADT; without one, there is one pCPU. */
void hv_acpi_read(void);

#endif
