/*
 * compare.c - see compare.h. Simulations are taken from one list by threads; results don't depend
 * on which takes which. Runs on the hypervisor go one after the other.
 */
#include "cli/compare.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/simulate.h"

struct job {
    uint32_t varied, policy, run;
    uint32_t alone; /* 0: all VMs; else 1 + the VM's number */
    bool fine;
    struct host_outcome outcome;
    char error[HOST_ERROR_SIZE];
};

struct work {
    struct compare *compare;
    struct host_scenario scenario[COMPARE_VARIED_MAX][COMPARE_POLICIES_MAX];
    struct job *job;
    uint32_t count;
    atomic_uint next, done;
};

static bool load(struct work *work, uint32_t varied, uint32_t policy, char *error)
{
    const struct compare_request *request = &work->compare->request;
    const char *set[COMPARE_SET_MAX + 2];
    char name[96], setting[160];
    size_t count = request->set_count;
    memcpy(set, request->set, count * sizeof *set);
    snprintf(name, sizeof name, "policy=%.80s", request->policy[policy]);
    set[count++] = name;
    if (request->varied_key[0] != '\0') {
        snprintf(setting, sizeof setting, "%s=%s", request->varied_key, request->varied[varied]);
        set[count++] = setting;
    }
    return host_scenario_load(&work->scenario[varied][policy], request->path, set, count, error);
}

/* Whether that VM is one that runs something, and the first of its kind: they needn't all run alone. */
static uint32_t like_of(const struct host_scenario *s, uint32_t vm)
{
    for (uint32_t i = 0; i < vm; i++) {
        struct abi_manifest_vm a = s->vm[i], b = s->vm[vm];
        memset(a.name, 0, sizeof a.name);
        memset(b.name, 0, sizeof b.name);
        if (memcmp(&a, &b, sizeof a) == 0) {
            return i;
        }
    }
    return vm;
}

static void add_job(struct work *work, uint32_t varied, uint32_t policy, uint32_t run,
                    uint32_t alone)
{
    struct job *job = &work->job[work->count++];
    memset(job, 0, sizeof *job);
    job->varied = varied;
    job->policy = policy;
    job->run = run;
    job->alone = alone;
}

static uint32_t list_jobs(struct work *work, bool count_only)
{
    const struct compare_request *r = &work->compare->request;
    uint32_t count = 0;
    for (uint32_t run = 0; run < r->runs; run++) {
        for (uint32_t v = 0; v < r->varied_count; v++) {
            for (uint32_t p = 0; p < r->policy_count; p++) {
                const struct host_scenario *s = &work->scenario[v][p];
                uint32_t vms = r->alone && s->head.vm_count > 1 ? s->head.vm_count : 0;
                for (uint32_t alone = 0; alone <= vms; alone++) {
                    if (alone > 0 && (like_of(s, alone - 1) != alone - 1 ||
                                      s->vm[alone - 1].workload[0] == '\0')) {
                        continue;
                    }
                    if (!count_only) {
                        add_job(work, v, p, run, alone);
                    }
                    count++;
                }
            }
        }
    }
    return count;
}

/* The scenario of a job: all of it, or one VM of it. Shares the arrays. */
static struct host_scenario scenario_of(const struct work *work, const struct job *job)
{
    struct host_scenario s = work->scenario[job->varied][job->policy];
    if (job->alone > 0) {
        s.vm += job->alone - 1;
        s.extra += job->alone - 1;
        s.head.vm_count = 1;
        for (uint32_t i = 0; i < s.head.pcpu_count; i++) {
            if (s.head.role[i] == CEDE_ROLE_DEDICATED) {
                bool own = s.head.role_vm[i] == job->alone - 1;
                s.head.role[i] = own ? CEDE_ROLE_DEDICATED : CEDE_ROLE_SHARED;
                s.head.role_vm[i] = own ? 0 : UINT16_MAX;
            }
        }
    }
    return s;
}

static void do_job(struct work *work, struct job *job)
{
    const struct compare_request *request = &work->compare->request;
    struct host_scenario scenario = scenario_of(work, job);
    if (request->on_hypervisor) {
        job->fine = host_run(&scenario, &request->run, &job->outcome, job->error);
        if (job->fine && !job->outcome.fine) {
            job->fine = false;
            snprintf(job->error, sizeof job->error, "%s", job->outcome.trouble);
        }
        return;
    }
    struct sim_options options = {
        .seed = (request->seed != 0 ? request->seed : scenario.head.seed) + job->run,
    };
    job->fine = cli_simulate(&scenario, &options, &job->outcome, job->error);
}

static void *worker(void *argument)
{
    struct work *work = argument;
    const struct compare_request *request = &work->compare->request;
    for (;;) {
        uint32_t number = atomic_fetch_add(&work->next, 1);
        if (number >= work->count) {
            return NULL;
        }
        do_job(work, &work->job[number]);
        uint32_t done = atomic_fetch_add(&work->done, 1) + 1;
        if (!request->quiet && (request->on_hypervisor || isatty(2))) {
            fprintf(stderr, "%s%u of %u runs%s", isatty(2) ? "\r" : "", done, work->count,
                    isatty(2) ? " " : "\n");
        }
    }
}

static void do_all(struct work *work)
{
    pthread_t thread[64];
    const struct compare_request *request = &work->compare->request;
    uint32_t threads = request->on_hypervisor ? 1 : request->threads;
    uint32_t started = 0;
    while (started + 1 < threads && started < 63 &&
           pthread_create(&thread[started], NULL, worker, work) == 0) {
        started++;
    }
    worker(work);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
    }
    if (!request->quiet && isatty(2)) {
        fprintf(stderr, "\r%40s\r", "");
    }
}

