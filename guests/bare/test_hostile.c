/*
 * test_hostile.c - hostile guests beside a well-behaved Linux VM, on the hypervisor.
 *
 * Each run is one row of a table: several hostile VMs beside one that computes with a checksum. It
 * must finish with the right result, each hostile one must end as its row says: by itself (its own
 * checks held), or stopped with a reason. SEED=n, ACCEL=name (see `cede run --help`).
 * Where a hostile VM runs for ever, the Linux VM's share of its time is held to half a fair one: a
 * bound that noise doesn't reach and a guest that takes what isn't its own does.
 */
#include "guests/workload/external.h"
#include "tests/tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE_MAX 6

struct hostile_row {
    const char *words; /* kind and parameters */
    unsigned vcpus;
    const char *state; /* how it must end */
};

struct run_row {
    const char *name;
    unsigned pcpus;
    unsigned duration_s; /* 0: ends by itself */
    double share;        /* of its time that the Linux VM must get at least; 0: not held to one */
    struct hostile_row hostile[HOSTILE_MAX];
};

static const struct run_row runs[] = {
    {"registers and ports",
     1,
     0,
     0,
     {{"kind=msr", 1, "done"},
      {"kind=registers", 1, "done"},
      {"kind=pages", 1, "done"},
      {"kind=io", 1, "done"},
      {"kind=hypercall", 1, "done"},
      {"kind=registers seed=8", 1, "done"}}},
    {"devices, page tables, code, interrupts",
     2,
     0,
     0,
     {{"kind=mmio moves=1", 1, "done"},
      {"kind=tables moves=1", 1, "done"},
      {"kind=code outside=0", 2, "done"},
      {"kind=storm", 2, "done"},
      {"kind=sipi", 3, "done"}}},
    {"what breaks a rule",
     1,
     0,
     0,
     {{"kind=triple", 1, "killed"},
      {"kind=triple seed=3", 1, "killed"},
      {"kind=triple seed=6", 1, "killed"},
      {"kind=mmio", 1, "killed"},
      {"kind=tables", 1, "killed"},
      {"kind=code", 1, "killed"}}},
    {"a PAUSE loop for ever", 1, 25, 0.25, {{"kind=pause", 1, "stopped"}}},
    {"halted for ever", 1, 15, 0, {{"kind=halt", 2, "stopped"}}},
};

static unsigned long seed(void)
{
    const char *text = getenv("SEED");
    return text != NULL ? strtoul(text, NULL, 0) : 1;
}

/* "kind=mmio moves=1" to "cede.seed=1 cede.kind=mmio cede.moves=1" */
static void write_words(FILE *file, const char *words)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", words);
    char *rest = copy;
    fprintf(file, "cede.seed=%lu", seed()); /* first: a row may have a seed of its own */
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        fprintf(file, " cede.%s", word);
    }
}

static bool write_scenario(const char *path, const struct run_row *run, unsigned duration_s)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    fprintf(file, "name: hostile\nhost:\n  pcpus: %u\npolicy: cede\n", run->pcpus);
    if (duration_s != 0) {
        fprintf(file, "duration: %us\n", duration_s);
    }
    fprintf(file, "vms:\n  - name: linux\n    vcpus: 1\n    memory: 192M\n"
                  "    workload:\n      name: cpu\n      seconds: 2\n");
    for (unsigned i = 0; i < HOSTILE_MAX && run->hostile[i].words != NULL; i++) {
        fprintf(file,
                "  - name: hostile-%u\n    vcpus: %u\n    memory: 64M\n"
                "    kernel: build/guests/bare/hostile\n    cmdline: ",
                i, run->hostile[i].vcpus);
        write_words(file, run->hostile[i].words);
        fputc('\n', file);
    }
    return fclose(file) == 0;
}

static json_t *find_vm(const json_t *outcome, const char *name)
{
    size_t i;
    json_t *vm;
    json_array_foreach(json_object_get(outcome, "vms"), i, vm)
    {
        const char *given = json_string_value(json_object_get(vm, "name"));
        if (given != NULL && strcmp(given, name) == 0) {
            return vm;
        }
    }
    return NULL;
}

