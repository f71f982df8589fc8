/*
 * guest.h - a modelled guest kernel: its CPUs, tasks, locks and operations.
 *
 * Internal to sim/guest and sim/workload. A workload gives each task a program, an array of
 * operations (ops.def); the kernel here turns the operations of the current tasks into the steps of
 * sim/model.h. Everything hangs off struct guest, one per VM; nothing is shared between VMs, and
 * one thread works on it, so nothing is locked.
 *
 * Files: guest.c makes it and answers the machine (next, interrupt, ...); task.c interprets
 * programs; sched.c is run queues, wake-ups, idle; irq.c interrupt handlers; clock.c timers and
 * ticks; spinlock.c, sleeplock.c (mutex and rwsem), call.c (cross-calls, shootdowns), device.c.
 * The simplifications stand in docs/design/guest-model.md.
 *
 * Two rules hold everywhere: whatever takes time is a step, or is owed (guest_owe) and paid as a
 * step before the CPU goes on; and a spin's condition is looked at again each time its vCPU gets to
 * it, never remembered.
 */
#ifndef SIM_GUEST_GUEST_H
#define SIM_GUEST_GUEST_H

#include "sim/model.h"

#define GUEST_NONE UINT32_MAX
#define GUEST_LOOPS 4u
#define GUEST_HELD 8u
#define GUEST_COUNTS 4u

/* KVM feature bits that change what the kernel does (leaf 0x40000001 EAX). */
#define GUEST_FEATURE_STEAL (1u << 5)
#define GUEST_FEATURE_UNHALT (1u << 7)
#define GUEST_FEATURE_FLUSH (1u << 9)
#define GUEST_FEATURE_POLL_CONTROL (1u << 12)
#define GUEST_FEATURE_YIELD (1u << 13)

enum guest_op_kind {
#define X(NAME, name, arguments, doc) GUEST_OP_##NAME,
#include "sim/guest/ops.def"
#undef X
    GUEST_OP_COUNT
};

struct guest_op {
    uint8_t kind;    /* enum guest_op_kind */
    uint8_t level;   /* LOOP: which of the task's counters */
    uint16_t spread; /* of ns: +- spread/1024; 1025: exponential */
    uint32_t a, b;
    uint64_t ns;
};

#define GUEST_SPREAD_EXPONENTIAL 1025u

/* Tasks in order of arrival. A task is in at most one list, by its `next`. */
struct guest_list {
    uint32_t head, tail, count;
};

enum guest_task_state { GUEST_TASK_READY, GUEST_TASK_RUNNING, GUEST_TASK_BLOCKED, GUEST_TASK_DEAD };

struct guest_task {
    const struct guest_op *program;
    uint32_t id, pc;
    uint32_t cpu;    /* where it runs, waits, or last ran */
    uint32_t pinned; /* the only CPU it may run on, or GUEST_NONE */
    uint32_t mm;     /* address space */
    uint32_t next;
    uint32_t parent, children; /* living ones */
    uint32_t first_pc;         /* where a spawned copy starts */
    uint32_t loop[GUEST_LOOPS];
    uint32_t held[GUEST_HELD]; /* sleeping locks it owns, for those who spin on it */
    uint32_t held_count;
    uint8_t state; /* enum guest_task_state */
    uint8_t phase; /* within its operation */
    uint8_t irq_off;
    uint8_t handoff; /* a sleeping lock was handed to it, or it asks for that */
    bool has_rest;
    bool waits_children;
    struct sim_step rest; /* an interrupted RUN */
    uint64_t wake_ns;     /* of a sleep */
    uint64_t lock_since_ns; /* when it first slept for the lock it waits for */
    uint64_t stamp_ns;    /* of STAMP, or the last due instant of PERIOD */
    struct sim_random random;
};

