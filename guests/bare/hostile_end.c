/*
 * hostile_end.c - kinds without an end of their own: a triple fault, all CPUs in a PAUSE loop for
 * ever, all CPUs halted with interrupts off. The first must be noticed, the others must cost their
 * neighbours nothing beyond their share.
 */
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

static void load_empty_table(void)
{
    const struct table_pointer pointer = {0, 0};
    __asm__ volatile("lidt %0" ::"m"(pointer));
}

/* One of four ways, by the seed. */
static void triple_step(uint64_t *random)
{
    static uint64_t empty[512] __attribute__((aligned(4096)));
    switch (random_below(random, hostile_outside() ? 4 : 3)) {
    case 0:
        print("triple fault: no interrupt table, undefined instruction\n");
        load_empty_table();
        __asm__ volatile("ud2");
        break;
    case 1:
        print("triple fault: empty page tables\n");
        __asm__ volatile("mov %0, %%cr3" ::"r"((uint64_t)empty) : "memory");
        break;
    case 2:
        print("triple fault: a stack at a non-canonical address, no interrupt table\n");
        load_empty_table();
        __asm__ volatile("mov %0, %%rsp; push %%rax" ::"r"(UINT64_C(1) << 63) : "memory");
        break;
    default:
        print("triple fault: page tables outside RAM\n");
        __asm__ volatile("mov %0, %%cr3" ::"r"(ram_end() + 0x100000) : "memory");
        break;
    }
}

static bool survived(void)
{
    print("still here after a triple fault\n");
    return false;
}

const struct hostile hostile_triple = {.name = "triple", .step = triple_step, .finish = survived};

static void pause_for_ever(void *argument)
{
    (void)argument;
    for (;;) {
        cpu_pause();
    }
}

static bool pause_prepare(uint64_t *random)
{
    (void)random;
    hostile_start_others(pause_for_ever);
    return true;
}

static void pause_step(uint64_t *random)
{
    (void)random;
    print("pausing for ever\n");
    pause_for_ever(NULL);
}

const struct hostile hostile_pause = {
    .name = "pause", .prepare = pause_prepare, .step = pause_step};

static void halt_for_ever(void *argument)
{
    (void)argument;
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

static bool halt_prepare(uint64_t *random)
{
    (void)random;
    hostile_start_others(halt_for_ever);
    return true;
}

static void halt_step(uint64_t *random)
{
    (void)random;
    print("halting for ever\n");
    halt_for_ever(NULL);
}

const struct hostile hostile_halt = {.name = "halt", .prepare = halt_prepare, .step = halt_step};
