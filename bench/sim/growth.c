/*
 * growth.c - `make bench-sim`: events per second, and how cost grows from 8 to 4096 vCPUs.
 *
 * Each row is one simulated machine with eight vCPUs a pCPU in VMs of 64 or fewer, running calls
 * to all siblings, locks, sleepers and compute side by side. Prints a table, writes JSON to the
 * file named. Never gates: speed depends on the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/sim/script_guest.h"

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t build(struct script_bundle *bundle, uint32_t pcpus, uint32_t vcpus, uint64_t ns)
{
    static const char *const workloads[] = {"shoot", "lock", "sleeper", "compute"};
    uint32_t each = vcpus / 4 < 64 ? vcpus / 4 : 64;
    script_bundle_init(bundle, "skylake", pcpus, 2);
    bundle->head.duration_ns = ns;
    for (uint32_t done = 0, i = 0; done < vcpus; done += each, i++) {
        script_bundle_add(bundle, workloads[i % 4], each, CEDE_PRESET_CEDE);
    }
    return script_bundle_seal(bundle);
}

int main(int count, char **argument)
{
    static const uint32_t sizes[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
    static struct script_bundle bundle;
    FILE *json = fopen(count > 1 ? argument[1] : "/dev/null", "w");
    if (json == NULL) {
        fprintf(stderr, "bench-sim: can't write %s\n", argument[1]);
        return 2;
    }
    fprintf(json, "{\"rows\": [");
    printf("%6s %6s %12s %12s %10s %14s %12s %10s\n", "pcpus", "vcpus", "steps", "core_events",
           "cpu_s", "steps_per_s", "ns_per_step", "model_MB");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sim_options options = {.seed = 1};
        struct sim_result result;
        uint32_t pcpus = sizes[i] / 8 < 2 ? 2 : sizes[i] / 8;
        size_t size = build(&bundle, pcpus, sizes[i], 1000000000);
        double start_s = cpu_s();
        if (sim_run(&bundle, size, &options, &result) != SIM_OK) {
            fprintf(stderr, "bench-sim: %s\n", result.error);
            return 1;
        }
        double used_s = cpu_s() - start_s;
        double megabytes = (double)sim_memory_bytes(&bundle, size) / 1048576;
        printf("%6u %6u %12llu %12llu %10.3f %14.0f %12.1f %10.1f\n", pcpus, sizes[i],
               (unsigned long long)result.steps, (unsigned long long)result.core_events, used_s,
               (double)result.steps / used_s, used_s * 1e9 / (double)result.steps, megabytes);
        fflush(stdout);
        fprintf(json,
                "%s\n {\"pcpus\": %u, \"vcpus\": %u, \"simulated_s\": 1, \"steps\": %llu, "
                "\"core_events\": %llu, \"cpu_s\": %.6f, \"steps_per_s\": %.0f, "
                "\"model_bytes\": %llu}",
                i == 0 ? "" : ",", pcpus, sizes[i], (unsigned long long)result.steps,
                (unsigned long long)result.core_events, used_s, (double)result.steps / used_s,
                (unsigned long long)sim_memory_bytes(&bundle, size));
        sim_result_free(&result);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(json, "\n], \"peak_resident_KB\": %ld}\n", usage.ru_maxrss);
    printf("peak resident: %ld KB\n", usage.ru_maxrss);
    return fclose(json) == 0 ? 0 : 1;
}
