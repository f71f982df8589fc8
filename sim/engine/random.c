/*
 * random.c - named random streams (see random.h). Owns nothing; pure functions of their state.
 */
#include "sim/random.h"

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void sim_random_init(struct sim_random *random, uint64_t seed, const char *name, uint64_t index)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a of the name */
    for (; *name != '\0'; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    }
    uint64_t state = seed;
    state = splitmix(&state) ^ hash;
    state = splitmix(&state) + index;
    for (unsigned i = 0; i < 4; i++) {
        random->state[i] = splitmix(&state);
    }
}

uint64_t sim_random_u64(struct sim_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t sim_random_below(struct sim_random *random, uint64_t bound)
{
    /* The high half of a 64x64 product; its bias, below bound / 2^64, is nothing here. */
    return (uint64_t)(((unsigned __int128)sim_random_u64(random) * bound) >> 64);
}

uint64_t sim_random_around(struct sim_random *random, uint64_t mean, uint32_t spread_per_1024)
{
    uint64_t half = (uint64_t)(((unsigned __int128)mean * spread_per_1024) >> 10);
    return mean - half + sim_random_below(random, 2 * half + 1);
}

/*
 * -log2(u / 2^64) in 1/2^32, for u > 0: the integer part by counting leading zeros, the fraction
 * bit by bit, by squaring the mantissa (the classic shift-and-square logarithm).
 */
static uint64_t minus_log2_q32(uint64_t u)
{
    unsigned zeros = (unsigned)__builtin_clzll(u);
    uint64_t mantissa = u << zeros; /* 1.0 <= m < 2.0 with the point below bit 63 */
    uint64_t fraction = 0;
    for (unsigned bit = 0; bit < 20; bit++) { /* 20 bits: a millionth is enough */
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
        fraction <<= 1;
        if (square >> 127 != 0) {
            fraction |= 1;
            mantissa = (uint64_t)(square >> 64);
        } else {
            mantissa = (uint64_t)(square >> 63);
        }
    }
    return ((uint64_t)(zeros + 1) << 32) - (fraction << 12);
}

uint64_t sim_random_exponential(struct sim_random *random, uint64_t mean)
{
    const uint64_t ln2_q32 = UINT64_C(2977044472);
    uint64_t u = sim_random_u64(random) | 1;
    unsigned __int128 minus_ln_q32 = ((unsigned __int128)minus_log2_q32(u) * ln2_q32) >> 32;
    unsigned __int128 value = (minus_ln_q32 * mean) >> 32;
    unsigned __int128 most = (unsigned __int128)mean * 40;
    return (uint64_t)(value < most ? value : most);
}
