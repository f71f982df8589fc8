/*
 * tables.c - see tables.h. Owns a list of runs, (row, side, seed), that its threads take in order.
 *
 * Verdict of a row, r the published ratio after/before and s the simulated one:
 *   same       s is within 25 % of r, or r inside the interval of s; and, since that alone would
 *              pass a small effect that isn't there at all, s shows at least a quarter of it
 *   direction  the same sign and another size; or within 25 % of r without the quarter
 *   wrong      else: the other sign, or far from r without any
 * Published changes under 2 % are noise, and `same` then needs r inside the interval or s within
 * 2 % of 1. A simulated change under 2 % the other way isn't held to be a sign.
 */
#include "cli/tables.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/scenario.h"
#include "sim/run.h"

const struct tables_row tables_rows[] = {
#define X(id, label, file, measure, settings, before, after, was, is)                              \
    {id, label, file, TABLES_##measure, settings, before, after, was, is},
#include "cli/tables.def"
#undef X
};
const size_t tables_row_count = sizeof tables_rows / sizeof tables_rows[0];

#define WARMUP_SHARE 5u /* the first fifth of a run with a fixed length isn't counted */
#define NOISE 0.02
#define WORDS 24u

const char *tables_verdict_name(enum tables_verdict verdict)
{
    static const char *const names[] = {"same", "direction", "wrong", "failed"};
    return names[verdict];
}

struct run {
    uint32_t row, side, seed;
};

struct work {
    const struct tables_request *request;
    struct tables_outcome *outcome;
    struct run *runs;
    uint32_t count;
    atomic_uint next, done;
    pthread_mutex_t lock; /* of the outcomes' error texts */
};

/* Cuts `text` into words, after those already in `word`. */
static size_t add_words(char *text, const char **word, size_t count)
{
    char *rest = NULL;
    for (char *at = strtok_r(text, " ", &rest); at != NULL && count < WORDS;
         at = strtok_r(NULL, " ", &rest)) {
        word[count++] = at;
    }
    return count;
}

static const char *side_settings(const struct tables_row *row, uint32_t side)
{
    switch ((enum tables_side)side) {
    case TABLES_BEFORE:
        return row->before;
    case TABLES_AFTER:
        return row->after;
    case TABLES_MAINLINE:
        return "policy=kvm-mainline";
    case TABLES_CEDE:
        return "policy=cede";
    case TABLES_SIDES:
        break;
    }
    return "";
}

/* The settings of all runs that name single policy keys mean nothing under a whole preset. */
static void drop_policy_keys(const char **word, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp(word[i], "policy.", 7) != 0) {
            word[kept++] = word[i];
        }
    }
    *count = kept;
}

static bool load(const struct work *work, const struct run *run, struct host_scenario *scenario,
                 char *error)
{
    const struct tables_row *row = &tables_rows[run->row];
    char path[512], common[512], own[512];
    const char *word[WORDS];
    snprintf(path, sizeof path, "%s/%s.yaml", work->request->folder, row->file);
    snprintf(common, sizeof common, "%s", row->settings);
    snprintf(own, sizeof own, "%s", side_settings(row, run->side));
    size_t count = add_words(common, word, 0);
    if (run->side >= TABLES_MAINLINE) {
        drop_policy_keys(word, &count);
    }
    count = add_words(own, word, count);
    return host_scenario_load(scenario, path, word, count, error);
}

static double call_wait(const struct sim_vm_result *vm)
{
    const uint64_t *ns = vm->lost_ns;
    double spin_ns = (double)(ns[SIM_LOST_SPIN_IPI] + ns[SIM_LOST_SPIN_OTHER]);
    double all_ns = spin_ns + (double)(ns[SIM_LOST_USEFUL_USER] + ns[SIM_LOST_USEFUL_KERNEL] +
                                       ns[SIM_LOST_SPIN_LOCK] + ns[SIM_LOST_REFILL] +
                                       ns[SIM_LOST_SHARING]);
    return all_ns > 0 ? 100 * spin_ns / all_ns : 0;
}

static double measured(const struct tables_row *row, const struct sim_result *result,
                       uint64_t warmup_ns)
{
    const struct sim_vm_result *vm = &result->vm[0];
    double seconds = (double)(result->simulated_ns - warmup_ns) * 1e-9;
    switch (row->measure) {
    case TABLES_RATE:
        return vm->metric_count > 0 ? vm->metric[0].value / seconds : 0;
    case TABLES_TIME:
        return (double)vm->done_ns * 1e-9;
    case TABLES_INTERRUPTS:
        return (double)vm->exits[ABI_EXIT_EXTERNAL] / seconds;
    case TABLES_CALL_WAIT:
        return call_wait(vm);
    }
    return 0;
}

static void failed(struct work *work, const struct run *run, const char *text)
{
    char *error = work->outcome[run->row].error;
    pthread_mutex_lock(&work->lock);
    if (error[0] == '\0') {
        snprintf(error, TABLES_ERROR, "side %u, seed %u: %s", run->side, run->seed, text);
    }
    pthread_mutex_unlock(&work->lock);
}

