/*
 * unixbench.c - execstorm, fork, shell, pipe, pipe-ctxsw, syscall: the shapes of UnixBench's tests.
 *
 * What these share in a kernel is the tree of mappings of each mapped file (the C library, the
 * shell): it is locked for writing for a short time whenever a process maps or unmaps it, so fork,
 * exec and exit take it many times. `sections` says how often, `hold_ns` how long.
 */
#include "sim/workload/workload.h"

static uint32_t shared_lock(struct workload_build *b)
{
    return guest_add_sleeplock(b->g);
}

/* `work_ns` of kernel time, with `sections` short ones under the lock spread over it. */
static void locked_work(struct workload_program *p, uint32_t lock, uint64_t work_ns,
                        uint32_t sections, uint64_t hold_ns, uint32_t level)
{
    if (sections == 0) {
        workload_kernel(p, work_ns);
        return;
    }
    uint64_t outside_ns = work_ns / sections;
    uint32_t start = p->count;
    workload_kernel(p, outside_ns > hold_ns ? outside_ns - hold_ns : 1);
    workload_do(p, GUEST_OP_WRITE, lock);
    workload_kernel(p, hold_ns);
    workload_do(p, GUEST_OP_UNWRITE, lock);
    workload_loop(p, start, sections, level);
}

struct process_costs {
    uint64_t user_ns, kernel_ns, hold_ns;
    uint32_t sections;
};

static struct process_costs read_costs(struct workload_words *w, uint64_t user_ns,
                                       uint64_t kernel_ns, uint32_t sections)
{
    struct process_costs costs = {
        .user_ns = workload_number(w, "user_ns", user_ns, 0, 1000000000),
        .kernel_ns = workload_number(w, "kernel_ns", kernel_ns, 1, 1000000000),
        .hold_ns = workload_number(w, "hold_ns", 500, 1, 1000000),
        .sections = (uint32_t)workload_number(w, "sections", sections, 0, 1000),
    };
    return costs;
}

static void execstorm(struct workload_build *b)
{
    struct process_costs costs = read_costs(&b->words, 40000, 150000, 30);
    struct workload_program *p = &b->program;
    uint32_t lock = shared_lock(b);
    locked_work(p, lock, costs.kernel_ns, costs.sections, costs.hold_ns, 0);
    workload_user(p, costs.user_ns);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "execs";
    workload_tasks(b, GUEST_NONE);
}

/* A parent forks, waits; the child exits at once. */
static void fork(struct workload_build *b)
{
    struct process_costs costs = read_costs(&b->words, 5000, 60000, 10);
    struct workload_program *p = &b->program;
    uint32_t lock = shared_lock(b);
    workload_user(p, costs.user_ns / 2);
    locked_work(p, lock, costs.kernel_ns / 2, costs.sections / 2, costs.hold_ns, 0);
    uint32_t spawn = workload_do(p, GUEST_OP_SPAWN, 0);
    workload_do(p, GUEST_OP_JOIN, 0);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    p->op[spawn].a = p->count;
    workload_user(p, costs.user_ns / 2);
    locked_work(p, lock, costs.kernel_ns / 2, costs.sections / 2, costs.hold_ns, 0);
    workload_do(p, GUEST_OP_END, 0);
    b->state->metric = "forks";
    workload_tasks(b, GUEST_NONE);
}

/* A script: `commands` processes one after the other; `scripts` of them at once, then again. */
static void shell(struct workload_build *b)
{
    struct process_costs costs = read_costs(&b->words, 300000, 400000, 40);
    uint32_t scripts = (uint32_t)workload_number(&b->words, "scripts", 1, 1, 64);
    uint32_t commands = (uint32_t)workload_number(&b->words, "commands", 6, 1, 64);
    struct workload_program *p = &b->program;
    uint32_t lock = shared_lock(b);
    uint32_t spawn = workload_do(p, GUEST_OP_SPAWN, 0);
    workload_loop(p, spawn, scripts, 0);
    workload_do(p, GUEST_OP_JOIN, 0);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    uint32_t script = p->count;
    uint32_t command = workload_do(p, GUEST_OP_SPAWN, 0);
    workload_do(p, GUEST_OP_JOIN, 0);
    workload_loop(p, script, commands, 0);
    workload_do(p, GUEST_OP_END, 0);
    p->op[spawn].a = script;
    p->op[command].a = p->count;
    locked_work(p, lock, costs.kernel_ns, costs.sections, costs.hold_ns, 0);
    workload_user(p, costs.user_ns);
    workload_do(p, GUEST_OP_END, 0);
    b->state->metric = "scripts";
    workload_tasks(b, GUEST_NONE);
}

/* Many rounds are one step: nothing of other CPUs touches them. */
#define ROUNDS 64u

static void rounds(struct workload_build *b, const char *metric, uint64_t user_ns,
                   uint64_t kernel_ns)
{
    struct workload_program *p = &b->program;
    uint64_t user = workload_number(&b->words, "user_ns", user_ns, 0, 1000000);
    uint64_t kernel = workload_number(&b->words, "kernel_ns", kernel_ns, 1, 1000000);
    workload_user(p, user * ROUNDS);
    workload_kernel(p, kernel * ROUNDS);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = metric;
    b->state->scale = ROUNDS;
    workload_tasks(b, GUEST_NONE);
}

static void syscalls(struct workload_build *b)
{
    rounds(b, "calls", 50, 330);
}

/* One process writes to and reads from its own pipe. */
static void pipe(struct workload_build *b)
{
    rounds(b, "round_trips", 40, 300);
}

/* Two processes and two pipes: each message wakes the other. */
static void pipe_ctxsw(struct workload_build *b)
{
    struct workload_program *p = &b->program;
    uint64_t kernel_ns = workload_number(&b->words, "kernel_ns", 700, 1, 1000000);
    uint64_t user_ns = workload_number(&b->words, "user_ns", 50, 0, 1000000);
    for (uint32_t i = 0; i < b->threads; i++) {
        uint32_t there = guest_add_sem(b->g, 0);
        uint32_t back = guest_add_sem(b->g, 0);
        b->failed |= there == GUEST_NONE || back == GUEST_NONE;
        for (uint32_t side = 0; side < 2; side++) {
            p->count = 0;
            workload_user(p, user_ns);
            if (side == 0) {
                workload_kernel(p, kernel_ns);
                workload_do(p, GUEST_OP_POST, there);
            }
            workload_do(p, GUEST_OP_WAIT, side == 0 ? back : there);
            if (side == 1) {
                workload_kernel(p, kernel_ns);
                workload_do(p, GUEST_OP_POST, back);
            } else {
                workload_do(p, GUEST_OP_TALLY, 0);
            }
            workload_do(p, GUEST_OP_JUMP, 0);
            workload_task(b, GUEST_NONE, i % b->g->config.vcpu_count);
        }
    }
    b->state->metric = "round_trips";
}

const struct workload workload_unixbench[] = {
    {"execstorm", "processes replace themselves by exec()", execstorm, 0},
    {"fork", "parents fork children that exit", fork, 0},
    {"shell", "scripts of several commands", shell, 0},
    {"syscall", "cheap system calls", syscalls, 0},
    {"pipe", "each process writes to and reads from a pipe of its own", pipe, 0},
    {"pipe-ctxsw", "pairs of processes pass messages to and fro", pipe_ctxsw, 0},
    {.name = NULL},
};
