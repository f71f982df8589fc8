/*
 * runqueue.h - fair sharing of one pCPU: earliest eligible virtual deadline first (EEVDF; I. Stoica
 * and H. Abdel-Wahab, Old Dominion University TR 95-22, 1995).
 *
 * A vCPU is *joined* to a queue while it waits in its tree or runs on its pCPU. Virtual time is in
 * 1/1024 ns at the weight of one vCPU alone in a VM of weight 1024; all comparisons wrap.
 * vtime is the weighted average of the joined vCPUs' vruntimes: it advances with service, and moves
 * by the lag of those who join and leave. A VM's weight is divided over its joined vCPUs; each
 * takes its part anew when it joins and when it starts a new slice.
 * Why so: docs/decisions/0003-fairness.md.
 */
#ifndef CORE_RUNQUEUE_H
#define CORE_RUNQUEUE_H

#include "state.h"
#include "tree.h"

/* Charges the running vCPU (its vruntime, its grant) and the queue up to now. O(1). */
void cede_runqueue_charge(struct cede *core, uint32_t pcpu, uint64_t now_ns);

/* Join and wait; stop waiting and leave, keeping the lag. The queue is charged. O(log q). */
void cede_runqueue_enqueue(struct cede *core, uint32_t pcpu, uint32_t id);
void cede_runqueue_dequeue(struct cede *core, uint32_t id);

/* The running vCPU leaves, or takes its place among the waiting; a waiting one becomes running. */
void cede_runqueue_leave(struct cede *core, uint32_t id);
void cede_runqueue_join(struct cede *core, uint32_t pcpu, uint32_t id);
void cede_runqueue_wait(struct cede *core, uint32_t id);
void cede_runqueue_take(struct cede *core, uint32_t id);

/* A new slice for the running vCPU, with its VM's weight divided anew. O(1). */
void cede_runqueue_renew(struct cede *core, uint32_t id);

/* Whom fairness would run next of those who wait; NONE if nobody waits. O(log q). */
uint32_t cede_runqueue_best(struct cede *core, uint32_t pcpu);

/*
 * The queue's hint, if it can be followed: not by a vCPU that is ahead of its share by more than
 * half a slice, or yields among a few could starve the rest. NONE: there is none. O(1).
 */
uint32_t cede_runqueue_hint(const struct cede *core, uint32_t pcpu);

/* Has the running vCPU used up its slice; how much of it is left, in ns of real time. O(1). */
static inline bool cede_runqueue_slice_over(const struct cede *core, uint32_t id)
{
    return !cede_before(core->vcpu[id].vruntime, core->vcpu[id].deadline);
}

uint64_t cede_runqueue_slice_left_ns(const struct cede *core, uint32_t id);

/* Sets what is left of a joined, not waiting vCPU's slice. O(1). */
void cede_runqueue_set_slice(struct cede *core, uint32_t id, uint64_t left_ns);

/* Is the vCPU owed service, or even. */
static inline bool cede_runqueue_eligible(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];

    return !cede_before(core->pcpu[vcpu->pcpu].vtime, vcpu->vruntime);
}

/*
 * The running vCPU and a waiting sibling (of any queue) take each other's place: vruntime,
 * deadline and weight. Afterwards `target` is joined but not in a tree, on `running`'s pCPU, and
 * `running` waits where target did. Neither queue's sums change. O(log q).
 */
void cede_runqueue_exchange(struct cede *core, uint32_t running, uint32_t target);

/* The weight that a vCPU would get now if it joined. */
uint32_t cede_runqueue_weight(const struct cede *core, const struct cede_vcpu *vcpu,
                              uint32_t active_count);

/* Keeps the sets of pCPUs (idle, polling, single, loaded) equal to what its state implies. O(1). */
void cede_runqueue_mark(struct cede *core, uint32_t pcpu);

#endif
