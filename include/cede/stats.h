/*
 * stats.h - what can be read of every vCPU and pCPU: where its time went, counts, latencies.
 *
 * All of it is exact: the classes of a vCPU sum to the time since VCPU_ADD, those of a pCPU to
 * the time since PCPU_ADD. Lists: lists/time_class.def, pcpu_time_class.def, counter.def.
 */
#ifndef CEDE_STATS_H
#define CEDE_STATS_H

#include "cede/types.h"

struct cede;

enum cede_time_class {
#define X(NAME, name, doc) CEDE_TIME_##NAME,
#include "cede/lists/time_class.def"
#undef X
    CEDE_TIME_COUNT
};

enum cede_pcpu_time_class {
#define X(NAME, name, doc) CEDE_PCPU_TIME_##NAME,
#include "cede/lists/pcpu_time_class.def"
#undef X
    CEDE_PCPU_TIME_COUNT
};

enum cede_counter {
#define X(NAME, name, doc) CEDE_COUNT_##NAME,
#include "cede/lists/counter.def"
#undef X
    CEDE_COUNTER_COUNT
};

/* What a vCPU is doing, as mechanisms of other schedulers call it. */
enum cede_vcpu_state {
    CEDE_STATE_OFFLINE,
    CEDE_STATE_RUNNABLE,
    CEDE_STATE_RUNNING,
    CEDE_STATE_POLLING,
    CEDE_STATE_BLOCKED,
    CEDE_STATE_PAUSED,
    CEDE_STATE_THROTTLED,
    CEDE_STATE_COUNT
};

/*
 * Latencies in ns, log-linear: values below 8 have a bucket each; above, 4 buckets an octave, so
 * that a bucket's width is at most a quarter of its lower bound. The last bucket is open.
 */
#define CEDE_HISTOGRAM_BUCKETS 128u

struct cede_histogram {
    uint32_t bucket[CEDE_HISTOGRAM_BUCKETS];
    uint64_t max_ns;
    uint64_t sum_ns;
    uint64_t count;
};

struct cede_vcpu_stats {
    uint64_t time_ns[CEDE_TIME_COUNT];
    uint64_t count[CEDE_COUNTER_COUNT];
    struct cede_histogram wake_latency; /* from wake-up to getting a pCPU */
    uint64_t added_ns;                  /* when VCPU_ADD came */
    uint32_t state;                     /* enum cede_vcpu_state */
    struct cede_pcpu_id pcpu;           /* where it runs, polls or waits; else where it last was */
};

struct cede_pcpu_stats {
    uint64_t time_ns[CEDE_PCPU_TIME_COUNT];
    uint64_t added_ns;
    uint64_t switches;
    uint64_t kicks;
    struct cede_vcpu_id current; /* or CEDE_VCPU_NONE */
    uint32_t waiting;            /* vCPUs in its queue */
};

/*
 * Copies the figures as of now_ns (not before the last event: CEDE_BAD_TIME). What the current
 * vCPU did since its last `ran` facts counts as hypervisor time until they come. Changes nothing.
 * Lock held. O(1).
 */
enum cede_status cede_vcpu_stats(const struct cede *core, uint64_t now_ns,
                                 struct cede_vcpu_id vcpu, struct cede_vcpu_stats *stats);
enum cede_status cede_pcpu_stats(const struct cede *core, uint64_t now_ns,
                                 struct cede_pcpu_id pcpu, struct cede_pcpu_stats *stats);

/*
 * The least value that at least ratio_q16/65536 of the recorded values don't exceed, to the
 * bucket's upper bound (never above max_ns); 0 if nothing was recorded. No lock: works on a copy.
 * O(buckets).
 */
uint64_t cede_histogram_quantile(const struct cede_histogram *histogram, uint32_t ratio_q16);

/* Adds value to a histogram; adds all of `from` to `to`. O(1), O(buckets). */
void cede_histogram_add(struct cede_histogram *histogram, uint64_t value_ns);
void cede_histogram_merge(struct cede_histogram *to, const struct cede_histogram *from);

/* Names as in JSON; NULL if there is none such. */
const char *cede_time_class_name(uint32_t time_class);
const char *cede_pcpu_time_class_name(uint32_t time_class);
const char *cede_counter_name(uint32_t counter);
const char *cede_vcpu_state_name(uint32_t state);

#endif
