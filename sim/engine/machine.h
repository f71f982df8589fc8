/*
 * machine.h - the state of one simulation: pCPUs, vCPUs, VMs, their clock and queue.
 *
 * Internal to sim/engine, sim/shell and sim/oracle. Everything hangs off struct sim_machine; one
 * thread works on it, so nothing here is locked.
 *
 * A pCPU is in one of five states. Each has at most one next boundary, in its own queue slot:
 *
 *   IDLE   nobody here. Left by a kick or a timer that expires here
 *   HOST   the hypervisor works until the boundary, then does `action`
 *   GUEST  the current vCPU executes its step; the boundary is the first of: end of the step, spin
 *          exit, end of the slice
 *   POLL   polls for its halted vCPU until the boundary
 *   OFF    the role offline
 *
 * Files: step.c executes guest steps; pcpu.c moves pCPUs between states; account.c charges time;
 * guest_calls.c is what guests may call; build.c makes a machine from a manifest; run.c is the
 * loop; result.c what comes out; sim/shell speaks with the core.
 */
#ifndef SIM_ENGINE_MACHINE_H
#define SIM_ENGINE_MACHINE_H

#include "cede/core.h"
#include "sim/arch/arch.h"
#include "sim/engine/queue.h"
#include "sim/model.h"
#include "sim/run.h"

#define SIM_NONE UINT32_MAX

/*
 * Caches: while part of a vCPU's working set is missing, one part in so many of its time goes into
 * fetching it, and so it displaces that part of its time of others' sets. Assumed: misses overlap
 * with work, so that a cold start slows down by a third rather than stops.
 */
#define SIM_REFILL_PART 4u

enum sim_pcpu_state {
    SIM_PCPU_IDLE,
    SIM_PCPU_HOST,
    SIM_PCPU_GUEST,
    SIM_PCPU_POLL,
    SIM_PCPU_OFF
};

/* What the hypervisor does when its span of work on a pCPU is over. */
enum sim_action {
    SIM_ACTION_RESUME,  /* nothing more: back to the guest, or to what was asked meanwhile */
    SIM_ACTION_ENTER,   /* the entry is complete: in guest mode from here */
    SIM_ACTION_RESCHED, /* ask the core what to run */
    SIM_ACTION_SPIN,
    SIM_ACTION_HALT,
    SIM_ACTION_STEP /* the exit was for the current vCPU's step: do what it asks */
};

struct sim_pcpu {
    uint32_t id;
    uint32_t vcpu; /* current, or SIM_NONE */
    uint64_t until_ns;
    uint64_t guest_clock_ns; /* guest time so far, of all vCPUs: what displaces caches */
    uint32_t last_vcpu;
    uint32_t core, llc, socket;
    uint32_t role, role_vm; /* enum cede_pcpu_role; the VM of a dedicated one */
    uint32_t expired; /* first of the vCPUs whose timers expired here, untold; SIM_NONE */
    uint8_t state;
    uint8_t action;
    bool resched_wanted; /* a kick came while in HOST */
    bool busy;           /* counts for its core's other threads */
    bool kick_sent;      /* its arrival slot carries a kick, ... */
    bool notify_sent;    /* ... a notification */
    uint16_t exit_reason; /* of the exit being handled */
    bool in_exit;
    uint64_t exit_since_ns;
    uint64_t idle_since_ns;
    uint64_t debt_ns; /* work done beside the path, spent at the next entry */
};

enum sim_place { /* what a vCPU's time is charged to */
    SIM_PLACE_OFF,
    SIM_PLACE_HOST,
    SIM_PLACE_RUN,
    SIM_PLACE_SPIN,
    SIM_PLACE_HALT, /* in guest mode, halted */
    SIM_PLACE_POLL
};

