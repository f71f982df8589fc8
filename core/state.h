/*
 * state.h - everything that a core holds, in the caller's memory: pCPUs with their run queues,
 * VMs with their candidate sets, vCPUs.
 *
 * Internal to core/. All references are indices (CEDE_ID_NONE: none), so that decisions never
 * depend on addresses. Every function that takes a `struct cede` is called with the caller's lock
 * held (include/cede/core.h).
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "base/bits.h"
#include "cede/core.h"
#include "cede/policy.h"
#include "cede/stats.h"
#include "cede/trace.h"

#define NONE CEDE_ID_NONE

/*
 * Which of its VM's sets a vCPU is in: at most one, and it follows from its state alone
 * (cede_sets_wanted()). The first seven are the vCPUs that wait in a queue.
 */
enum cede_set {
    CEDE_SET_WOKEN,       /* got runnable by a wake-up, a start, a resume */
    CEDE_SET_KERNEL,      /* preempted in kernel mode, mode unknown, or with an interrupt pending */
    CEDE_SET_USER,        /* preempted in user mode */
    CEDE_SET_KERNEL_SPIN, /* the same two, and gave way in a spin exit */
    CEDE_SET_USER_SPIN,
    CEDE_SET_ANSWER_SPIN, /* the same, but an interrupt is pending: running it answers somebody */
    CEDE_SET_NO_RETURN, /* gave way to a vCPU that hasn't run since */
    CEDE_SET_THROTTLED, /* held back by the VM's cap; in no queue */
    CEDE_SET_COUNT,
    CEDE_SET_WAITING_COUNT = CEDE_SET_THROTTLED
};

#define CEDE_SET_NONE ((uint8_t)CEDE_SET_COUNT)

/* The lower level of a VM's sets: 64 neighbouring indices. From a pool, so that sparse VMs and
 * huge limits cost nothing. */
struct cede_chunk {
    uint64_t present;
    uint64_t word[CEDE_SET_COUNT];
    uint32_t vcpu[64];
    uint32_t next_free;
    uint32_t pad;
};

struct cede_vm {
    uint64_t set_summary[CEDE_SET_COUNT]; /* bit i: chunk i has a member */
    uint32_t set_count[CEDE_SET_COUNT];
    uint32_t weight;
    uint32_t active_count; /* vCPUs in queues or running: what the weight is divided by */
    uint32_t vcpu_count;
    uint32_t dedicated_count; /* pCPUs dedicated to it */
    uint16_t last_boosted;    /* index; searches start after it */
    bool exists;
    bool refill_armed; /* a VM_TIMER is out */
    uint32_t policy[CEDE_POLICY_COUNT];
    /* The cap: what is left of this period's quota, after what running vCPUs hold in grants. */
    uint64_t quota_ns;
    uint64_t period_ns;
    uint64_t period_end_ns;
    uint64_t cap_since_ns; /* when this cap was set */
    int64_t budget_ns;
    int64_t granted_ns;    /* sum of what its vCPUs hold */
    uint32_t cap_epoch;    /* grants of an earlier cap are void */
    uint32_t recheck;      /* index to look at next for running vCPUs without a grant; or NONE */
};

struct cede_vcpu {
    /* Place in a queue's tree (tree.c); `left`, `right` are also the links of the limbo list. */
    uint32_t left, right, parent;
    uint32_t priority;
    uint64_t vruntime;
    uint64_t deadline;
    uint64_t min_vruntime; /* over its subtree */
    uint32_t weight;       /* as counted in its queue's sum */
    uint32_t pcpu;         /* where it runs, polls or waits; else where it last was; or NONE */
    int64_t lag;           /* while in no queue: service owed to it, ns << 10 */

    uint16_t vm;
    uint16_t index; /* within the VM */
    uint8_t state; /* enum cede_vcpu_state */
    uint8_t set;   /* enum cede_set or CEDE_SET_NONE */
    uint8_t mode;  /* enum cede_mode when it lost its pCPU */
    uint8_t resumes; /* while paused: CEDE_STATE_RUNNABLE or CEDE_STATE_BLOCKED */
    bool exists;
    bool waiting; /* in a queue's tree */
    bool in_limbo; /* runnable, but no pCPU may run it */
    bool woken;   /* runnable by wake-up, not by preemption */
    bool spinning; /* lost its pCPU in a spin exit */
    bool interrupt_pending;
    bool movable; /* its affinity has two pCPUs or more */
    bool paused; /* or to be paused as soon as it is off its pCPU */
    bool stopping;
    bool hooked; /* HOOK_BLOCKING without HOOK_UNBLOCKING yet */
    bool poll_woken; /* something came in while it was polled for */
    bool published_preempted;
    bool timer_armed;
    bool timer_housekeeping; /* and placed on a pCPU of that role */
    uint8_t fruitless; /* spin exits in a row that skipped candidates in a spin exit */

    uint32_t last_pcpu; /* where it last ran */
    uint32_t run_count; /* times it got a pCPU; never reset, so that old references can be told */
    uint32_t ipi_target; /* whom it sent its last IPI while that one had no pCPU */
    uint32_t ipi_run_count;
    uint32_t yielded_to; /* no-return: whom it waits for */
    uint32_t yielder;    /* no-return: who waits for it */

