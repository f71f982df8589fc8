/*
 * histogram.c - latencies in log-linear buckets; see include/cede/stats.h. No locks.
 */
#include "cede/stats.h"

#define LINEAR 8u     /* values below have a bucket each */
#define PER_OCTAVE 4u

/* Octave from the highest bit, quarter from the two bits below it. */
static uint32_t bucket_of(uint64_t value)
{
    uint32_t top, bucket;

    if (value < LINEAR) {
        return (uint32_t)value;
    }
    top = 63u - (uint32_t)__builtin_clzll(value);
    bucket = LINEAR + (top - 3u) * PER_OCTAVE + (uint32_t)(value >> (top - 2u) & 3u);
    return bucket < CEDE_HISTOGRAM_BUCKETS ? bucket : CEDE_HISTOGRAM_BUCKETS - 1;
}

static uint64_t upper_bound(uint32_t bucket)
{
    uint32_t top;
    uint64_t quarter;

    if (bucket < LINEAR) {
        return bucket;
    }
    top = (bucket - LINEAR) / PER_OCTAVE + 3u;
    quarter = (bucket - LINEAR) % PER_OCTAVE;
    return ((UINT64_C(5) + quarter) << (top - 2u)) - 1;
}

void cede_histogram_add(struct cede_histogram *histogram, uint64_t value_ns)
{
    histogram->bucket[bucket_of(value_ns)]++;
    histogram->sum_ns += value_ns;
    histogram->count++;
    if (value_ns > histogram->max_ns) {
        histogram->max_ns = value_ns;
    }
}

void cede_histogram_merge(struct cede_histogram *to, const struct cede_histogram *from)
{
    for (uint32_t n = 0; n < CEDE_HISTOGRAM_BUCKETS; n++) {
        to->bucket[n] += from->bucket[n];
    }
    to->sum_ns += from->sum_ns;
    to->count += from->count;
    if (from->max_ns > to->max_ns) {
        to->max_ns = from->max_ns;
    }
}

/* ceil(count * ratio / 2^16), in parts so that no product overflows. */
static uint64_t rank_of(uint64_t count, uint32_t ratio_q16)
{
    uint64_t high = (count >> 16) * ratio_q16;
    uint64_t low = (count & 0xffffu) * ratio_q16;

    return high + (low + 0xffffu) / 65536u;
}

uint64_t cede_histogram_quantile(const struct cede_histogram *histogram, uint32_t ratio_q16)
{
    uint64_t rank = rank_of(histogram->count, ratio_q16 > 65536u ? 65536u : ratio_q16);
    uint64_t seen = 0;

    if (histogram->count == 0) {
        return 0;
    }
    rank = rank == 0 ? 1 : rank;
    for (uint32_t n = 0; n < CEDE_HISTOGRAM_BUCKETS - 1; n++) {
        seen += histogram->bucket[n];
        if (seen >= rank) {
            return upper_bound(n) < histogram->max_ns ? upper_bound(n) : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}
