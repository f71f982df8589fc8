/*
 * acpi.c - see acpi.h. Layouts: ACPI specification 6.5, chapter 5.2. Single CPU, after boot only.
 */
#include "guests/bare/acpi.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"

#define HEADER_SIZE      36
#define SLEEP_ENABLE     (1u << 13)
#define QEMU_PM1A        0x604 /* what SeaBIOS gives QEMU's pc machine */
#define MADT_LOCAL_APIC  0
#define MADT_LOCAL_X2    9
#define MADT_CPU_ENABLED 1u

static const uint8_t *root; /* RSDT or XSDT */
static bool root_is_wide;

static uint32_t read32(const uint8_t *at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t read64(const uint8_t *at)
{
    uint64_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static bool sums_to_zero(const uint8_t *at, uint32_t length)
{
    uint8_t sum = 0;
    for (uint32_t i = 0; i < length; i++) {
        sum = (uint8_t)(sum + at[i]);
    }
    return sum == 0;
}

static bool is_rsdp(const uint8_t *at)
{
    return __builtin_memcmp(at, "RSD PTR ", 8) == 0 && sums_to_zero(at, 20);
}

static const uint8_t *find_rsdp(void)
{
    const uint8_t *given = (const uint8_t *)boot_rsdp();
    if (given != NULL) {
        return is_rsdp(given) ? given : NULL;
    }
    for (uintptr_t at = 0xe0000; at < 0x100000; at += 16) {
        if (is_rsdp((const uint8_t *)at)) {
            return (const uint8_t *)at;
        }
    }
    return NULL;
}

bool acpi_init(void)
{
    const uint8_t *rsdp = find_rsdp();
    if (rsdp == NULL) {
        print("no ACPI root pointer\n");
        return false;
    }
    root_is_wide = rsdp[15] >= 2 && read64(rsdp + 24) != 0;
    root = (const uint8_t *)(root_is_wide ? read64(rsdp + 24) : read32(rsdp + 16));
    if (!sums_to_zero(root, read32(root + 4))) {
        print("ACPI root table: wrong checksum\n");
        root = NULL;
        return false;
    }
    return true;
}

static const uint8_t *find_table(const char *signature)
{
    uint32_t step = root_is_wide ? 8 : 4;
    uint32_t length = root == NULL ? 0 : read32(root + 4);
    for (uint32_t at = HEADER_SIZE; at + step <= length; at += step) {
        const uint8_t *table =
            (const uint8_t *)(root_is_wide ? read64(root + at) : read32(root + at));
        if (__builtin_memcmp(table, signature, 4) == 0) {
            if (sums_to_zero(table, read32(table + 4))) {
                return table;
            }
            print("ACPI table with a wrong checksum: ");
            print(signature);
            print("\n");
        }
    }
    return NULL;
}

uint32_t acpi_cpus(uint32_t *ids, uint32_t limit)
{
    const uint8_t *madt = find_table("APIC");
    uint32_t length = madt == NULL ? 0 : read32(madt + 4);
    uint32_t count = 0;
    for (uint32_t at = HEADER_SIZE + 8; at + 2 <= length && madt[at + 1] >= 2; at += madt[at + 1]) {
        const uint8_t *entry = madt + at;
        bool wide = entry[0] == MADT_LOCAL_X2;
        if (!wide && entry[0] != MADT_LOCAL_APIC) {
            continue;
        }
        uint32_t flags = read32(entry + (wide ? 8 : 4));
        if ((flags & MADT_CPU_ENABLED) != 0 && count < limit) {
            ids[count++] = wide ? read32(entry + 4) : entry[3];
        }
    }
    return count;
}

uint16_t acpi_power_port(void)
{
    const uint8_t *fadt = find_table("FACP");
    return fadt == NULL ? 0 : (uint16_t)read32(fadt + 64);
}

/* The first number of the package \_S5_ in the DSDT: what the sleep type field must hold. The
 * name, then PackageOp (0x12), its length, the number of elements, and the first element. */
static bool sleep_type(uint16_t *type)
{
    const uint8_t *fadt = find_table("FACP");
    const uint8_t *dsdt = fadt == NULL ? NULL : (const uint8_t *)(uintptr_t)read32(fadt + 40);
    uint32_t length = dsdt == NULL ? 0 : read32(dsdt + 4);
    for (uint32_t at = HEADER_SIZE; at + 12 < length; at++) {
        if (__builtin_memcmp(dsdt + at, "_S5_\x12", 5) == 0) {
            const uint8_t *value = dsdt + at + 7 + (dsdt[at + 5] >> 6);
            *type = value[0] == 0x0a ? value[1] : value[0];
            return true;
        }
    }
    return false;
}

void acpi_power_off(void)
{
    uint16_t type = 0;
    uint16_t port = acpi_power_port();
    if (port != 0 && sleep_type(&type)) {
        cpu_out16(port, (uint16_t)(type << 10 | SLEEP_ENABLE));
    }
    cpu_out16(QEMU_PM1A, SLEEP_ENABLE);
}
