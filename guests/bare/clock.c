/*
 * clock.c - see clock.h. KVM's clock: Documentation/virt/kvm/x86/msr.rst. PIT: Intel 8254.
 */
#include "guests/bare/clock.h"
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"

#define KVM_SIGNATURE_EBX 0x4b4d564bu /* "KVMK" */
#define KVM_CLOCKSOURCE2  (1u << 3)
#define MSR_SYSTEM_TIME   0x4b564d01u
#define PIT_HZ            1193182u
#define PIT_COUNT         11932u /* 10 ms */
#define PIT_TIMEOUT       (UINT64_C(2) * 1000 * 1000 * 1000)

struct system_time {
    uint32_t version, pad;
    uint64_t tsc, time_ns;
    uint32_t multiplier;
    int8_t shift;
    uint8_t flags, pad2[2];
} __attribute__((aligned(64)));

static volatile struct system_time system_time;
static uint64_t cycles_per_10ms; /* 0: unknown */

uint32_t kvm_features(void)
{
    if ((cpu_id(1, 0).ecx & 1u << 31) == 0 || cpu_id(0x40000000u, 0).ebx != KVM_SIGNATURE_EBX) {
        return 0;
    }
    return cpu_id(0x40000001u, 0).eax;
}

/* ns = ((cycles << shift) * multiplier) >> 32, with a negative shift to the right; inverted here.
 */
static void read_kvm_clock(void)
{
    cpu_write_msr(MSR_SYSTEM_TIME, (uint64_t)&system_time | 1);
    uint64_t multiplier = system_time.multiplier;
    int shift = system_time.shift;
    cpu_write_msr(MSR_SYSTEM_TIME, 0);
    if (multiplier != 0 && shift > -32 && shift < 32) {
        uint64_t cycles = ((UINT64_C(10000000) << 32) / multiplier);
        cycles_per_10ms = shift < 0 ? cycles << -shift : cycles >> shift;
    }
}

/* Channel 2 counts down once; its output shows in port 0x61. */
static void measure_by_pit(void)
{
    cpu_out8(0x61, (uint8_t)((cpu_in8(0x61) & ~3u) | 1));
    cpu_out8(0x43, 0xb0);
    cpu_out8(0x42, PIT_COUNT & 0xff);
    cpu_out8(0x42, PIT_COUNT >> 8);
    uint64_t start = cpu_tsc(), now = start;
    if ((cpu_in8(0x61) & 0x20) != 0) {
        return; /* output high at once: nothing counts there */
    }
    while ((cpu_in8(0x61) & 0x20) == 0) {
        now = cpu_tsc();
        if (now - start > PIT_TIMEOUT) {
            return;
        }
    }
    cycles_per_10ms = now - start;
}

void clock_init(void)
{
    if ((kvm_features() & KVM_CLOCKSOURCE2) != 0) {
        read_kvm_clock();
    }
    if (cycles_per_10ms == 0) {
        measure_by_pit();
    }
}

uint64_t clock_ns_of_cycles(uint64_t cycles)
{
    return cycles_per_10ms == 0 ? 0 : cycles * 10000 / (cycles_per_10ms / 1000);
}

uint64_t clock_cycles_of_us(uint64_t microseconds)
{
    uint64_t per_10ms = cycles_per_10ms != 0 ? cycles_per_10ms : UINT64_C(30000000);
    return microseconds * per_10ms / 10000;
}
