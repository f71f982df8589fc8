/*
 * lockstorm.c - one hot kernel spinlock, reached from user space.
 *
 * lock=files: dup() and close() take the lock of the descriptor table that all threads share, for
 * a very short time. lock=signals: getrusage() of the process takes the signal lock and walks over
 * all threads under it, for longer (up to Linux 6.7; later kernels read it without the lock).
 * A holder or a queued waiter that loses its pCPU stops them all.
 * Parameters: lock=files|signals. Metric: system calls that take the lock, a second.
 */
#include "guests/workload/common.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum hot_lock { LOCK_FILES, LOCK_SIGNALS };

static const char *const lock_names[] = {"files", "signals", NULL};
static enum hot_lock hot_lock;

static bool prepare(struct run *run)
{
    (void)run;
    hot_lock = workload_choice("lock", lock_names);
    return true;
}

static bool take_files_lock(void)
{
    int fd = dup(STDOUT_FILENO);
    return fd >= 0 && close(fd) == 0;
}

static bool take_signals_lock(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 && getrusage(RUSAGE_SELF, &usage) == 0;
}

static void work(struct worker *worker)
{
    while (!workload_stopping(worker)) {
        bool done = hot_lock == LOCK_FILES ? take_files_lock() : take_signals_lock();
        if (!done) {
            workload_fail(worker->run, "%s: %s", lock_names[hot_lock], strerror(errno));
            return;
        }
        workload_count(worker, 2);
    }
}

int main(int argc, char **argv)
{
    static const struct workload lockstorm = {
        .name = "lockstorm", .metric = "calls_s", .prepare = prepare, .work = work};
    return workload_main(&lockstorm, argc, argv);
}