struct sim_vcpu {
    uint32_t id, index, vm;
    uint32_t pcpu;      /* where it's current, or SIM_NONE */
    uint32_t last_pcpu; /* ... or was last */
    uint64_t since_ns;  /* charged up to here */
    uint8_t place;      /* enum sim_place */
    uint8_t blame;      /* enum sim_spin_blame, while spinning in guest mode */
    uint8_t pending;    /* vectors whose bit the hypervisor has set */
    uint8_t visible;    /* of these, what the guest's CPU sees */
    uint8_t hidden;     /* pended by the hardware, the host doesn't know (GICv4) */
    bool has_step;
    bool spin_done;
    bool kicked; /* PV unhalt pending */
    bool halted; /* blocked or polled for, for all its guest knows */
    bool window_wanted;
    bool poll_off;
    bool hook_done; /* the about-to-wait hook ran: doorbells on */
    bool stopped;
    bool preempted, flush; /* its shared record */
    bool blame_stale;
    uint64_t steal_ns;
    struct sim_step step;
    uint64_t refill_ns; /* of its working set, still missing */
    uint64_t last_clock_ns;
    uint64_t spin_window_ns;
    uint64_t piece_end_ns; /* of the RUN piece being executed */
    struct cede_ran ran;
    uint32_t spinner; /* place in its VM's spinners[], or SIM_NONE */
    uint32_t next_expired;
    uint32_t timer_pcpu;
    uint64_t timer_deadline_ns;
    uint8_t timer_kind;
    uint64_t off_since_ns;
    uint64_t off_ns; /* total without a pCPU */
    uint64_t ipis_sent, ipis_taken, ipis_merged; /* to it; see the oracle "ipi" */
    uint64_t pending_since_ns;
    bool runnable_seen; /* oracle: was waiting at the last check, since runnable_seen_ns */
    uint64_t runnable_seen_ns, switches_seen;
    struct sim_vcpu_result result;
};

struct sim_vm {
    struct sim_machine *machine;
    const struct abi_manifest_vm *record;
    uint32_t id, first, count;
    void *guest;
    const struct sim_guest_ops *ops;
    uint32_t features;
    bool dedicated;
    bool done;
    bool stopping;
    bool paused;
    int status;
    uint64_t done_ns;
    uint32_t *spinners; /* vCPU ids spinning in guest mode now */
    uint32_t spinner_count;
    uint32_t metric_count;
    struct sim_metric *metric;      /* SIM_METRIC_MAX; final once stopping */
    struct sim_vm_result *baseline; /* at the end of the warm-up, or NULL */
    double *interval;               /* rows of SIM_METRIC_MAX */
    uint64_t fair_got_ns, fair_want_ns, fair_last_ns, fair_due_ns; /* oracle/fairness.c */
    bool fair_wants;
    double *previous; /* COUNT metrics at the last interval's end */
};

enum sim_deferred_kind {
    SIM_DEFERRED_INTERRUPT, /* a device's interrupt */
    SIM_DEFERRED_TELL,      /* a hidden interrupt came to light: tell the core */
    SIM_DEFERRED_BLAME      /* the vCPU's spin may wait for somebody else */
};

/* Something that shall happen after the guest callback that asked for it has returned. */
struct sim_deferred {
    uint32_t kind; /* enum sim_deferred_kind */
    uint32_t vcpu;
    uint32_t vector;
};

struct sim_outside {
    uint64_t cookie;
    uint32_t vm;
    uint32_t next_free;
};

struct sim_core_record {
    uint32_t busy; /* threads */
};

struct sim_machine {
    uint64_t now_ns;
    uint64_t end_ns;
    struct sim_queue queue;
    const struct sim_arch *arch;
    struct cede *core;
    void *core_memory;
    struct cede_config config;
    struct sim_pcpu *pcpu;
    struct sim_vcpu *vcpu;
    struct sim_vm *vm;
    struct sim_core_record *cores;
    struct abi_manifest_vm *records;
    uint32_t pcpu_count, vcpu_count, vm_count, core_count;
    uint32_t vms_done;

    uint32_t slot_pcpu, slot_arrival, slot_post, slot_timer, slot_refill, slot_stop, slot_global;
    uint32_t slot_outside, slot_count;
    struct sim_outside *outside;
    uint32_t outside_count, outside_free;

