/*
 * histogram.c - see histogram.h. No state of its own.
 */
#include "guests/workload/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Values below 16 have a bucket each; above, the top four bits choose. */
static unsigned bucket_of(uint64_t value)
{
    if (value < 16) {
        return (unsigned)value;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(value);
    return (top - 2) * 8 + (unsigned)((value >> (top - 3)) & 7);
}

static uint64_t bucket_upper_end(unsigned bucket)
{
    if (bucket < 16) {
        return bucket;
    }
    unsigned shift = bucket / 8 - 1;
    return (((uint64_t)(bucket % 8) + 9) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    _Atomic uint64_t *count = &histogram->counts[bucket_of(value)];
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + 1, memory_order_relaxed);
}

void histogram_collect(struct histogram_sum *sum, const struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum->counts[i] += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    }
}

void histogram_subtract(struct histogram_sum *later, const struct histogram_sum *earlier)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        later->counts[i] -= earlier->counts[i];
    }
}

uint64_t histogram_count(const struct histogram_sum *sum)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += sum->counts[i];
    }
    return count;
}

uint64_t histogram_permille(const struct histogram_sum *sum, unsigned permille)
{
    uint64_t count = histogram_count(sum);
    uint64_t wanted = (count * permille + 999) / 1000;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && count != 0; i++) {
        seen += sum->counts[i];
        if (seen >= wanted && seen != 0) {
            return bucket_upper_end(i);
        }
    }
    return 0;
}

void histogram_format(const struct histogram_sum *sum, char *text, size_t size)
{
    snprintf(text, size,
             ",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64
             ",\"count\":%" PRIu64,
             histogram_permille(sum, 500), histogram_permille(sum, 990),
             histogram_permille(sum, 999), histogram_permille(sum, 1000), histogram_count(sum));
}

void histogram_format_buckets(const struct histogram_sum *sum, char *text, size_t size)
{
    const size_t longest = 48; /* ,[upper end,count] and the closing bracket */
    size_t used = (size_t)snprintf(text, size, ",\"histogram\":[");
    const char *comma = "";
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && used + longest < size; i++) {
        if (sum->counts[i] != 0) {
            used += (size_t)snprintf(text + used, size - used, "%s[%" PRIu64 ",%" PRIu64 "]", comma,
                                     bucket_upper_end(i), sum->counts[i]);
            comma = ",";
        }
    }
    snprintf(text + used, size - used, "]");
}
