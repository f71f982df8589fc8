/*
 * machine_test.c - the modelled machine, its shell and its oracles, with scripted guests and the
 * core that ships.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/arch/arch.h"
#include "tests/sim/script_guest.h"
#include "tests/tap.h"

static struct sim_options options;

struct shape {
    const char *workload;
    const char *model;
    uint32_t pcpus, threads, vcpus, vms;
    enum cede_preset preset;
};

static size_t build(struct script_bundle *bundle, const struct shape *shape)
{
    script_bundle_init(bundle, shape->model, shape->pcpus, shape->threads);
    for (uint32_t i = 0; i < shape->vms; i++) {
        script_bundle_add(bundle, shape->workload, shape->vcpus, shape->preset);
    }
    return script_bundle_seal(bundle);
}

static enum sim_status run(const struct shape *shape, struct sim_result *result)
{
    static struct script_bundle bundle;
    size_t size = build(&bundle, shape);
    enum sim_status status = sim_run(&bundle, size, &options, result);
    if (status != SIM_OK) {
        printf("# %s on %s: %s: %s\n", shape->workload, shape->model, sim_status_name(status),
               result->error);
    }
    return status;
}

static void test_everything_runs(void)
{
    static const char *const workloads[] = {"compute", "sleeper", "pair", "shoot", "lock"};
    const char *model;
    char what[100];
    for (uint32_t i = 0; (model = sim_machine_name(i)) != NULL; i++) {
        bool fine = true;
        for (uint32_t w = 0; w < 5; w++) {
            for (uint32_t preset = 0; preset < CEDE_PRESET_COUNT; preset++) {
                struct shape shape = {workloads[w], model, 4, 2, 6, 2, (enum cede_preset)preset};
                struct sim_result result;
                fine = run(&shape, &result) == SIM_OK && result.vm[0].metric[0].value > 0 &&
                       result.vm[1].metric[0].value > 0 && fine;
                sim_result_free(&result);
            }
        }
        snprintf(what, sizeof what, "five scripts under five presets on %s, no violation", model);
        TAP(fine, what);
    }
}

/* A random scenario; the seed is enough to make it again. */
static size_t random_bundle(struct script_bundle *bundle, uint64_t seed)
{
    static const char *const workloads[] = {"compute", "sleeper", "pair", "shoot", "lock"};
    struct sim_random random;
    sim_random_init(&random, seed, "shape", 0);
    uint32_t models = 0;
    while (sim_machine_name(models) != NULL) {
        models++;
    }
    uint32_t threads = 1 + (uint32_t)sim_random_below(&random, 2);
    uint32_t pcpus = threads * (1 + (uint32_t)sim_random_below(&random, 6));
    script_bundle_init(bundle, sim_machine_name((uint32_t)sim_random_below(&random, models)),
                       pcpus, threads);
    bundle->head.seed = (uint32_t)seed;
    bundle->head.duration_ns = 150000000;
    uint32_t vms = 1 + (uint32_t)sim_random_below(&random, 5);
    for (uint32_t i = 0; i < vms; i++) {
        struct abi_manifest_vm *vm = script_bundle_add(
            bundle, workloads[sim_random_below(&random, 5)],
            1 + (uint32_t)sim_random_below(&random, 12),
            (enum cede_preset)sim_random_below(&random, CEDE_PRESET_COUNT));
        vm->weight = 256u << sim_random_below(&random, 5);
        vm->pin = sim_random_below(&random, 4) == 0 ? ABI_PIN_EACH : ABI_PIN_NONE;
        vm->guest_features &= (uint32_t)sim_random_u64(&random) | 1u << 6;
        if (sim_random_below(&random, 4) == 0) {
            vm->period_ns = 20000000;
            vm->quota_ns = 2000000 * (1 + sim_random_below(&random, 20));
        }
        if (sim_random_below(&random, 3) == 0) {
            uint64_t some = sim_random_u64(&random) & ((UINT64_C(1) << pcpus) - 1);
            vm->affinity[0] = some != 0 ? some : vm->affinity[0];
        }
    }
    return script_bundle_seal(bundle);
}

