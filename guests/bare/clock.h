/*
 * clock.h - what a TSC cycle is in nanoseconds: from the KVM clock, else measured against the PIT,
 * else unknown. Set up once by the first CPU, then read only.
 */
#ifndef GUESTS_BARE_CLOCK_H
#define GUESTS_BARE_CLOCK_H

#include <stdint.h>

void clock_init(void);

/* 0 when unknown. */
uint64_t clock_ns_of_cycles(uint64_t cycles);

/* TSC cycles of a number of microseconds; of 3 GHz when unknown. */
uint64_t clock_cycles_of_us(uint64_t microseconds);

/* The feature bits of the KVM leaf, 0 without one. */
uint32_t kvm_features(void);

#endif
