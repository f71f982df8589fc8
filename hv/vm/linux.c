/*
 * linux.c - loads a bzImage by Linux' 64-bit boot protocol (Documentation/arch/x86/boot.rst, facts
 * only): real-mode header into the zero page, kernel at 16 MiB, initrd at the top of memory below
 * 3 GiB, identity page tables, a flat GDT. The kernel and initrd are the user's and trusted no more
 * than a guest: every size is checked.
 */
#include "hv/lib/format.h"
#include "hv/lib/string.h"
#include "hv/time/clock.h"
#include "hv/arch/x86/svm/svm.h"
#include "hv/vm/vm.h"

#define ZERO_PAGE 0x7000u
#define CMDLINE 0x20000u
#define CMDLINE_SIZE 1024u
#define PAGE_TABLES 0x9000u /* PML4, PDPT, 4 PDs */
#define GDT 0x8000u
#define STACK 0x7ff0u
#define KERNEL UINT64_C(0x1000000)
#define SETUP_HEADER 0x1f1u

static uint32_t get32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

static void put32(uint8_t *bytes, uint32_t value)
{
    memcpy(bytes, &value, 4);
}

static void put64(uint8_t *bytes, uint64_t value)
{
    memcpy(bytes, &value, 8);
}

static void write_page_tables(uint8_t *memory)
{
    uint8_t *tables = memory + PAGE_TABLES;
    memset(tables, 0, 6 * 4096);
    put64(tables, (PAGE_TABLES + 0x1000) | 3);
    for (unsigned i = 0; i < 4; i++) {
        put64(tables + 0x1000 + 8 * i, (PAGE_TABLES + 0x2000 + i * 0x1000) | 3);
    }
    for (unsigned i = 0; i < 2048; i++) {
        put64(tables + 0x2000 + 8 * i, (uint64_t)i << 21 | 0x83);
    }
}

static void write_gdt(uint8_t *memory)
{
    put64(memory + GDT, 0);
    put64(memory + GDT + 8, 0);
    put64(memory + GDT + 16, 0x00af9b000000ffff);
    put64(memory + GDT + 24, 0x00cf93000000ffff);
}

static void add_e820(uint8_t *zero_page, uint64_t start, uint64_t end, uint32_t type)
{
    uint8_t *entry = zero_page + 0x2d0 + 20 * (uint32_t)zero_page[0x1e8];
    put64(entry, start);
    put64(entry + 8, end - start);
    put32(entry + 16, type);
    zero_page[0x1e8]++;
}

static void write_zero_page(struct hv_vm *vm, const uint8_t *kernel, uint64_t initrd,
                            uint64_t initrd_size)
{
    uint8_t *zero_page = vm->memory + ZERO_PAGE;
    uint32_t header_size = kernel[0x201] + 0x202u - SETUP_HEADER;
    memset(zero_page, 0, 4096);
    memcpy(zero_page + SETUP_HEADER, kernel + SETUP_HEADER, header_size);
    zero_page[0x210] = 0xff; /* loader: unregistered */
    zero_page[0x211] |= 0x81; /* loaded high, heap usable */
    put32(zero_page + 0x218, (uint32_t)initrd);
    put32(zero_page + 0x21c, (uint32_t)initrd_size);
    put32(zero_page + 0x228, CMDLINE);
    put64(zero_page + 0x070, 0xe0000); /* acpi_rsdp_addr */
    add_e820(zero_page, 0, 0x9fc00, 1);
    add_e820(zero_page, 0xe0000, 0x100000, 2);
    add_e820(zero_page, 0x100000, vm->memory_size, 1);
}

/*
 * The command line, and for a VM that isn't shown KVM's clock the TSC's frequency: Linux would
 * measure it against PIT or PM timer and mistrust a port read of more than 50,000 cycles, which an
 * emulated exit takes; without a frequency it doesn't boot.
 */
static void write_cmdline(struct hv_vm *vm)
{
    const unsigned clock_feature = 3;
    const char *cmdline = vm->config->cmdline;
    if (hv_vm_shows(vm, clock_feature)) {
        hv_format((char *)vm->memory + CMDLINE, CMDLINE_SIZE, "%s", cmdline);
    } else {
        hv_format((char *)vm->memory + CMDLINE, CMDLINE_SIZE, "%s tsc_early_khz=%lu", cmdline,
                  hv_tsc_khz());
    }
}

static const char *check_kernel(const uint8_t *kernel, uint64_t size)
{
    if (size < 0x1000 || kernel[0x1fe] != 0x55 || kernel[0x1ff] != 0xaa ||
        get32(kernel + 0x202) != 0x53726448) {
        return "the kernel is not a bzImage";
    }
    uint32_t version = kernel[0x206] | (uint32_t)kernel[0x207] << 8;
    if (version < 0x20c || (kernel[0x236] & 1) == 0) {
        return "the kernel has no 64-bit entry (boot protocol 2.12 with XLF_KERNEL_64)";
    }
    if (kernel[0x201] + 0x202u - SETUP_HEADER > 0x290 - SETUP_HEADER) {
        return "the kernel's setup header is too long";
    }
    return NULL;
}

const char *hv_linux_load(struct hv_vm *vm, const uint8_t *kernel, uint64_t kernel_size,
                          const uint8_t *initrd, uint64_t initrd_size)
{
    const char *why = check_kernel(kernel, kernel_size);
    if (why != NULL) {
        return why;
    }
    uint64_t setup_size = ((kernel[0x1f1] != 0 ? kernel[0x1f1] : 4u) + 1u) * UINT64_C(512);
    uint64_t init_size = get32(kernel + 0x260);
    uint64_t low_end = vm->memory_size < UINT64_C(0xc0000000) ? vm->memory_size : 0xc0000000;
    if (setup_size >= kernel_size) {
        return "the kernel is shorter than its setup code";
    }
    uint64_t body = kernel_size - setup_size;
    uint64_t initrd_at = (low_end - initrd_size) & ~UINT64_C(0x1fffff);
    if (initrd_size > low_end || init_size > low_end || body > low_end ||
        KERNEL + (init_size > body ? init_size : body) > initrd_at) {
        return "kernel and initrd don't fit into the VM's memory";
    }
    memcpy(vm->memory + KERNEL, kernel + setup_size, body);
    if (initrd_size > 0) {
        memcpy(vm->memory + initrd_at, initrd, initrd_size);
    }
    write_cmdline(vm);
    write_page_tables(vm->memory);
    write_gdt(vm->memory);
    write_zero_page(vm, kernel, initrd_size > 0 ? initrd_at : 0, initrd_size);
    arch_vcpu_boot_linux(&vm->vcpu[0]->arch, KERNEL + 0x200, STACK, ZERO_PAGE, PAGE_TABLES, GDT);
    return NULL;
}
