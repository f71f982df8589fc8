/*
 * bits.h - two-level bitmaps: a summary word says which words of the lower level are not 0.
 *
 * `struct cede_pset` is a set of pCPUs (up to 1024 = 16 words). The sets of a VM's vCPUs have the
 * same shape, but their lower words lie in chunks (../state.h), so only the searches for a single
 * word are here. Pure functions; no locks of their own.
 */
#ifndef CORE_BASE_BITS_H
#define CORE_BASE_BITS_H

#include "cede/types.h"

#define CEDE_PSET_WORDS (CEDE_PCPU_COUNT_MAX / 64u)

struct cede_pset {
    uint64_t summary; /* bit i: word[i] != 0 */
    uint64_t word[CEDE_PSET_WORDS];
};

/* Number of the lowest set bit; `word` is not 0. */
static inline uint32_t cede_bits_lowest(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

/* Counts set bits by adding neighbours in place: no library call, no special instruction. */
static inline uint32_t cede_bits_count(uint64_t word)
{
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)((word * UINT64_C(0x0101010101010101)) >> 56);
}

static inline uint64_t cede_bits_from(uint32_t bit)
{
    return UINT64_MAX << (bit & 63u);
}

static inline bool cede_pset_has(const struct cede_pset *set, uint32_t pcpu)
{
    return (set->word[pcpu / 64u] >> (pcpu & 63u) & 1u) != 0;
}

static inline void cede_pset_put(struct cede_pset *set, uint32_t pcpu, bool member)
{
    uint64_t bit = UINT64_C(1) << (pcpu & 63u);
    uint64_t *word = &set->word[pcpu / 64u];

    *word = member ? *word | bit : *word & ~bit;
    bit = UINT64_C(1) << (pcpu / 64u);
    set->summary = *word != 0 ? set->summary | bit : set->summary & ~bit;
}

#endif
