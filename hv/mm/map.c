/*
 * map.c - page tables: the hypervisor's own, and each VM's nested ones. AMD64 APM volume 2, 5.3
 * and 15.25. Boot CPU only; constant afterwards.
 */
#include "hv/mm/map.h"

#include "hv/arch/x86/cpu.h"
#include "hv/mm/pages.h"
#include "hv/pcpu.h"

#include <stddef.h>

enum page_bit {
    PAGE_PRESENT = 1 << 0,
    PAGE_WRITE = 1 << 1,
    PAGE_USER = 1 << 2,
    PAGE_UNCACHED = 1 << 4,
    PAGE_LARGE = 1 << 7
};
#define PAGE_NX (UINT64_C(1) << 63)
#define ADDRESS_MASK UINT64_C(0x000ffffffffff000)
#define LARGE UINT64_C(0x200000)

extern uint8_t hv_image_start[], hv_rodata_start[], hv_data_start[], hv_image_end[];

static uint64_t root;

/* The entry for `address` at `level` (2: 2 MiB, 1: 4 KiB), with the tables above it made. */
static uint64_t *entry_of(uint64_t table, uint64_t address, unsigned level)
{
    for (unsigned at = 4;; at--) {
        uint64_t *entry = (uint64_t *)(uintptr_t)table + (address >> (12 + 9 * (at - 1)) & 511);
        if (at == level) {
            return entry;
        }
        if (*entry == 0) {
            uint64_t page = (uint64_t)(uintptr_t)hv_pages_alloc(4096, 4096, "a page table");
            *entry = page | PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
        }
        table = *entry & ADDRESS_MASK;
    }
}

static void map_large(uint64_t start, uint64_t end, uint64_t bits)
{
    for (uint64_t at = start; at < end; at += LARGE) {
        *entry_of(root, at, 2) = at | PAGE_LARGE | bits;
    }
}

static void map_small(uint64_t start, uint64_t end, uint64_t bits)
{
    for (uint64_t at = start; at < end; at += 4096) {
        *entry_of(root, at, 1) = bits == 0 ? 0 : at | bits;
    }
}

static void map_image(uint64_t start, uint64_t end)
{
    uint64_t rodata = (uint64_t)(uintptr_t)hv_rodata_start;
    uint64_t data = (uint64_t)(uintptr_t)hv_data_start;
    map_small(start, rodata, PAGE_PRESENT);
    map_small(rodata, data, PAGE_PRESENT | PAGE_NX);
    map_small(data, end, PAGE_PRESENT | PAGE_WRITE | PAGE_NX);
    for (uint32_t i = 0; i < HV_PCPU_MAX; i++) {
        uint64_t block = (uint64_t)(uintptr_t)hv_pcpu(i);
        map_small(block + HV_PCPU_GUARD_1, block + HV_PCPU_GUARD_1 + 4096, 0);
        map_small(block + HV_PCPU_GUARD_2, block + HV_PCPU_GUARD_2 + 4096, 0);
        map_small(block + HV_PCPU_GUARD_3, block + HV_PCPU_GUARD_3 + 4096, 0);
    }
}

void hv_map_init(void)
{
    uint64_t image = (uint64_t)(uintptr_t)hv_image_start & ~(LARGE - 1);
    uint64_t image_end = ((uint64_t)(uintptr_t)hv_image_end + LARGE - 1) & ~(LARGE - 1);
    uint64_t top = (hv_pages_top() + LARGE - 1) & ~(LARGE - 1);

    root = (uint64_t)(uintptr_t)hv_pages_alloc(4096, 4096, "the root of the page tables");
    /* The first 2 MiB hold firmware tables and, at 0x8000, the trampoline: the one page that runs
     * and is written, until hv_map_seal(). Page 0 stays unmapped. */
    map_small(0x1000, 0x8000, PAGE_PRESENT | PAGE_WRITE | PAGE_NX);
    map_small(0x8000, 0x9000, PAGE_PRESENT | PAGE_WRITE);
    map_small(0x9000, LARGE, PAGE_PRESENT | PAGE_WRITE | PAGE_NX);
    map_image(image, image_end);
    map_large(image_end, top, PAGE_PRESENT | PAGE_WRITE | PAGE_NX);
    map_large(0xfec00000, 0xff000000, PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_UNCACHED);
    cpu_write_cr3(root);
}

void hv_map_seal(void)
{
    map_small(0x8000, 0x9000, 0);
    cpu_write_cr3(root);
}

uint64_t hv_map_root(void)
{
    return root;
}

uint64_t hv_map_nested(uint64_t host_base, uint64_t size)
{
    uint64_t nested = (uint64_t)(uintptr_t)hv_pages_alloc(4096, 4096, "nested page tables");
    for (uint64_t at = 0; at < size; at += LARGE) {
        *entry_of(nested, at, 2) =
            (host_base + at) | PAGE_PRESENT | PAGE_WRITE | PAGE_USER | PAGE_LARGE;
    }
    return nested;
}
