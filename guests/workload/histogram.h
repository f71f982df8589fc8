/*
 * histogram.h - times as a histogram with eight buckets per power of two: a percentile read from
 * it is at most an eighth too high. One writer (its worker), any reader.
 */
#ifndef GUESTS_WORKLOAD_HISTOGRAM_H
#define GUESTS_WORKLOAD_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 512

struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS];
};

/* A histogram at rest: sums and differences of snapshots. */
struct histogram_sum {
    uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* sum += histogram */
void histogram_collect(struct histogram_sum *sum, const struct histogram *histogram);

/* later -= earlier, for what came between two snapshots. */
void histogram_subtract(struct histogram_sum *later, const struct histogram_sum *earlier);

uint64_t histogram_count(const struct histogram_sum *sum);

/* The upper end of the bucket in which `permille` of the values are reached; 0 when empty. */
uint64_t histogram_permille(const struct histogram_sum *sum, unsigned permille);

/* ,"p50":..,"p99":..,"p999":..,"max":..,"count":.. for a result line. */
void histogram_format(const struct histogram_sum *sum, char *text, size_t size);

/* ,"histogram":[[upper end, count],...] of the buckets that hold something; cut to fit. */
void histogram_format_buckets(const struct histogram_sum *sum, char *text, size_t size);

#endif