    struct sim_deferred *deferred;
    uint32_t deferred_count, deferred_size;

    struct sim_options options;
    struct sim_result *result;
    uint64_t seed;
    uint64_t steps, core_events;
    uint64_t interval_ns;
    uint32_t interval_count, interval_size;
    uint64_t fair_since_ns;
    uint32_t commands_done;
    bool stop;
    bool fault_done;
};

enum sim_global_slot {
    SIM_GLOBAL_CHECK,
    SIM_GLOBAL_INTERVAL,
    SIM_GLOBAL_PROGRESS,
    SIM_GLOBAL_WARMUP,
    SIM_GLOBAL_COMMAND,
    SIM_GLOBAL_END,
    SIM_GLOBAL_COUNT
};

/* account.c */

/* Charges that vCPU's time up to now to its place; what it then does is `place`. O(1). */
void sim_account(struct sim_machine *m, struct sim_vcpu *v);
void sim_account_move(struct sim_machine *m, struct sim_vcpu *v, enum sim_place place);

/* Takes the facts for the core: what the guest did since the last time. */
struct cede_ran sim_account_take_ran(struct sim_machine *m, struct sim_vcpu *v);

/* The vCPU got or lost a pCPU: siblings that spin may be waiting for it. O(VM's spinners). */
void sim_account_blame(struct sim_machine *m, struct sim_vm *vm);

/* How many ns the current step's ns take on this machine at full speed. */
uint64_t sim_account_scale(const struct sim_machine *m, const struct sim_vcpu *v);

/* Guest execution speed on that pCPU now, 65536: full. */
uint32_t sim_account_speed_q16(const struct sim_machine *m, const struct sim_pcpu *p);

/* pcpu.c */

/* The boundary of that pCPU came. */
void sim_pcpu_boundary(struct sim_machine *m, struct sim_pcpu *p);

/* The current vCPU leaves guest mode; then `action`, after the exit's and the handler's time. */
void sim_pcpu_exit(struct sim_machine *m, struct sim_pcpu *p, enum abi_exit_reason reason,
                   enum sim_action action, uint64_t extra_ns);

/* What the core decided for that pCPU. `after_ns`: work before it (hooks). */
void sim_pcpu_run(struct sim_machine *m, struct sim_pcpu *p, uint32_t vcpu, uint64_t until_ns,
                  uint64_t after_ns);
void sim_pcpu_idle(struct sim_machine *m, struct sim_pcpu *p);
void sim_pcpu_poll(struct sim_machine *m, struct sim_pcpu *p, uint32_t vcpu, uint64_t until_ns,
                   uint64_t after_ns);

/* Something arrived from another pCPU: a kick and/or a notification; a posted interrupt. */
void sim_pcpu_arrival(struct sim_machine *m, struct sim_pcpu *p);
void sim_pcpu_posted(struct sim_machine *m, struct sim_pcpu *p);
void sim_pcpu_timer(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v);

/* It is (not) doing anything that its core's other threads feel. */
void sim_pcpu_busy(struct sim_machine *m, struct sim_pcpu *p, bool busy);

/* step.c */

/* In guest mode at this instant: go on until something takes time. */
void sim_step_go(struct sim_machine *m, struct sim_pcpu *p);

/* The boundary came in guest mode. */
void sim_step_boundary(struct sim_machine *m, struct sim_pcpu *p);

/* The hypervisor does what the step that caused an exit asks for. False: the pCPU has moved on. */
bool sim_step_emulate(struct sim_machine *m, struct sim_pcpu *p);

/* Pending bits that would end a halt of that vCPU. */
bool sim_step_wakes(const struct sim_vcpu *v);

/* shell/: events to the core (event.c), what it answers (effect.c), interrupts (interrupt.c) */

/* Gives an event to the core and applies the effects; false if the core refused it. */
bool sim_shell_send(struct sim_machine *m, struct cede_event *event);

