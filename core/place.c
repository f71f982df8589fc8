/*
 * place.c - see place.h. Owns `placed_ns`, the limbo list, and the decision to kick.
 */
#include "place.h"

#include "out.h"
#include "record.h"
#include "runqueue.h"
#include "sets.h"
#include "tree.h"
#include "yield.h"

#define CORE_THREADS_MAX 8u /* threads of a core that are looked at */
#define LIMBO_LOOKS_MAX 64u
#define SPREAD_LOOKS_MAX 64u
#define ROTATE_SLICES 2u /* a vCPU stays at least that long before it is rotated away */

/*
 * The pCPU of `set` (NULL: any) that may run the vCPU, within `within` (NULL: anywhere), next at or
 * after `start`, going round; or NONE. At most pcpu_words + 1 steps.
 */
static uint32_t find(const struct cede *core, uint32_t id, const struct cede_pset *set,
                     const uint64_t *within, uint32_t start)
{
    uint32_t words = core->pcpu_words;
    const uint64_t *mask = &core->affinity[id * words];
    const uint64_t *own = &core->vm_own[core->vcpu[id].vm * words];
    uint32_t first = start / 64u;

    if (set != NULL && set->summary == 0) {
        return NONE;
    }
    for (uint32_t n = 0; n <= words; n++) {
        uint32_t at = first + n < words ? first + n : first + n - words;
        uint64_t bits = mask[at] & (core->open.word[at] | own[at]);
        bits &= set != NULL ? set->word[at] : UINT64_MAX;
        bits &= within != NULL ? within[at] : UINT64_MAX;
        if (n == 0) {
            bits &= cede_bits_from(start);
        } else if (n == words) {
            bits &= ~cede_bits_from(start);
        }
        if (bits != 0) {
            return at * 64u + cede_bits_lowest(bits);
        }
    }
    return NONE;
}

static uint32_t after(const struct cede *core, uint32_t pcpu)
{
    return pcpu + 1 < core->config.pcpu_count ? pcpu + 1 : 0;
}

static const uint64_t *llc_of(const struct cede *core, uint32_t pcpu)
{
    return &core->llc_mask[core->pcpu[pcpu].llc_slot * core->pcpu_words];
}

static bool usable(const struct cede *core, const struct cede_pset *set, uint32_t id, uint32_t at)
{
    return cede_pset_has(set, at) && cede_allowed(core, &core->vcpu[id], at);
}

/* A member of `set` near `from`: itself, a thread of its core, its cache, anywhere. */
static uint32_t find_near(const struct cede *core, uint32_t id, const struct cede_pset *set,
                          uint32_t from)
{
    uint32_t at;

    if (set->summary == 0) {
        return NONE;
    }
    if (!core->pcpu[from].exists) {
        return find(core, id, set, NULL, from);
    }
    if (usable(core, set, id, from)) {
        return from;
    }
    at = core->pcpu[from].core_next;
    for (uint32_t n = 0; n < CORE_THREADS_MAX && at != from; n++) {
        if (usable(core, set, id, at)) {
            return at;
        }
        at = core->pcpu[at].core_next;
    }
    at = find(core, id, set, llc_of(core, from), from);
    return at != NONE ? at : find(core, id, set, NULL, from);
}

static bool runs_sibling(const struct cede *core, uint32_t pcpu, uint32_t id)
{
    uint32_t current = core->pcpu[pcpu].current;

    return current != NONE && core->vcpu[current].vm == core->vcpu[id].vm;
}

/* Everything is busy: the last pCPU, unless the other choice is clearly less loaded. */
static uint32_t choose_busy(const struct cede *core, uint32_t id, uint32_t from)
{
    uint32_t stay = find(core, id, NULL, NULL, from);
    uint32_t other = find_near(core, id, &core->single, from);
    uint64_t here, there;

    if (stay == NONE) {
        return NONE;
    }
    if (other == NONE) {
        other = find(core, id, NULL, NULL, after(core, stay));
    }
    here = core->pcpu[stay].weight;
    there = core->pcpu[other].weight;
    if (there + there / 8 < here) {
        return other;
    }
    if (there <= here && runs_sibling(core, stay, id) && !runs_sibling(core, other, id)) {
        return other;
    }
    return stay;
}