static void test_random_shapes(void)
{
    static struct script_bundle bundle;
    uint32_t wrong = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct sim_result result;
        size_t size = random_bundle(&bundle, seed);
        if (sim_run(&bundle, size, &options, &result) != SIM_OK) {
            printf("# shape %llu: %s\n", (unsigned long long)seed, result.error);
            wrong++;
        }
        sim_result_free(&result);
    }
    for (uint64_t seed = 1; seed <= 12; seed++) { /* long enough for windows of fairness */
        struct sim_result result;
        struct sim_random random;
        sim_random_init(&random, seed, "fair", 0);
        script_bundle_init(&bundle, "skylake", 2 + (uint32_t)sim_random_below(&random, 6), 1);
        bundle.head.duration_ns = UINT64_C(1200000000);
        for (uint32_t i = 0; i < 3; i++) {
            script_bundle_add(&bundle, seed % 3 == 0 ? "lock" : "compute",
                              6 + (uint32_t)sim_random_below(&random, 8),
                              (enum cede_preset)(seed % CEDE_PRESET_COUNT))
                ->weight = 512u << sim_random_below(&random, 3);
        }
        if (sim_run(&bundle, script_bundle_seal(&bundle), &options, &result) != SIM_OK) {
            printf("# fair shape %llu: %s\n", (unsigned long long)seed, result.error);
            wrong++;
        }
        sim_result_free(&result);
    }
    TAP(wrong == 0, "132 random machines, VMs, weights, caps, pinnings: no violation");
}

static void test_determinism(void)
{
    struct shape shape = {"shoot", "skylake", 8, 2, 8, 2, CEDE_PRESET_CEDE};
    struct sim_result a, b;
    run(&shape, &a);
    run(&shape, &b);
    TAP(a.digest == b.digest && a.steps == b.steps, "same seed twice: same decisions");
    TAP(memcmp(a.vcpu[3].lost_ns, b.vcpu[3].lost_ns, sizeof a.vcpu[3].lost_ns) == 0,
        "and the same account to the nanosecond");
    sim_result_free(&b);
    options.seed = 2;
    run(&shape, &b);
    options.seed = 0;
    TAP(a.digest != b.digest, "another seed: other decisions");
    sim_result_free(&a);
    sim_result_free(&b);
}

static void test_sums(void)
{
    struct shape shape = {"lock", "skylake", 4, 1, 8, 2, CEDE_PRESET_KVM_2019};
    struct sim_result result;
    bool exact = true;
    run(&shape, &result);
    for (uint32_t i = 0; i < result.vcpu_count; i++) {
        uint64_t sum_ns = 0;
        for (uint32_t k = 0; k < SIM_LOST_COUNT; k++) {
            sum_ns += result.vcpu[i].lost_ns[k];
        }
        exact = exact && sum_ns == result.simulated_ns;
    }
    TAP(exact, "the account of lost time sums to each vCPU's lifetime, to the nanosecond");
    sim_result_free(&result);
}

static uint64_t lost(const struct shape *shape, enum sim_lost which)
{
    struct sim_result result;
    run(shape, &result);
    uint64_t lost_ns = result.vm[0].lost_ns[which];
    sim_result_free(&result);
    return lost_ns;
}

static void test_mechanics(void)
{
    struct shape alone = {"compute", "skylake", 4, 1, 4, 1, CEDE_PRESET_CEDE};
    uint64_t useful_ns = lost(&alone, SIM_LOST_USEFUL_USER);
    TAP(useful_ns > 4 * UINT64_C(198000000), "1:1 compute: over 99 % useful");
    struct shape threads = alone;
    threads.threads = 2;
    uint64_t shared_ns = lost(&threads, SIM_LOST_USEFUL_USER);
    TAP(shared_ns * 100 > useful_ns * 58 && shared_ns * 100 < useful_ns * 66,
        "two busy threads of a core run at 0.62 each");
    struct shape two = {"lock", "skylake", 2, 1, 8, 2, CEDE_PRESET_OFF};
    TAP(lost(&two, SIM_LOST_SPIN_LOCK) > 0, "overcommitted locks: spinning for holders off CPU");
    struct shape storm = {"shoot", "skylake", 4, 1, 8, 1, CEDE_PRESET_OFF};
    TAP(lost(&storm, SIM_LOST_SPIN_IPI) > 0, "overcommitted calls: spinning for targets off CPU");
    struct shape fit = {"shoot", "skylake", 8, 1, 4, 1, CEDE_PRESET_OFF};
    TAP(lost(&fit, SIM_LOST_STEAL) < 2000000, "more pCPUs than vCPUs: next to no steal");
}

struct fault_case {
    enum sim_fault fault;
    const char *name;
    struct shape shape;
    const char *oracles[3];
};

