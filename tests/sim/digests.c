/*
 * digests.c - prints one line a scenario: all decisions' digest, steps, and a sum over the account.
 *
 * Built with gcc -O2 and clang -O0; tests/sim/compilers.sh demands the same output.
 */
#include "tests/sim/script_guest.h"

#include <stdio.h>

static uint64_t account_of(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < result->vcpu_count; i++) {
        for (uint32_t k = 0; k < SIM_LOST_COUNT; k++) {
            sum = sum * 31 + result->vcpu[i].lost_ns[k];
        }
    }
    return sum;
}

int main(void)
{
    static const char *const workloads[] = {"compute", "sleeper", "pair", "shoot", "lock"};
    static struct script_bundle bundle;
    struct sim_options options = {.seed = 7};
    const char *model;
    for (uint32_t i = 0; (model = sim_machine_name(i)) != NULL; i++) {
        for (uint32_t preset = 0; preset < CEDE_PRESET_COUNT; preset += 2) {
            script_bundle_init(&bundle, model, 6, 2);
            bundle.head.duration_ns = 50000000;
            for (uint32_t w = 0; w < 5; w++) {
                script_bundle_add(&bundle, workloads[w], 4, (enum cede_preset)preset);
            }
            struct sim_result result;
            enum sim_status status = sim_run(&bundle, script_bundle_seal(&bundle), &options,
                                             &result);
            printf("%-12s %u %d %016llx %llu %016llx\n", model, preset, (int)status,
                   (unsigned long long)result.digest, (unsigned long long)result.steps,
                   (unsigned long long)account_of(&result));
            sim_result_free(&result);
        }
    }
    return 0;
}
