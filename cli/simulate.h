/*
 * simulate.h - one simulation of a scenario as an outcome, the same shape as the hypervisor's.
 */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include "host/outcome.h"
#include "host/scenario.h"
#include "sim/run.h"

/* Fills an outcome from a simulator's result; false without memory. */
bool cli_outcome_of_sim(struct host_outcome *outcome, const struct host_scenario *scenario,
                        const struct sim_result *result);

/* Runs it; false: error (HOST_ERROR_SIZE). The outcome must be freed. */
bool cli_simulate(const struct host_scenario *scenario, const struct sim_options *options,
                  struct host_outcome *outcome, char *error);

#endif
