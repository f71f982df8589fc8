/*
 * pingpong.c - pairs of threads on different CPUs wake each other in turn: every step is a halt on
 * one vCPU and a wake-up by IPI of another.
 *
 * Thread 2 i serves, 2 i + 1 returns; the ball is a number that must grow by one at each stroke.
 * Parameters: threads (even; 2 by default), by=futex|pipe. Metric: round trips a second; the line
 * also holds the round trips' percentiles in ns.
 */
#include "guests/workload/latency.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum wake_by { BY_FUTEX, BY_PIPE };

static const char *const by_names[] = {"futex", "pipe", NULL};
static enum wake_by wake_by;

/* One direction of a pair: a futex word that holds the last ball, or a pipe. */
struct lane {
    alignas(128) _Atomic uint32_t ball;
    int ends[2];
};

static struct lane lanes[WORKERS_MAX]; /* lane i leads to thread i */

static bool prepare(struct run *run)
{
    if (workload_text("threads", NULL) == NULL) {
        run->threads = 2;
    }
    wake_by = workload_choice("by", by_names);
    run->pinned = true;
    if (run->threads % 2 != 0) {
        workload_fail(run, "threads=%u: expected an even number", run->threads);
        return false;
    }
    for (unsigned i = 0; i < run->threads; i++) {
        if (wake_by == BY_PIPE && pipe(lanes[i].ends) != 0) {
            workload_fail(run, "pipe: %s", strerror(errno));
            return false;
        }
    }
    return latency_prepare(run);
}

static bool send_ball(struct lane *lane, uint32_t ball)
{
    if (wake_by == BY_PIPE) {
        return write(lane->ends[1], &ball, sizeof ball) == sizeof ball;
    }
    atomic_store(&lane->ball, ball);
    return syscall(SYS_futex, &lane->ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0;
}

/* Sleeps until the lane's ball is no longer `old`. The time limit only bounds the run's end. */
static bool receive_ball(struct worker *worker, struct lane *lane, uint32_t old, uint32_t *ball)
{
    if (wake_by == BY_PIPE) {
        return read(lane->ends[0], ball, sizeof *ball) == sizeof *ball;
    }
    const struct timespec limit = {.tv_nsec = 500000000};
    while ((*ball = atomic_load(&lane->ball)) == old) {
        if (workload_stopping(worker)) {
            return false;
        }
        syscall(SYS_futex, &lane->ball, FUTEX_WAIT_PRIVATE, old, &limit, NULL, 0);
    }
    return true;
}

#define LAST_BALL UINT32_MAX

static void serve(struct worker *worker, struct lane *out, struct lane *in)
{
    uint32_t ball = 0, back = 0;
    while (!workload_stopping(worker)) {
        uint64_t start_ns = workload_clock_ns();
        ball += 2;
        if (!send_ball(out, ball - 1) || !receive_ball(worker, in, back, &back)) {
            break;
        }
        if (back != ball) {
            workload_fail(worker->run, "ball %u came back as %u", ball - 1, back);
            break;
        }
        latency_add(worker, workload_clock_ns() - start_ns);
        workload_count(worker, 1);
    }
    send_ball(out, LAST_BALL); /* so that the partner doesn't wait for ever */
}

static void return_balls(struct worker *worker, struct lane *out, struct lane *in)
{
    uint32_t ball = 0;
    while (receive_ball(worker, in, ball, &ball) && ball != LAST_BALL) {
        if (!send_ball(out, ball + 1)) {
            workload_fail(worker->run, "%s: %s", by_names[wake_by], strerror(errno));
            return;
        }
    }
}

static void work(struct worker *worker)
{
    unsigned partner = worker->index ^ 1;
    if (worker->index % 2 == 0) {
        serve(worker, &lanes[partner], &lanes[worker->index]);
    } else {
        return_balls(worker, &lanes[partner], &lanes[worker->index]);
    }
}

static void report(struct run *run, const struct interval *interval)
{
    latency_report(run, interval, false);
}

static bool finish(struct run *run)
{
    latency_finish(run);
    return true;
}

int main(int argc, char **argv)
{
    static const struct workload pingpong = {.name = "pingpong",
                                             .metric = "round_trips_s",
                                             .prepare = prepare,
                                             .work = work,
                                             .report = report,
                                             .finish = finish};
    return workload_main(&pingpong, argc, argv);
}
