/*
 * statistics.h - means and how sure they are: percentile bootstrap (B. Efron and R. Tibshirani, "An
 * Introduction to the Bootstrap", 1993, chapters 13 and 14). Deterministic: own random numbers from
 * a fixed seed, so that the same values give the same interval everywhere.
 */
#ifndef HOST_STATISTICS_H
#define HOST_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct host_interval {
    double value, lo, hi; /* 95 % */
};

/* The mean of values. With fewer than two the interval is infinite. */
struct host_interval host_mean(const double *value, size_t count);

/*
 * mean(a) / mean(b) of runs that were interleaved: run i of one beside run i of the other. Resampled
 * by pairs if the counts are equal, which takes out what drifted between rounds; else independently.
 */
struct host_interval host_ratio(const double *a, size_t a_count, const double *b, size_t b_count);

/* Whether the interval leaves `value` out: a difference is shown. */
bool host_shown(const struct host_interval *interval, double value);

#endif