static bool make_cells(struct compare_column *column, const struct host_scenario *s, uint32_t runs)
{
    column->cell = calloc(s->head.vm_count, sizeof *column->cell);
    column->cell_count = column->cell != NULL ? s->head.vm_count : 0;
    for (uint32_t i = 0; i < column->cell_count; i++) {
        struct compare_cell *cell = &column->cell[i];
        snprintf(cell->vm, sizeof cell->vm, "%s", s->vm[i].name);
        cell->vm_count = s->head.vm_count;
        cell->value = malloc(runs * sizeof *cell->value);
        cell->alone = malloc(runs * sizeof *cell->alone);
        for (uint32_t k = 0; k < runs && cell->value != NULL && cell->alone != NULL; k++) {
            cell->value[k] = cell->alone[k] = NAN;
        }
        if (cell->value == NULL || cell->alone == NULL) {
            return false;
        }
    }
    return column->cell != NULL;
}

static void add_up(struct compare_cell *cell, const struct host_vm_outcome *vm, uint32_t run)
{
    const struct host_result *result = host_outcome_primary(vm);
    if (result != NULL) {
        cell->value[run] = result->value;
        cell->less_is_better = result->less_is_better;
        snprintf(cell->metric, sizeof cell->metric, "%s", result->metric);
    }
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        cell->time_ns[i] += vm->time_ns[i];
    }
    for (uint32_t i = 0; i < CEDE_COUNTER_COUNT; i++) {
        cell->count[i] += vm->count[i];
    }
    cell->has_lost = vm->has_lost;
    for (uint32_t i = 0; i < 32 && vm->has_lost; i++) {
        cell->lost_ns[i] += vm->lost_ns[i];
    }
    cede_histogram_merge(&cell->wake, &vm->wake_latency);
}

static void take_job(struct work *work, const struct job *job)
{
    struct compare *compare = work->compare;
    struct compare_column *column = &compare->column[job->varied][job->policy];
    const struct host_scenario *s = &work->scenario[job->varied][job->policy];
    if (!job->fine) {
        column->failed++;
        if (compare->trouble[0] == '\0') {
            snprintf(compare->trouble, sizeof compare->trouble, "%.250s", job->error);
        }
        return;
    }
    if (job->alone > 0) {
        const struct host_result *result = host_outcome_primary(&job->outcome.vm[0]);
        for (uint32_t i = 0; i < column->cell_count && result != NULL; i++) {
            if (like_of(s, i) == job->alone - 1) {
                column->cell[i].alone[job->run] = result->value;
            }
        }
        return;
    }
    for (uint32_t i = 0; i < column->cell_count && i < job->outcome.vm_count; i++) {
        add_up(&column->cell[i], &job->outcome.vm[i], job->run);
    }
    double all_ns = job->outcome.seconds * 1e9 * job->outcome.pcpu_count;
    column->polled_share += all_ns > 0 ? (double)job->outcome.polled_ns / all_ns : 0;
}

static bool conclude(struct work *work)
{
    const struct compare_request *r = &work->compare->request;
    bool fine = true;
    for (uint32_t v = 0; v < r->varied_count; v++) {
        for (uint32_t p = 0; p < r->policy_count && fine; p++) {
            fine = make_cells(&work->compare->column[v][p], &work->scenario[v][p], r->runs);
        }
    }
    for (uint32_t i = 0; i < work->count && fine; i++) {
        take_job(work, &work->job[i]);
    }
    for (uint32_t v = 0; v < r->varied_count; v++) {
        for (uint32_t p = 0; p < r->policy_count; p++) {
            work->compare->column[v][p].polled_share /= r->runs;
        }
    }
    return fine;
}

bool compare_run(struct compare *compare, char *error)
{
    const struct compare_request *r = &compare->request;
    struct work *work = calloc(1, sizeof *work);
    bool fine = work != NULL;
    if (fine) {
        work->compare = compare;
    }
    for (uint32_t v = 0; v < r->varied_count && fine; v++) {
        for (uint32_t p = 0; p < r->policy_count && fine; p++) {
            fine = load(work, v, p, error);
        }
    }
    if (fine) {
        work->job = calloc(list_jobs(work, true), sizeof *work->job);
        fine = work->job != NULL;
    }
    if (fine) {
        list_jobs(work, false);
        do_all(work);
        fine = conclude(work);
    }
    for (uint32_t i = 0; work != NULL && work->job != NULL && i < work->count; i++) {
        host_outcome_free(&work->job[i].outcome);
    }
    for (uint32_t v = 0; work != NULL && v < r->varied_count; v++) {
        for (uint32_t p = 0; p < r->policy_count; p++) {
            host_scenario_free(&work->scenario[v][p]);
        }
    }
    if (work != NULL) {
        free(work->job);
    }
    free(work);
    return fine;
}

void compare_free(struct compare *compare)
{
    for (uint32_t v = 0; v < COMPARE_VARIED_MAX; v++) {
        for (uint32_t p = 0; p < COMPARE_POLICIES_MAX; p++) {
            struct compare_column *column = &compare->column[v][p];
            for (uint32_t i = 0; i < column->cell_count; i++) {
                free(column->cell[i].value);
                free(column->cell[i].alone);
            }
            free(column->cell);
        }
    }
}