struct guest_cpu {
    uint32_t id;
    uint32_t task; /* current, or GUEST_NONE: idle */
    struct guest_list queue;
    uint64_t owed_ns;  /* kernel work with interrupts off, to be done first */
    uint64_t since_ns; /* when the current task got the CPU, or idle began */
    bool need_resched;
    bool look;       /* idle: other queues may have something */
    bool polling;    /* idle, spinning before it halts */
    bool poll_done;  /* and did so in vain */
    bool poll_told;  /* the host knows that it needn't poll for this CPU */
    bool spin_broken; /* its last SPIN was interrupted, not ended */
    bool spinning;    /* the step handed out last is a SPIN */
    uint64_t spin_left_ns;

    /* A handler being executed: vector + 1, or 0. */
    uint8_t irq;
    uint8_t irq_phase;

    /* Its place among those who spin for a lock. */
    uint32_t wait_lock; /* spinlock id or GUEST_NONE */
    uint32_t wait_sleep; /* sleeping lock's, or GUEST_NONE */
    uint32_t wait_prev, wait_next;
    bool wait_halted; /* PV: halted until kicked */

    /* Cross-calls. */
    uint64_t *callers;  /* CPUs that want an answer of this one */
    uint64_t *awaited;  /* CPUs whose answers this one waits for */
    uint64_t *send;     /* targets of the IPI being sent */
    uint32_t answers;   /* missing ones */
    uint32_t last_late; /* blame: last seen without a pCPU */
    bool call_pending;

    uint64_t *resched; /* CPUs to send a reschedule IPI to */
    uint32_t resched_count;

    /* Address space loaded; lazily, if idle. */
    uint32_t mm;
    bool lazy;

    /* Timers. */
    struct guest_list sleepers; /* by wake_ns */
    uint64_t tick_ns;           /* next tick; UINT64_MAX: stopped */
    uint64_t armed_ns;          /* deadline in the timer; UINT64_MAX: none */
    uint64_t idle_since_ns, idle_average_ns;

    struct guest_list wakes;       /* tasks to wake once a lock is released */
    struct guest_list completions; /* tasks whose requests are complete */
    uint32_t packets;              /* arrived, not yet handled */
    uint32_t packet_sem;
};

enum guest_lock_kind {
    GUEST_LOCK_UNFAIR, /* test and set: what Linux uses under a hypervisor without PV unhalt */
    GUEST_LOCK_TICKET,
    GUEST_LOCK_QUEUED,
    GUEST_LOCK_PV, /* queued, waiters halt after a while and are kicked */
    GUEST_LOCK_KINDS
};

struct guest_spinlock {
    uint32_t owner; /* CPU, or GUEST_NONE */
    uint32_t last;  /* CPU that had it last: where its cache line is */
    uint32_t head, tail; /* CPUs waiting */
};

/* Mutex and rwsem in one: a mutex is an rwsem without readers. */
struct guest_sleeplock {
    uint32_t writer;  /* task, or GUEST_NONE */
    uint32_t last;    /* CPU that changed it last */
    uint32_t readers; /* that hold it */
    uint32_t spin_head, spin_tail; /* CPUs spinning for it, in a queue */
    uint32_t wait_lock; /* the spinlock that guards `waiters` */
    bool waking;        /* a writer was woken to try and hasn't yet */
    struct guest_list waiters;     /* tasks asleep; phase says whether reader or writer */
};

struct guest_sem {
    uint32_t value;
    struct guest_list waiters;
};

struct guest_mm {
    uint64_t *cpus; /* that have it loaded */
};

/* Costs and settings of the modelled kernel, ns; params.c gives standards and names. */
struct guest_kernel {
    uint64_t irq_ns;       /* entry and return of an interrupt (from the machine) */
    uint64_t wake_ns;      /* making a task runnable */
    uint64_t switch_ns;    /* between tasks */
    uint64_t tick_ns;      /* a tick's work */
    uint64_t period_ns;    /* between ticks: 1/HZ */
    uint64_t slice_ns;     /* a task runs this long before another of its queue */
    uint64_t granule_ns;   /* a woken task preempts one that ran longer than this */
    uint64_t call_ns;      /* a cross-call's function: a TLB flush */
    uint64_t call_send_ns; /* per target, to prepare one */
    uint64_t line_ns;      /* to fetch a lock's cache line from another CPU */
    uint64_t queue_ns;     /* to change a sleeping lock's list of waiters */
    uint64_t pv_spin_ns;   /* PV spinlock: spins this long before it halts */
    uint64_t poll_ns;      /* idle polls this long before it halts; 0: never */
    uint64_t device_ns;    /* handler's work per completion */
    uint32_t spinlock;     /* enum guest_lock_kind */
    uint64_t handoff_ns;   /* sleeping locks: asleep longer, it is handed the lock; 0: never */
    bool optimistic;       /* sleeping locks are spun for */
    bool hint;             /* vcpu_is_preempted() works */
};

