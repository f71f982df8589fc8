/*
 * outcome.h - what one run of a scenario gave, in either world, and how it is told: table, JSON.
 *
 * Owns the arrays of struct host_outcome. No locks.
 */
#ifndef HOST_OUTCOME_H
#define HOST_OUTCOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/exit.h"
#include "cede/policy.h"
#include "cede/stats.h"
#include "host/observe.h"

#define HOST_RESULTS_MAX 8u

struct host_result {
    char workload[32];
    char metric[32];
    double value;      /* mean over the intervals in which all VMs ran */
    double interval_s; /* how much time that was */
    bool less_is_better;
    bool primary; /* the one that comparisons look at */
};

struct host_vm_outcome {
    char name[ABI_MANIFEST_NAME_SIZE];
    char state[32];
    char text[112];
    uint32_t vcpu_count;
    int status;
    uint32_t result_count;
    struct host_result result[HOST_RESULTS_MAX];
    uint64_t time_ns[CEDE_TIME_COUNT];
    uint64_t count[CEDE_COUNTER_COUNT];
    uint64_t exits[ABI_EXIT_COUNT];
    uint64_t exit_ns[ABI_EXIT_COUNT];
    struct cede_histogram wake_latency;
    bool has_lost; /* the simulator's exact account: */
    uint64_t lost_ns[32];
};

struct host_outcome {
    const char *world; /* "hv", "sim" */
    char core_hash[65];
    char policy[32];
    char accel[32];
    char model[ABI_MANIFEST_NAME_SIZE];
    uint32_t pcpu_count;
    uint64_t seed;
    double seconds;
    bool fine; /* every VM finished with status 0 */
    char trouble[256]; /* a sentence if not */
    uint64_t kicks_resent, lock_hold_max_ns;
    double lock_hold_mean_ns;
    uint64_t polled_ns; /* by all pCPUs */
    uint32_t vm_count;
    struct host_vm_outcome *vm;
};

/* From a hypervisor's frames. False without memory. */
bool host_outcome_of(struct host_outcome *outcome, const struct host_observed *seen);
void host_outcome_free(struct host_outcome *outcome);

json_t *host_outcome_json(const struct host_outcome *outcome);
void host_outcome_print(FILE *file, const struct host_outcome *outcome);

/* The result that comparisons look at; NULL if the VM gave none. */
const struct host_result *host_outcome_primary(const struct host_vm_outcome *vm);

/* Writes a JSON value to a file, "-" is standard output; takes the reference. */
bool host_json_write(const char *path, json_t *json);

#endif
