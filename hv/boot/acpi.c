/*
 * acpi.c - finds the MADT and takes from it the APIC ids of the enabled CPUs.
 *
 * Source: ACPI 6.4, 5.2.5 (RSDP), 5.2.7/8 (RSDT, XSDT), 5.2.12 (MADT). All tables lie in memory
 * that the first page tables map (below 4 GiB).
 */
#include "hv/boot/boot.h"

#include "hv/lib/string.h"
#include "hv/log.h"

struct acpi_header {
    char signature[4];
    uint32_t length;
    uint8_t revision, checksum;
    char oem[6], oem_table[8];
    uint32_t oem_revision, creator, creator_revision;
};

struct acpi_rsdp {
    char signature[8];
    uint8_t checksum;
    char oem[6];
    uint8_t revision;
    uint32_t rsdt;
    uint32_t length;
    uint64_t xsdt;
} __attribute__((packed));

static const struct acpi_rsdp *scan(uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at += 16) {
        if (memcmp((const void *)(uintptr_t)at, "RSD PTR ", 8) == 0) {
            return (const void *)(uintptr_t)at;
        }
    }
    return NULL;
}

static const struct acpi_rsdp *find_rsdp(void)
{
    if (hv_boot_info.rsdp != 0) {
        return (const void *)(uintptr_t)hv_boot_info.rsdp;
    }
    uintptr_t bda_ebda = 0x40e; /* the BIOS data area's word for the extended area's segment */
    __asm__("" : "+r"(bda_ebda)); /* the compiler takes page 0 for a null pointer's */
    uint64_t ebda = (uint64_t)(*(const uint16_t *)bda_ebda) << 4;
    const struct acpi_rsdp *rsdp = ebda != 0 ? scan(ebda, ebda + 1024) : NULL;
    return rsdp != NULL ? rsdp : scan(0xe0000, 0x100000);
}

static const struct acpi_header *find_table(const struct acpi_rsdp *rsdp, const char *signature)
{
    bool wide = rsdp->revision >= 2 && rsdp->xsdt != 0;
    const struct acpi_header *root = (const void *)(uintptr_t)(wide ? rsdp->xsdt : rsdp->rsdt);
    uint32_t size = wide ? 8 : 4;
    for (uint32_t at = sizeof(*root); at + size <= root->length; at += size) {
        uint64_t address = 0;
        memcpy(&address, (const uint8_t *)root + at, size);
        const struct acpi_header *table = (const void *)(uintptr_t)address;
        if (memcmp(table->signature, signature, 4) == 0) {
            return table;
        }
    }
    return NULL;
}

static void read_madt(const struct acpi_header *madt)
{
    const uint8_t *bytes = (const uint8_t *)madt;
    for (uint32_t at = 44; at + 2 <= madt->length && bytes[at + 1] >= 2; at += bytes[at + 1]) {
        if (bytes[at] == 0 && (bytes[at + 4] & 1) != 0 && hv_boot_info.apic_count < 256) {
            hv_boot_info.apic_id[hv_boot_info.apic_count++] = bytes[at + 3];
        }
    }
}

void hv_acpi_read(void)
{
    const struct acpi_rsdp *rsdp = find_rsdp();
    const struct acpi_header *madt = rsdp != NULL ? find_table(rsdp, "APIC") : NULL;
    if (madt == NULL) {
        hv_log("no ACPI MADT: going on with one pCPU");
        return;
    }
    read_madt(madt);
}
