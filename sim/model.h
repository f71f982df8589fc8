/*
 * model.h - the contract between the machine model (sim/engine, arch, shell) and the guest models
 * (sim/guest, sim/workload).
 *
 * A guest model is the software inside one VM. For each of its vCPUs it is a state machine that
 * hands out *steps*, one at a time: compute, spin, halt, send an IPI, arm a timer, ... The machine
 * asks for the next step when the last one is complete, runs it for as long as the vCPU has a pCPU
 * and is in guest mode, and charges what exits, entries and interrupts cost. A guest model never
 * sees the core, a pCPU, or the real time that a step took, except through what real guests see:
 * the clock, interrupts, and the shared steal record.
 *
 * All calls happen in one thread, in simulated-time order. The functions below that a guest may
 * call (sim_guest_*) never call back into it: what they cause comes later as an event of its own,
 * at the same simulated instant or after. vCPUs are named by their index within the VM.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "cede/stats.h"
#include "cede/types.h"
#include "sim/random.h"

struct sim_vm; /* the machine's side of one VM; opaque to guests */

/* Interrupt vectors of a vCPU; lower numbers are taken first. */
enum sim_vector {
    SIM_VECTOR_CALL,    /* function call from a sibling: cross-call, shootdown */
    SIM_VECTOR_RESCHED, /* a sibling made a task runnable here */
    SIM_VECTOR_TIMER,   /* its own emulated timer */
    SIM_VECTOR_DEVICE,  /* block or network completion */
    SIM_VECTOR_OTHER,
    SIM_VECTOR_COUNT
};

enum sim_step_kind {
    SIM_STEP_NONE,  /* only in `rest`: there was no step to interrupt */
    SIM_STEP_RUN,   /* compute for run.ns (time at full speed of an unshared core) */
    SIM_STEP_SPIN,  /* busy wait until sim_guest_spin_end(), or, if `ns` isn't 0, until that much
                       time was spent spinning in guest mode; may cause spin exits */
    SIM_STEP_HALT,  /* HLT, WFI: until an interrupt can be taken or a PV kick came */
    SIM_STEP_IPI,   /* send `vector` to the targets */
    SIM_STEP_TIMER, /* arm or cancel its timer */
    SIM_STEP_KICK,  /* PV unhalt: wake ipi.target from a halt, with or without interrupts on */
    SIM_STEP_YIELD, /* PV sched yield: ask to run ipi.target */
    SIM_STEP_EXIT,  /* any other exit (device doorbell, MSR, CPUID): exit.reason, exit.host_ns */
    SIM_STEP_POLL_CONTROL, /* host polling off (poll_off 1) or on (0) for this vCPU */
    SIM_STEP_STOP,  /* the vCPU goes offline for good */
    SIM_STEP_COUNT
};

/* What a spin waits for. Who it waits for changes with time: ops->spin_blame says. */
enum sim_spin_blame {
    SIM_SPIN_LOCK_OFF_CPU, /* a lock whose holder (or next in line) has no pCPU */
    SIM_SPIN_IPI_OFF_CPU,  /* the answer to an IPI whose target has no pCPU */
    SIM_SPIN_OTHER,
    SIM_SPIN_BLAME_COUNT
};

enum sim_timer_kind { /* as enum cede_timer_kind; NONE cancels */
    SIM_TIMER_ONE_SHOT,
    SIM_TIMER_PERIODIC,
    SIM_TIMER_DEADLINE,
    SIM_TIMER_CANCEL
};

struct sim_step {
    uint8_t kind;     /* enum sim_step_kind */
    uint8_t user;     /* 1: at user level; else kernel */
    uint8_t irq_off;  /* 1: no interrupt is taken during this step (a HALT then ends by KICK only) */
    uint8_t vector;   /* IPI */
    uint8_t timer;    /* TIMER: enum sim_timer_kind */
    uint8_t reason;   /* EXIT: enum abi_exit_reason */
    uint8_t poll_off; /* POLL_CONTROL */
    uint8_t quiet;    /* SPIN: without PAUSE/WFE, so that the hardware doesn't notice (S12) */
    uint32_t target;  /* IPI (if targets is NULL), KICK, YIELD */
    uint32_t tag;     /* the guest's own use; comes back in `rest` */
    union {
        uint64_t ns;          /* RUN, limited SPIN: what remains; EXIT: the host's extra work, 0 for
                                 the usual */
        uint64_t deadline_ns; /* TIMER */
    };
    uint64_t period_ns;      /* TIMER: periodic */
    const uint64_t *targets; /* IPI: bitmap of ceil(vcpu_count / 64) words, stays the guest's and
                                unchanged until its next step is asked for; NULL: `target` only */
};

enum sim_metric_kind {
    SIM_METRIC_COUNT,   /* value: how many so far; the rate is the result (more is better) */
    SIM_METRIC_TIME,    /* value: seconds until done, 0 while not done (less is better) */
    SIM_METRIC_LATENCY, /* histogram, cumulative (less is better) */
    SIM_METRIC_SHARE,   /* value: a ratio 0..1 over the whole run (neither) */
    SIM_METRIC_KINDS
};

