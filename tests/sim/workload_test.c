/*
 * workload_test.c - the modelled guests and their workloads: each runs under all oracles, repeats bit
 * for bit, refuses bad parameters by name; each mechanism of the guest does what it is for.
 */
#include <stdlib.h>
#include <string.h>

#include "host/scenario.h"
#include "sim/run.h"
#include "tests/tap.h"

#define TEXT_MAX 2048

/* Runs a scenario given as text; a load error or a run's goes to `error` and fails. */
static bool run_text(const char *text, struct sim_result *result, char *error)
{
    struct host_scenario scenario;
    size_t size;
    memset(result, 0, sizeof *result);
    error[0] = '\0';
    if (!host_scenario_parse(&scenario, "test", text, strlen(text), NULL, 0, error)) {
        return false;
    }
    void *manifest = host_scenario_manifest(&scenario, &size);
    enum sim_status status = sim_run(manifest, size, NULL, result);
    snprintf(error, HOST_ERROR_SIZE, "%.400s", result->error);
    free(manifest);
    host_scenario_free(&scenario);
    return status == SIM_OK;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

/* Two VMs of `vcpus` on two pCPUs with one workload. */
static bool run_two(const char *vm_keys, const char *workload, unsigned vcpus, unsigned seed,
                    struct sim_result *result)
{
    char text[TEXT_MAX], error[HOST_ERROR_SIZE];
    snprintf(text, sizeof text,
             "name: t\nseed: %u\nduration: 60ms\nhost: {cores: 2, model: skylake}\n"
             "vms:\n  - {name: a, count: 2, vcpus: %u%s, workload: {%s, seconds: 60}}\n",
             seed, vcpus, vm_keys, workload);
    bool fine = run_text(text, result, error);
    if (!fine) {
        printf("# %s: %s\n", workload, error);
    }
    return fine;
}

static void test_each(void)
{
    static const char *const workloads[] = {
        "name: tlbstorm",     "name: tlbstorm, free: arena", "name: filecopy",
        "name: lockstorm",    "name: lockstorm, lock: signals", "name: execstorm",
        "name: fork",         "name: shell",                "name: syscall",
        "name: pipe",         "name: pipe-ctxsw",           "name: cpu",
        "name: burner",       "name: pingpong",             "name: hackbench",
        "name: timerlat",     "name: redis",                "name: netserver",
        "name: kernbench, jobs: 4, units: 1000000",
        "name: trace, file: build/tests/sim/good.trace"};
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        struct sim_result one, two, other;
        char what[128];
        bool fine = run_two("", workloads[i], 4, 1, &one) &&
                    run_two("", workloads[i], 4, 1, &two) && run_two("", workloads[i], 4, 2, &other);
        snprintf(what, sizeof what, "%s: two overcommitted VMs run, repeat, and differ by seed",
                 workloads[i]);
        const struct sim_metric *metric = fine ? &one.vm[0].metric[0] : NULL;
        bool works = fine && one.core_refusals == 0 &&
                     (metric->kind == SIM_METRIC_TIME || metric->value > 0 ||
                      metric->histogram.count > 0);
        bool repeats = fine && one.digest == two.digest && one.steps == two.steps;
        /* What has neither chance nor contention may well be the same for every seed. */
        bool differs = fine && (other.steps != one.steps || strstr(workloads[i], "timerlat") ||
                                strstr(workloads[i], "name: cpu") || other.digest != one.digest);
        TAP(works && repeats && differs, what);
        sim_result_free(&one);
        sim_result_free(&two);
        sim_result_free(&other);
    }
}

static bool refused(const char *workload, const char *word)
{
    struct sim_result result;
    char text[TEXT_MAX], error[HOST_ERROR_SIZE];
    snprintf(text, sizeof text,
             "name: t\nduration: 10ms\nhost: {cores: 2, model: skylake}\n"
             "vms:\n  - {name: a, vcpus: 2, workload: {%s}}\n",
             workload);
    bool fine = run_text(text, &result, error);
    bool says = !fine && result.status == SIM_BAD_WORKLOAD && strstr(error, word) != NULL;
    if (!says) {
        printf("# %s: %s\n", workload, fine ? "accepted" : error);
    }
    sim_result_free(&result);
    return says;
}