struct guest;

/* What workloads add to a kernel. */
struct guest_load {
    void (*outside)(struct guest *g, uint64_t cookie, uint64_t now_ns);
    uint32_t (*metrics)(struct guest *g, uint64_t now_ns, struct sim_metric *metric, uint32_t max);
};

struct guest {
    struct sim_vm *vm;
    struct sim_guest_config config;
    struct guest_kernel kernel;
    uint32_t words;
    struct guest_cpu *cpu;
    uint64_t *bits; /* all CPUs' bitmaps */
    uint64_t *idle; /* CPUs without anything to run */
    struct guest_task *task;
    uint32_t task_count, task_size, tasks_living;
    uint32_t dead; /* list of those that may be used again */
    struct guest_spinlock *spinlock;
    struct guest_sleeplock *sleeplock;
    struct guest_sem *sem;
    struct guest_mm *mm;
    uint32_t spinlock_count, sleeplock_count, sem_count, mm_count;
    struct guest_op **program;
    uint32_t program_count;
    uint64_t disk_free_ns; /* when the modelled disk has served all requests */
    uint64_t count[GUEST_COUNTS];
    struct cede_histogram latency;
    uint64_t done_ns;
    const struct guest_load *load;
    void *load_state;
    uint64_t now_ns;
    struct sim_random random;
};

/* ---- bitmaps, lists ---- */

static inline void guest_bit_set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void guest_bit_clear(uint64_t *bits, uint32_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline bool guest_bit(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

/* The first set bit at or cyclically after `from`; GUEST_NONE if there is none. O(words). */
uint32_t guest_bit_next(const uint64_t *bits, uint32_t count, uint32_t from);

void guest_list_init(struct guest_list *list);
void guest_list_push(struct guest *g, struct guest_list *list, uint32_t task);
uint32_t guest_list_pop(struct guest *g, struct guest_list *list);

static inline struct guest_task *guest_current(struct guest *g, const struct guest_cpu *c)
{
    return &g->task[c->task];
}

static inline void guest_owe(struct guest_cpu *c, uint64_t ns)
{
    c->owed_ns += ns;
}

/* Whether that CPU's spinners may know that it has no pCPU, and it hasn't. */
bool guest_hinted(const struct guest *g, uint32_t cpu);

/* ---- sched.c ---- */

/* Makes a blocked task runnable; `c` is the CPU whose kernel does it. */
void guest_wake(struct guest *g, struct guest_cpu *c, uint32_t task);

/* The current task gives up its CPU: it is blocked or dead already, or goes to its queue's end. */
void guest_block(struct guest *g, struct guest_cpu *c);
void guest_preempt(struct guest *g, struct guest_cpu *c);

/* Idle: takes a task from its queue or, `pull`, another's. False: nothing to run. */
bool guest_pick(struct guest *g, struct guest_cpu *c, bool pull);

/* The idle CPU's next step. False: it has a task now. */
bool guest_idle_step(struct guest *g, struct guest_cpu *c, struct sim_step *step);

/* ---- task.c ---- */

/* Executes the current task's operations up to one that takes time. False: look again. */
bool guest_task_step(struct guest *g, struct guest_cpu *c, struct sim_step *step);

/* The operation is done: the next one. */
void guest_op_done(struct guest_task *t);

/* Whether the CPU should run another task; kernel code looks where it may sleep. */
bool guest_should_yield(const struct guest_cpu *c);

/* ---- spinlock.c, sleeplock.c, call.c, device.c: operations. True: *step is to be executed ---- */

bool guest_spin_lock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                     struct sim_step *step);
bool guest_spin_unlock(struct guest *g, struct guest_task *t, uint32_t lock,
                       struct sim_step *step);
bool guest_sleep_lock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                      bool write, struct sim_step *step);
bool guest_sleep_unlock(struct guest *g, struct guest_cpu *c, struct guest_task *t, uint32_t lock,
                        struct sim_step *step);

