/*
 * account.c - where each vCPU's time goes, by construction.
 *
 * A vCPU's time is cut into pieces during which nothing about it changes: each is charged to one
 * class when it ends. Owns the members since_ns, place, blame, ran, refill_ns and result.lost_ns
 * of vCPUs, guest_clock_ns of pCPUs, and the lists of spinners.
 */
#include "sim/engine/machine.h"

uint32_t sim_account_speed_q16(const struct sim_machine *m, const struct sim_pcpu *p)
{
    uint32_t busy = m->cores[p->core].busy;
    if (busy <= 1) {
        return 65536;
    }
    /* Two threads get 2 * smt of one; more than two share that. */
    return busy == 2 ? m->arch->smt_q16 : m->arch->smt_q16 * 2 / busy;
}

uint64_t sim_account_scale(const struct sim_machine *m, const struct sim_vcpu *v)
{
    uint16_t scale = v->step.user ? m->arch->user_scale : m->arch->kernel_scale;
    return scale > 1 ? scale : 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * `span_ns` of execution: while part of the working set is missing, a quarter of the time goes
 * into fetching it; of the rest, what the core's other thread takes is lost to sharing.
 */
static void charge_run(struct sim_machine *m, struct sim_vcpu *v, uint64_t span_ns)
{
    const struct sim_pcpu *p = &m->pcpu[v->pcpu];
    uint64_t refill_ns = least(v->refill_ns, span_ns / SIM_REFILL_PART);
    uint64_t rest_ns = span_ns - refill_ns;
    uint64_t scale = sim_account_scale(m, v);
    uint64_t useful_ns = rest_ns * sim_account_speed_q16(m, p) >> 16;
    if (m->now_ns >= v->piece_end_ns) {
        useful_ns = least(v->step.ns * scale, rest_ns); /* rounding may not leave one over */
    }
    useful_ns = least(useful_ns, v->step.ns * scale);
    v->refill_ns -= refill_ns;
    v->step.ns -= m->now_ns >= v->piece_end_ns ? v->step.ns : useful_ns / scale;
    uint64_t *lost_ns = v->result.lost_ns;
    lost_ns[SIM_LOST_REFILL] += refill_ns;
    lost_ns[SIM_LOST_SHARING] += rest_ns - useful_ns;
    if (v->step.user) {
        lost_ns[SIM_LOST_USEFUL_USER] += useful_ns;
        v->ran.user_ns += span_ns;
    } else {
        lost_ns[SIM_LOST_USEFUL_KERNEL] += useful_ns;
        v->ran.kernel_ns += span_ns;
    }
}

static void charge_spin(struct sim_vcpu *v, uint64_t span_ns)
{
    static const uint8_t lost_of[SIM_SPIN_BLAME_COUNT] = {
        [SIM_SPIN_LOCK_OFF_CPU] = SIM_LOST_SPIN_LOCK,
        [SIM_SPIN_IPI_OFF_CPU] = SIM_LOST_SPIN_IPI,
        [SIM_SPIN_OTHER] = SIM_LOST_SPIN_OTHER,
    };
    v->result.lost_ns[lost_of[v->blame]] += span_ns;
    v->ran.spin_ns += span_ns;
    if (v->step.ns > span_ns) {
        v->step.ns -= span_ns;
    } else if (v->step.ns > 0) {
        v->step.ns = 0; /* its limit */
        v->spin_done = true;
    }
}

void sim_account(struct sim_machine *m, struct sim_vcpu *v)
{
    uint64_t span_ns = m->now_ns - v->since_ns;
    v->since_ns = m->now_ns;
    if (span_ns == 0) {
        return;
    }
    if (m->options.fault == SIM_FAULT_LEAK_TIME && span_ns > 1000 && !m->fault_done) {
        m->fault_done = true;
        span_ns -= 1000;
    }
    switch ((enum sim_place)v->place) {
    case SIM_PLACE_OFF:
        v->off_ns += span_ns;
        return;
    case SIM_PLACE_HOST:
        v->result.lost_ns[SIM_LOST_HYPERVISOR] += span_ns;
        return;
    case SIM_PLACE_POLL:
        v->result.lost_ns[SIM_LOST_POLL] += span_ns;
        return;
    case SIM_PLACE_HALT:
        v->result.lost_ns[SIM_LOST_GUEST_HALT] += span_ns;
        v->ran.kernel_ns += span_ns;
        return;
    case SIM_PLACE_RUN:
        charge_run(m, v, span_ns);
        break;
    case SIM_PLACE_SPIN:
        charge_spin(v, span_ns);
        break;
    }
    m->pcpu[v->pcpu].guest_clock_ns += span_ns;
}

static void spinner_add(struct sim_vm *vm, struct sim_vcpu *v)
{
    v->spinner = vm->spinner_count;
    vm->spinners[vm->spinner_count++] = v->id;
}

static void spinner_remove(struct sim_machine *m, struct sim_vm *vm, struct sim_vcpu *v)
{
    uint32_t last = vm->spinners[--vm->spinner_count];
    vm->spinners[v->spinner] = last;
    m->vcpu[last].spinner = v->spinner;
    v->spinner = SIM_NONE;
}

void sim_account_move(struct sim_machine *m, struct sim_vcpu *v, enum sim_place place)
{
    struct sim_vm *vm = sim_vm_of(m, v);
    sim_account(m, v);
    if (place == SIM_PLACE_SPIN) {
        v->blame = (uint8_t)vm->ops->spin_blame(vm->guest, v->index);
        if (v->spinner == SIM_NONE) {
            spinner_add(vm, v);
        }
    } else if (v->spinner != SIM_NONE) {
        spinner_remove(m, vm, v);
    }
    v->place = (uint8_t)place;
}

void sim_account_blame(struct sim_machine *m, struct sim_vm *vm)
{
    for (uint32_t i = 0; i < vm->spinner_count; i++) {
        struct sim_vcpu *v = &m->vcpu[vm->spinners[i]];
        enum sim_spin_blame blame = vm->ops->spin_blame(vm->guest, v->index);
        if (blame != v->blame) {
            sim_account(m, v);
            v->blame = (uint8_t)blame;
        }
    }
}

struct cede_ran sim_account_take_ran(struct sim_machine *m, struct sim_vcpu *v)
{
    sim_account(m, v);
    struct cede_ran ran = v->ran;
    v->ran = (struct cede_ran){0, 0, 0};
    return ran;
}