static void test_refusals(void)
{
    TAP(refused("name: tlbstrom", "tlbstorm"), "an unknown workload: the known ones are named");
    TAP(refused("name: cpu, treads: 4", "treads"), "an unknown parameter is named");
    TAP(refused("name: cpu, threads: 0", "threads=0"), "a number out of range");
    TAP(refused("name: tlbstorm, free: never", "munmap"), "a word that isn't a choice");
    TAP(refused("name: cpu, seconds: 1x", "seconds=1x"), "seconds that aren't");
    TAP(refused("name: pingpong, threads: 3", "even"), "a number that must be even");
    TAP(refused("name: trace, file: /nowhere", "/nowhere"), "a trace that isn't there");
    write_file("build/tests/sim/bad.trace", "task 0\n  user 5us\n  lokc 0\n");
    TAP(refused("name: trace, file: build/tests/sim/bad.trace", ":3:"),
        "a trace's bad word, with its line");
    write_file("build/tests/sim/bad.trace", "task 0\n  jump nowhere\n");
    TAP(refused("name: trace, file: build/tests/sim/bad.trace", "nowhere"),
        "a trace's label that isn't there");
    write_file("build/tests/sim/bad.trace", "task 7\n  user 5us\n");
    TAP(refused("name: trace, file: build/tests/sim/bad.trace", "no such CPU"),
        "a trace's CPU that the VM hasn't");
}

static double value(const struct sim_result *result)
{
    return result->vm[0].metric[0].value + result->vm[1].metric[0].value;
}

static uint64_t exits(const struct sim_result *result, enum abi_exit_reason reason)
{
    return result->vm[0].exits[reason] + result->vm[1].exits[reason];
}

static void test_mechanisms(void)
{
    struct sim_result plain, with;
    if (run_two(", policy: off, guest_features: none", "name: filecopy", 4, 1, &plain) &&
        run_two(", policy: {preset: off, publish_preempted: on}, guest_features: [steal-time]",
                "name: filecopy", 4, 1, &with)) {
        printf("# filecopy without and with the hint: %.0f, %.0f KB\n", value(&plain), value(&with));
        TAP(value(&with) > 1.2 * value(&plain), "optimistic spinners that know who runs waste less");
    }
    sim_result_free(&plain);
    sim_result_free(&with);
    if (run_two(", policy: off", "name: lockstorm, spinlock: queued", 4, 1, &plain) &&
        run_two(", policy: off", "name: lockstorm, spinlock: pv", 4, 1, &with)) {
        printf("# lockstorm with queued and PV locks: %.0f, %.0f\n", value(&plain), value(&with));
        TAP(value(&with) > 1.2 * value(&plain) && exits(&with, ABI_EXIT_HYPERCALL) > 0,
            "waiters of a PV lock halt and are kicked");
    }
    sim_result_free(&plain);
    sim_result_free(&with);
    if (run_two(", policy: kvm-mainline, guest_features: [steal-time]", "name: tlbstorm, free: arena",
                4, 1, &plain) &&
        run_two(", policy: kvm-mainline, guest_features: [steal-time, pv-flush]",
                "name: tlbstorm, free: arena", 4, 1, &with)) {
        printf("# tlbstorm without and with PV flush: %.0f, %.0f\n", value(&plain), value(&with));
        TAP(with.vm[0].lost_ns[SIM_LOST_SPIN_IPI] < plain.vm[0].lost_ns[SIM_LOST_SPIN_IPI] / 2,
            "with PV flush nobody waits for a target that is known to have no pCPU");
    }
    sim_result_free(&plain);
    sim_result_free(&with);
    if (run_two(", policy: off", "name: pingpong", 2, 1, &plain) &&
        run_two(", policy: off", "name: pingpong, guest_poll_us: 200", 2, 1, &with)) {
        TAP(exits(&with, ABI_EXIT_HLT) < exits(&plain, ABI_EXIT_HLT) / 2,
            "a guest that polls when idle halts less");
    }
    sim_result_free(&plain);
    sim_result_free(&with);
}

int main(void)
{
    write_file("build/tests/sim/good.trace",
               "task 0 1 # one on each\n top:\n  user 20us 20%\n  lock 0\n  kernel 1us\n  unlock 0\n"
               "  loop 4 top\n  shootdown 0\n  tally 0\n  jump top\n");
    test_each();
    test_refusals();
    test_mechanisms();
    return tap_done();
}