static uint32_t choose(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t from = vcpu->pcpu != NONE ? vcpu->pcpu : vcpu->index % core->config.pcpu_count;
    uint32_t at = find_near(core, id, &core->idle, from);

    if (at == NONE) {
        at = find_near(core, id, &core->polling, from);
    }
    return at != NONE ? at : choose_busy(core, id, from);
}

void cede_place_kick(struct cede_turn *turn, uint32_t pcpu, uint32_t id, enum cede_reason reason)
{
    struct cede_pcpu *target = &turn->core->pcpu[pcpu];

    if (target->kicked) {
        return;
    }
    target->kicked = true;
    target->kicks++;
    if (target->activity == CEDE_ACTIVITY_POLL) {
        cede_out(turn->out, CEDE_EFFECT_POLL_STOP, pcpu, target->current, reason);
    } else {
        cede_out(turn->out, CEDE_EFFECT_KICK, pcpu, id, reason);
    }
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_KICK, reason, pcpu, id, NONE, 0);
}

/* Would the newly waiting vCPU take the pCPU from the one that runs there, if it were asked now. */
static bool preempts(const struct cede *core, uint32_t pcpu, uint32_t id)
{
    uint32_t current = core->pcpu[pcpu].current;

    if (cede_policy_of(core, &core->vcpu[id], CEDE_POLICY_WAKE_PREEMPT) == 0) {
        return false;
    }
    return cede_runqueue_eligible(core, id) &&
           (cede_earlier(core, id, current) || cede_runqueue_slice_over(core, current));
}

/* A vCPU came to the queue of that pCPU: ask it to look if it idles, polls, has no limit set, or
 * would switch. */
static void notify(struct cede_turn *turn, uint32_t pcpu, uint32_t id, enum cede_reason reason)
{
    struct cede_pcpu *queue = &turn->core->pcpu[pcpu];

    if (queue->activity != CEDE_ACTIVITY_RUN) {
        queue->preempt_reason = (uint8_t)reason;
        cede_place_kick(turn, pcpu, id, reason);
    } else if (preempts(turn->core, pcpu, id)) {
        queue->preempt = true;
        queue->preempt_reason = CEDE_REASON_WAKE_PREEMPT;
        cede_place_kick(turn, pcpu, id, CEDE_REASON_WAKE_PREEMPT);
    } else if (queue->until_ns == CEDE_NEVER_NS) {
        cede_place_kick(turn, pcpu, id, CEDE_REASON_SLICE_END);
    }
}

static void enter_queue(struct cede_turn *turn, uint32_t pcpu, uint32_t id)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (vcpu->pcpu != pcpu) {
        vcpu->placed_ns = turn->now_ns;
    }
    cede_runqueue_charge(core, pcpu, turn->now_ns);
    cede_runqueue_enqueue(core, pcpu, id);
    cede_sets_update(core, id);
}

void cede_place_on(struct cede_turn *turn, uint32_t pcpu, uint32_t id, enum cede_reason reason)
{
    uint32_t before = turn->core->vcpu[id].pcpu;

    if (before != pcpu && before != NONE) {
        cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_MIGRATE, reason, pcpu, id,
                    NONE, before);
    }
    enter_queue(turn, pcpu, id);
    notify(turn, pcpu, id, reason);
}

static void limbo_add(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->in_limbo = true;
    vcpu->left = NONE;
    vcpu->right = core->limbo;
    if (core->limbo != NONE) {
        core->vcpu[core->limbo].left = id;
    }
    core->limbo = id;
}

