/*
 * hostile_tables.c - page tables that loop: a pool of pages whose entries point to each other, to
 * themselves, with reserved bits set, and (cede.outside=1) to where no memory is; then accesses
 * that walk them at random.
 *
 * The pool is closed: whatever level a page is used at, its entries lead to the pool or outside
 * RAM, so that the walk's own writes (accessed and dirty bits) touch nothing else. Accesses write
 * back what they read.
 */
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"
#include "guests/bare/window.h"

#define POOL_PAGES 16u
#define FIRST_SLOT 8u /* of the top table: this many are given to the pool */
#define SLOTS      8u
#define RESERVED   (UINT64_C(0xf) << 48)

extern uint64_t page_map[512]; /* start.S */

static uint64_t pool[POOL_PAGES][512] __attribute__((aligned(4096)));

static uint64_t choose_entry(uint64_t *random)
{
    uint64_t target = (uint64_t)pool[random_below(random, POOL_PAGES)];
    uint64_t entry = target | PTE_PRESENT | (random_next(random) >> 40 & 0xfff);
    switch (random_below(random, 16)) {
    case 0:
        return random_next(random) & ~PTE_PRESENT;
    case 1:
        return entry | (random_next(random) & RESERVED);
    case 2:
        return entry | PTE_NO_EXECUTE;
    case 3:
        return hostile_outside() ? (hostile_hole(random) & ~RESERVED) | PTE_PRESENT | PTE_WRITABLE
                                 : entry;
    default:
        return entry & ~PTE_LARGE;
    }
}

static void change_something(uint64_t *random)
{
    if (random_below(random, 8) == 0) {
        page_map[FIRST_SLOT + random_below(random, SLOTS)] = choose_entry(random);
    } else {
        pool[random_below(random, POOL_PAGES)][random_next(random) >> 55] = choose_entry(random);
    }
}

static bool prepare(uint64_t *random)
{
    for (unsigned page = 0; page < POOL_PAGES; page++) {
        for (unsigned i = 0; i < 512; i++) {
            pool[page][i] = choose_entry(random);
        }
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        page_map[FIRST_SLOT + i] = choose_entry(random);
    }
    return true;
}

static void touch(void *argument)
{
    volatile uint64_t *address = argument;
    if (hostile_moves_only()) {
        *address = *address;
        return;
    }
    __asm__ volatile("lock addq $0, %0" : "+m"(*address)::"memory", "cc");
}

static void look(void *argument)
{
    volatile uint64_t *address = argument;
    (void)*address;
}

static void step(uint64_t *random)
{
    change_something(random);
    if (random_below(random, 4) == 0) {
        __asm__ volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" ::: "rax", "memory");
    }
    uint64_t slot = FIRST_SLOT + random_below(random, SLOTS);
    uint64_t address = slot << 39 | (random_next(random) >> 25 & ~UINT64_C(7));
    hostile_try(random_below(random, 2) == 0 ? touch : look, (void *)address);
}

const struct hostile hostile_tables = {.name = "tables", .prepare = prepare, .step = step};
