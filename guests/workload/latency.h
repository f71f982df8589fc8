/*
 * latency.h - a report for workloads whose result is a distribution of times: per worker a
 * histogram, per interval the percentiles of what came in it, at the end the histogram itself.
 *
 * Owns the histograms (worker->state). Each is written by its worker, read by the main thread.
 */
#ifndef GUESTS_WORKLOAD_LATENCY_H
#define GUESTS_WORKLOAD_LATENCY_H

#include "guests/workload/common.h"
#include "guests/workload/histogram.h"

/* Gives each worker a histogram. False when memory is short. */
bool latency_prepare(struct run *run);

static inline void latency_add(struct worker *worker, uint64_t latency_ns)
{
    histogram_add(worker->state, latency_ns);
}

/* Prints an interval's line with the workload's metric; value: the rate of operations, or with
 * `by_latency` the 99th percentile in ns. */
void latency_report(struct run *run, const struct interval *interval, bool by_latency);

/* Frees the histograms. */
void latency_finish(struct run *run);

#endif
