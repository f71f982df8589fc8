/*
 * tables.h - runs the published testbeds in the simulator and judges each row.
 *
 * Results belong to the caller; several threads run simulations, each its own. Nothing is global.
 */
#ifndef CLI_TABLES_H
#define CLI_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLES_SEEDS_MAX 64u
#define TABLES_ERROR 768u

enum tables_measure { TABLES_RATE, TABLES_TIME, TABLES_INTERRUPTS, TABLES_CALL_WAIT };

/* The policies under which a row runs: its own two, then today's Linux, then ours. */
enum tables_side { TABLES_BEFORE, TABLES_AFTER, TABLES_MAINLINE, TABLES_CEDE, TABLES_SIDES };

enum tables_verdict { TABLES_SAME, TABLES_DIRECTION, TABLES_WRONG, TABLES_FAILED };

struct tables_row {
    const char *id, *label, *file;
    enum tables_measure measure;
    const char *settings, *before, *after;
    double published_before, published_after;
};

/* A mean with its 95 % interval (Student's t over the seeds). */
struct tables_mean {
    double mean, low, high;
};

struct tables_outcome {
    double value[TABLES_SIDES][TABLES_SEEDS_MAX];
    struct tables_mean side[TABLES_SIDES];
    struct tables_mean ratio; /* after / before, seed by seed */
    double published_ratio;
    enum tables_verdict verdict;
    char error[TABLES_ERROR]; /* "" or the first run that failed, and how */
};

extern const struct tables_row tables_rows[];
extern const size_t tables_row_count;

struct tables_request {
    const char *folder; /* of T1.yaml, ... */
    uint32_t seeds, threads, first_side, last_side;
    const bool *wanted; /* by row */
    void (*progress)(uint32_t done, uint32_t all);
};

/* outcome[tables_row_count]; rows that aren't wanted stay as they are. */
void tables_run(const struct tables_request *request, struct tables_outcome *outcome);

const char *tables_verdict_name(enum tables_verdict verdict);

#endif