bool sim_shell_resched(struct sim_machine *m, struct sim_pcpu *p);
bool sim_shell_spin(struct sim_machine *m, struct sim_pcpu *p);
bool sim_shell_halt(struct sim_machine *m, struct sim_pcpu *p);
bool sim_shell_poll_end(struct sim_machine *m, struct sim_pcpu *p);
bool sim_shell_yield_to(struct sim_machine *m, struct sim_pcpu *p, uint32_t target,
                        enum cede_yield_cause cause);
bool sim_shell_timer_arm(struct sim_machine *m, struct sim_pcpu *p, const struct sim_step *step);
bool sim_shell_timer_fire(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v);
bool sim_shell_vcpu_stop(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *v);
/* What the host's management asks for: pause, resume, another policy. */
bool sim_shell_command(struct sim_machine *m, const struct sim_command *command);
bool sim_shell_refill(struct sim_machine *m, struct sim_vm *vm);

/* An interrupt of a device, from outside of the pCPUs. */
void sim_shell_device_interrupt(struct sim_machine *m, struct sim_vcpu *target,
                                enum sim_vector vector);
/* A hidden interrupt came to light: the bit is set, the core is told. */
void sim_shell_tell(struct sim_machine *m, struct sim_vcpu *target);
/* An IPI that hardware delivers by itself, if it can: false if an exit is needed. */
bool sim_shell_direct_ipi(struct sim_machine *m, struct sim_vcpu *sender);

/* Sets the vector's bit and tells the core. `p` NULL: from outside. */
void sim_shell_interrupt(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *target,
                         enum sim_vector vector, enum cede_interrupt_source source,
                         uint32_t sender);
void sim_shell_kick_vcpu(struct sim_machine *m, struct sim_pcpu *p, struct sim_vcpu *target);

/* Whether the affinity that the manifest gives that vCPU allows that pCPU. O(words). */
bool sim_shell_may_run(const struct sim_machine *m, const struct sim_vcpu *v, uint32_t pcpu);

/* The same, the pCPU's role included. */
bool sim_shell_usable(const struct sim_machine *m, const struct sim_vcpu *v, uint32_t pcpu);

/* Makes pCPUs, VMs and vCPUs known to the core and starts them. */
bool sim_shell_start(struct sim_machine *m, const struct abi_manifest *manifest);

/* guest_calls.c */
void sim_defer(struct sim_machine *m, enum sim_deferred_kind kind, uint32_t vcpu,
               uint32_t vector);
void sim_vm_stop_due(struct sim_machine *m, struct sim_vm *vm);
void sim_deferred_run(struct sim_machine *m);
void sim_outside_due(struct sim_machine *m, uint32_t index);

/* build.c, result.c */
enum sim_status sim_build(struct sim_machine *m, const void *manifest, size_t size,
                          const struct sim_options *options, struct sim_result *result);
void sim_build_free(struct sim_machine *m);
void sim_result_interval(struct sim_machine *m);
void sim_result_warmup(struct sim_machine *m);
bool sim_result_collect(struct sim_machine *m);

/* oracle/ */
void sim_oracle_check(struct sim_machine *m);
void sim_oracle_fairness(struct sim_machine *m);
void sim_oracle_final(struct sim_machine *m);
void sim_oracle_violation(struct sim_machine *m, const char *oracle, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline struct sim_vcpu *sim_current(struct sim_machine *m, const struct sim_pcpu *p)
{
    return p->vcpu == SIM_NONE ? NULL : &m->vcpu[p->vcpu];
}

static inline struct sim_vm *sim_vm_of(struct sim_machine *m, const struct sim_vcpu *v)
{
    return &m->vm[v->vm];
}

static inline void sim_pcpu_set(struct sim_machine *m, const struct sim_pcpu *p, uint64_t when_ns)
{
    sim_queue_set(&m->queue, m->slot_pcpu + p->id, when_ns);
}

static inline void sim_pcpu_unset(struct sim_machine *m, const struct sim_pcpu *p)
{
    sim_queue_clear(&m->queue, m->slot_pcpu + p->id);
}

#endif
