/*
 * statistics.c - see statistics.h.
 */
#include "host/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define RESAMPLES 4000u

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* SplitMix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t pick(uint64_t *state, size_t count)
{
    return (size_t)(next_random(state) % count);
}

static double sum_of(const double *value, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += value[i];
    }
    return sum;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void quantiles(double *sample, struct host_interval *interval)
{
    qsort(sample, RESAMPLES, sizeof *sample, ascending);
    interval->lo = sample[RESAMPLES / 40];
    interval->hi = sample[RESAMPLES - 1 - RESAMPLES / 40];
}

struct host_interval host_mean(const double *value, size_t count)
{
    struct host_interval interval = {0, -INFINITY, INFINITY};
    double *sample = malloc(RESAMPLES * sizeof *sample);
    uint64_t state = 1;
    interval.value = count > 0 ? sum_of(value, count) / (double)count : 0;
    if (count > 1 && sample != NULL) {
        for (size_t i = 0; i < RESAMPLES; i++) {
            double sum = 0;
            for (size_t k = 0; k < count; k++) {
                sum += value[pick(&state, count)];
            }
            sample[i] = sum / (double)count;
        }
        quantiles(sample, &interval);
    }
    free(sample);
    return interval;
}

static double resampled_ratio(const double *a, size_t a_count, const double *b, size_t b_count,
                              uint64_t *state)
{
    double top = 0, bottom = 0;
    for (size_t k = 0; k < a_count; k++) {
        size_t at = pick(state, a_count);
        top += a[at];
        bottom += a_count == b_count ? b[at] : 0;
    }
    for (size_t k = 0; k < b_count && a_count != b_count; k++) {
        bottom += b[pick(state, b_count)];
    }
    return (top / (double)a_count) / (bottom / (double)b_count);
}

struct host_interval host_ratio(const double *a, size_t a_count, const double *b, size_t b_count)
{
    struct host_interval interval = {NAN, -INFINITY, INFINITY};
    double *sample = malloc(RESAMPLES * sizeof *sample);
    uint64_t state = 1;
    if (a_count > 0 && b_count > 0) {
        interval.value = (sum_of(a, a_count) / (double)a_count) /
                         (sum_of(b, b_count) / (double)b_count);
    }
    if (a_count > 1 && b_count > 1 && sample != NULL && isfinite(interval.value)) {
        for (size_t i = 0; i < RESAMPLES; i++) {
            double ratio = resampled_ratio(a, a_count, b, b_count, &state);
            sample[i] = isfinite(ratio) ? ratio : interval.value;
        }
        quantiles(sample, &interval);
    }
    free(sample);
    return interval;
}

bool host_shown(const struct host_interval *interval, double value)
{
    return interval->lo > value || interval->hi < value;
}
