/*
 * compare.h - the runs of a comparison and what they add up to; cmd_compare.c prints them.
 *
 * A comparison is a grid: settings that vary x policies x runs, each with all VMs together, and with
 * each VM alone (for its fair share). Runs are interleaved: A B C A B C.
 */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "host/outcome.h"
#include "host/run.h"

#define COMPARE_POLICIES_MAX 8u
#define COMPARE_VARIED_MAX 16u
#define COMPARE_SET_MAX 64u

struct compare_request {
    const char *path;
    const char *set[COMPARE_SET_MAX];
    size_t set_count;
    const char *policy[COMPARE_POLICIES_MAX];
    uint32_t policy_count;
    char varied_key[64]; /* "vms.count"; "" if nothing varies */
    char varied[COMPARE_VARIED_MAX][64];
    uint32_t varied_count; /* at least 1 */
    uint32_t runs;
    uint32_t threads; /* simulator only */
    uint64_t seed;
    bool on_hypervisor, alone, quiet;
    struct host_run_options run;
};

/* One VM under one policy at one setting, over all runs. */
struct compare_cell {
    char vm[ABI_MANIFEST_NAME_SIZE];
    char metric[32];
    bool less_is_better;
    uint32_t vm_count; /* beside how many it ran, itself included */
    double *value;     /* runs; NAN: that run failed */
    double *alone;     /* runs; NAN without */
    uint64_t time_ns[CEDE_TIME_COUNT];
    uint64_t lost_ns[32];
    bool has_lost;
    uint64_t count[CEDE_COUNTER_COUNT];
    struct cede_histogram wake;
};

struct compare_column { /* a policy at a setting */
    struct compare_cell *cell;
    uint32_t cell_count;
    double polled_share; /* of the pCPUs' time, mean */
    uint32_t failed;
};

struct compare {
    struct compare_request request;
    struct compare_column column[COMPARE_VARIED_MAX][COMPARE_POLICIES_MAX];
    char trouble[256]; /* the first failure */
};

/* Does all runs. False: error (HOST_ERROR_SIZE): bad input. */
bool compare_run(struct compare *compare, char *error);
void compare_free(struct compare *compare);

#endif