    uint64_t since_ns; /* its class's time is accounted up to here */
    uint64_t wake_ns;  /* CEDE_NEVER_NS: not woken since it last had a pCPU */
    uint64_t halt_ns;
    uint64_t placed_ns; /* when it came to this pCPU */
    uint32_t poll_window_ns;
    uint32_t timer_pcpu; /* where its timer is placed; NONE: not armed */
    uint64_t timer_deadline_ns;
    uint64_t timer_period_ns;
    uint32_t timer_next, timer_previous; /* the list of that pCPU */
    uint32_t grant_epoch;
    int64_t grant_ns; /* of its VM's quota, while running; negative: overrun */

    uint64_t added_ns;
    uint64_t time_ns[CEDE_TIME_COUNT];
    uint64_t count[CEDE_COUNTER_COUNT];
    struct cede_histogram wake_latency;
};

/*
 * Their sizes are powers of two now (1024 and 256 bytes on 64-bit machines): an index becomes an
 * address by one shift. Nothing depends on it but some instructions (`make bench-core`).
 */
enum cede_activity {
    CEDE_ACTIVITY_IDLE,
    CEDE_ACTIVITY_RUN,
    CEDE_ACTIVITY_POLL,
};

struct cede_pcpu {
    /* The run queue. Sums are over the tree and the running vCPU. */
    uint32_t root;
    uint32_t waiting_count;
    uint32_t movable_count; /* waiting vCPUs that other pCPUs might run */
    uint32_t next;          /* hint: waits here and is to be picked first; or NONE */
    uint64_t weight;
    uint64_t vtime; /* weighted average of the vruntimes */
    uint64_t charged_ns;

    uint32_t current; /* running or polled for; or NONE */
    uint8_t activity; /* enum cede_activity */
    uint8_t role;
    uint8_t preempt_reason; /* enum cede_reason, with `preempt` */
    uint8_t marks; /* which of idle, polling, single, loaded it is in (runqueue.c) */
    bool exists;
    bool kicked;  /* asked for an event of its own, which hasn't come */
    bool preempt; /* a waiting vCPU should get it before the slice ends */
    bool evict;   /* role changed: its queue may hold vCPUs that may not run here */
    uint32_t role_vm;
    uint32_t rotor;
    uint32_t asked_for; /* idle: the waiting vCPU that it was asked to pull; or NONE */
    uint64_t until_ns; /* as told in the last RUN or POLL */

    uint32_t core, llc, socket;
    uint32_t core_next; /* ring of the threads of one core */
    uint32_t llc_slot;
    uint32_t timers; /* list of timers placed here */

    uint64_t since_ns;
    uint64_t added_ns;
    uint64_t time_ns[CEDE_PCPU_TIME_COUNT];
    uint64_t switches;
    uint64_t kicks;

    uint64_t trace_head; /* records written */
    uint64_t trace_tail; /* records read or lost */
    uint64_t trace_lost; /* since the last read */
};

struct cede {
    struct cede_config config;
    uint64_t now_ns;
    uint32_t pcpu_words;
    uint32_t vm_chunks; /* chunks a VM may have */
    uint32_t chunk_count;
    uint32_t chunk_free;
    uint32_t limbo; /* list of runnable vCPUs that may run nowhere */

    struct cede_pset idle;    /* nothing to run, nothing waiting, not offline */
    struct cede_pset polling; /* polls, nothing waiting */
    struct cede_pset single;  /* runs, nothing waiting, not offline */
    struct cede_pset loaded;  /* movable vCPUs wait */
    struct cede_pset open;    /* shared or housekeeping */
    struct cede_pset housekeeping;

    struct cede_pcpu *pcpu;
    struct cede_vm *vm;
    struct cede_vcpu *vcpu;
    uint64_t *affinity;   /* pcpu_words a vCPU */
    uint64_t *vm_own;     /* pcpu_words a VM: pCPUs dedicated to it */
    uint64_t *llc_mask;   /* pcpu_words a cache */
    uint32_t *llc_users;  /* pCPUs that share it; 0: free */
    uint32_t *vm_chunk;   /* vm_chunks a VM: index in chunk, or NONE */
    struct cede_chunk *chunk;
    struct abi_trace_record *trace;
};

static inline uint32_t cede_policy_of(const struct cede *core, const struct cede_vcpu *vcpu,
                                      enum cede_policy_key key)
{
    return core->vm[vcpu->vm].policy[key];
}

static inline uint32_t cede_vcpu_number(const struct cede *core, const struct cede_vcpu *vcpu)
{
    return (uint32_t)(vcpu - core->vcpu);
}

static inline uint32_t cede_pcpu_number(const struct cede *core, const struct cede_pcpu *pcpu)
{
    return (uint32_t)(pcpu - core->pcpu);
}

/* May that pCPU run that vCPU: affinity and role. O(1). */
static inline bool cede_allowed(const struct cede *core, const struct cede_vcpu *vcpu,
                                uint32_t pcpu)
{
    uint32_t word = pcpu / 64u;
    uint64_t may = core->open.word[word] | core->vm_own[vcpu->vm * core->pcpu_words + word];
    uint64_t mask = core->affinity[cede_vcpu_number(core, vcpu) * core->pcpu_words + word];

    return ((may & mask) >> (pcpu & 63u) & 1u) != 0;
}

#endif
