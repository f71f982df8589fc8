/*
 * hostile_pages.c - gives the hypervisor pages to write to, in the wrong places: clock, steal time,
 * PV EOI and asynchronous page fault records at odd addresses, across page ends, at the end of
 * RAM, outside it, on the APIC; switches them on and off and makes exits meanwhile.
 *
 * Finds out whether the hypervisor ever wrote outside the record: an arena of RAM is filled with a
 * pattern, and only the bytes from the given address on may have changed.
 */
#include "guests/bare/bare.h"
#include "guests/bare/clock.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

#define MSR_KVM      0x4b564d00u
#define ARENA_BYTES  0x3000u
#define PATTERN      0xa5u
#define RECORD_BYTES 64u

static uint8_t arena[ARENA_BYTES] __attribute__((aligned(4096)));
static bool written_outside;

struct access {
    uint32_t msr;
    uint64_t value;
};

static void write_msr(void *argument)
{
    const struct access *access = argument;
    cpu_write_msr(access->msr, access->value);
}

static bool prepare(uint64_t *random)
{
    (void)random;
    __builtin_memset(arena, PATTERN, sizeof arena);
    return true;
}

/* An address; arena addresses leave room for one record in front of the arena's end. */
static uint64_t choose_address(uint64_t *random, bool *in_arena)
{
    uint64_t near = random_below(random, 128);
    *in_arena = false;
    switch (random_below(random, 6)) {
    case 0:
        return ram_end() - 64 + near; /* from the last record that fits on: RAM nobody uses */
    case 1:
        return 0xfee00000u + random_below(random, 0x1000);
    case 2:
        return hostile_hole(random) + near;
    case 3:
        *in_arena = true;
        return (uint64_t)arena + 0x1000 - 64 + near; /* across a page's end */
    default:
        *in_arena = true;
        return (uint64_t)arena + random_below(random, ARENA_BYTES - 2 * RECORD_BYTES);
    }
}

/* Restores the pattern; the first byte outside the record that had changed, or 0. */
static uint64_t find_damage(uint64_t first)
{
    uint64_t damage = 0;
    for (uint64_t i = 0; i < ARENA_BYTES; i++) {
        uint64_t address = (uint64_t)arena + i;
        bool inside = address >= first && address < first + RECORD_BYTES;
        if (arena[i] != PATTERN && !inside && damage == 0) {
            damage = address;
        }
        arena[i] = PATTERN;
    }
    return damage;
}

static void say_damage(const struct access *access, uint64_t damage)
{
    print("the hypervisor wrote to ");
    print_hex(damage);
    print(", outside the record of MSR ");
    print_hex(access->msr);
    print(" = ");
    print_hex(access->value);
    print("\n");
}

static void make_exits(void)
{
    for (unsigned i = 0; i < 2; i++) {
        cpu_id(1, 0);
        cpu_pause();
    }
}

/* The lowest bits are flags: six in the registers whose records are aligned to 64, else two. */
static uint64_t record_start(uint32_t msr, uint64_t address)
{
    bool aligned = msr == MSR_KVM + 2 || msr == MSR_KVM + 3;
    return address & ~(aligned ? UINT64_C(63) : UINT64_C(3));
}

static void step(uint64_t *random)
{
    bool in_arena;
    uint64_t address = choose_address(random, &in_arena);
    struct access on = {.msr = MSR_KVM + (uint32_t)random_below(random, 8)};
    bool wall_clock = on.msr == MSR_KVM; /* written at once, without an enable bit */
    on.value = wall_clock || random_below(random, 8) == 0 ? address : address | 1;
    hostile_try(write_msr, &on);
    make_exits();
    struct access off = {.msr = on.msr, .value = 0};
    if (!wall_clock) {
        hostile_try(write_msr, &off);
    }
    uint64_t first = record_start(on.msr, address);
    uint64_t damage = find_damage(first);
    if (in_arena && damage != 0 && !written_outside) {
        written_outside = true;
        say_damage(&on, damage);
    }
}

static bool finish(void)
{
    return !written_outside;
}

const struct hostile hostile_pages = {
    .name = "pages", .prepare = prepare, .step = step, .finish = finish};
