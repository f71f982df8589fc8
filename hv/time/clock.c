/*
 * clock.c - nanoseconds from the time stamp counter. Owns the frequency and the counter's value at
 * boot; both are constant after hv_clock_init().
 *
 * The frequency is measured against PIT channel 2 (1.193182 MHz), gated through port 0x61: every
 * PC and QEMU machine has it, and under a virtual instruction clock it advances with that clock.
 */
#include "hv/time/clock.h"

#include "hv/arch/x86/cpu.h"
#include "hv/log.h"

#define PIT_HZ 1193182u
#define PIT_COUNT 59659u /* 50 ms */

static uint64_t tsc_at_boot;
static uint64_t tsc_khz = 1000000;
static uint64_t ns_per_tsc_q32 = UINT64_C(1) << 32;
static uint64_t tsc_per_ns_q32 = UINT64_C(1) << 32;

static uint64_t measure_tsc_hz(void)
{
    cpu_out8(0x61, (uint8_t)((cpu_in8(0x61) & ~2u) | 1u)); /* gate on, speaker off */
    cpu_out8(0x43, 0xb0);                                  /* channel 2, both bytes, mode 0 */
    cpu_out8(0x42, PIT_COUNT & 0xff);
    cpu_out8(0x42, PIT_COUNT >> 8);
    uint64_t start = cpu_rdtsc();
    while ((cpu_in8(0x61) & 0x20) == 0) {
        cpu_pause();
    }
    uint64_t ticks = cpu_rdtsc() - start;
    return ticks * PIT_HZ / PIT_COUNT;
}

void hv_clock_init(void)
{
    tsc_at_boot = cpu_rdtsc();
    uint64_t hz = measure_tsc_hz();
    uint64_t again = measure_tsc_hz();
    hz = hz < again ? hz : again; /* a disturbed measurement reads high */
    if (hz < 1000000) {
        hv_panic("the time stamp counter runs at %lu Hz; cannot keep time with it", hz);
    }
    tsc_khz = hz / 1000;
    ns_per_tsc_q32 = (UINT64_C(1000000000) << 32) / 1000 / tsc_khz;
    tsc_per_ns_q32 = (tsc_khz << 32) / 1000000;
}

uint64_t hv_tsc_to_ns(uint64_t tsc)
{
    unsigned __int128 product = (unsigned __int128)(tsc - tsc_at_boot) * ns_per_tsc_q32;
    return tsc < tsc_at_boot ? 0 : (uint64_t)(product >> 32);
}

uint64_t hv_ns_to_tsc(uint64_t ns)
{
    unsigned __int128 product = ((unsigned __int128)ns * tsc_per_ns_q32) >> 32;
    return product > UINT64_MAX / 2 ? UINT64_MAX / 2 : tsc_at_boot + (uint64_t)product;
}

uint64_t hv_now_ns(void)
{
    return hv_tsc_to_ns(cpu_rdtsc());
}

uint64_t hv_tsc_khz(void)
{
    return tsc_khz;
}