#define SIM_METRIC_MAX 8u

struct sim_metric {
    char name[32]; /* as the guest program prints it: "ops", "rounds", "wake_late" */
    char unit[16]; /* "ops", "KB", "s", "ns", "bytes" */
    uint32_t kind; /* enum sim_metric_kind */
    uint32_t primary; /* 1: the workload's headline figure, one per VM */
    double value;
    struct cede_histogram histogram; /* LATENCY */
};

/*
 * What a guest model implements. `guest` is what sim_guest_create() gave. Every function may call
 * the sim_guest_* functions below.
 */
struct sim_guest_ops {
    /* The next step of that vCPU; the first call comes when it starts. Always fills *step. */
    void (*next)(void *guest, uint32_t vcpu, uint64_t now_ns, struct sim_step *step);
    /*
     * The vCPU takes an interrupt. `rest` is the step that it interrupts, with what remains of a
     * RUN or a limited SPIN; kind NONE when there's none (a halt ended, or it came between two steps). The guest
     * keeps it and hands it out again when that context goes on; next() is called right after.
     * Only RUN, SPIN and HALT are interrupted; what waits meanwhile is taken at the next of them
     * that isn't irq_off.
     */
    void (*interrupt)(void *guest, uint32_t vcpu, enum sim_vector vector, uint64_t now_ns,
                      const struct sim_step *rest);
    /* What the spin of that vCPU waits for at this instant. Called often: O(words). */
    enum sim_spin_blame (*spin_blame)(void *guest, uint32_t vcpu);
    /*
     * The shared record of that vCPU changed: preempted is 0 or 1. Only with the steal-time
     * feature. Optimistic spinners that watch it end their spins here (sim_guest_spin_end).
     */
    void (*published)(void *guest, uint32_t vcpu, bool preempted);
    /* sim_guest_at() came due: a packet, a completion, anything outside of the vCPUs. */
    void (*outside)(void *guest, uint64_t cookie, uint64_t now_ns);
    /* What the workload has achieved until now; see struct sim_metric. */
    uint32_t (*metrics)(void *guest, uint64_t now_ns, struct sim_metric *metric, uint32_t max);
    void (*destroy)(void *guest);
};

/* What a guest model learns when it's made: what a kernel reads from CPUID, ACPI, command line. */
struct sim_guest_config {
    struct sim_vm *vm;
    const char *name;
    const char *workload; /* "" for an idle guest */
    const char *params;   /* "threads=4 seconds=10" */
    uint64_t seed;        /* for sim_random_init(): combine with names of streams */
    uint32_t vcpu_count;
    uint32_t features;     /* KVM feature bits, as in abi/manifest.h */
    uint32_t spin_is_wfe;  /* Arm: waits are WFE */
    uint32_t dedicated;    /* halts and pauses don't exit */
    uint64_t guest_irq_ns; /* what the CPU takes for an interrupt's entry and return in the guest */
};

/*
 * Makes the guest for a VM: the workload by its name. NULL on a bad workload or parameter, with a
 * sentence in `error` that names the word and what was expected. Supplied by sim/workload.
 */
void *sim_guest_create(const struct sim_guest_config *config, const struct sim_guest_ops **ops,
                       char *error, size_t error_size);

/* ---- what guests may call ---- */

uint64_t sim_guest_now_ns(const struct sim_vm *vm);

/*
 * What that vCPU's spin waits for has come: its SPIN step is complete. If it's in guest mode it
 * goes on at this instant, else when it next gets there. May also be called for a vCPU whose SPIN
 * was interrupted: then it does nothing (the guest doesn't hand out the rest again).
 */
void sim_guest_spin_end(struct sim_vm *vm, uint32_t vcpu);

/* spin_blame() of that vCPU may have changed (another holder, an answer came). */
void sim_guest_spin_changed(struct sim_vm *vm, uint32_t vcpu);

/* Calls ops->outside(cookie) at when_ns (not before now). */
void sim_guest_at(struct sim_vm *vm, uint64_t when_ns, uint64_t cookie);

/* An interrupt from a device for that vCPU; from outside() only. */
void sim_guest_device_irq(struct sim_vm *vm, uint32_t vcpu, enum sim_vector vector);

/* Whether it has a pCPU now. For spin_blame() only: a real guest can't know. */
bool sim_guest_on_cpu(const struct sim_vm *vm, uint32_t vcpu);

/* The shared record as the guest reads it: 0 and false without the steal-time feature. */
bool sim_guest_preempted(const struct sim_vm *vm, uint32_t vcpu);
uint64_t sim_guest_steal_ns(const struct sim_vm *vm, uint32_t vcpu);

/*
 * PV TLB flush: sets the flush bit in that vCPU's record if it's marked preempted (true: it will
 * flush before it next runs, and needs no IPI), else does nothing (false).
 */
bool sim_guest_flush_when_run(struct sim_vm *vm, uint32_t vcpu);

/* The workload is finished: the VM's vCPUs go offline, its metrics stay. status 0: well. */
void sim_guest_done(struct sim_vm *vm, int status);

#endif
