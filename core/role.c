/*
 * role.c - see role.h. Owns roles, topology, and the sets `open`, `housekeeping` and `vm_own`.
 */
#include "role.h"

#include "account.h"
#include "base/memory.h"
#include "out.h"
#include "place.h"
#include "record.h"
#include "runqueue.h"
#include "timer.h"
#include "tree.h"

void cede_role_evict(struct cede_turn *turn, uint32_t pcpu)
{
    struct cede *core = turn->core;
    struct cede_pcpu *owner = &core->pcpu[pcpu];
    uint32_t id = cede_tree_first(core, owner->root);

    while (id != NONE && turn->moves < CEDE_MOVES_MAX) {
        uint32_t after = cede_tree_next(core, id);
        if (!cede_allowed(core, &core->vcpu[id], pcpu)) {
            turn->moves++;
            cede_place_remove(turn, id);
            cede_place(turn, id, CEDE_REASON_ROLE);
        }
        id = after;
    }
    if (owner->role == CEDE_ROLE_OFFLINE) {
        cede_timer_evict(turn, pcpu);
    }
    if (turn->moves < CEDE_MOVES_MAX) {
        owner->evict = false;
    }
}

static void put_own(struct cede *core, uint32_t pcpu, uint32_t vm, bool member)
{
    uint64_t *word = &core->vm_own[vm * core->pcpu_words + pcpu / 64u];
    uint64_t bit = UINT64_C(1) << (pcpu & 63u);

    *word = member ? *word | bit : *word & ~bit;
    core->vm[vm].dedicated_count += member ? 1u : UINT32_MAX;
}

/* The sets that follow from a role, when it begins (member) or ends. */
static void put_role(struct cede *core, uint32_t pcpu, bool member)
{
    const struct cede_pcpu *owner = &core->pcpu[pcpu];

    if (owner->role == CEDE_ROLE_DEDICATED) {
        put_own(core, pcpu, owner->role_vm, member);
    } else if (owner->role != CEDE_ROLE_OFFLINE) {
        cede_pset_put(&core->open, pcpu, member);
        cede_pset_put(&core->housekeeping, pcpu,
                      member && owner->role == CEDE_ROLE_HOUSEKEEPING);
    }
}

static enum cede_status check_role(const struct cede *core, const struct cede_event_pcpu *facts)
{
    if (facts->role >= CEDE_ROLE_COUNT) {
        return CEDE_BAD_VALUE;
    }
    if (facts->role != CEDE_ROLE_DEDICATED) {
        return cede_vm_is_none(facts->role_vm) ? CEDE_OK : CEDE_BAD_VALUE;
    }
    return cede_turn_vm_exists(core, facts->role_vm) ? CEDE_OK : CEDE_BAD_ID;
}

/* Joins the ring of its core's threads and the mask of its cache. O(pCPUs). */
static void join_topology(struct cede *core, uint32_t pcpu)
{
    struct cede_pcpu *owner = &core->pcpu[pcpu];
    uint32_t slot = NONE, free_slot = NONE;

    owner->core_next = pcpu;
    for (uint32_t at = 0; at < core->config.pcpu_count; at++) {
        struct cede_pcpu *other = &core->pcpu[at];
        if (core->llc_users[at] == 0 && free_slot == NONE) {
            free_slot = at;
        }
        if (!other->exists || at == pcpu) {
            continue;
        }
        if (other->llc == owner->llc) {
            slot = other->llc_slot;
        }
        if (other->core == owner->core && owner->core_next == pcpu) {
            owner->core_next = other->core_next;
            other->core_next = pcpu;
        }
    }
    owner->llc_slot = slot != NONE ? slot : free_slot;
    core->llc_users[owner->llc_slot]++;
    core->llc_mask[owner->llc_slot * core->pcpu_words + pcpu / 64u] |= UINT64_C(1) << (pcpu & 63u);
}

static void leave_topology(struct cede *core, uint32_t pcpu)
{
    struct cede_pcpu *owner = &core->pcpu[pcpu];
    uint32_t at = pcpu;

    for (uint32_t n = 0; n < core->config.pcpu_count && core->pcpu[at].core_next != pcpu; n++) {
        at = core->pcpu[at].core_next;
    }
    core->pcpu[at].core_next = owner->core_next;
    core->llc_users[owner->llc_slot]--;
    core->llc_mask[owner->llc_slot * core->pcpu_words + pcpu / 64u] &=
        ~(UINT64_C(1) << (pcpu & 63u));
}

