/*
 * common.c - see common.h: workers, intervals, result lines. Parameters are in params.c.
 *
 * The main thread owns time: it sleeps until each interval's end, reads the workers' counters and
 * prints. Workers never print, so no line is ever cut by another.
 */
#include "guests/workload/common.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

uint64_t workload_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t workload_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

unsigned workload_cpu_count(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

void workload_pin(unsigned nth)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    unsigned left = nth % (unsigned)CPU_COUNT(&allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && left-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

void workload_fail(struct run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", run->workload->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    atomic_store(&run->failed, true);
    atomic_store(&run->stop, true);
}

void workload_print(const char *name, const struct interval *interval, const char *metric,
                    double value, const char *extra)
{
    char line[2048];
    int length = snprintf(line, sizeof line,
                          "CEDE-RESULT {\"workload\":\"%s\",\"interval\":%u,\"interval_s\":%.3f,"
                          "\"metric\":\"%s\",\"value\":%.1f%s,\"clock_ns\":%" PRIu64 "}\n",
                          name, interval->number, (double)interval->length_ns / NS_PER_S, metric,
                          value, extra, interval->end_ns);
    if (length < 0 || (size_t)length >= sizeof line) {
        fprintf(stderr, "%s: result line too long\n", name);
        return;
    }
    for (size_t done = 0; done < (size_t)length;) {
        ssize_t wrote = write(STDOUT_FILENO, line + done, (size_t)length - done);
        if (wrote < 0 && errno != EINTR) {
            return;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
}

static uint64_t total_operations(const struct run *run)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < run->threads; i++) {
        sum += atomic_load_explicit(&run->workers[i].operations, memory_order_relaxed);
    }
    return sum;
}

static void report(struct run *run, const struct interval *interval)
{
    if (run->workload->report != NULL) {
        run->workload->report(run, interval);
        return;
    }
    double rate = (double)interval->operations * NS_PER_S / (double)interval->length_ns;
    workload_print(run->workload->name, interval, run->workload->metric, rate, "");
}

static void sleep_until(uint64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) {
    }
}

/* Intervals up to the run's end, then the line for the whole. */
static void report_until_end(struct run *run)
{
    const uint64_t start_ns = workload_clock_ns();
    struct interval interval = {.end_ns = start_ns};
    uint64_t operations_before = 0;
    for (uint64_t due_ns = run->interval_ns; due_ns <= run->duration_ns && !atomic_load(&run->stop);
         due_ns += run->interval_ns) {
        sleep_until(start_ns + due_ns);
        uint64_t operations = total_operations(run);
        uint64_t now_ns = workload_clock_ns();
        interval.number++;
        interval.length_ns = now_ns - interval.end_ns;
        interval.end_ns = now_ns;
        interval.operations = operations - operations_before;
        operations_before = operations;
        report(run, &interval);
    }
    atomic_store(&run->stop, true);
    struct interval whole = {.end_ns = interval.end_ns,
                             .length_ns = interval.end_ns - start_ns,
                             .operations = operations_before};
    if (whole.length_ns != 0) {
        report(run, &whole);
    }
}

static void *worker_thread(void *argument)
{
    struct worker *worker = argument;
    if (worker->run->pinned) {
        workload_pin(worker->index);
    }
    pthread_barrier_wait(&worker->run->start);
    worker->run->workload->work(worker);
    return NULL;
}

static bool start_workers(struct run *run)
{
    pthread_barrier_init(&run->start, NULL, run->threads + 1);
    uint64_t seeds = run->seed | 1;
    for (unsigned i = 0; i < run->threads; i++) {
        struct worker *worker = &run->workers[i];
        worker->index = i;
        worker->run = run;
        worker->random_state = workload_random(&seeds) | 1;
        int error = pthread_create(&worker->thread, NULL, worker_thread, worker);
        if (error != 0) {
            fprintf(stderr, "%s: thread %u: %s\n", run->workload->name, i, strerror(error));
            return false;
        }
    }
    pthread_barrier_wait(&run->start);
    return true;
}

int workload_main(const struct workload *workload, int argc, char **argv)
{
    static struct run run;
    run.workload = workload;
    workload_take_words(argc, argv);
    workload_common_params(&run);
    if (workload->prepare != NULL && !workload->prepare(&run)) {
        return 1;
    }
    workload_reject_unknown();
    if (!start_workers(&run)) {
        return 1;
    }
    report_until_end(&run);
    for (unsigned i = 0; i < run.threads; i++) {
        pthread_join(run.workers[i].thread, NULL);
    }
    bool right = workload->finish == NULL || workload->finish(&run);
    return right && !atomic_load(&run.failed) ? 0 : 1;
}
