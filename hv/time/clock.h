/*
 * clock.h - the one clock: nanoseconds since boot, from the time stamp counter.
 *
 * All pCPUs' counters are taken to be synchronous (invariant TSC; true of QEMU). Constant after
 * hv_clock_init(); no locks.
 */
#ifndef HV_TIME_CLOCK_H
#define HV_TIME_CLOCK_H

#include <stdint.h>

/* Measures the TSC's frequency against the ACPI timer or the PIT. Boot CPU, once. */
void hv_clock_init(void);

uint64_t hv_now_ns(void);
uint64_t hv_tsc_khz(void);

/* TSC value -> ns of hv_now_ns(), and ns -> TSC value (saturating). */
uint64_t hv_tsc_to_ns(uint64_t tsc);
uint64_t hv_ns_to_tsc(uint64_t ns);

#endif
