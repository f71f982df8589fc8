/*
 * stress-ng.c - runs one of Debian's stress-ng stressors, an interval at a time.
 *
 * Needs the larger image (initramfs-stress.cpio), which holds stress-ng and its libraries.
 * Parameters: stressor (its name in stress-ng, for example mmap, futex, switch), threads.
 * Metric: stress-ng's bogus operations a second. They compare with themselves only.
 */
#include "guests/workload/external.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *stressor;
static unsigned instances;

static void prepare(const struct run *run)
{
    stressor = workload_text("stressor", "mmap");
    instances = run->threads;
}

/* stress-ng's --metrics-brief table: the stressor's row, bogus operations in the first column. */
static bool parse_operations(const char *output, double *operations)
{
    const char *table = strstr(output, "bogo ops");
    char row[EXTERNAL_TEXT_MAX + 4];
    snprintf(row, sizeof row, "] %s ", stressor);
    const char *found = table == NULL ? NULL : strstr(table, row);
    return found != NULL && sscanf(found + strlen(row), "%lf", operations) == 1;
}

static bool once(uint64_t left_ns, double *operations)
{
    struct external_command command = {.count = 0};
    uint64_t seconds = (left_ns + 999999999u) / 1000000000u; /* it takes whole seconds only */
    external_argument(&command, "%s", "/usr/bin/stress-ng");
    external_argument(&command, "--%s", stressor);
    external_argument(&command, "%u", instances);
    external_argument(&command, "--timeout");
    external_argument(&command, "%" PRIu64 "s", seconds);
    external_argument(&command, "--metrics-brief");
    external_argument(&command, "--temp-path");
    external_argument(&command, "/tmp");
    char output[16384];
    int status = external_run(&command, output, sizeof output);
    if (status != 0 || !parse_operations(output, operations)) {
        fprintf(stderr, "stress-ng: exit status %d: %s\n", status, output);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct external stress_ng = {
        .name = "stress-ng", .metric = "bogus_operations_s", .prepare = prepare, .once = once};
    return external_main(&stress_ng, argc, argv);
}
