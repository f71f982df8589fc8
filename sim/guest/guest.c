/*
 * guest.c - makes a guest kernel, and answers the machine: next step, interrupt, blame, hint.
 *
 * Owns all memory of the guest. See guest.h.
 */
#include "sim/guest/guest.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING_AT_ONCE 10000u

uint32_t guest_bit_next(const uint64_t *bits, uint32_t count, uint32_t from)
{
    uint32_t words = (count + 63) / 64;
    from = from < count ? from : 0;
    for (uint32_t i = 0; i <= words; i++) {
        uint32_t word = (from / 64 + i) % words;
        uint64_t value = bits[word];
        if (i == 0) {
            value &= ~UINT64_C(0) << (from % 64);
        } else if (i == words) {
            value &= ~(~UINT64_C(0) << (from % 64));
        }
        if (value != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(value);
        }
    }
    return GUEST_NONE;
}

void guest_list_init(struct guest_list *list)
{
    *list = (struct guest_list){GUEST_NONE, GUEST_NONE, 0};
}

void guest_list_push(struct guest *g, struct guest_list *list, uint32_t task)
{
    g->task[task].next = GUEST_NONE;
    if (list->tail == GUEST_NONE) {
        list->head = task;
    } else {
        g->task[list->tail].next = task;
    }
    list->tail = task;
    list->count++;
}

uint32_t guest_list_pop(struct guest *g, struct guest_list *list)
{
    uint32_t task = list->head;
    if (task != GUEST_NONE) {
        list->head = g->task[task].next;
        list->count--;
        if (list->head == GUEST_NONE) {
            list->tail = GUEST_NONE;
        }
        g->task[task].next = GUEST_NONE;
    }
    return task;
}

bool guest_hinted(const struct guest *g, uint32_t cpu)
{
    return g->kernel.hint && sim_guest_preempted(g->vm, cpu);
}

/* What the spin that just ended or broke off leaves for the next look at its condition. */
static void spin_over(struct guest_cpu *c, const struct sim_step *rest)
{
    if (!c->spinning) {
        return;
    }
    c->spinning = false;
    c->spin_broken = rest != NULL && rest->kind == SIM_STEP_SPIN;
    c->spin_left_ns = c->spin_broken ? rest->ns : 0;
}

static bool send_resched(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    if (c->resched_count == 0) {
        return false;
    }
    uint32_t target = guest_bit_next(c->resched, g->config.vcpu_count, c->id);
    guest_bit_clear(c->resched, target);
    c->resched_count--;
    *step = (struct sim_step){
        .kind = SIM_STEP_IPI, .vector = SIM_VECTOR_RESCHED, .target = target, .irq_off = 1};
    return true;
}

static bool pay(struct guest_cpu *c, struct sim_step *step)
{
    if (c->owed_ns == 0) {
        return false;
    }
    *step = (struct sim_step){.kind = SIM_STEP_RUN, .irq_off = 1, .ns = c->owed_ns};
    c->owed_ns = 0;
    return true;
}

static bool one_step(struct guest *g, struct guest_cpu *c, struct sim_step *step)
{
    if (pay(c, step) || send_resched(g, c, step)) {
        return true;
    }
    if (c->irq != 0) {
        return guest_irq_step(g, c, step);
    }
    if (guest_clock_arm(g, c, step)) {
        return true;
    }
    if (c->task == GUEST_NONE) {
        return guest_idle_step(g, c, step);
    }
    return guest_task_step(g, c, step);
}

static void next(void *guest, uint32_t vcpu, uint64_t now_ns, struct sim_step *step)
{
    struct guest *g = guest;
    struct guest_cpu *c = &g->cpu[vcpu];
    g->now_ns = now_ns;
    spin_over(c, NULL);
    for (uint32_t i = 0; i < NOTHING_AT_ONCE; i++) {
        if (one_step(g, c, step)) {
            c->spinning = step->kind == SIM_STEP_SPIN;
            return;
        }
    }
    /* A program that loops without taking time: let time pass, so that the run can go on. */
    *step = (struct sim_step){.kind = SIM_STEP_RUN, .user = 1, .ns = 1000};
}

