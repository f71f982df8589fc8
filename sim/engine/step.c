/*
 * step.c - a vCPU in guest mode: asks its guest for steps and executes them.
 *
 * Relies on pcpu.c for exits and on account.c for time. Steps that take no time follow each other
 * at the same instant; more than STEPS_AT_ONCE of them is a guest model's defect and stops the run.
 */
#include "sim/engine/machine.h"

#define STEPS_AT_ONCE 100000u
#define VM_DONE_RUN_NS (UINT64_C(1) << 50)

static bool takes_interrupts(const struct sim_vcpu *v)
{
    return !v->step.irq_off && (v->step.kind == SIM_STEP_RUN || v->step.kind == SIM_STEP_SPIN ||
                                v->step.kind == SIM_STEP_HALT);
}

bool sim_step_wakes(const struct sim_vcpu *v)
{
    return v->kicked || (v->pending != 0 && !v->step.irq_off);
}

static void step_complete(struct sim_vcpu *v)
{
    v->has_step = false;
    v->spin_done = false;
}

static void fetch(struct sim_machine *m, struct sim_vm *vm, struct sim_vcpu *v)
{
    v->step = (struct sim_step){.kind = SIM_STEP_NONE};
    v->spin_done = false;
    if (vm->stopping) {
        v->step = (struct sim_step){.kind = SIM_STEP_RUN, .irq_off = 1, .ns = VM_DONE_RUN_NS};
    } else {
        v->has_step = true; /* sim_guest_spin_end() may be called from within */
        vm->ops->next(vm->guest, v->index, m->now_ns, &v->step);
        sim_deferred_run(m);
    }
    v->has_step = true;
}

/* The guest's CPU takes the first of its visible interrupts. True: this costs an exit. */
static bool take_interrupt(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    struct sim_vm *vm = sim_vm_of(m, v);
    sim_account_move(m, v, SIM_PLACE_RUN);
    uint32_t vector = (uint32_t)__builtin_ctz(v->visible);
    v->visible &= (uint8_t)~(1u << vector);
    v->pending &= (uint8_t)~(1u << vector);
    v->ipis_taken += vector == SIM_VECTOR_CALL || vector == SIM_VECTOR_RESCHED;
    struct sim_step rest = v->step;
    if (!v->has_step || rest.kind == SIM_STEP_HALT) {
        rest = (struct sim_step){.kind = SIM_STEP_NONE};
    } else if (rest.kind == SIM_STEP_SPIN && v->spin_done) {
        rest.kind = SIM_STEP_NONE;
    }
    step_complete(v);
    v->step = (struct sim_step){.kind = SIM_STEP_RUN, .irq_off = 1};
    vm->ops->interrupt(vm->guest, v->index, (enum sim_vector)vector, m->now_ns, &rest);
    sim_deferred_run(m);
    /* The end of an interrupt is an exit where neither hardware nor the guest's PV EOI spares it. */
    if (m->arch->irq == SIM_ARCH_IRQ_INJECT && (vm->features & 1u << 6) == 0) {
        sim_pcpu_exit(m, p, ABI_EXIT_APIC, SIM_ACTION_RESUME, 0);
        return true;
    }
    return false;
}

/* The boundary of a piece: its own end, or the slice's. */
static void set_boundary(struct sim_machine *m, struct sim_pcpu *p, uint64_t end_ns)
{
    uint64_t when_ns = end_ns < p->until_ns ? end_ns : p->until_ns;
    if (when_ns < m->now_ns) {
        when_ns = m->now_ns;
    }
    if (when_ns == CEDE_NEVER_NS) {
        sim_pcpu_unset(m, p);
    } else {
        sim_pcpu_set(m, p, when_ns);
    }
}

static void begin_run(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    uint32_t speed_q16 = sim_account_speed_q16(m, p);
    uint64_t work_ns = v->step.ns * sim_account_scale(m, v);
    uint64_t take_ns = speed_q16 == 65536 ? work_ns : (work_ns << 16) / speed_q16 + 1;
    /* While the caches refill, only a part of the time is work. */
    uint64_t most_ns = take_ns / (SIM_REFILL_PART - 1);
    take_ns += v->refill_ns < most_ns ? v->refill_ns : most_ns;
    sim_account_move(m, v, SIM_PLACE_RUN);
    v->piece_end_ns = m->now_ns + take_ns;
    set_boundary(m, p, v->piece_end_ns);
}

