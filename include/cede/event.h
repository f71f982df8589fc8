/*
 * event.h - what the core takes: one event by value, 64 bytes, the same in memory, in a log and
 * in a replay.
 *
 * `now_ns` must not be before an earlier event's. `pcpu` is the pCPU on which the sender of the
 * event runs, or CEDE_PCPU_NONE for the host's management, unless the kind says otherwise.
 * Padding and unused members must be 0, so that logs compare byte by byte.
 *
 * In the table, "own" means: sent by the pCPU `pcpu` about itself. A and B of "pcpu, vcpu" are
 * the members used; the union member stands last. Complexity is in vCPUs of one queue (q).
 *
 *   kind            members used            union      sent when
 *   PCPU_ADD        pcpu (the new one)      pcpu_add   once a pCPU; before any event of its own
 *   PCPU_ROLE       pcpu (the one changed)  pcpu_role  any time; O(1), its vCPUs leave as it picks
 *   PCPU_REMOVE     pcpu (the one)          -          offline and empty, else CEDE_BUSY
 *   VM_ADD          vm                      vm_add
 *   VM_WEIGHT       vm                      vm_weight
 *   VM_CAP          vm                      vm_cap
 *   VM_POLICY       vm                      vm_policy
 *   VM_PRESET       vm                      vm_preset
 *   VM_REFILL       pcpu, vm                -          the VM_TIMER effect's deadline came
 *   VM_REMOVE       vm                      -          no vCPUs left, else CEDE_BUSY
 *   VCPU_ADD        vm, vcpu                vcpu_add   starts offline
 *   VCPU_AFFINITY   vcpu                    vcpu_affinity
 *   VCPU_START      pcpu, vcpu              -          offline -> runnable; O(log q)
 *   VCPU_STOP       pcpu, vcpu              stop       running ones are kicked and leave at RESCHED
 *   VCPU_PAUSE      pcpu, vcpu              -          likewise; never a candidate while paused
 *   VCPU_RESUME     pcpu, vcpu              -          as it was before, wake-ups kept
 *   VCPU_REMOVE     vcpu                    -          offline and off its pCPU, else CEDE_BUSY
 *   RESCHED         own pcpu, vcpu or none  resched    until_ns passed, tick, or after a kick
 *   SPIN            own pcpu, vcpu          spin       O(words of the VM's bitmaps + log q)
 *   YIELD_TO        own pcpu, vcpu          yield_to   O(log q)
 *   HALT            own pcpu, vcpu          halt       see "No wake-up is lost"
 *   POLL_END        own pcpu, vcpu          poll_end
 *   INTERRUPT       pcpu, vcpu (its target) interrupt  after its pending bit was set; O(1) if the
 *                                                      target runs, else O(log q)
 *   TIMER_ARM       pcpu, vcpu              timer_arm
 *   TIMER_CANCEL    pcpu, vcpu              -
 *   TIMER_FIRE      own pcpu, vcpu          timer_fire after the pending bit was set
 *
 * Facts about the current vCPU (`ran`): how its time since the last event that carried one, or
 * since it got the pCPU, was spent in the guest. What is left of that span is the hypervisor's.
 *
 * No wake-up is lost: a sender sets the target's pending bit first, then takes the lock and sends
 * INTERRUPT. A vCPU that halts takes the lock first, then samples its pending bits into
 * `interrupt_pending`, then sends HALT. Whichever takes the lock last sees the other.
 */
#ifndef CEDE_EVENT_H
#define CEDE_EVENT_H

#include "cede/types.h"

enum cede_event_kind {
#define X(NAME, name, doc) CEDE_EVENT_##NAME,
#include "cede/lists/event.def"
#undef X
    CEDE_EVENT_COUNT
};

/* What is known of a vCPU's mode at the instant of the event. */
enum cede_mode {
    CEDE_MODE_USER,
    CEDE_MODE_KERNEL,
    CEDE_MODE_UNKNOWN, /* can't be read (protected guest): counts as kernel where it's a candidate */
    CEDE_MODE_NEVER,   /* this architecture's spin exit tells no mode: the filter doesn't apply */
    CEDE_MODE_COUNT
};

enum cede_pcpu_role {
    CEDE_ROLE_SHARED,       /* runs any vCPU that may run there */
    CEDE_ROLE_DEDICATED,    /* runs one VM's vCPUs only */
    CEDE_ROLE_HOUSEKEEPING, /* runs shared vCPUs, and owns the timers of dedicated ones */
    CEDE_ROLE_OFFLINE,
    CEDE_ROLE_COUNT
};

enum cede_interrupt_source {
    CEDE_SOURCE_DEVICE,
    CEDE_SOURCE_IPI,
    CEDE_SOURCE_TIMER,
    CEDE_SOURCE_KICK, /* PV unhalt: wakes, injects nothing */
    CEDE_SOURCE_COUNT
};

enum cede_yield_cause {
    CEDE_YIELD_CAUSE_KICK,  /* PV lock kick: the target was woken by an INTERRUPT just before */
    CEDE_YIELD_CAUSE_SCHED, /* PV sched yield */
    CEDE_YIELD_CAUSE_COUNT
};

