/*
 * acpi.c - the tables by which a guest finds its CPUs, its IO-APIC and its power button. ACPI 6.4,
 * chapter 5. Written at 0xe0000, where a guest without a boot loader's pointer scans.
 */
#include "hv/dev/ports.h"
#include "hv/lib/string.h"
#include "hv/vm/vm.h"

#define BASE 0xe0000u
#define XSDT (BASE + 0x100)
#define FADT (BASE + 0x200)
#define DSDT (BASE + 0x400)
#define FACS (BASE + 0x500)
#define MADT (BASE + 0x1000)

static void put(uint8_t *bytes, uint64_t value, unsigned size)
{
    memcpy(bytes, &value, size);
}

static uint8_t sum(const uint8_t *bytes, uint32_t size)
{
    uint8_t total = 0;
    for (uint32_t i = 0; i < size; i++) {
        total = (uint8_t)(total + bytes[i]);
    }
    return total;
}

static void write_header(uint8_t *table, const char *signature, uint8_t revision, uint32_t length)
{
    memcpy(table, signature, 4);
    put(table + 4, length, 4);
    table[8] = revision;
    table[9] = 0;
    memcpy(table + 10, "CEDE  CEDEHV  ", 14);
    put(table + 24, 1, 4);
    memcpy(table + 28, "CEDE", 4);
    put(table + 32, 1, 4);
    table[9] = (uint8_t)(0 - sum(table, length));
}

static void write_rsdp(uint8_t *memory)
{
    uint8_t *rsdp = memory + BASE;
    memcpy(rsdp, "RSD PTR \0CEDE  \2", 16);
    put(rsdp + 20, 36, 4);
    put(rsdp + 24, XSDT, 8);
    rsdp[8] = (uint8_t)(0 - sum(rsdp, 20));
    rsdp[32] = (uint8_t)(0 - sum(rsdp, 36));
}

/* A legacy-free PC: PM1 event and control blocks, PM timer, reset through port cf9. */
static void write_fadt(uint8_t *memory)
{
    uint8_t *fadt = memory + FADT;
    put(fadt + 36, FACS, 4);
    put(fadt + 40, DSDT, 4);
    put(fadt + 46, 9, 2); /* SCI */
    put(fadt + 56, HV_PM1_EVENT, 4);
    put(fadt + 64, HV_PM1_CONTROL, 4);
    put(fadt + 76, HV_PM_TIMER, 4);
    fadt[88] = 4; /* lengths */
    fadt[89] = 2;
    fadt[91] = 4;
    put(fadt + 96, 0xffff, 2); /* no C2, no C3 */
    put(fadt + 98, 0xffff, 2);
    fadt[108] = 0x32;                  /* century in the RTC */
    put(fadt + 109, 1u << 2, 2);       /* no VGA; legacy devices aren't there */
    put(fadt + 112, 1u | 1u << 4 | 1u << 5 | 1u << 10, 4); /* WBINVD, no buttons, reset register */
    fadt[116] = 1;                     /* system I/O */
    fadt[117] = 8;
    put(fadt + 120, 0xcf9, 8);
    fadt[128] = 6;
    put(fadt + 132, FACS, 8);
    put(fadt + 140, DSDT, 8);
    write_header(fadt, "FACP", 5, 268);
}

/* DSDT: Name (\_S5, Package () { 5, 5, 0, 0 }) and a serial port that the kernel knows anyway. */
static void write_dsdt(uint8_t *memory)
{
    static const uint8_t aml[] = {0x08, '\\', '_', 'S', '5', '_', 0x12, 0x08, 0x04,
                                  0x0a, HV_S5_TYPE, 0x0a, HV_S5_TYPE, 0x00, 0x00};
    memcpy(memory + DSDT + 36, aml, sizeof(aml));
    write_header(memory + DSDT, "DSDT", 2, 36 + sizeof(aml));
}

static void write_facs(uint8_t *memory)
{
    memcpy(memory + FACS, "FACS", 4);
    put(memory + FACS + 4, 64, 4);
    memory[FACS + 32] = 2;
}

static uint8_t *add_x2apic(uint8_t *at, uint32_t id)
{
    at[0] = 9;
    at[1] = 16;
    put(at + 4, id, 4);
    put(at + 8, 1, 4);
    put(at + 12, id, 4);
    return at + 16;
}

static uint8_t *add_lapic(uint8_t *at, uint32_t id)
{
    at[0] = 0;
    at[1] = 8;
    at[2] = (uint8_t)id;
    at[3] = (uint8_t)id;
    put(at + 4, 1, 4);
    return at + 8;
}

static void write_madt(const struct hv_vm *vm)
{
    uint8_t *madt = vm->memory + MADT;
    put(madt + 36, 0xfee00000, 4);
    put(madt + 40, 0, 4); /* no 8259 */
    uint8_t *at = madt + 44;
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        at = i < 255 ? add_lapic(at, i) : add_x2apic(at, i);
    }
    at[0] = 1; /* IO-APIC */
    at[1] = 12;
    at[2] = 0;
    put(at + 4, 0xfec00000, 4);
    put(at + 8, 0, 4);
    at += 12;
    at[0] = 2; /* SCI: level, active high */
    at[1] = 10;
    at[2] = 0;
    at[3] = 9;
    put(at + 4, 9, 4);
    put(at + 8, 0xd, 2);
    at += 10;
    write_header(madt, "APIC", 3, (uint32_t)(at - madt));
}

void hv_acpi_write(struct hv_vm *vm)
{
    memset(vm->memory + BASE, 0, 0x2000);
    write_facs(vm->memory);
    write_dsdt(vm->memory);
    write_fadt(vm->memory);
    write_madt(vm);
    put(vm->memory + XSDT + 36, FADT, 8);
    put(vm->memory + XSDT + 44, MADT, 8);
    write_header(vm->memory + XSDT, "XSDT", 1, 52);
    write_rsdp(vm->memory);
}