static void begin_spin(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    const struct sim_vm *vm = sim_vm_of(m, v);
    uint64_t limit_ns = sim_arch_spin_limit_ns(m->arch, v->step.user, v->step.quiet,
                                               vm->dedicated, v->spin_window_ns);
    sim_account_move(m, v, SIM_PLACE_SPIN);
    if (v->step.ns > 0 && v->step.ns <= limit_ns) {
        limit_ns = v->step.ns; /* the guest gives up before the hardware notices */
    }
    v->piece_end_ns = limit_ns == UINT64_MAX ? UINT64_MAX : m->now_ns + limit_ns;
    set_boundary(m, p, v->piece_end_ns);
}

static void begin_guest_halt(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    sim_account_move(m, v, SIM_PLACE_HALT);
    v->piece_end_ns = UINT64_MAX;
    sim_pcpu_busy(m, p, false);
    set_boundary(m, p, UINT64_MAX);
}

static uint32_t count_targets(const struct sim_vm *vm, const struct sim_step *step)
{
    uint32_t count = 0;
    if (step->targets == NULL) {
        return 1;
    }
    for (uint32_t word = 0; word < (vm->count + 63) / 64; word++) {
        count += (uint32_t)__builtin_popcountll(step->targets[word]);
    }
    return count;
}

/* An IPI by one or more exits: they are taken as one whose handler is as long as all of them. */
static void exit_for_ipi(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    const struct sim_vm *vm = sim_vm_of(m, v);
    bool pv_send = (vm->features & 1u << 11) != 0;
    uint32_t targets = count_targets(vm, &v->step);
    uint32_t exits = sim_arch_ipi_exits(m->arch, targets, pv_send);
    enum abi_exit_reason reason = pv_send && m->arch->pv ? ABI_EXIT_HYPERCALL : ABI_EXIT_APIC;
    const struct sim_arch *arch = m->arch;
    uint64_t each_ns = (uint64_t)arch->exit_ns + arch->entry_ns + arch->handler_ns[reason];
    uint64_t extra_ns = exits > 1 ? (exits - 1) * each_ns : 0;
    v->result.exits[reason] += exits > 1 ? exits - 1 : 0;
    sim_pcpu_exit(m, p, reason, SIM_ACTION_STEP,
                  extra_ns + (uint64_t)targets * arch->ipi_target_ns);
}

static enum abi_exit_reason reason_of(const struct sim_step *step)
{
    switch ((enum sim_step_kind)step->kind) {
    case SIM_STEP_KICK:
    case SIM_STEP_YIELD:
        return ABI_EXIT_HYPERCALL;
    case SIM_STEP_TIMER:
    case SIM_STEP_POLL_CONTROL:
        return ABI_EXIT_MSR;
    case SIM_STEP_EXIT:
        return step->reason < ABI_EXIT_COUNT ? (enum abi_exit_reason)step->reason : ABI_EXIT_OTHER;
    case SIM_STEP_NONE:
    case SIM_STEP_RUN:
    case SIM_STEP_SPIN:
    case SIM_STEP_HALT:
    case SIM_STEP_IPI:
    case SIM_STEP_STOP:
    case SIM_STEP_COUNT:
        break;
    }
    return ABI_EXIT_OTHER;
}

/* One step, or the start of one. False: something now takes time. */
static bool step_once(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    switch ((enum sim_step_kind)v->step.kind) {
    case SIM_STEP_NONE:
    case SIM_STEP_COUNT:
        step_complete(v);
        return true;
    case SIM_STEP_RUN:
        if (v->step.ns == 0) {
            step_complete(v);
            return true;
        }
        begin_run(m, p, v);
        return false;
    case SIM_STEP_SPIN:
        if (v->spin_done) {
            step_complete(v);
            return true;
        }
        begin_spin(m, p, v);
        return false;
    case SIM_STEP_HALT:
        if (sim_vm_of(m, v)->dedicated && !v->step.irq_off) {
            begin_guest_halt(m, p, v);
        } else {
            sim_pcpu_exit(m, p, ABI_EXIT_HLT, SIM_ACTION_HALT, 0);
        }
        return false;
    case SIM_STEP_IPI:
        if (sim_shell_direct_ipi(m, v)) {
            step_complete(v);
            return true;
        }
        exit_for_ipi(m, p, v);
        return false;
    case SIM_STEP_TIMER:
    case SIM_STEP_KICK:
    case SIM_STEP_YIELD:
    case SIM_STEP_POLL_CONTROL:
    case SIM_STEP_STOP:
        sim_pcpu_exit(m, p, reason_of(&v->step), SIM_ACTION_STEP, 0);
        return false;
    case SIM_STEP_EXIT:
        sim_pcpu_exit(m, p, reason_of(&v->step), SIM_ACTION_STEP, v->step.ns);
        return false;
    }
    return false;
}

