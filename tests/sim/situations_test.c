/*
 * situations_test.c - scenarios/situations: each symptom shows under the policy named, and is gone or
 * bounded under `cede`. Figures come from the model; the bounds here are well inside of them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/scenario.h"
#include "sim/run.h"
#include "tests/tap.h"

static struct sim_options options;

/* Runs scenarios/situations/<name>.yaml with settings (NULL-ended); the caller frees the result. */
static bool run(struct sim_result *result, const char *name, ...)
{
    const char *set[16];
    char path[64], error[HOST_ERROR_SIZE];
    size_t count = 0, size;
    struct host_scenario scenario;
    va_list list;
    va_start(list, name);
    while (count < 16 && (set[count] = va_arg(list, const char *)) != NULL) {
        count++;
    }
    va_end(list);
    memset(result, 0, sizeof *result);
    snprintf(path, sizeof path, "scenarios/situations/%s.yaml", name);
    if (!host_scenario_load(&scenario, path, set, count, error)) {
        TAP(false, error);
        return false;
    }
    void *manifest = host_scenario_manifest(&scenario, &size);
    enum sim_status status = sim_run(manifest, size, &options, result);
    free(manifest);
    host_scenario_free(&scenario);
    if (status != SIM_OK) {
        TAP(false, result->error);
        sim_result_free(result);
        return false;
    }
    return true;
}

/* Of the run before: operations of a VM. */
static double ops(const struct sim_result *result, uint32_t vm)
{
    return result->vm[vm].metric[0].value;
}

/* The part of a VM's time on pCPUs that went to a class. */
static double part(const struct sim_result *result, uint32_t vm, enum sim_lost class)
{
    double on_ns = 0;
    for (uint32_t i = 0; i <= SIM_LOST_POLL; i++) {
        on_ns += (double)result->vm[vm].lost_ns[i];
    }
    return (double)result->vm[vm].lost_ns[class] / on_ns;
}

static void say(const char *situation, const char *what, double before, double after)
{
    printf("# %s %s: %.4g -> %.4g\n", situation, what, before, after);
}

