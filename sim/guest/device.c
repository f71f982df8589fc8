/*
 * device.c - block requests and packets: an exit to ask, an interrupt when it's done.
 *
 * Owns `completions`, `packets`. The disk serves one request at a time, in order; its interrupt
 * comes to the CPU that asked. Packets that come while their CPU's interrupt is pending are handled
 * by that one. The host's own work for a device is the exit's, and is done on the vCPU's pCPU.
 */
#include "sim/guest/guest.h"

#include "abi/exit.h"

#define FROM_DEVICE (UINT64_C(1) << 63)

static bool doorbell(struct sim_step *step)
{
    *step = (struct sim_step){.kind = SIM_STEP_EXIT, .irq_off = 1, .reason = ABI_EXIT_MMIO};
    return true;
}

bool guest_request(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                   const struct guest_op *op, struct sim_step *step)
{
    enum { ASK, QUEUE, DONE };
    if (op->kind == GUEST_OP_DOORBELL) {
        if (t->phase == ASK && op->b == 0) {
            t->phase = QUEUE;
            return doorbell(step);
        }
        if (op->a != 0 && g->load->outside != NULL) {
            uint64_t wire_ns =
                op->spread != 0 ? sim_random_around(&t->random, op->ns, op->spread) : op->ns;
            sim_guest_at(g->vm, g->now_ns + wire_ns, op->a);
        }
        guest_op_done(t);
        return false;
    }
    if (t->phase == ASK) {
        t->phase = QUEUE;
        return doorbell(step);
    }
    if (t->phase == QUEUE) {
        uint64_t start_ns = g->disk_free_ns > g->now_ns ? g->disk_free_ns : g->now_ns;
        g->disk_free_ns = start_ns + op->ns;
        t->phase = DONE;
        t->state = GUEST_TASK_BLOCKED;
        sim_guest_at(g->vm, g->disk_free_ns, FROM_DEVICE | t->id);
        guest_block(g, c);
        return false;
    }
    guest_op_done(t);
    return false;
}

void guest_device_outside(struct guest *g, uint64_t cookie, uint64_t now_ns)
{
    (void)now_ns;
    uint32_t task = (uint32_t)cookie;
    struct guest_cpu *c = &g->cpu[g->task[task].cpu];
    guest_list_push(g, &c->completions, task);
    sim_guest_device_irq(g->vm, c->id, SIM_VECTOR_DEVICE);
}

void guest_packet(struct guest *g, uint32_t cpu, uint32_t sem)
{
    struct guest_cpu *c = &g->cpu[cpu];
    c->packet_sem = sem;
    if (c->packets++ == 0) {
        sim_guest_device_irq(g->vm, cpu, SIM_VECTOR_DEVICE);
    }
}

void guest_device_handle(struct guest *g, struct guest_cpu *c)
{
    uint32_t task;
    while ((task = guest_list_pop(g, &c->completions)) != GUEST_NONE) {
        guest_wake(g, c, task);
    }
    while (c->packets > 0) {
        c->packets--;
        guest_sem_post(g, c, c->packet_sem);
    }
}