static void interrupt(void *guest, uint32_t vcpu, enum sim_vector vector, uint64_t now_ns,
                      const struct sim_step *rest)
{
    struct guest *g = guest;
    struct guest_cpu *c = &g->cpu[vcpu];
    g->now_ns = now_ns;
    spin_over(c, rest);
    guest_irq_begin(g, c, vector, rest);
}

static enum sim_spin_blame spin_blame(void *guest, uint32_t vcpu)
{
    struct guest *g = guest;
    struct guest_cpu *c = &g->cpu[vcpu];
    if (c->answers > 0) {
        return guest_call_blame(g, c);
    }
    if (c->wait_lock != GUEST_NONE) {
        return guest_spinlock_blame(g, c);
    }
    return c->wait_sleep != GUEST_NONE ? guest_sleeplock_blame(g, c) : SIM_SPIN_OTHER;
}

static void published(void *guest, uint32_t vcpu, bool preempted)
{
    struct guest *g = guest;
    struct guest_cpu *c = &g->cpu[vcpu];
    if (!preempted || !g->kernel.hint) {
        return;
    }
    if (c->task != GUEST_NONE) {
        guest_sleeplock_owner_off(g, guest_current(g, c));
    }
    guest_wait_predecessor_off(g, c);
}

static void outside(void *guest, uint64_t cookie, uint64_t now_ns)
{
    struct guest *g = guest;
    g->now_ns = now_ns;
    if ((cookie >> 63) != 0) {
        guest_device_outside(g, cookie & ~(UINT64_C(1) << 63), now_ns);
    } else if (g->load->outside != NULL) {
        g->load->outside(g, cookie, now_ns);
    }
}

static uint32_t metrics(void *guest, uint64_t now_ns, struct sim_metric *metric, uint32_t max)
{
    struct guest *g = guest;
    return g->load->metrics != NULL ? g->load->metrics(g, now_ns, metric, max) : 0;
}

const struct sim_guest_ops guest_ops = {
    .next = next,
    .interrupt = interrupt,
    .spin_blame = spin_blame,
    .published = published,
    .outside = outside,
    .metrics = metrics,
    .destroy = guest_destroy,
};

static void cpu_init(struct guest *g, uint32_t i)
{
    struct guest_cpu *c = &g->cpu[i];
    uint64_t *bits = g->bits + (size_t)i * 4 * g->words;
    *c = (struct guest_cpu){.id = i,
                            .task = GUEST_NONE,
                            .wait_lock = GUEST_NONE,
                            .wait_sleep = GUEST_NONE,
                            .wait_prev = GUEST_NONE,
                            .wait_next = GUEST_NONE,
                            .mm = GUEST_NONE,
                            .tick_ns = UINT64_MAX,
                            .armed_ns = UINT64_MAX,
                            .packet_sem = GUEST_NONE,
                            .callers = bits,
                            .awaited = bits + g->words,
                            .send = bits + 2 * (size_t)g->words,
                            .resched = bits + 3 * (size_t)g->words};
    guest_list_init(&c->queue);
    guest_list_init(&c->sleepers);
    guest_list_init(&c->wakes);
    guest_list_init(&c->completions);
    guest_bit_set(g->idle, i);
}

struct guest *guest_create(const struct sim_guest_config *config,
                           const struct guest_kernel *kernel)
{
    struct guest *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return NULL;
    }
    g->vm = config->vm;
    g->config = *config;
    g->kernel = *kernel;
    g->words = (config->vcpu_count + 63) / 64;
    g->dead = GUEST_NONE;
    g->cpu = calloc(config->vcpu_count, sizeof *g->cpu);
    g->bits = calloc(((size_t)config->vcpu_count * 4 + 1) * g->words, sizeof *g->bits);
    if (g->cpu == NULL || g->bits == NULL) {
        guest_destroy(g);
        return NULL;
    }
    g->idle = g->bits + (size_t)config->vcpu_count * 4 * g->words;
    for (uint32_t i = 0; i < config->vcpu_count; i++) {
        cpu_init(g, i);
    }
    sim_random_init(&g->random, config->seed, config->name, UINT32_MAX);
    return g;
}