static void simulate(struct work *work, const struct run *run, const struct host_scenario *scenario)
{
    const struct tables_row *row = &tables_rows[run->row];
    size_t size;
    void *manifest = host_scenario_manifest(scenario, &size);
    struct sim_result result;
    struct sim_options options = {.seed = run->seed, .stop_vm = 1};
    if (row->measure != TABLES_TIME) {
        options.warmup_ns = scenario->head.duration_ns / WARMUP_SHARE;
    }
    if (manifest == NULL) {
        failed(work, run, "no memory");
        return;
    }
    if (sim_run(manifest, size, &options, &result) != SIM_OK) {
        failed(work, run, result.error[0] != '\0' ? result.error : result.violation.text);
    } else if (row->measure == TABLES_TIME && !result.vm[0].done) {
        failed(work, run, "the workload wasn't done within the scenario's duration");
    } else {
        work->outcome[run->row].value[run->side][run->seed - 1] =
            measured(row, &result, options.warmup_ns);
    }
    sim_result_free(&result);
    free(manifest);
}

static void *worker(void *argument)
{
    struct work *work = argument;
    uint32_t i;
    while ((i = atomic_fetch_add(&work->next, 1)) < work->count) {
        struct host_scenario scenario;
        char error[HOST_ERROR_SIZE];
        if (!load(work, &work->runs[i], &scenario, error)) {
            failed(work, &work->runs[i], error);
        } else {
            simulate(work, &work->runs[i], &scenario);
            host_scenario_free(&scenario);
        }
        uint32_t done = atomic_fetch_add(&work->done, 1) + 1;
        if (work->request->progress != NULL) {
            work->request->progress(done, work->count);
        }
    }
    return NULL;
}

/* The two-sided 95 % point of Student's t. */
static double student(uint32_t freedom)
{
    static const double points[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                    2.110,  2.101, 2.093, 2.086};
    return freedom <= 20 ? points[freedom - 1] : 2.0;
}

static struct tables_mean mean_of(const double *value, uint32_t count)
{
    struct tables_mean mean = {0, 0, 0};
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean.mean += value[i] / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        squares += (value[i] - mean.mean) * (value[i] - mean.mean);
    }
    double half = count > 1 ? student(count - 1) * sqrt(squares / (count - 1) / count) : 0;
    mean.low = mean.mean - half;
    mean.high = mean.mean + half;
    return mean;
}

static enum tables_verdict judge(double published, const struct tables_mean *ratio)
{
    bool inside = published >= ratio->low && published <= ratio->high;
    double change = published - 1, simulated = ratio->mean - 1;
    if (fabs(change) < NOISE) {
        return inside || fabs(simulated) < NOISE ? TABLES_SAME : TABLES_WRONG;
    }
    bool opposed = change * simulated < 0 && fabs(simulated) >= NOISE;
    bool near = inside || fabs(ratio->mean / published - 1) <= 0.25;
    bool seen = change * simulated > 0 && fabs(simulated) >= fabs(change) / 4;
    if (opposed || (!near && change * simulated <= 0)) {
        return TABLES_WRONG;
    }
    return near && seen ? TABLES_SAME : TABLES_DIRECTION;
}

static void conclude(const struct tables_request *request, const struct tables_row *row,
                     struct tables_outcome *outcome)
{
    double ratio[TABLES_SEEDS_MAX];
    outcome->published_ratio = row->published_after / row->published_before;
    for (uint32_t side = request->first_side; side <= request->last_side; side++) {
        outcome->side[side] = mean_of(outcome->value[side], request->seeds);
    }
    for (uint32_t i = 0; i < request->seeds; i++) {
        double before = outcome->value[TABLES_BEFORE][i];
        ratio[i] = before > 0 ? outcome->value[TABLES_AFTER][i] / before : 0;
    }
    outcome->ratio = mean_of(ratio, request->seeds);
    outcome->verdict = outcome->error[0] != '\0' ? TABLES_FAILED
                                                 : judge(outcome->published_ratio, &outcome->ratio);
}

static uint32_t list_runs(const struct tables_request *request, struct run *runs)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < tables_row_count; row++) {
        if (!request->wanted[row]) {
            continue;
        }
        for (uint32_t side = request->first_side; side <= request->last_side; side++) {
            for (uint32_t seed = 1; seed <= request->seeds; seed++) {
                runs[count++] = (struct run){row, side, seed};
            }
        }
    }
    return count;
}

void tables_run(const struct tables_request *request, struct tables_outcome *outcome)
{
    pthread_t thread[16];
    uint32_t threads = 0;
    struct work work = {.request = request, .outcome = outcome};
    work.runs = malloc(tables_row_count * TABLES_SIDES * request->seeds * sizeof *work.runs);
    if (work.runs == NULL) {
        return;
    }
    work.count = list_runs(request, work.runs);
    pthread_mutex_init(&work.lock, NULL);
    while (threads + 1 < request->threads && threads < 16 &&
           pthread_create(&thread[threads], NULL, worker, &work) == 0) {
        threads++;
    }
    worker(&work);
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    pthread_mutex_destroy(&work.lock);
    free(work.runs);
    for (uint32_t row = 0; row < tables_row_count; row++) {
        if (request->wanted[row]) {
            conclude(request, &tables_rows[row], &outcome[row]);
        }
    }
}