static void limbo_drop(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    if (vcpu->left != NONE) {
        core->vcpu[vcpu->left].right = vcpu->right;
    } else {
        core->limbo = vcpu->right;
    }
    if (vcpu->right != NONE) {
        core->vcpu[vcpu->right].left = vcpu->left;
    }
    vcpu->left = NONE;
    vcpu->right = NONE;
    vcpu->in_limbo = false;
}

void cede_place(struct cede_turn *turn, uint32_t id, enum cede_reason reason)
{
    uint32_t pcpu = choose(turn->core, id);

    if (pcpu == NONE) {
        limbo_add(turn->core, id);
        cede_yield_forget(turn->core, id);
        cede_sets_update(turn->core, id);
        return;
    }
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_WAKE, reason, pcpu, id,
                turn->own != NULL ? turn->own->current : NONE, 0);
    cede_place_on(turn, pcpu, id, reason);
}

void cede_place_remove(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (vcpu->in_limbo) {
        limbo_drop(turn->core, id);
    } else if (vcpu->waiting) {
        cede_runqueue_charge(turn->core, vcpu->pcpu, turn->now_ns);
        cede_runqueue_dequeue(turn->core, id);
    }
    cede_sets_update(turn->core, id);
}

void cede_place_spread(struct cede_turn *turn, uint32_t pcpu)
{
    const struct cede *core = turn->core;
    uint32_t id = cede_tree_first(core, core->pcpu[pcpu].root);

    for (uint32_t n = 0; id != NONE && n < SPREAD_LOOKS_MAX && core->idle.summary != 0; n++) {
        uint32_t at = core->vcpu[id].movable ? find(core, id, &core->idle, NULL, pcpu) : NONE;
        if (at != NONE) {
            turn->core->pcpu[at].asked_for = id;
            cede_place_kick(turn, at, id, CEDE_REASON_IDLE_PULL);
            return;
        }
        id = cede_tree_next(core, id);
    }
}

void cede_place_limbo(struct cede_turn *turn, uint32_t pcpu)
{
    struct cede *core = turn->core;
    uint32_t id = core->limbo;

    for (uint32_t n = 0; id != NONE && n < LIMBO_LOOKS_MAX && turn->moves < CEDE_MOVES_MAX; n++) {
        uint32_t following = core->vcpu[id].right;
        if (cede_allowed(core, &core->vcpu[id], pcpu)) {
            limbo_drop(core, id);
            turn->moves++;
            enter_queue(turn, pcpu, id);
        }
        id = following;
    }
}

/* The vCPU may be taken from where it waits: not if that pCPU was just woken for it alone. */
static bool pullable(const struct cede *core, uint32_t id, uint32_t pcpu)
{
    const struct cede_pcpu *queue = &core->pcpu[core->vcpu[id].pcpu];

    if (queue->activity == CEDE_ACTIVITY_IDLE && queue->waiting_count == 1 && queue->kicked &&
        queue->role != CEDE_ROLE_OFFLINE && !queue->evict) {
        return false;
    }
    return core->vcpu[id].pcpu != pcpu && cede_allowed(core, &core->vcpu[id], pcpu);
}

/* Every loaded queue within a mask, nearest number first. */
static uint32_t pull_from(const struct cede *core, uint32_t pcpu, const uint64_t *within)
{
    uint32_t words = core->pcpu_words;

    for (uint32_t n = 0; n <= words; n++) {
        uint32_t at = (pcpu / 64u + n) % words;
        uint64_t bits = core->loaded.word[at] & (within != NULL ? within[at] : UINT64_MAX);
        if (n == 0) {
            bits &= cede_bits_from(pcpu);
        } else if (n == words) {
            bits &= ~cede_bits_from(pcpu);
        }
        for (; bits != 0; bits &= bits - 1) {
            uint32_t queue = at * 64u + cede_bits_lowest(bits);
            uint32_t id = cede_tree_first(core, core->pcpu[queue].root);
            for (; id != NONE; id = cede_tree_next(core, id)) {
                if (pullable(core, id, pcpu)) {
                    return id;
                }
            }
        }
    }
    return NONE;
}

