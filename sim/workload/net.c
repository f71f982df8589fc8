/*
 * net.c - redis and netserver: a VM that answers or receives from clients outside of it.
 *
 * Clients are outside() events: each sends again `wire` after it was answered (closed loop), or
 * they send at a rate whatever happens (open loop). What the network and the host's device model
 * take is in `wire_us`; the host's work on the vCPU's pCPU is the doorbell's exit.
 */
#include "sim/workload/workload.h"

static void start_clients(struct workload_build *b, uint32_t clients, uint64_t wire_ns)
{
    for (uint32_t i = 0; i < clients; i++) {
        sim_guest_at(b->g->vm, 1000000 + i * wire_ns / clients, WORKLOAD_COOKIE_PACKET);
    }
}

/* One server thread: takes a request, works, answers; plus its own housekeeping timer. */
static void redis(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    uint32_t clients = (uint32_t)workload_number(w, "clients", 50, 1, 10000);
    uint64_t wire_ns = workload_number(w, "wire_us", 100, 1, 1000000) * 1000;
    uint64_t user_ns = workload_number(w, "user_ns", 4000, 0, 10000000);
    uint64_t kernel_ns = workload_number(w, "kernel_ns", 8000, 0, 10000000);
    uint64_t timer_ns = workload_number(w, "timer_us", 0, 0, 10000000) * 1000;
    bool assigned = workload_number(w, "assigned", 0, 0, 1) != 0; /* the card is the guest's own */
    b->state->net_sem = guest_add_sem(b->g, 0);
    b->state->net_cpu = (uint32_t)workload_number(w, "irq_cpu", 0, 0, b->g->config.vcpu_count - 1);
    workload_do(p, GUEST_OP_WAIT, b->state->net_sem);
    workload_kernel(p, kernel_ns);
    workload_user(p, user_ns);
    workload_op(p, GUEST_OP_DOORBELL, WORKLOAD_COOKIE_PACKET, assigned, wire_ns, 256);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    workload_tasks(b, b->mm);
    if (timer_ns > 0) {
        for (uint32_t i = 0; i < b->g->config.vcpu_count; i++) {
            p->count = 0;
            workload_op(p, GUEST_OP_PERIOD, 0, 0, timer_ns, 0);
            workload_user(p, 2000);
            workload_do(p, GUEST_OP_JUMP, 0);
            workload_task(b, GUEST_NONE, i);
        }
    }
    start_clients(b, clients, wire_ns);
    b->state->metric = "requests";
}

/*
 * Receives messages of a size. They come `batch_b` bytes at a time, as network cards and the
 * stack's receive offload hand them up: from one sender that makes a message in client_ns and may
 * be `window_b` bytes ahead of what was acknowledged, or, with `rate`, so many messages a second
 * whatever happens.
 */
static void netserver(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    uint64_t size = workload_number(w, "size", 512, 1, 65536);
    uint64_t rate = workload_number(w, "rate", 0, 0, 10000000);
    uint64_t batch_b = workload_number(w, "batch_b", 8192, 1, 65536);
    uint64_t window_b = workload_number(w, "window_b", 43690, 1, 1 << 30);
    uint64_t wire_ns = workload_number(w, "wire_us", 10, 1, 1000000) * 1000;
    uint64_t client_ns = workload_number(w, "client_ns", 700, 0, 10000000);
    uint64_t message_ns = workload_number(w, "message_ns", 250, 0, 10000000);
    uint64_t byte_ps = workload_number(w, "byte_ps", 100, 0, 1000000);
    uint64_t messages = size < batch_b ? batch_b / size : 1;
    b->state->net_sem = guest_add_sem(b->g, 0);
    b->state->net_cpu = (uint32_t)workload_number(w, "irq_cpu", 0, 0, b->g->config.vcpu_count - 1);
    workload_do(p, GUEST_OP_WAIT, b->state->net_sem);
    workload_kernel(p, messages * (message_ns + size * byte_ps / 1000));
    if (rate == 0) {
        workload_op(p, GUEST_OP_DOORBELL, WORKLOAD_COOKIE_ACK, 0, wire_ns, 256);
    }
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    workload_tasks(b, b->mm);
    if (rate == 0) {
        b->state->client_ns = client_ns * messages;
        b->state->wire_ns = wire_ns;
        for (uint64_t sent = 0; sent < window_b; sent += batch_b) {
            sim_guest_at(b->g->vm, 1000000, WORKLOAD_COOKIE_ACK);
        }
    } else {
        b->state->gap_ns = 1000000000 * messages / rate;
        sim_guest_at(b->g->vm, 1000000, WORKLOAD_COOKIE_ARRIVAL);
    }
    b->state->metric = "received";
    b->state->unit = "bytes";
    b->state->scale = (double)(size * messages);
}

const struct workload workload_net[] = {
    {"redis", "answers requests; has timers of its own", redis, 1},
    {"netserver", "receives packets", netserver, 1},
    {.name = NULL},
};