void guest_destroy(void *guest)
{
    struct guest *g = guest;
    for (uint32_t i = 0; i < g->program_count; i++) {
        free(g->program[i]);
    }
    for (uint32_t i = 0; i < g->mm_count; i++) {
        free(g->mm[i].cpus);
    }
    free(g->program);
    free(g->mm);
    free(g->sem);
    free(g->sleeplock);
    free(g->spinlock);
    free(g->task);
    free(g->bits);
    free(g->cpu);
    free(g->load_state);
    free(g);
}

/* Room for one more in an array that doubles. NULL: no memory, and the old one stays. */
static void *grow(void *array, uint32_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return array;
    }
    return realloc(array, (count == 0 ? 1 : (size_t)count * 2) * size);
}

uint32_t guest_add_spinlock(struct guest *g)
{
    struct guest_spinlock *all = grow(g->spinlock, g->spinlock_count, sizeof *all);
    if (all == NULL) {
        return GUEST_NONE;
    }
    g->spinlock = all;
    all[g->spinlock_count] = (struct guest_spinlock){GUEST_NONE, 0, GUEST_NONE, GUEST_NONE};
    return g->spinlock_count++;
}

uint32_t guest_add_sleeplock(struct guest *g)
{
    struct guest_sleeplock *all = grow(g->sleeplock, g->sleeplock_count, sizeof *all);
    uint32_t wait_lock = guest_add_spinlock(g);
    if (all == NULL || wait_lock == GUEST_NONE) {
        return GUEST_NONE;
    }
    g->sleeplock = all;
    all[g->sleeplock_count] = (struct guest_sleeplock){
        .writer = GUEST_NONE,
        .spin_head = GUEST_NONE,
        .spin_tail = GUEST_NONE,
        .wait_lock = wait_lock};
    guest_list_init(&all[g->sleeplock_count].waiters);
    return g->sleeplock_count++;
}

uint32_t guest_add_sem(struct guest *g, uint32_t value)
{
    struct guest_sem *all = grow(g->sem, g->sem_count, sizeof *all);
    if (all == NULL) {
        return GUEST_NONE;
    }
    g->sem = all;
    all[g->sem_count].value = value;
    guest_list_init(&all[g->sem_count].waiters);
    return g->sem_count++;
}

uint32_t guest_add_mm(struct guest *g)
{
    struct guest_mm *all = grow(g->mm, g->mm_count, sizeof *all);
    if (all == NULL) {
        return GUEST_NONE;
    }
    g->mm = all;
    all[g->mm_count].cpus = calloc(g->words, sizeof(uint64_t));
    return all[g->mm_count].cpus != NULL ? g->mm_count++ : GUEST_NONE;
}

const struct guest_op *guest_add_program(struct guest *g, const struct guest_op *ops,
                                         uint32_t count)
{
    struct guest_op **all = grow(g->program, g->program_count, sizeof *all);
    struct guest_op *copy = malloc(count * sizeof *copy);
    if (all != NULL) {
        g->program = all;
    }
    if (all == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    memcpy(copy, ops, count * sizeof *copy);
    g->program[g->program_count++] = copy;
    return copy;
}

/* A task that was there before, or a new one. */
static struct guest_task *task_slot(struct guest *g)
{
    if (g->dead != GUEST_NONE) {
        struct guest_task *t = &g->task[g->dead];
        g->dead = t->next;
        return t;
    }
    struct guest_task *all = grow(g->task, g->task_count, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    g->task = all;
    all[g->task_count].id = g->task_count;
    sim_random_init(&all[g->task_count].random, g->config.seed, g->config.name, g->task_count);
    return &all[g->task_count++];
}

uint32_t guest_add_task(struct guest *g, const struct guest_op *program, uint32_t mm,
                        uint32_t pinned)
{
    struct guest_task *t = task_slot(g);
    if (t == NULL) {
        return GUEST_NONE;
    }
    uint32_t cpu = pinned != GUEST_NONE ? pinned : t->id % g->config.vcpu_count;
    *t = (struct guest_task){.program = program,
                             .id = t->id,
                             .cpu = cpu,
                             .pinned = pinned,
                             .mm = mm,
                             .next = GUEST_NONE,
                             .parent = GUEST_NONE,
                             .state = GUEST_TASK_BLOCKED,
                             .random = t->random};
    g->tasks_living++;
    return t->id;
}