static void test_s1(void)
{
    struct sim_result off, cede;
    if (run(&off, "S1", "policy=off", NULL) && run(&cede, "S1", "policy=cede", NULL)) {
        say("S1", "share spent waiting for targets off CPU", part(&off, 0, SIM_LOST_SPIN_IPI),
            part(&cede, 0, SIM_LOST_SPIN_IPI));
        say("S1", "shootdowns", ops(&off, 0), ops(&cede, 0));
        TAP(part(&off, 0, SIM_LOST_SPIN_IPI) > 0.8, "S1: under off the senders wait for ever");
        TAP(part(&cede, 0, SIM_LOST_SPIN_IPI) < 0.3 && ops(&cede, 0) > 5 * ops(&off, 0),
            "S1: under cede they don't, and five times as much gets done");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
    if (run(&cede, "S1", "policy=cede", "vms.wide.guest_features=all", NULL)) {
        TAP(part(&cede, 0, SIM_LOST_SPIN_IPI) < 0.02, "S1: with the interface shown, next to never");
        sim_result_free(&cede);
    }
}

static double useful_s(const struct sim_result *result)
{
    double sum = 0;
    for (uint32_t i = 0; i < result->vm_count; i++) {
        sum += (double)(result->vm[i].lost_ns[SIM_LOST_USEFUL_USER] +
                        result->vm[i].lost_ns[SIM_LOST_USEFUL_KERNEL]) / 1e9;
    }
    return sum;
}

static void test_s2(void)
{
    struct sim_result four, six;
    if (run(&four, "S2", "policy=cede", "duration=1s", NULL) &&
        run(&six, "S2", "policy=cede", "duration=1s", "vms.count=6", NULL)) {
        double steal = (double)six.vm[5].lost_ns[SIM_LOST_STEAL] / 16e9;
        say("S2", "work done by four VMs, by six", useful_s(&four), useful_s(&six));
        TAP(useful_s(&six) > 0.95 * useful_s(&four),
            "S2: two more VMs take from the others, not from the host");
        TAP(steal > 0.6 && steal < 0.72, "S2: steal says it: two thirds of the time at 3:1");
        sim_result_free(&four);
        sim_result_free(&six);
    }
}

static void test_s3(void)
{
    struct sim_result on, off;
    if (run(&on, "S3", NULL) && run(&off, "S3", "policy.halt_poll_max_ns=0", NULL)) {
        say("S3", "share of a pCPU polled", (double)on.vm[0].lost_ns[SIM_LOST_POLL] / 1e9,
            (double)off.vm[0].lost_ns[SIM_LOST_POLL] / 1e9);
        TAP(on.vm[0].lost_ns[SIM_LOST_POLL] > 500000000 &&
                on.pcpu[0].time_ns[CEDE_PCPU_TIME_POLL] + on.pcpu[1].time_ns[CEDE_PCPU_TIME_POLL] ==
                    on.vm[0].lost_ns[SIM_LOST_POLL],
            "S3: polling for a guest that sleeps 50 us at a time burns most of a pCPU, and is told");
        TAP(off.vm[0].lost_ns[SIM_LOST_POLL] == 0, "S3: with the window at 0 it doesn't");
        sim_result_free(&on);
        sim_result_free(&off);
    }
}

static void test_s4(void)
{
    struct sim_result plain, polls;
    if (run(&plain, "S4", "policy=off", NULL) &&
        run(&polls, "S4", "policy=off", "vms.hlt.workload.guest_poll_us=200", NULL)) {
        say("S4", "HLT exits a second", (double)plain.vm[0].exits[ABI_EXIT_HLT],
            (double)polls.vm[0].exits[ABI_EXIT_HLT]);
        TAP(plain.vm[0].exits[ABI_EXIT_HLT] > 100000, "S4: a guest nearly idle exits all the time");
        TAP(polls.vm[0].exits[ABI_EXIT_HLT] < plain.vm[0].exits[ABI_EXIT_HLT] / 10,
            "S4: one that polls by itself doesn't");
        sim_result_free(&plain);
        sim_result_free(&polls);
    }
}

static void test_s5_s6(void)
{
    struct sim_result off, cede;
    if (run(&off, "S5", "policy=off", NULL) && run(&cede, "S5", "policy=cede", NULL)) {
        say("S5", "external exits of the real-time VM", (double)off.vm[0].exits[ABI_EXIT_EXTERNAL],
            (double)cede.vm[0].exits[ABI_EXIT_EXTERNAL]);
        TAP(cede.vm[0].metric[0].histogram.max_ns < 60000 && cede.vm[0].metric[0].histogram.count > 3000,
            "S5: timers from busy housekeeping pCPUs are at most 60 us late");
        TAP(cede.vm[0].exits[ABI_EXIT_EXTERNAL] < off.vm[0].exits[ABI_EXIT_EXTERNAL] / 10,
            "S5: and don't interrupt the dedicated pCPUs");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
    if (run(&off, "S6", "policy=off", NULL) && run(&cede, "S6", "policy=cede", NULL)) {
        double before = (double)off.vm[1].metric[0].histogram.sum_ns;
        double after = (double)cede.vm[1].metric[0].histogram.sum_ns;
        say("S6", "lateness of the shared VM's timers, sum in ns", before, after);
        TAP(after < 1.1 * before, "S6: the shared VM's timers are no slower for it");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

static void test_s7(void)
{
    struct sim_result off, cede;
    if (run(&off, "S7", "policy=off", NULL) && run(&cede, "S7", "policy=cede", NULL)) {
        say("S7", "calls of the capped VM", ops(&off, 0), ops(&cede, 0));
        TAP(cede.vm[0].lost_ns[SIM_LOST_THROTTLED] > 0 && ops(&cede, 0) > 1.2 * ops(&off, 0),
            "S7: less of the quota is spun away");
        TAP(ops(&cede, 1) > 0.98 * ops(&off, 1), "S7: and the VM beside it has what it had");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

static void test_s8(void)
{
    static const struct sim_command commands[] = {
        {.at_ns = UINT64_C(1000000000), .kind = SIM_COMMAND_PAUSE},
        {.at_ns = UINT64_C(3000000000), .kind = SIM_COMMAND_RESUME},
    };
    struct sim_result result;
    options.command = commands;
    options.command_count = 2;
    if (run(&result, "S8", NULL)) { /* the oracle publish-paused watches */
        const uint64_t *lost_ns = result.vm[0].lost_ns;
        double *row = result.vm[0].interval;
        TAP(lost_ns[SIM_LOST_PAUSED] > UINT64_C(7900000000), "S8: paused for two seconds");
        TAP(row[2 * SIM_METRIC_MAX] == 0 && row[3 * SIM_METRIC_MAX] > 0,
            "S8: nothing is done while it is paused, and it goes on after");
        TAP(result.vm[1].interval[2 * SIM_METRIC_MAX] > result.vm[1].interval[0],
            "S8: the other VM has the machine meanwhile");
        sim_result_free(&result);
    }
    options.command = NULL;
    options.command_count = 0;
}

static void test_s9(void)
{
    struct sim_result off, cede;
    if (run(&off, "S9", "policy=off", NULL) && run(&cede, "S9", "policy=cede", NULL)) {
        say("S9", "blocks of the quiet VM", ops(&off, 1), ops(&cede, 1));
        TAP(ops(&cede, 1) > 0.97 * ops(&off, 1), "S9: yields take nothing from the quiet VM");
        TAP(ops(&cede, 0) > 1.2 * ops(&off, 0), "S9: and help the spinners");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

static void test_s10(void)
{
    struct sim_result off, cede;
    if (run(&off, "S10", "policy=off", NULL) && run(&cede, "S10", "policy=cede", NULL)) {
        say("S10", "records, 1:1 pinned", ops(&off, 0), ops(&cede, 0));
        TAP(ops(&cede, 0) > 0.99 * ops(&off, 0), "S10: nothing costs anything at 1:1");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

static void test_s11(void)
{
    struct sim_result off, cede;
    if (run(&off, "S11", "policy=off", NULL) && run(&cede, "S11", "policy=cede", NULL)) {
        say("S11", "records of the first of four pinned VMs", ops(&off, 0), ops(&cede, 0));
        TAP(ops(&cede, 0) > 2 * ops(&off, 0), "S11: pinned siblings are reached all the same");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

static void test_s12(void)
{
    struct sim_result off, cede;
    if (run(&off, "S12", "policy=off", NULL) && run(&cede, "S12", "policy=cede", NULL)) {
        say("S12", "records", ops(&off, 0), ops(&cede, 0));
        TAP(ops(&cede, 0) > 1.05 * ops(&off, 0) && off.vm[0].count[CEDE_COUNT_SPIN_EXITS] > 0,
            "S12: spin exits alone show it, and it helps");
        sim_result_free(&off);
        sim_result_free(&cede);
    }
}

int main(void)
{
    test_s1();
    test_s2();
    test_s3();
    test_s4();
    test_s5_s6();
    test_s7();
    test_s8();
    test_s9();
    test_s10();
    test_s11();
    test_s12();
    return tap_done();
}
