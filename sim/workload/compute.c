/*
 * compute.c - cpu, burner, kernbench: computation, alone or with the kernel work of a build.
 */
#include "sim/workload/workload.h"

/* Blocks of computation; cpu's block of 100000 steps takes about 100 us. */
static void cpu(struct workload_build *b)
{
    struct workload_program *p = &b->program;
    uint64_t steps = workload_number(&b->words, "block_steps", 100000, 1, UINT64_C(1) << 40);
    workload_op(p, GUEST_OP_USER, 0, 0, steps, 0);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "blocks";
    workload_tasks(b, b->mm);
}

/* Busy for `percent` of the time, asleep for the rest, `chunk_us` at once. */
static void burner(struct workload_build *b)
{
    struct workload_program *p = &b->program;
    uint64_t percent = workload_number(&b->words, "percent", 100, 1, 100);
    uint64_t chunk_ns = workload_number(&b->words, "chunk_us", 10000, 1, 10000000) * 1000;
    workload_op(p, GUEST_OP_USER, 0, 0, chunk_ns, 512);
    if (percent < 100) {
        workload_op(p, GUEST_OP_SLEEP, 0, 0, chunk_ns * (100 - percent) / percent, 512);
    }
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "chunks";
    workload_tasks(b, GUEST_NONE);
}

struct build_costs {
    uint64_t user_ns, kernel_ns, hold_ns;
    uint32_t pieces, units, sections;
    uint32_t tree, pages, files;
};

/*
 * One compiler run: exec, then pieces of computation with page faults between them, then exit. A
 * piece takes the page allocator's spinlock and, now and then, a directory's or the mapping tree's.
 */
static void unit(struct workload_program *p, const struct build_costs *costs, uint32_t take)
{
    uint64_t kernel_ns = costs->kernel_ns / costs->pieces;
    uint32_t piece = p->count;
    workload_op(p, GUEST_OP_USER, 0, 0, costs->user_ns / costs->pieces, 512);
    uint32_t part = p->count;
    workload_op(p, GUEST_OP_KERNEL, 0, 0, kernel_ns / costs->sections + 1, 512);
    workload_do(p, GUEST_OP_LOCK, costs->pages);
    workload_kernel(p, costs->hold_ns);
    workload_do(p, GUEST_OP_UNLOCK, costs->pages);
    workload_loop(p, part, costs->sections, 1);
    workload_loop(p, piece, costs->pieces, 0);
    workload_do(p, GUEST_OP_WRITE, costs->tree);
    workload_kernel(p, costs->hold_ns * 4);
    workload_do(p, GUEST_OP_UNWRITE, costs->tree);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, take);
}

static void kernbench(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    struct build_costs costs = {
        .units = (uint32_t)workload_number(w, "units", 400, 1, 1000000),
        .user_ns = workload_number(w, "user_us", 4000, 1, 100000000) * 1000,
        .kernel_ns = workload_number(w, "kernel_us", 1000, 1, 100000000) * 1000,
        .hold_ns = workload_number(w, "hold_ns", 2000, 1, 1000000),
        .pieces = (uint32_t)workload_number(w, "pieces", 20, 1, 10000),
        .sections = (uint32_t)workload_number(w, "sections", 6, 1, 1000),
    };
    uint32_t jobs = (uint32_t)workload_number(w, "jobs", b->threads, 0, 100000);
    jobs = jobs == 0 || jobs > costs.units ? costs.units : jobs; /* 0: make -j without a limit */
    costs.tree = guest_add_sleeplock(b->g);
    costs.pages = guest_add_spinlock(b->g);
    uint32_t units_sem = guest_add_sem(b->g, costs.units);

    uint32_t spawn = workload_do(p, GUEST_OP_SPAWN, 0);
    workload_loop(p, spawn, jobs, 0);
    workload_do(p, GUEST_OP_JOIN, 0);
    workload_do(p, GUEST_OP_FINISH, 0);
    workload_do(p, GUEST_OP_END, 0);
    p->op[spawn].a = p->count;
    uint32_t take = workload_op(p, GUEST_OP_TAKE, units_sem, 0, 0, 0);
    unit(p, &costs, take);
    p->op[take].b = workload_do(p, GUEST_OP_END, 0);
    b->state->metric = "build";
    b->state->unit = "s";
    b->state->kind = SIM_METRIC_TIME;
    workload_task(b, GUEST_NONE, 0);
}

const struct workload workload_compute[] = {
    {"cpu", "pure computation", cpu, 0},
    {"burner", "busy for a share of the time", burner, 0},
    {"kernbench", "a build: compilers with the kernel's part", kernbench, 0},
    {.name = NULL},
};
