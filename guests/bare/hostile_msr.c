/*
 * hostile_msr.c - reads and writes random MSRs: half of them near registers that exist.
 *
 * Left out: an APIC moved over RAM, interrupt commands other than fixed ones, and clock or steal
 * pages over the guest's own memory (hostile_pages.c does those). A hypervisor that lets the guest
 * leave long mode by EFER, which no CPU does, loses it here.
 */
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

#define MSR_APIC_BASE 0x1bu
#define MSR_X2_ICR    0x830u
#define MSR_EFER      0xc0000080u
#define MSR_KVM       0x4b564d00u
#define MSR_KVM_OLD   0x11u /* and 0x12 */
#define ICR_MODE      0x700u
#define EFER_LONG     0x500u /* LMA, LME */
#define BEYOND_RAM    (UINT64_C(1) << 45)

struct range {
    uint32_t first, count;
};

/* Intel SDM volume 4; APM volume 2, appendix A; KVM and Hyper-V interfaces. */
static const struct range known[] = {
    {0x0, 0x100},       {0x10, 1},           {0x174, 8},         {0x1a0, 0x40}, {0x200, 0x80},
    {0x2ff, 1},         {0x400, 0x80},       {0x480, 0x12},      {0x6e0, 1},    {0x800, 0x100},
    {0xda0, 1},         {0x40000000, 0x110}, {MSR_KVM, 0x10},    {MSR_EFER, 8}, {0xc0000100, 8},
    {0xc0010000, 0x80}, {0xc0010110, 0x20},  {0xc0011000, 0x40},
};

struct access {
    uint32_t msr;
    bool write;
    uint64_t value;
};

static uint32_t choose_msr(uint64_t *random)
{
    if ((random_next(random) & 1u << 20) != 0) {
        return (uint32_t)(random_next(random) >> 16);
    }
    const struct range *range = &known[random_below(random, sizeof known / sizeof known[0])];
    return range->first + (uint32_t)random_below(random, range->count);
}

static uint64_t choose_value(uint64_t *random)
{
    uint64_t value = random_next(random);
    switch (random_below(random, 5)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << (value & 63);
    case 3:
        return value & 0xffff;
    default:
        return value;
    }
}

static uint64_t make_survivable(uint32_t msr, uint64_t value)
{
    if (msr == MSR_EFER) {
        return hostile_plain() ? value | EFER_LONG : value; /* refused, or this was the end */
    }
    if (msr == MSR_APIC_BASE) {
        return (value & 1) != 0 ? (value & 0xfff) | 0xfee00000u : value | BEYOND_RAM;
    }
    if (msr == MSR_X2_ICR) {
        return value & ~(uint64_t)ICR_MODE;
    }
    if ((msr >= MSR_KVM && msr < MSR_KVM + 0x100) || msr == MSR_KVM_OLD || msr == MSR_KVM_OLD + 1) {
        return value | BEYOND_RAM;
    }
    return value;
}

static void access_msr(void *argument)
{
    const struct access *access = argument;
    if (access->write) {
        cpu_write_msr(access->msr, access->value);
    } else {
        cpu_read_msr(access->msr);
    }
}

static void step(uint64_t *random)
{
    struct access access = {.msr = choose_msr(random)};
    access.write = (random_next(random) & 1u << 30) != 0;
    access.value = make_survivable(access.msr, choose_value(random));
    hostile_try(access_msr, &access);
}

const struct hostile hostile_msr = {.name = "msr", .step = step};
