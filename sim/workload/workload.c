/*
 * workload.c - finds a workload by its name, builds its guest, and says what it achieved.
 *
 * Supplies sim_guest_create() of sim/model.h. Owns a guest's load_state.
 */
#include "sim/workload/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t workload_op(struct workload_program *p, enum guest_op_kind kind, uint32_t a, uint32_t b,
                     uint64_t ns, uint32_t spread)
{
    uint32_t at = p->count++;
    if (at < WORKLOAD_OPS) {
        p->op[at] = (struct guest_op){
            .kind = (uint8_t)kind, .spread = (uint16_t)spread, .a = a, .b = b, .ns = ns};
    }
    return at;
}

uint32_t workload_do(struct workload_program *p, enum guest_op_kind kind, uint32_t a)
{
    return workload_op(p, kind, a, 0, 0, 0);
}

/* No two rounds of real code take the same time; an eighth up and down keeps CPUs out of step. */
void workload_user(struct workload_program *p, uint64_t ns)
{
    if (ns > 0) {
        workload_op(p, GUEST_OP_USER, 0, 0, ns, 128);
    }
}

void workload_kernel(struct workload_program *p, uint64_t ns)
{
    if (ns > 0) {
        workload_op(p, GUEST_OP_KERNEL, 0, 0, ns, 128);
    }
}

void workload_loop(struct workload_program *p, uint32_t to, uint32_t times, uint32_t level)
{
    uint32_t at = workload_op(p, GUEST_OP_LOOP, times, to, 0, 0);
    if (at < WORKLOAD_OPS) {
        p->op[at].level = (uint8_t)level;
    }
}

void workload_task(struct workload_build *b, uint32_t mm, uint32_t cpu)
{
    if (b->program.count > WORKLOAD_OPS) {
        workload_fail(&b->words, "the program has more than %u operations", WORKLOAD_OPS);
        return;
    }
    const struct guest_op *program = guest_add_program(b->g, b->program.op, b->program.count);
    uint32_t task =
        program == NULL
            ? GUEST_NONE
            : guest_add_task(b->g, program, mm, b->pinned != 0 ? cpu : GUEST_NONE);
    if (task == GUEST_NONE) {
        b->failed = true;
        return;
    }
    b->g->task[task].cpu = cpu;
}

void workload_tasks(struct workload_build *b, uint32_t mm)
{
    for (uint32_t i = 0; i < b->threads; i++) {
        workload_task(b, mm, i % b->g->config.vcpu_count);
    }
}

static const struct workload *const families[] = {workload_memory,  workload_unixbench,
                                                  workload_compute, workload_wakes,
                                                  workload_net,     workload_traces};

static const struct workload *find(const char *name)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        for (const struct workload *w = families[f]; w->name != NULL; w++) {
            if (strcmp(w->name, name) == 0) {
                return w;
            }
        }
    }
    return NULL;
}

static void list_names(char *text, size_t size)
{
    size_t used = strlen(text);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        for (const struct workload *w = families[f]; w->name != NULL && used < size; w++) {
            snprintf(text + used, size - used, " %s", w->name);
            used = strlen(text);
        }
    }
}

static void outside(struct guest *g, uint64_t cookie, uint64_t now_ns)
{
    struct workload_state *state = g->load_state;
    if (cookie == WORKLOAD_COOKIE_END) {
        g->done_ns = now_ns;
        sim_guest_done(g->vm, 0);
        return;
    }
    if (cookie == WORKLOAD_COOKIE_ACK) {
        uint64_t start_ns = state->client_free_ns > now_ns ? state->client_free_ns : now_ns;
        state->client_free_ns = start_ns + sim_random_around(&g->random, state->client_ns, 256);
        sim_guest_at(g->vm, state->client_free_ns + state->wire_ns, WORKLOAD_COOKIE_PACKET);
        return;
    }
    guest_packet(g, state->net_cpu, state->net_sem);
    if (cookie == WORKLOAD_COOKIE_ARRIVAL) {
        sim_guest_at(g->vm, now_ns + sim_random_exponential(&g->random, state->gap_ns) + 1,
                     WORKLOAD_COOKIE_ARRIVAL);
    }
}

static void name_metric(struct sim_metric *metric, const char *name, const char *unit,
                        enum sim_metric_kind kind)
{
    memset(metric, 0, sizeof *metric);
    snprintf(metric->name, sizeof metric->name, "%s", name);
    snprintf(metric->unit, sizeof metric->unit, "%s", unit);
    metric->kind = kind;
}

static uint32_t metrics(struct guest *g, uint64_t now_ns, struct sim_metric *metric, uint32_t max)
{
    const struct workload_state *state = g->load_state;
    uint32_t count = 0;
    (void)now_ns;
    if (state->metric == NULL || max < 3) {
        return 0;
    }
    name_metric(&metric[count], state->metric, state->unit, state->kind);
    metric[count].primary = 1;
    metric[count].value = state->kind == SIM_METRIC_TIME ? (double)g->done_ns * 1e-9
                                                         : (double)g->count[0] * state->scale;
    if (state->kind == SIM_METRIC_LATENCY) {
        metric[count].histogram = g->latency;
    }
    count++;
    if (state->kind != SIM_METRIC_LATENCY && g->latency.count > 0) {
        name_metric(&metric[count], "latency", "ns", SIM_METRIC_LATENCY);
        metric[count++].histogram = g->latency;
    }
    if (state->second != NULL) {
        name_metric(&metric[count], state->second, "ops", SIM_METRIC_COUNT);
        metric[count++].value = (double)g->count[1];
    }
    return count;
}

