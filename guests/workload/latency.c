/*
 * latency.c - see latency.h.
 */
#include "guests/workload/latency.h"

#include <stdlib.h>
#include <string.h>

static struct histogram_sum reported; /* what earlier intervals' lines held; main thread only */

bool latency_prepare(struct run *run)
{
    for (unsigned i = 0; i < run->threads; i++) {
        run->workers[i].state = calloc(1, sizeof(struct histogram));
        if (run->workers[i].state == NULL) {
            return false;
        }
    }
    return true;
}

void latency_finish(struct run *run)
{
    for (unsigned i = 0; i < run->threads; i++) {
        free(run->workers[i].state);
        run->workers[i].state = NULL;
    }
}

void latency_report(struct run *run, const struct interval *interval, bool by_latency)
{
    static struct histogram_sum all, fresh;
    memset(&all, 0, sizeof all);
    for (unsigned i = 0; i < run->threads; i++) {
        histogram_collect(&all, run->workers[i].state);
    }
    fresh = all;
    if (interval->number != 0) {
        histogram_subtract(&fresh, &reported);
        reported = all;
    }
    char extra[1600];
    histogram_format(&fresh, extra, sizeof extra);
    if (interval->number == 0) {
        size_t used = strlen(extra);
        histogram_format_buckets(&fresh, extra + used, sizeof extra - used);
    }
    double rate = (double)interval->operations * 1e9 / (double)interval->length_ns;
    workload_print(run->workload->name, interval, run->workload->metric,
                   by_latency ? (double)histogram_permille(&fresh, 990) : rate, extra);
}