/* The pCPU may run others than before: it should look, if there is anything to look at. */
static void ask_to_look(struct cede_turn *turn, uint32_t pcpu)
{
    const struct cede *core = turn->core;
    const struct cede_pcpu *owner = &core->pcpu[pcpu];

    if (owner->current != NONE || owner->waiting_count != 0 || owner->timers != NONE ||
        core->limbo != NONE ||
        (owner->role != CEDE_ROLE_OFFLINE && core->loaded.summary != 0)) {
        cede_place_kick(turn, pcpu, NONE, CEDE_REASON_ROLE);
    }
}

enum cede_status cede_decode_pcpu_add(const struct cede *core, const struct cede_event *event)
{
    if (event->pcpu.value >= core->config.pcpu_count) {
        return CEDE_BAD_ID;
    }
    if (core->pcpu[event->pcpu.value].exists) {
        return CEDE_EXISTS;
    }
    return check_role(core, &event->pcpu_add);
}

void cede_act_pcpu_add(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t pcpu = event->pcpu.value;
    struct cede_pcpu *owner = &core->pcpu[pcpu];
    uint64_t head = owner->trace_head, tail = owner->trace_tail, lost = owner->trace_lost;

    memset(owner, 0, sizeof(*owner));
    owner->trace_head = head;
    owner->trace_tail = tail;
    owner->trace_lost = lost;
    owner->exists = true;
    owner->root = NONE;
    owner->next = NONE;
    owner->current = NONE;
    owner->timers = NONE;
    owner->asked_for = NONE;
    owner->role = (uint8_t)event->pcpu_add.role;
    owner->role_vm = event->pcpu_add.role_vm.value;
    owner->core = event->pcpu_add.core;
    owner->llc = event->pcpu_add.llc;
    owner->socket = event->pcpu_add.socket;
    owner->charged_ns = turn->now_ns;
    owner->since_ns = turn->now_ns;
    owner->added_ns = turn->now_ns;
    owner->until_ns = CEDE_NEVER_NS;
    owner->rotor = pcpu;
    join_topology(core, pcpu);
    put_role(core, pcpu, true);
    cede_runqueue_mark(core, pcpu);
    ask_to_look(turn, pcpu);
}

enum cede_status cede_decode_pcpu_role(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_pcpu_exists(core, event->pcpu)) {
        return CEDE_BAD_ID;
    }
    return check_role(core, &event->pcpu_role);
}

void cede_act_pcpu_role(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t pcpu = event->pcpu.value;
    struct cede_pcpu *owner = &core->pcpu[pcpu];

    if (owner->activity != CEDE_ACTIVITY_RUN) {
        cede_account_pcpu(core, pcpu, turn->now_ns);
    }
    put_role(core, pcpu, false);
    owner->role = (uint8_t)event->pcpu_role.role;
    owner->role_vm = event->pcpu_role.role_vm.value;
    put_role(core, pcpu, true);
    owner->evict = owner->waiting_count != 0 || owner->timers != NONE;
    cede_runqueue_mark(core, pcpu);
    ask_to_look(turn, pcpu);
}

enum cede_status cede_decode_pcpu_remove(const struct cede *core, const struct cede_event *event)
{
    const struct cede_pcpu *owner;

    if (!cede_turn_pcpu_exists(core, event->pcpu)) {
        return CEDE_BAD_ID;
    }
    owner = &core->pcpu[event->pcpu.value];
    if (owner->role != CEDE_ROLE_OFFLINE || owner->current != NONE || owner->waiting_count != 0 ||
        owner->timers != NONE) {
        return CEDE_BUSY;
    }
    return CEDE_OK;
}

void cede_act_pcpu_remove(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede *core = turn->core;
    uint32_t pcpu = event->pcpu.value;

    leave_topology(core, pcpu);
    core->pcpu[pcpu].exists = false;
    cede_runqueue_mark(core, pcpu);
}