/* Takes a spinlock: true if it is taken; else *step is to be executed before it's tried again. */
bool guest_spin_acquire(struct guest *g, struct guest_cpu *c, uint32_t lock, bool irq_off,
                        struct sim_step *step);
/* Releases it: true if *step, a kick, is to be executed. */
bool guest_spin_release(struct guest *g, uint32_t lock, struct sim_step *step);

/* The current task loses its CPU, or the CPU its pCPU: who spins for it shall look again. */
void guest_sleeplock_owner_off(struct guest *g, const struct guest_task *t);
void guest_wait_predecessor_off(struct guest *g, const struct guest_cpu *c);

enum sim_spin_blame guest_spinlock_blame(const struct guest *g, const struct guest_cpu *c);
enum sim_spin_blame guest_sleeplock_blame(const struct guest *g, const struct guest_cpu *c);

/* A node of the CPUs' waiting queues (of both kinds of lock). */
void guest_wait_add(struct guest *g, uint32_t *head, uint32_t *tail, struct guest_cpu *c);
void guest_wait_remove(struct guest *g, uint32_t *head, uint32_t *tail, struct guest_cpu *c);

bool guest_shootdown(struct guest *g, struct guest_cpu *c, struct guest_task *t, bool tables,
                     bool everybody, struct sim_step *step);
void guest_call_answer(struct guest *g, struct guest_cpu *c);
enum sim_spin_blame guest_call_blame(const struct guest *g, struct guest_cpu *c);

/* The CPU now runs a task with that address space; GUEST_NONE: one that no other CPU shares. */
void guest_mm_load(struct guest *g, struct guest_cpu *c, uint32_t mm);

bool guest_request(struct guest *g, struct guest_cpu *c, struct guest_task *t,
                   const struct guest_op *op, struct sim_step *step);
void guest_device_outside(struct guest *g, uint64_t cookie, uint64_t now_ns);
void guest_device_handle(struct guest *g, struct guest_cpu *c);
/* A packet for a semaphore's waiters, through that CPU's interrupt; from outside(). */
void guest_packet(struct guest *g, uint32_t cpu, uint32_t sem);

void guest_sem_post(struct guest *g, struct guest_cpu *c, uint32_t sem);

/* ---- clock.c ---- */

void guest_clock_sleep(struct guest *g, struct guest_cpu *c, struct guest_task *t);
bool guest_clock_arm(struct guest *g, struct guest_cpu *c, struct sim_step *step);
void guest_clock_handle(struct guest *g, struct guest_cpu *c);
void guest_clock_idle(struct guest *g, struct guest_cpu *c);
void guest_clock_busy(struct guest *g, struct guest_cpu *c);

/* ---- irq.c ---- */

void guest_irq_begin(struct guest *g, struct guest_cpu *c, enum sim_vector vector,
                     const struct sim_step *rest);
/* The handler's next step; false: it's over. */
bool guest_irq_step(struct guest *g, struct guest_cpu *c, struct sim_step *step);

/* ---- guest.c: building, for workloads ---- */

/* All return GUEST_NONE (programs: NULL) without memory. */
uint32_t guest_add_spinlock(struct guest *g);
uint32_t guest_add_sleeplock(struct guest *g);
uint32_t guest_add_sem(struct guest *g, uint32_t value);
uint32_t guest_add_mm(struct guest *g);
uint32_t guest_add_task(struct guest *g, const struct guest_op *program, uint32_t mm,
                        uint32_t pinned);
/* Makes the copy belong to the guest. */
const struct guest_op *guest_add_program(struct guest *g, const struct guest_op *ops,
                                         uint32_t count);

extern const struct sim_guest_ops guest_ops;
struct guest *guest_create(const struct sim_guest_config *config,
                           const struct guest_kernel *kernel);
void guest_destroy(void *guest);

#endif
