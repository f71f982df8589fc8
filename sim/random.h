/*
 * random.h - named streams of random numbers: same seed and name, same numbers, on any compiler.
 *
 * A stream per purpose ("web/3/compute") keeps one part's draws from shifting another's. Integers
 * only, so that no compiler or libm can change a bit. xoshiro256** seeded by SplitMix64 (Blackman
 * and Vigna, "Scrambled linear pseudorandom number generators", 2018; public domain). No locks.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

struct sim_random {
    uint64_t state[4];
};

/* Stream `name`, number `index` of it, of that seed. O(length of name). */
void sim_random_init(struct sim_random *random, uint64_t seed, const char *name, uint64_t index);

uint64_t sim_random_u64(struct sim_random *random);

/* Uniform in 0..bound-1; 0 for bound 0. */
uint64_t sim_random_below(struct sim_random *random, uint64_t bound);

/* Uniform in mean*(1-spread/1024) .. mean*(1+spread/1024); spread 0..1024. */
uint64_t sim_random_around(struct sim_random *random, uint64_t mean, uint32_t spread_per_1024);

/* Exponentially distributed with that mean, at most 40 times it. */
uint64_t sim_random_exponential(struct sim_random *random, uint64_t mean);

#endif
