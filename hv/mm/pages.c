/*
 * pages.c - the boot-time allocator: takes from the end of the ranges that are still free.
 *
 * Owns the free ranges. Each allocation shrinks or splits one range; there are at most a few dozen.
 */
#include "hv/mm/pages.h"

#include "hv/boot/boot.h"
#include "hv/lib/string.h"
#include "hv/log.h"

#define RANGES_MAX 128u

extern uint8_t hv_image_end[];

static struct hv_range free_range[RANGES_MAX];
static uint32_t range_count;
static uint64_t top;

static void add_range(uint64_t start, uint64_t end)
{
    start = (start + 4095) & ~UINT64_C(4095);
    end &= ~UINT64_C(4095);
    if (start < end && range_count < RANGES_MAX) {
        free_range[range_count++] = (struct hv_range){start, end};
    }
}

static void cut(uint64_t start, uint64_t end)
{
    uint32_t count = range_count;
    for (uint32_t i = 0; i < count; i++) {
        struct hv_range range = free_range[i];
        if (start >= range.end || end <= range.start) {
            continue;
        }
        free_range[i] = (struct hv_range){0, 0};
        add_range(range.start, start > range.start ? start : range.start);
        add_range(end < range.end ? end : range.end, range.end);
    }
}

void hv_pages_init(void)
{
    for (uint32_t i = 0; i < hv_boot_info.ram_count; i++) {
        add_range(hv_boot_info.ram[i].start, hv_boot_info.ram[i].end);
        top = hv_boot_info.ram[i].end > top ? hv_boot_info.ram[i].end : top;
    }
    cut(0, (uint64_t)(uintptr_t)hv_image_end);
    cut(hv_boot_info.module.start, hv_boot_info.module.end);
}

void *hv_pages_try(size_t size, size_t align)
{
    size = (size + 4095) & ~(size_t)4095;
    align = align < 4096 ? 4096 : align;
    for (uint32_t i = 0; i < range_count; i++) {
        struct hv_range range = free_range[i];
        if (range.end - range.start < size) {
            continue;
        }
        uint64_t start = (range.end - size) & ~((uint64_t)align - 1);
        if (start >= range.start) {
            free_range[i].end = start;
            add_range(start + size, range.end);
            return (void *)(uintptr_t)start;
        }
    }
    return NULL;
}

void *hv_pages_alloc(size_t size, size_t align, const char *what)
{
    void *memory = hv_pages_try(size, align);
    if (memory == NULL) {
        hv_panic("out of memory: %lu bytes for %s", (uint64_t)size, what);
    }
    return memset(memory, 0, (size + 4095) & ~(size_t)4095);
}

uint64_t hv_pages_free_bytes(void)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < range_count; i++) {
        bytes += free_range[i].end - free_range[i].start;
    }
    return bytes;
}

uint64_t hv_pages_top(void)
{
    return top;
}
