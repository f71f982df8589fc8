/*
 * effect.h - what the core returns: a short list of effects by value.
 *
 * The shell applies them in order, after or before it drops the core's lock as said here. RUN,
 * IDLE and POLL are about the pCPU that sent the event, and there is at most one of them; every
 * other pCPU is asked by KICK, and answers with RESCHED when it gets to it. An event that its own
 * pCPU sends as RESCHED, SPIN, YIELD_TO, HALT, POLL_END, or VCPU_STOP of its current vCPU always
 * returns exactly one of the three.
 *
 *   effect           members              apply                   meaning
 *   RUN              pcpu vcpu until_ns   after the lock          switch (or go on), arm the slice
 *   IDLE             pcpu                 after the lock          sleep until a kick
 *   POLL             pcpu vcpu until_ns   after the lock          poll its pending bits
 *   POLL_STOP        pcpu vcpu            any time                a flag that the poller reads
 *   KICK             pcpu reason          any time                again if not answered in time
 *   POST             pcpu vcpu            any time                falls back to NOTIFY by itself
 *   NOTIFY           pcpu vcpu            any time                an IPI that forces an exit
 *   PUBLISH          vcpu publish         before the lock is dropped; never for a paused VM
 *   HOOK_*           pcpu vcpu            before RUN, IDLE, POLL; undone when it runs, or stops
 *   TIMER_PLACE      pcpu vcpu deadline_ns  any time              replaces the vCPU's earlier one
 *   TIMER_UNPLACE    pcpu vcpu            any time
 *   VM_TIMER         vm deadline_ns       any time                VM_REFILL from any pCPU
 *
 * For TIMER_PLACE on another pCPU than the sender's, the shell tells that pCPU to arm its timer.
 */
#ifndef CEDE_EFFECT_H
#define CEDE_EFFECT_H

#include "cede/types.h"

enum cede_effect_kind {
#define X(NAME, name, doc) CEDE_EFFECT_##NAME,
#include "cede/lists/effect.def"
#undef X
    CEDE_EFFECT_COUNT
};

enum cede_reason {
#define X(NAME, name, doc) CEDE_REASON_##NAME,
#include "cede/lists/reason.def"
#undef X
    CEDE_REASON_COUNT
};

struct cede_effect_publish {
    uint64_t steal_ns;  /* total so far: runnable or throttled without a pCPU */
    uint32_t preempted; /* 1: it lost its pCPU while runnable, at an instruction boundary */
    uint32_t pad;
};

struct cede_effect {
    uint32_t kind; /* enum cede_effect_kind */
    uint32_t reason; /* enum cede_reason, for RUN, IDLE and KICK */
    struct cede_pcpu_id pcpu;
    struct cede_vcpu_id vcpu;
    union {
        uint64_t until_ns;    /* RUN, POLL; CEDE_NEVER_NS: no limit */
        uint64_t deadline_ns; /* TIMER_PLACE, VM_TIMER */
        struct cede_effect_publish publish;
    };
    struct cede_vm_id vm; /* VM_TIMER */
    uint32_t pad;
};

_Static_assert(sizeof(struct cede_effect) == 40, "an effect is 40 bytes");

/* The most that one event returns. */
#define CEDE_EFFECTS_MAX 24u

struct cede_effects {
    uint32_t count;
    uint32_t pad;
    struct cede_effect item[CEDE_EFFECTS_MAX];
};

/* "run", "kick", ... and "slice_end", ...; NULL if there is none such. */
const char *cede_effect_name(uint32_t kind);
const char *cede_reason_name(uint32_t reason);

#endif