static const struct guest_load load = {.outside = outside, .metrics = metrics};

static const char *const spinlock_names[] = {"auto", "unfair", "ticket", "queued", "pv", NULL};

/* Standards: Linux' (HZ=250 is the distributions'), or the magnitude of what a path takes there. */
static void read_kernel(struct workload_words *w, const struct sim_guest_config *config,
                        struct guest_kernel *k)
{
    uint32_t choice = workload_choice(w, "spinlock", spinlock_names, 0);
    bool pv = (config->features & GUEST_FEATURE_UNHALT) != 0;
    *k = (struct guest_kernel){
        .irq_ns = config->guest_irq_ns,
        .wake_ns = workload_number(w, "wake_ns", 700, 0, 1000000),
        .switch_ns = workload_number(w, "switch_ns", 1000, 0, 1000000),
        .tick_ns = 2000,
        .period_ns = 1000000000 / workload_number(w, "hz", 250, 10, 10000),
        .slice_ns = workload_number(w, "slice_us", 3000, 10, 1000000) * 1000,
        .granule_ns = workload_number(w, "granule_us", 1000, 0, 1000000) * 1000,
        .call_ns = workload_number(w, "call_ns", 300, 0, 1000000),
        .call_send_ns = 10,
        .line_ns = workload_number(w, "line_ns", 60, 0, 100000),
        .queue_ns = workload_number(w, "queue_ns", 100, 1, 100000),
        .pv_spin_ns = workload_number(w, "pv_spin_us", 100, 1, 1000000) * 1000,
        .poll_ns = workload_number(w, "guest_poll_us", 0, 0, 1000000) * 1000,
        .handoff_ns = workload_number(w, "handoff_us", 4000, 0, 1000000) * 1000,
        .device_ns = workload_number(w, "device_ns", 1500, 0, 1000000),
        .spinlock = choice == 0 ? (pv ? GUEST_LOCK_PV : GUEST_LOCK_UNFAIR) : choice - 1,
        .optimistic = workload_number(w, "optimistic", 1, 0, 1) != 0,
        .hint = (config->features & GUEST_FEATURE_STEAL) != 0,
    };
}

static void wake_all(struct guest *g)
{
    /* Tasks wait in their CPUs' queues from the start: a CPU finds them when it first looks. */
    for (uint32_t i = 0; i < g->task_count; i++) {
        struct guest_task *t = &g->task[i];
        t->state = GUEST_TASK_READY;
        guest_list_push(g, &g->cpu[t->cpu].queue, i);
        guest_bit_clear(g->idle, t->cpu);
    }
}

static void build(struct workload_build *b, const struct workload *w)
{
    uint32_t standard = w->threads != 0 ? w->threads : b->g->config.vcpu_count;
    struct workload_state *state = b->state;
    b->threads = (uint32_t)workload_number(&b->words, "threads", standard, 1, 65536);
    b->pinned = workload_number(&b->words, "pin", 0, 0, 1);
    state->end_ns = workload_seconds(&b->words, "seconds", UINT64_C(10000000000));
    workload_seconds(&b->words, "interval", 0); /* the simulator's own intervals serve */
    workload_number(&b->words, "seed", 0, 0, UINT64_MAX); /* likewise its seed */
    state->scale = 1.0;
    state->unit = "ops";
    state->kind = SIM_METRIC_COUNT;
    b->mm = guest_add_mm(b->g);
    b->failed |= b->mm == GUEST_NONE;
    w->build(b);
    if (state->kind != SIM_METRIC_TIME && state->end_ns > 0) {
        sim_guest_at(b->g->vm, state->end_ns, WORKLOAD_COOKIE_END);
    }
    wake_all(b->g);
}

static void *make(struct workload_build *b, const struct sim_guest_config *config,
                  const struct workload *w)
{
    struct guest_kernel kernel;
    read_kernel(&b->words, config, &kernel);
    b->g = guest_create(config, &kernel);
    if (b->g == NULL) {
        return NULL;
    }
    b->g->load = &load;
    b->g->load_state = b->state = calloc(1, sizeof *b->state);
    if (b->state == NULL) {
        guest_destroy(b->g);
        return NULL;
    }
    if (w != NULL) {
        build(b, w);
    }
    if (!workload_words_end(&b->words) || b->failed) {
        guest_destroy(b->g);
        return NULL;
    }
    return b->g;
}

void *sim_guest_create(const struct sim_guest_config *config, const struct sim_guest_ops **ops,
                       char *error, size_t error_size)
{
    const struct workload *w = config->workload[0] != '\0' ? find(config->workload) : NULL;
    snprintf(error, error_size, "%s", "");
    if (w == NULL && config->workload[0] != '\0') {
        snprintf(error, error_size, "no workload \"%s\"; there are:", config->workload);
        list_names(error, error_size);
        return NULL;
    }
    struct workload_build *b = calloc(1, sizeof *b);
    void *guest = NULL;
    if (b != NULL && workload_words_read(&b->words, config->params, error, error_size)) {
        guest = make(b, config, w);
    }
    if (guest == NULL && error[0] == '\0') {
        snprintf(error, error_size, "no memory for the guest");
    }
    free(b);
    *ops = &guest_ops;
    return guest;
}
