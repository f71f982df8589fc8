/*
 * turn.h - one event being handled, and the steps that the mechanisms' files share.
 *
 * A turn begins after the event was decoded (nothing may fail any more). Lives on the stack of
 * cede_handle(); the caller's lock is held throughout.
 */
#ifndef CORE_TURN_H
#define CORE_TURN_H

#include "state.h"

struct cede_turn {
    struct cede *core;
    struct cede_effects *out;
    uint64_t now_ns;
    struct cede_pcpu *own; /* the sender's pCPU; NULL: the host's management */
    uint32_t pcpu;         /* its number, or NONE */
    uint32_t before; /* the sender's vCPU that lost the pCPU in this turn, or NONE */
    uint32_t moves; /* vCPUs, timers moved for bookkeeping so far: bounded, see out.h */
    uint32_t throttles;
    bool at_boundary; /* the current vCPU stopped between two instructions */
};

/* Decoding: checks everything, changes nothing. Acting: changes, can't fail. */
struct cede_handler {
    enum cede_status (*decode)(const struct cede *core, const struct cede_event *event);
    void (*act)(struct cede_turn *turn, const struct cede_event *event);
};

/* What decoders share. A pCPU, VM or vCPU that exists; the sender's current vCPU. O(1). */
static inline bool cede_turn_pcpu_exists(const struct cede *core, struct cede_pcpu_id id)
{
    return id.value < core->config.pcpu_count && core->pcpu[id.value].exists;
}

static inline bool cede_turn_vm_exists(const struct cede *core, struct cede_vm_id id)
{
    return id.value < core->config.vm_count && core->vm[id.value].exists;
}

static inline bool cede_turn_vcpu_exists(const struct cede *core, struct cede_vcpu_id id)
{
    return id.value < core->config.vcpu_count && core->vcpu[id.value].exists;
}

/* CEDE_OK if the event's vCPU runs on the event's pCPU and the facts about it fit. */
enum cede_status cede_turn_current(const struct cede *core, const struct cede_event *event,
                                   const struct cede_ran *ran, uint8_t mode);
/* CEDE_OK if the vCPU exists, and so does the sender's pCPU if one is named. */
enum cede_status cede_turn_target(const struct cede *core, const struct cede_event *event);

#define HANDLER(name)                                                                             \
    enum cede_status cede_decode_##name(const struct cede *core, const struct cede_event *event); \
    void cede_act_##name(struct cede_turn *turn, const struct cede_event *event);
HANDLER(pcpu_add)
HANDLER(pcpu_role)
HANDLER(pcpu_remove)
HANDLER(vm_add)
HANDLER(vm_weight)
HANDLER(vm_cap)
HANDLER(vm_policy)
HANDLER(vm_preset)
HANDLER(vm_refill)
HANDLER(vm_remove)
HANDLER(vcpu_add)
HANDLER(vcpu_affinity)
HANDLER(vcpu_start)
HANDLER(vcpu_stop)
HANDLER(vcpu_pause)
HANDLER(vcpu_resume)
HANDLER(vcpu_remove)
HANDLER(resched)
HANDLER(spin)
HANDLER(yield_to)
HANDLER(halt)
HANDLER(poll_end)
HANDLER(interrupt)
HANDLER(timer_arm)
HANDLER(timer_cancel)
HANDLER(timer_fire)
#undef HANDLER

#endif
