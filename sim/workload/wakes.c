/*
 * wakes.c - pingpong, hackbench, timerlat: wake-ups between tasks, and by timers.
 */
#include "sim/workload/workload.h"

static const char *const ball_names[] = {"futex", "pipe", NULL};

static void pingpong(struct workload_build *b)
{
    struct workload_program *p = &b->program;
    bool by_pipe = workload_choice(&b->words, "by", ball_names, 0) == 1;
    uint64_t call_ns = workload_number(&b->words, "call_ns_each", by_pipe ? 1200 : 700, 1, 1000000);
    b->pinned = 1;
    if (b->threads % 2 != 0) {
        workload_fail(&b->words, "parameter threads=%u: expected an even number", b->threads);
    }
    for (uint32_t pair = 0; pair < b->threads / 2; pair++) {
        uint32_t there = guest_add_sem(b->g, 0), back = guest_add_sem(b->g, 0);
        for (uint32_t side = 0; side < 2; side++) {
            p->count = 0;
            workload_do(p, side == 0 ? GUEST_OP_STAMP : GUEST_OP_WAIT, there);
            workload_kernel(p, call_ns);
            workload_do(p, GUEST_OP_POST, side == 0 ? there : back);
            if (side == 0) {
                workload_do(p, GUEST_OP_WAIT, back);
                workload_do(p, GUEST_OP_RECORD, 0);
                workload_do(p, GUEST_OP_TALLY, 0);
            }
            workload_do(p, GUEST_OP_JUMP, 0);
            workload_task(b, b->mm, (pair * 2 + side) % b->g->config.vcpu_count);
        }
    }
    b->state->metric = "round_trips";
}

static const char *const socket_names[] = {"socket", "pipe", NULL};
static const char *const task_names[] = {"process", "thread", NULL};

#define SOCKET_ROOM 64u

/* Groups of senders and receivers: each sender sends every receiver of its group a message. */
static void hackbench(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    uint32_t groups = (uint32_t)workload_number(w, "groups", 1, 1, 1000);
    uint32_t fds = (uint32_t)workload_number(w, "fds", 10, 1, 100);
    uint64_t bytes = workload_number(w, "bytes", 100, 1, 1 << 20);
    workload_number(w, "loops", 100, 1, 10000000);
    bool by_pipe = workload_choice(w, "by", socket_names, 0) == 1;
    bool threads = workload_choice(w, "as", task_names, 0) == 1;
    uint64_t message_ns = (by_pipe ? 800 : 1500) + bytes / 10;
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t first = b->g->sem_count;
        uint32_t room = first + fds; /* what a receiver's socket still takes */
        uint32_t lock = guest_add_spinlock(b->g);
        for (uint32_t i = 0; i < 2 * fds; i++) {
            guest_add_sem(b->g, i < fds ? 0 : SOCKET_ROOM);
        }
        for (uint32_t i = 0; i < 2 * fds; i++) {
            p->count = 0;
            if (i < fds) {
                workload_do(p, GUEST_OP_WAIT, first + i);
                workload_kernel(p, message_ns);
                workload_do(p, GUEST_OP_POST, room + i);
                workload_do(p, GUEST_OP_TALLY, 0);
            }
            for (uint32_t to = 0; to < fds && i >= fds; to++) {
                workload_do(p, GUEST_OP_WAIT, room + to);
                workload_kernel(p, message_ns);
                workload_do(p, GUEST_OP_LOCK, lock);
                workload_kernel(p, 100);
                workload_do(p, GUEST_OP_UNLOCK, lock);
                workload_do(p, GUEST_OP_POST, first + to);
            }
            workload_do(p, GUEST_OP_JUMP, 0);
            workload_task(b, threads ? b->mm : GUEST_NONE,
                          (group * 2 * fds + i) % b->g->config.vcpu_count);
        }
    }
    b->state->metric = "messages";
}

static void timerlat(struct workload_build *b)
{
    struct workload_program *p = &b->program;
    uint64_t period_ns = workload_number(&b->words, "period_us", 1000, 10, 1000000) * 1000;
    b->pinned = 1;
    workload_op(p, GUEST_OP_PERIOD, 0, 0, period_ns, 0);
    workload_kernel(p, 1000);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "late";
    b->state->unit = "ns";
    b->state->kind = SIM_METRIC_LATENCY;
    workload_tasks(b, b->mm);
}

const struct workload workload_wakes[] = {
    {"pingpong", "pairs of threads wake each other in turn", pingpong, 2},
    {"hackbench", "groups of senders and receivers", hackbench, 0},
    {"timerlat", "how late a timer wakes its sleeper", timerlat, 0},
    {.name = NULL},
};
