/*
 * timerlat.c - how late a timer wakes its sleeper: each thread, on a CPU of its own, sleeps until
 * instants `period_us` apart and notes how long after each it runs.
 *
 * Parameters: period_us. Metric: the 99th percentile of the lateness in ns; the line also holds
 * the other percentiles, the last line the histogram.
 */
#include "guests/workload/latency.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static uint64_t period_ns;

static bool prepare(struct run *run)
{
    period_ns = workload_param("period_us", 1000, 10, 1000000) * 1000;
    run->pinned = true;
    return latency_prepare(run);
}

static void work(struct worker *worker)
{
    uint64_t due_ns = workload_clock_ns() + period_ns;
    while (!workload_stopping(worker)) {
        struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000u),
                               .tv_nsec = (long)(due_ns % 1000000000u)};
        int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        uint64_t now_ns = workload_clock_ns();
        if (error != 0 || now_ns < due_ns) {
            workload_fail(worker->run, "%s", error != 0 ? strerror(error) : "woken too early");
            return;
        }
        latency_add(worker, now_ns - due_ns);
        workload_count(worker, 1);
        /* Instants that passed meanwhile are skipped: they'd count one delay many times. */
        due_ns += ((now_ns - due_ns) / period_ns + 1) * period_ns;
    }
}

static void report(struct run *run, const struct interval *interval)
{
    latency_report(run, interval, true);
}

static bool finish(struct run *run)
{
    latency_finish(run);
    return true;
}

int main(int argc, char **argv)
{
    static const struct workload timerlat = {.name = "timerlat",
                                             .metric = "late_p99_ns",
                                             .prepare = prepare,
                                             .work = work,
                                             .report = report,
                                             .finish = finish};
    return workload_main(&timerlat, argc, argv);
}