/* A dedicated pCPU looks at its VM's waiting vCPUs only. */
static uint32_t pull_own(const struct cede *core, uint32_t pcpu)
{
    uint32_t vm = core->pcpu[pcpu].role_vm;

    for (uint32_t set = 0; set < CEDE_SET_WAITING_COUNT; set++) {
        uint32_t last = CEDE_VM_VCPU_COUNT_MAX - 1;
        for (uint32_t n = core->vm[vm].set_count[set]; n > 0; n--) {
            uint32_t id = cede_sets_next(core, vm, (enum cede_set)set, last);
            if (pullable(core, id, pcpu)) {
                return id;
            }
            last = core->vcpu[id].index;
        }
    }
    return NONE;
}

uint32_t cede_place_pull(struct cede_turn *turn, uint32_t pcpu)
{
    struct cede *core = turn->core;
    uint32_t id = NONE, before;

    if (core->loaded.summary == 0 || core->pcpu[pcpu].role == CEDE_ROLE_OFFLINE) {
        return NONE;
    }
    if (core->pcpu[pcpu].role == CEDE_ROLE_DEDICATED) {
        id = pull_own(core, pcpu);
    } else {
        id = pull_from(core, pcpu, llc_of(core, pcpu));
        id = id != NONE ? id : pull_from(core, pcpu, NULL);
    }
    if (id == NONE) {
        return NONE;
    }
    before = core->vcpu[id].pcpu;
    cede_place_remove(turn, id);
    cede_record(core, turn->now_ns, turn->pcpu, CEDE_TRACE_MIGRATE, CEDE_REASON_IDLE_PULL, pcpu,
                id, NONE, before);
    enter_queue(turn, pcpu, id);
    if (core->idle.summary != 0 && core->pcpu[before].movable_count != 0) {
        cede_place_spread(turn, before); /* it may have come for another one */
    }
    return id;
}

/*
 * Rotation: with n+1 vCPUs here and n there, the one whose slice just ended goes there, so that
 * everybody waits in the longer queue in turn. Also evens out what wake-ups left uneven.
 */
static uint32_t rotate(struct cede *core, uint32_t pcpu, uint32_t id)
{
    struct cede_pcpu *here = &core->pcpu[pcpu];
    uint32_t start = after(core, here->rotor);
    uint32_t at = find(core, id, &core->single, llc_of(core, pcpu), start);
    uint64_t weight = core->vcpu[id].weight;

    if (at == NONE) {
        at = find(core, id, &core->single, NULL, start);
    }
    if (at == NONE) {
        at = find(core, id, NULL, NULL, start);
    }
    if (at == pcpu) { /* itself is no choice; it mustn't use up the turn either */
        at = find(core, id, NULL, NULL, after(core, pcpu));
    }
    if (at == NONE || at == pcpu) {
        return NONE;
    }
    here->rotor = at;
    return core->pcpu[at].weight + weight <= here->weight + weight / 8 ? at : NONE;
}

uint32_t cede_place_better(struct cede_turn *turn, uint32_t pcpu, uint32_t id, bool slice_over)
{
    struct cede *core = turn->core;
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t at = NONE;
    uint64_t stay_ns;

    if (core->idle.summary != 0) {
        at = find_near(core, id, &core->idle, pcpu);
    }
    if (at == NONE && core->polling.summary != 0) {
        at = find_near(core, id, &core->polling, pcpu);
    }
    if (at != NONE || !slice_over || !vcpu->movable) {
        return at;
    }
    stay_ns = ROTATE_SLICES * (uint64_t)cede_policy_of(core, vcpu, CEDE_POLICY_SLICE_NS);
    return turn->now_ns - vcpu->placed_ns < stay_ns ? NONE : rotate(core, pcpu, id);
}