/* A check that can't fail is a defect: each fault must be seen, and by the oracle meant for it. */
static void test_faults(void)
{
    static const struct fault_case cases[] = {
        {SIM_FAULT_LOSE_KICK, "a lost kick",
         {"pair", "skylake", 4, 1, 2, 1, CEDE_PRESET_OFF},
         {"idle-while-runnable", "starved"}},
        {SIM_FAULT_LOSE_INTERRUPT, "an interrupt of a blocked vCPU, untold",
         {"pair", "skylake", 2, 1, 4, 1, CEDE_PRESET_OFF}, {"lost-wakeup"}},
        {SIM_FAULT_WRONG_RUN, "the wrong vCPU run",
         {"compute", "skylake", 4, 1, 8, 1, CEDE_PRESET_OFF}, {"two-places", "refused", "time"}},
        {SIM_FAULT_LOSE_IPI, "a vanished IPI",
         {"shoot", "skylake", 4, 1, 4, 1, CEDE_PRESET_OFF}, {"ipi"}},
        {SIM_FAULT_LEAK_TIME, "a leaked microsecond",
         {"compute", "skylake", 2, 1, 4, 1, CEDE_PRESET_OFF}, {"time"}},
        {SIM_FAULT_IGNORE_CAP, "a cap that the core never learns of",
         {"compute", "skylake", 2, 1, 4, 1, CEDE_PRESET_OFF}, {"cap"}},
        {SIM_FAULT_STARVE, "a VM that never gives way",
         {"compute", "skylake", 2, 1, 4, 2, CEDE_PRESET_OFF}, {"fairness", "starved"}},
    };
    static struct script_bundle bundle;
    char what[120];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fault_case *c = &cases[i];
        struct sim_result result;
        build(&bundle, &c->shape);
        bundle.head.duration_ns = UINT64_C(2000000000);
        if (c->fault == SIM_FAULT_IGNORE_CAP) {
            bundle.vm[0].quota_ns = 20000000;
            bundle.vm[0].period_ns = 100000000;
        }
        size_t size = script_bundle_seal(&bundle);
        enum sim_status clean = sim_run(&bundle, size, &options, &result);
        if (clean != SIM_OK) {
            printf("# %s\n", result.error);
        }
        sim_result_free(&result);
        options.fault = (uint32_t)c->fault;
        enum sim_status status = sim_run(&bundle, size, &options, &result);
        options.fault = SIM_FAULT_NONE;
        bool seen = false;
        for (uint32_t k = 0; k < 3 && c->oracles[k] != NULL; k++) {
            seen = seen || strcmp(result.violation.oracle, c->oracles[k]) == 0;
        }
        printf("# %s\n", result.error);
        snprintf(what, sizeof what, "%s is seen as %s, and nothing is without it", c->name,
                 c->oracles[0]);
        TAP(clean == SIM_OK && status == SIM_VIOLATION && seen, what);
        sim_result_free(&result);
    }
}

struct log {
    struct cede_event *event;
    uint64_t *digest;
    uint64_t count, size, next;
};

static void record(void *context, uint64_t number, const struct cede_event *event,
                   enum cede_status status, uint64_t digest)
{
    struct log *log = context;
    (void)status;
    if (number >= log->size) {
        log->size = log->size == 0 ? 1024 : log->size * 2;
        log->event = realloc(log->event, log->size * sizeof *log->event);
        log->digest = realloc(log->digest, log->size * sizeof *log->digest);
    }
    log->event[number] = *event;
    log->digest[number] = digest;
    log->count = number + 1;
}

static bool play(void *context, struct cede_event *event, uint64_t *digest)
{
    struct log *log = context;
    if (log->next == log->count) {
        return false;
    }
    *event = log->event[log->next];
    *digest = log->digest[log->next++];
    return true;
}

static void test_replay(void)
{
    struct shape shape = {"shoot", "skylake", 4, 1, 8, 2, CEDE_PRESET_CEDE};
    struct log log = {.count = 0};
    struct sim_result result;
    options.event = record;
    options.context = &log;
    run(&shape, &result);
    options.event = NULL;
    struct sim_replay replay = {.config = {.pcpu_count = 4, .vm_count = 2, .vcpu_count = 16,
                                           .vm_vcpu_count = 8, .seed = 1},
                                .context = &log, .next = play};
    uint64_t first, count;
    TAP(sim_replay(&replay, &first, &count) && count == log.count && count > 1000,
        "a recorded log replays to the same decisions");
    log.next = 0;
    log.digest[log.count / 2] ^= 1;
    TAP(!sim_replay(&replay, &first, &count) && first == log.count / 2,
        "and one changed digest is found, at its place");
    sim_result_free(&result);
    free(log.event);
    free(log.digest);
}

