/*
 * common.h - what all workload programs share: parameters, threads, intervals, result lines.
 *
 * A workload is a plain Linux program that takes key=value words, runs `threads` workers for
 * `seconds`, and prints one line an interval and one for the whole run:
 *
 *   CEDE-RESULT {"workload":"cpu","interval":3,"interval_s":1.000,"metric":"blocks_s",
 *                "value":1234.0,...,"clock_ns":81234567890}
 *
 * `interval` counts from 1; 0 is the whole run. `clock_ns` is the guest's CLOCK_MONOTONIC when the
 * interval ended; `interval_s` is measured with the same clock, not assumed.
 * Exit status: 0 done, 1 a result was wrong or something failed, 2 a parameter is bad.
 *
 * Locking: each worker owns its `struct worker`; the main thread only reads `operations`.
 */
#ifndef GUESTS_WORKLOAD_COMMON_H
#define GUESTS_WORKLOAD_COMMON_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKERS_MAX 256

/* A worker thread. Aligned so that counting in one doesn't slow its neighbours down. */
struct worker {
    alignas(128) _Atomic uint64_t operations;
    uint64_t random_state;
    unsigned index;
    void *state; /* the workload's own */
    struct run *run;
    pthread_t thread;
};

/* A run: its parameters and its workers. */
struct run {
    const struct workload *workload;
    unsigned threads;
    uint64_t duration_ns;
    uint64_t interval_ns;
    uint64_t seed;
    bool pinned;
    _Atomic bool stop;
    _Atomic bool failed;
    pthread_barrier_t start;
    struct worker workers[WORKERS_MAX];
};

/* One interval, or the whole run (number 0). */
struct interval {
    unsigned number;
    uint64_t length_ns;
    uint64_t end_ns; /* CLOCK_MONOTONIC */
    uint64_t operations;
};

struct workload {
    const char *name;
    const char *metric; /* of the rate of operations, for the default report */
    /* Reads parameters and sets up, before any worker runs. May be NULL. False: give up. */
    bool (*prepare)(struct run *run);
    /* The worker's body: counts operations with workload_count() until workload_stopping(). */
    void (*work)(struct worker *worker);
    /* Prints an interval's line. NULL: operations per second. Runs on the main thread. */
    void (*report)(struct run *run, const struct interval *interval);
    /* Checks the results and frees, after all workers ended. May be NULL. False: wrong result. */
    bool (*finish)(struct run *run);
};

/* Runs it; the program's exit status. */
int workload_main(const struct workload *workload, int argc, char **argv);

/* A whole-number parameter; outside [low, high] or no number ends the program with status 2. */
uint64_t workload_param(const char *key, uint64_t standard, uint64_t low, uint64_t high);

/* A parameter that names one of `choices` (NULL ends the list): its index; the first is standard.
 * Any other word ends the program with status 2. */
unsigned workload_choice(const char *key, const char *const choices[]);

/* A parameter's text, or `standard`. */
const char *workload_text(const char *key, const char *standard);

/* Reads threads, seconds, interval, seed and pin into `run`. workload_main() calls it. */
void workload_common_params(struct run *run);

/* Takes the words for the functions above; workload_main() calls it. */
void workload_take_words(int argc, char **argv);

/* Ends the program with status 2 if a word was given that nobody asked for. */
void workload_reject_unknown(void);

static inline bool workload_stopping(const struct worker *worker)
{
    return atomic_load_explicit(&worker->run->stop, memory_order_relaxed);
}

static inline void workload_count(struct worker *worker, uint64_t count)
{
    uint64_t now = atomic_load_explicit(&worker->operations, memory_order_relaxed);
    atomic_store_explicit(&worker->operations, now + count, memory_order_relaxed);
}

/* Says what is wrong, marks the run as failed, and stops it. Any thread. */
void workload_fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a result line, whole in one write; `extra` is "" or more members, each after a comma. */
void workload_print(const char *name, const struct interval *interval, const char *metric,
                    double value, const char *extra);

/* CLOCK_MONOTONIC. */
uint64_t workload_clock_ns(void);

/* A seeded pseudo-random number (xorshift64*, Marsaglia 2003, Vigna 2016). */
uint64_t workload_random(uint64_t *state);

/* Binds the calling thread to the nth CPU (modulo their number) that it may use. */
void workload_pin(unsigned nth);

unsigned workload_cpu_count(void);

#endif