enum cede_timer_kind {
    CEDE_TIMER_ONE_SHOT,
    CEDE_TIMER_PERIODIC,
    CEDE_TIMER_DEADLINE, /* TSC deadline, generic timer */
    CEDE_TIMER_COUNT
};

/* user + kernel + spin must not exceed the span that they divide (CEDE_BAD_VALUE). */
struct cede_ran {
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t spin_ns;
};

struct cede_event_pcpu {
    uint32_t role; /* enum cede_pcpu_role */
    struct cede_vm_id role_vm; /* whose, if dedicated; else CEDE_VM_NONE */
    uint32_t core;   /* pCPUs with equal numbers are threads of one core */
    uint32_t llc;    /* share a last-level cache */
    uint32_t socket; /* share a socket, or NUMA node */
};

struct cede_event_vm_add {
    uint32_t weight; /* 1..1048576; 1024 is usual; divided over its runnable vCPUs' time */
    uint32_t preset; /* enum cede_preset */
};

struct cede_event_vm_weight {
    uint32_t weight;
};

struct cede_event_vm_cap {
    uint64_t quota_ns;  /* pCPU time per period, summed over its vCPUs; 0: no cap; >= 1 ms */
    uint64_t period_ns; /* 1 ms..1 s */
};

struct cede_event_vm_policy {
    uint64_t value;
    uint32_t key; /* enum cede_policy_key */
};

struct cede_event_vm_preset {
    uint32_t preset;
};

struct cede_event_vcpu_add {
    uint32_t index; /* within its VM, 0..CEDE_VM_VCPU_COUNT_MAX-1, unique there */
};

struct cede_event_vcpu_affinity {
    uint64_t mask; /* pCPUs 64*word .. 64*word+63 */
    uint32_t word;
};

struct cede_event_resched {
    struct cede_ran ran;
    uint8_t mode;        /* enum cede_mode, of the current vCPU */
    uint8_t at_boundary; /* 1: it stopped between two instructions; 0: one is half emulated */
};

struct cede_event_spin {
    struct cede_ran ran;
    uint8_t mode;
    uint8_t at_boundary;
};

struct cede_event_yield_to {
    struct cede_ran ran;
    struct cede_vcpu_id target; /* a sibling */
    uint8_t cause;              /* enum cede_yield_cause */
    uint8_t mode;
    uint8_t at_boundary;
};

struct cede_event_halt {
    struct cede_ran ran;
    uint8_t interrupt_pending; /* sampled under the lock */
    uint8_t poll_disabled;     /* the guest switched host polling off, or polls by itself */
    uint8_t mode;
};

struct cede_event_poll_end {
    uint8_t woken; /* the pending bits, sampled under the lock, say that there is work */
};

struct cede_event_interrupt {
    struct cede_vcpu_id sender; /* the vCPU that sent an IPI, or CEDE_VCPU_NONE */
    uint8_t source;             /* enum cede_interrupt_source */
    uint8_t in_guest;           /* the target is in guest mode at this instant */
    uint8_t can_post;           /* interrupt virtualization is active for the target */
};

struct cede_event_timer_arm {
    uint64_t deadline_ns;
    uint64_t period_ns; /* periodic: > 0; else 0 */
    uint8_t kind;       /* enum cede_timer_kind */
    uint8_t can_post;   /* interrupt virtualization is active, and the VM keeps HLT or MWAIT */
};

struct cede_event_timer_fire {
    uint8_t in_guest;
    uint8_t can_post;
};

struct cede_event {
    uint64_t now_ns;
    uint32_t kind; /* enum cede_event_kind */
    struct cede_pcpu_id pcpu;
    struct cede_vcpu_id vcpu;
    struct cede_vm_id vm;
    union {
        struct cede_event_pcpu pcpu_add;
        struct cede_event_pcpu pcpu_role; /* role and role_vm only */
        struct cede_event_vm_add vm_add;
        struct cede_event_vm_weight vm_weight;
        struct cede_event_vm_cap vm_cap;
        struct cede_event_vm_policy vm_policy;
        struct cede_event_vm_preset vm_preset;
        struct cede_event_vcpu_add vcpu_add;
        struct cede_event_vcpu_affinity vcpu_affinity;
        struct cede_event_resched resched;
        struct cede_event_resched stop; /* VCPU_STOP of the current vCPU by itself: its `ran` */
        struct cede_event_spin spin;
        struct cede_event_yield_to yield_to;
        struct cede_event_halt halt;
        struct cede_event_poll_end poll_end;
        struct cede_event_interrupt interrupt;
        struct cede_event_timer_arm timer_arm;
        struct cede_event_timer_fire timer_fire;
        uint64_t words[5];
    };
};

_Static_assert(sizeof(struct cede_event) == 64, "an event is 64 bytes, in memory and in logs");

/* "spin", "halt", ...; NULL if there is no such kind. */
const char *cede_event_name(uint32_t kind);

#endif
