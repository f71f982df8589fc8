/*
 * guest_digests.c - one line a scenario with modelled guests: status, digest of all decisions, steps.
 *
 * tests/sim/guest_compilers.sh holds lines of this program, built by two compilers, to be the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/scenario.h"
#include "sim/run.h"

static const char *const cases[][3] = {
    {"scenarios/demo.yaml", "duration=100ms", "policy=cede"},
    {"scenarios/demo.yaml", "duration=100ms", "policy=kvm-mainline"},
    {"scenarios/situations/S1.yaml", "duration=50ms", "policy=cede"},
    {"scenarios/situations/S2.yaml", "duration=50ms", "policy=kvm-2019"},
    {"scenarios/situations/S5.yaml", "duration=100ms", "policy=cede"},
    {"scenarios/situations/S7.yaml", "duration=100ms", "policy=cede"},
    {"scenarios/situations/S9.yaml", "duration=100ms", "policy=cede"},
    {"scenarios/situations/S11.yaml", "duration=50ms", "policy=kvm-2017"},
    {"scenarios/situations/S12.yaml", "duration=50ms", "policy=cede"},
    {"scenarios/tables/T1.yaml", "duration=10ms", "vms.ebizzy.count=2"},
    {"scenarios/tables/T2.yaml", "duration=100ms", "policy=off"},
    {"scenarios/tables/T3.yaml", "duration=100ms", "policy=kvm-mainline"},
    {"scenarios/tables/T4.yaml", "duration=100ms", "policy=cede"},
    {"scenarios/tables/T5.yaml", "duration=200ms", "vms.bench.workload.jobs=16"},
    {"scenarios/tables/T5s.yaml", "duration=200ms", "policy=cede"},
    {"scenarios/tables/T6.yaml", "duration=50ms", "policy=kvm-2019"},
};

static int one(size_t number)
{
    struct host_scenario scenario;
    char error[HOST_ERROR_SIZE];
    size_t size;
    struct sim_result result;
    if (!host_scenario_load(&scenario, cases[number][0], &cases[number][1], 2, error)) {
        printf("%zu %s\n", number, error);
        return 1;
    }
    void *manifest = host_scenario_manifest(&scenario, &size);
    enum sim_status status = sim_run(manifest, size, NULL, &result);
    printf("%zu %s %d %016llx %llu\n", number, scenario.head.name, (int)status,
           (unsigned long long)result.digest, (unsigned long long)result.steps);
    sim_result_free(&result);
    free(manifest);
    host_scenario_free(&scenario);
    return status == SIM_OK ? 0 : 1;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        failures += one(i);
    }
    return failures == 0 ? 0 : 1;
}
