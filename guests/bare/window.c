/*
 * window.c - see window.h. Owns three tables below the top table's second entry.
 */
#include "guests/bare/window.h"
#include "guests/bare/cpu.h"

extern uint64_t page_map[512]; /* start.S */

static uint64_t pointers[512] __attribute__((aligned(4096)));
static uint64_t directory[512] __attribute__((aligned(4096)));
static uint64_t entries[WINDOW_PAGES] __attribute__((aligned(4096)));

void window_init(void)
{
    const uint64_t flags = PTE_PRESENT | PTE_WRITABLE | PTE_USER;
    directory[0] = (uint64_t)entries | flags;
    pointers[0] = (uint64_t)directory | flags;
    page_map[1] = (uint64_t)pointers | flags;
}

uint64_t window_map(unsigned n, uint64_t entry)
{
    uint64_t address = WINDOW_BASE + n * UINT64_C(4096);
    entries[n] = entry;
    cpu_invalidate_page(address);
    return address;
}