static bool refused(struct script_bundle *bundle, size_t size, enum sim_status expected,
                    const char *word)
{
    struct sim_result result;
    enum sim_status status = sim_run(bundle, size, &options, &result);
    bool fine = status == expected && strstr(result.error, word) != NULL;
    if (!fine) {
        printf("# got %s: %s\n", sim_status_name(status), result.error);
    }
    sim_result_free(&result);
    return fine;
}

static void test_bad_input(void)
{
    static struct script_bundle bundle, copy;
    struct shape shape = {"compute", "skylake", 4, 1, 4, 2, CEDE_PRESET_CEDE};
    size_t size = build(&bundle, &shape);
    TAP(refused(&bundle, 100, SIM_BAD_MANIFEST, "cut short"), "a header cut short");
    TAP(refused(&bundle, size - 1, SIM_BAD_MANIFEST, "cut short"), "a record cut short");
    copy = bundle;
    copy.vm[1].weight++;
    TAP(refused(&copy, size, SIM_BAD_MANIFEST, "checksum"), "a damaged record");
    copy = bundle;
    copy.head.seed++;
    TAP(refused(&copy, size, SIM_BAD_MANIFEST, "checksum"), "a damaged header");
    copy = bundle;
    strcpy(copy.head.model, "skylark");
    TAP(refused(&copy, script_bundle_seal(&copy), SIM_BAD_MODEL, "skylake"),
        "an unknown model: the known ones are named");
    copy = bundle;
    copy.vm[1].affinity[1] = 1;
    TAP(refused(&copy, script_bundle_seal(&copy), SIM_BAD_MANIFEST, "vm-1"),
        "an affinity outside of the machine");
    copy = bundle;
    strcpy(copy.vm[0].workload, "nothing");
    TAP(refused(&copy, script_bundle_seal(&copy), SIM_BAD_WORKLOAD, "nothing"),
        "an unknown workload");
    struct sim_random random;
    bool survived = true;
    sim_random_init(&random, 3, "flips", 0);
    options.duration_ns = 1000000;
    for (uint32_t i = 0; i < 500; i++) {
        copy = bundle;
        for (uint64_t k = sim_random_below(&random, 4) + 1; k > 0; k--) {
            uint64_t at = sim_random_below(&random, size);
            ((uint8_t *)&copy)[at] ^= (uint8_t)(1u << sim_random_below(&random, 8));
        }
        struct sim_result result;
        copy.head.vm_count = 2; /* so that sealing finds its records */
        sim_run(&copy, script_bundle_seal(&copy), &options, &result);
        survived = survived && result.status < SIM_STATUS_COUNT;
        sim_result_free(&result);
    }
    options.duration_ns = 0;
    TAP(survived, "500 bundles with flipped bits and right checksums: refused or run, no crash");
}

static void test_done(void)
{
    struct shape shape = {"brief", "skylake", 4, 1, 4, 2, CEDE_PRESET_CEDE};
    struct sim_result result;
    run(&shape, &result);
    TAP(result.vm[0].done && result.vm[1].done && result.simulated_ns < 200000000,
        "the run ends when all workloads are done");
    sim_result_free(&result);
}

static void test_spin_limits(void)
{
    const struct sim_arch *vmx = sim_arch_find("skylake");
    const struct sim_arch *svm = sim_arch_find("zen");
    uint64_t window_ns = vmx->spin_window_ns;
    TAP(sim_arch_spin_limit_ns(vmx, true, false, false, window_ns) == UINT64_MAX,
        "pause-loop exiting is blind in user mode");
    TAP(sim_arch_spin_limit_ns(svm, true, false, false, 40000) == 40000,
        "the pause filter isn't");
    TAP(sim_arch_spin_limit_ns(svm, false, true, false, 40000) == UINT64_MAX &&
            sim_arch_spin_limit_ns(svm, false, false, true, 40000) == UINT64_MAX,
        "no exit without PAUSE, nor in a dedicated VM");
    for (uint32_t i = 0; i < 40; i++) {
        window_ns = sim_arch_spin_grown_ns(vmx, window_ns);
    }
    TAP(window_ns == vmx->spin_window_max_ns, "the window grows to its limit, no further");
    TAP(sim_arch_ipi_exits(vmx, 79, true) == 1 && sim_arch_ipi_exits(vmx, 79, false) == 79 &&
            sim_arch_ipi_exits(sim_arch_find("arm-gicv3"), 79, true) == 5,
        "exits to reach 79 siblings: 1 by PV send IPI, 79 by ICR writes, 5 by SGI writes");
}

int main(void)
{
    test_spin_limits();
    test_everything_runs();
    test_random_shapes();
    test_determinism();
    test_sums();
    test_mechanics();
    test_faults();
    test_replay();
    test_bad_input();
    test_done();
    return tap_done();
}