static bool ended(const json_t *vm, const char *state)
{
    const char *is = json_string_value(json_object_get(vm, "state"));
    return is != NULL && strcmp(is, state) == 0 &&
           json_integer_value(json_object_get(vm, "status")) == 0;
}

/* Its time on a pCPU over that and the time it waited for one. */
static double share_of(const json_t *vm)
{
    static const char *const on_pcpu[] = {"guest_user", "guest_kernel", "spin", "hypervisor"};
    const json_t *time = json_object_get(vm, "time_ns");
    double on = 0, steal = json_number_value(json_object_get(time, "steal"));
    for (size_t i = 0; i < sizeof on_pcpu / sizeof on_pcpu[0]; i++) {
        on += json_number_value(json_object_get(time, on_pcpu[i]));
    }
    return on + steal > 0 ? on / (on + steal) : 0;
}

static void check_run(const struct run_row *run, const json_t *outcome)
{
    char what[200];
    const json_t *linux_vm = find_vm(outcome, "linux");
    snprintf(what, sizeof what, "%s: the Linux VM finishes with the right result", run->name);
    TAP(ended(linux_vm, "done"), what);
    if (run->share > 0) {
        snprintf(what, sizeof what, "%s: the Linux VM has its share (%.2f)", run->name,
                 share_of(linux_vm));
        TAP(share_of(linux_vm) >= run->share, what);
    }
    for (unsigned i = 0; i < HOSTILE_MAX && run->hostile[i].words != NULL; i++) {
        char name[32];
        snprintf(name, sizeof name, "hostile-%u", i);
        snprintf(what, sizeof what, "%s: %s seed=%lu is %s", run->name, run->hostile[i].words,
                 seed(), run->hostile[i].state);
        TAP(ended(find_vm(outcome, name), run->hostile[i].state), what);
    }
}

static char output[1 << 20];

/* Runs the row once and loads what came out; NULL if nothing did. */
static json_t *run_once(const struct run_row *run, unsigned duration_s)
{
    const char *scenario = "build/tests/guests/hostile.yaml";
    const char *json = "build/tests/guests/hostile.json";
    struct external_command command = {.count = 0};
    external_argument(&command, "build/cede");
    external_argument(&command, "run");
    external_argument(&command, "%s", scenario);
    external_argument(&command, "--json");
    external_argument(&command, "%s", json);
    external_argument(&command, "--accel");
    external_argument(&command, "%s", getenv("ACCEL") != NULL ? getenv("ACCEL") : "tcg-single");
    external_argument(&command, "--timeout");
    external_argument(&command, "400");
    remove(json);
    if (!write_scenario(scenario, run, duration_s)) {
        return NULL;
    }
    external_run(&command, output, sizeof output);
    return json_load_file(json, 0, NULL);
}

/* On a busy machine the Linux VM may need longer than the row's duration: that is no fault, and the
 * row gets more time. */
static json_t *run_patiently(const struct run_row *run)
{
    unsigned duration_s = run->duration_s;
    for (unsigned tries = 0;; tries++, duration_s *= 3) {
        json_t *outcome = run_once(run, duration_s);
        if (duration_s == 0 || tries == 2 || !ended(find_vm(outcome, "linux"), "stopped")) {
            return outcome;
        }
        json_decref(outcome);
    }
}

static void test_run(const struct run_row *run)
{
    unsigned before = tap_failures;
    json_t *outcome = run_patiently(run);
    check_run(run, outcome);
    json_decref(outcome);
    if (tap_failures != before) { /* the console's last lines say why */
        size_t length = strlen(output);
        printf("# %s\n", output + (length > 6000 ? length - 6000 : 0));
    }
}

int main(int argc, char **argv)
{
    size_t first = argc > 1 ? strtoul(argv[1], NULL, 0) : 0; /* one row only, when given */
    size_t last = argc > 1 ? first + 1 : sizeof runs / sizeof runs[0];
    for (size_t i = first; i < last && i < sizeof runs / sizeof runs[0]; i++) {
        test_run(&runs[i]);
    }
    return tap_done();
}