void sim_step_go(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct sim_vm *vm = sim_vm_of(m, v);
    for (uint32_t i = 0; i < STEPS_AT_ONCE; i++) {
        if (!v->has_step) {
            sim_account_move(m, v, SIM_PLACE_RUN);
            fetch(m, vm, v);
        }
        if (v->visible != 0 && takes_interrupts(v)) {
            if (v->window_wanted) {
                v->window_wanted = false;
                sim_pcpu_exit(m, p, ABI_EXIT_WINDOW, SIM_ACTION_RESUME, 0);
                return;
            }
            if (take_interrupt(m, p, v)) {
                return;
            }
            continue;
        }
        if (!step_once(m, p, v)) {
            return;
        }
    }
    sim_oracle_violation(m, "guest-progress", "vCPU %u of %s makes no progress in time at %llu ns",
                         v->index, vm->record->name, (unsigned long long)m->now_ns);
}

void sim_step_boundary(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    sim_account(m, v);
    bool ended = m->now_ns >= v->piece_end_ns;
    if (ended && v->place == SIM_PLACE_RUN) {
        step_complete(v);
    } else if (ended && v->place == SIM_PLACE_SPIN && !v->spin_done) {
        sim_pcpu_exit(m, p, ABI_EXIT_PAUSE, SIM_ACTION_SPIN, 0);
        return;
    }
    if (m->now_ns >= p->until_ns) {
        sim_pcpu_exit(m, p, ABI_EXIT_EXTERNAL, SIM_ACTION_RESCHED, 0);
        return;
    }
    sim_step_go(m, p);
}

static void send_ipi(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v)
{
    struct sim_vm *vm = sim_vm_of(m, v);
    struct sim_step step = v->step;
    if (step.targets == NULL) {
        if (step.target < vm->count) {
            sim_shell_interrupt(m, p, &m->vcpu[vm->first + step.target],
                                (enum sim_vector)step.vector, CEDE_SOURCE_IPI, v->id);
        }
        return;
    }
    for (uint32_t word = 0; word < (vm->count + 63) / 64; word++) {
        for (uint64_t bits = step.targets[word]; bits != 0; bits &= bits - 1) {
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            sim_shell_interrupt(m, p, &m->vcpu[vm->first + index], (enum sim_vector)step.vector,
                                CEDE_SOURCE_IPI, v->id);
        }
    }
}

bool sim_step_emulate(struct sim_machine *m, struct sim_pcpu *p)
{
    struct sim_vcpu *v = sim_current(m, p);
    struct sim_vm *vm = sim_vm_of(m, v);
    struct sim_step step = v->step;
    struct sim_vcpu *target = step.target < vm->count ? &m->vcpu[vm->first + step.target] : NULL;
    bool stays = true;
    switch ((enum sim_step_kind)step.kind) {
    case SIM_STEP_IPI:
        send_ipi(m, p, v);
        break;
    case SIM_STEP_TIMER:
        sim_shell_timer_arm(m, p, &step);
        break;
    case SIM_STEP_KICK:
        step_complete(v); /* a yield may switch away: the step is done before that */
        if (target != NULL) {
            sim_shell_kick_vcpu(m, p, target);
            stays = !sim_shell_yield_to(m, p, target->id, CEDE_YIELD_CAUSE_KICK);
        }
        return stays;
    case SIM_STEP_YIELD:
        step_complete(v);
        if (target != NULL) {
            stays = !sim_shell_yield_to(m, p, target->id, CEDE_YIELD_CAUSE_SCHED);
        }
        return stays;
    case SIM_STEP_POLL_CONTROL:
        v->poll_off = step.poll_off != 0;
        break;
    case SIM_STEP_STOP:
        v->stopped = true;
        return !sim_shell_vcpu_stop(m, p, v);
    case SIM_STEP_NONE:
    case SIM_STEP_RUN:
    case SIM_STEP_SPIN:
    case SIM_STEP_HALT:
    case SIM_STEP_EXIT:
    case SIM_STEP_COUNT:
        break;
    }
    step_complete(v);
    return stays;
}
