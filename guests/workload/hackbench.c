/*
 * hackbench.c - runs Debian's hackbench (rt-tests) again and again: groups of senders and
 * receivers pass small messages through sockets or pipes; the scheduler's wake-ups are the load.
 *
 * Parameters: groups, fds, loops, bytes, by=socket|pipe, as=process|thread.
 * Metric: messages a second.
 */
#include "guests/workload/external.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const by_names[] = {"socket", "pipe", NULL};
static const char *const as_names[] = {"process", "thread", NULL};

static struct external_command command;
static double messages_per_run;

static void prepare(const struct run *run)
{
    (void)run;
    uint64_t groups = workload_param("groups", 1, 1, 1000);
    uint64_t fds = workload_param("fds", 10, 1, 1000);
    uint64_t loops = workload_param("loops", 100, 1, 10000000);
    external_argument(&command, "%s", "/usr/bin/hackbench");
    external_argument(&command, "--groups=%" PRIu64, groups);
    external_argument(&command, "--fds=%" PRIu64, fds);
    external_argument(&command, "--loops=%" PRIu64, loops);
    external_argument(&command, "--datasize=%" PRIu64, workload_param("bytes", 100, 1, 1 << 20));
    if (workload_choice("by", by_names) == 1) {
        external_argument(&command, "--pipe");
    }
    external_argument(&command, "--%s",
                      workload_choice("as", as_names) == 1 ? "threads" : "process");
    /* Each sender of a group sends each of its receivers `loops` messages. */
    messages_per_run = (double)groups * (double)fds * (double)fds * (double)loops;
}

/* Its last line is the time it took; without that line the run didn't complete. */
static bool once(uint64_t left_ns, double *operations)
{
    (void)left_ns;
    char output[4096];
    int status = external_run(&command, output, sizeof output);
    if (status != 0 || strstr(output, "Time: ") == NULL) {
        fprintf(stderr, "hackbench: exit status %d: %s\n", status, output);
        return false;
    }
    *operations = messages_per_run;
    return true;
}

int main(int argc, char **argv)
{
    static const struct external hackbench = {
        .name = "hackbench", .metric = "messages_s", .prepare = prepare, .once = once};
    return external_main(&hackbench, argc, argv);
}
