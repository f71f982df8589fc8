/*
 * check.c - every invariant of the whole core, for debug builds and tests. Reads only; nothing here
 * is trusted, so that walks are bounded even over damaged links.
 */
#include "account.h"
#include "runqueue.h"
#include "sets.h"
#include "tree.h"
#include "turn.h"

#define REQUIRE(holds, sentence)                                                                  \
    do {                                                                                          \
        if (!(holds)) {                                                                           \
            return sentence;                                                                      \
        }                                                                                         \
    } while (0)

/* Rounding may take the average that far off, in ns of service for each joined vCPU. */
#define LAG_TOLERANCE_NS 1000000

__extension__ typedef __int128 wide;

struct tally {
    uint32_t waiting, movable;
    uint64_t weight;
    wide lag;
};

static const char *check_node(const struct cede *core, uint32_t pcpu, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t least = vcpu->vruntime;

    REQUIRE(vcpu->exists && vcpu->waiting, "a vCPU in a queue doesn't exist or doesn't wait");
    REQUIRE(vcpu->state == CEDE_STATE_RUNNABLE, "a vCPU in a queue isn't runnable");
    REQUIRE(vcpu->pcpu == pcpu, "a vCPU waits in another pCPU's queue than it says");
    REQUIRE(!vcpu->paused && !vcpu->stopping, "a paused or stopping vCPU waits");
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t child = side == 0 ? vcpu->left : vcpu->right;
        if (child == NONE) {
            continue;
        }
        REQUIRE(child < core->config.vcpu_count, "a tree link is out of range");
        REQUIRE(core->vcpu[child].parent == id, "a tree's parent link is wrong");
        REQUIRE(cede_earlier(core, child, id) == (side == 0), "a tree is out of order");
        REQUIRE(core->vcpu[child].priority <= vcpu->priority, "a tree is out of balance");
        if (cede_before(core->vcpu[child].min_vruntime, least)) {
            least = core->vcpu[child].min_vruntime;
        }
    }
    REQUIRE(least == vcpu->min_vruntime, "a subtree's least vruntime is wrong");
    return NULL;
}

static void count(struct tally *tally, const struct cede_pcpu *queue, const struct cede_vcpu *vcpu)
{
    tally->weight += vcpu->weight;
    tally->lag += (wide)(int64_t)(queue->vtime - vcpu->vruntime) * vcpu->weight;
}

static const char *check_tree(const struct cede *core, uint32_t pcpu, struct tally *tally)
{
    const struct cede_pcpu *queue = &core->pcpu[pcpu];
    bool found_next = queue->next == NONE;
    uint32_t id = cede_tree_first(core, queue->root);

    for (; id != NONE; id = cede_tree_next(core, id)) {
        const char *fault = check_node(core, pcpu, id);
        REQUIRE(fault == NULL, fault);
        REQUIRE(tally->waiting < core->config.vcpu_count, "a queue's tree has a cycle");
        REQUIRE(queue->evict || cede_allowed(core, &core->vcpu[id], pcpu),
                "a vCPU waits where it may not run");
        tally->waiting++;
        tally->movable += core->vcpu[id].movable ? 1 : 0;
        found_next = found_next || id == queue->next;
        count(tally, queue, &core->vcpu[id]);
    }
    REQUIRE(found_next, "a queue's next pick doesn't wait there");
    REQUIRE(queue->root == NONE || core->vcpu[queue->root].parent == NONE,
            "a tree's root has a parent");
    return NULL;
}

static const char *check_current(const struct cede *core, uint32_t pcpu, struct tally *tally)
{
    const struct cede_pcpu *queue = &core->pcpu[pcpu];
    const struct cede_vcpu *vcpu;

    if (queue->activity == CEDE_ACTIVITY_IDLE) {
        REQUIRE(queue->current == NONE, "an idle pCPU has a current vCPU");
        return NULL;
    }
    REQUIRE(queue->current < core->config.vcpu_count, "a busy pCPU has no current vCPU");
    vcpu = &core->vcpu[queue->current];
    REQUIRE(vcpu->exists && vcpu->pcpu == pcpu, "a current vCPU says that it is elsewhere");
    if (queue->activity == CEDE_ACTIVITY_POLL) {
        REQUIRE(vcpu->state == CEDE_STATE_POLLING, "a polling pCPU's vCPU isn't polling");
        return NULL;
    }
    REQUIRE(vcpu->state == CEDE_STATE_RUNNING, "a pCPU's current vCPU isn't running");
    count(tally, queue, vcpu);
    return NULL;
}

static const char *check_pcpu_sets(const struct cede *core, uint32_t pcpu)
{
    const struct cede_pcpu *queue = &core->pcpu[pcpu];
    bool usable = queue->exists && queue->role != CEDE_ROLE_OFFLINE;
    bool free_to = usable && queue->waiting_count == 0;
    bool own = queue->exists && queue->role == CEDE_ROLE_DEDICATED;

    REQUIRE(cede_pset_has(&core->idle, pcpu) ==
                (free_to && queue->activity == CEDE_ACTIVITY_IDLE), "the idle set is wrong");
    REQUIRE(cede_pset_has(&core->polling, pcpu) ==
                (free_to && queue->activity == CEDE_ACTIVITY_POLL), "the polling set is wrong");
    REQUIRE(cede_pset_has(&core->single, pcpu) ==
                (free_to && queue->activity == CEDE_ACTIVITY_RUN), "the single set is wrong");
    REQUIRE(cede_pset_has(&core->loaded, pcpu) == (queue->movable_count != 0),
            "the loaded set is wrong");
    REQUIRE(cede_pset_has(&core->open, pcpu) == (usable && !own), "the open set is wrong");
    REQUIRE(cede_pset_has(&core->housekeeping, pcpu) ==
                (queue->exists && queue->role == CEDE_ROLE_HOUSEKEEPING),
            "the housekeeping set is wrong");
    REQUIRE(!own || (core->vm_own[queue->role_vm * core->pcpu_words + pcpu / 64u] >>
                         (pcpu & 63u) & 1u) != 0, "a dedicated pCPU isn't its VM's own");
    return NULL;
}

static const char *check_timers(const struct cede *core, uint32_t pcpu)
{
    uint32_t id = core->pcpu[pcpu].timers, before = NONE;

    for (uint32_t n = 0; id != NONE; n++) {
        REQUIRE(n < core->config.vcpu_count && id < core->config.vcpu_count,
                "a list of timers is damaged");
        REQUIRE(core->vcpu[id].timer_armed && core->vcpu[id].timer_pcpu == pcpu &&
                    core->vcpu[id].timer_previous == before, "a timer isn't where it is listed");
        before = id;
        id = core->vcpu[id].timer_next;
    }
    return NULL;
}

static const char *check_pcpu_time(const struct cede *core, const struct cede_pcpu *pcpu)
{
    uint64_t sum_ns = 0;

    for (uint32_t n = 0; n < CEDE_PCPU_TIME_COUNT; n++) {
        sum_ns += pcpu->time_ns[n];
    }
    REQUIRE(pcpu->since_ns <= core->now_ns && pcpu->since_ns - pcpu->added_ns == sum_ns,
            "a pCPU's time classes don't sum to its lifetime");
    return NULL;
}

static const char *check_pcpu(const struct cede *core, uint32_t pcpu)
{
    const struct cede_pcpu *queue = &core->pcpu[pcpu];
    struct tally tally = {0};
    const char *fault = check_tree(core, pcpu, &tally);
    wide tolerance;

    fault = fault != NULL ? fault : check_current(core, pcpu, &tally);
    fault = fault != NULL ? fault : check_pcpu_sets(core, pcpu);
    fault = fault != NULL ? fault : check_timers(core, pcpu);
    fault = fault != NULL || !queue->exists ? fault : check_pcpu_time(core, queue);
    REQUIRE(fault == NULL, fault);
    REQUIRE(queue->exists || (tally.waiting == 0 && queue->current == NONE),
            "a pCPU that doesn't exist has vCPUs");
    REQUIRE(tally.waiting == queue->waiting_count && tally.movable == queue->movable_count,
            "a queue's counts are wrong");
    REQUIRE(tally.weight == queue->weight, "a queue's weight isn't the sum of its vCPUs'");
    tolerance = (wide)LAG_TOLERANCE_NS * (tally.waiting + 1) * (1 << 28);
    REQUIRE(tally.lag <= tolerance && -tally.lag <= tolerance, "a queue's lags don't sum to zero");
    return NULL;
}

static const char *check_place(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    bool runnable = vcpu->state == CEDE_STATE_RUNNABLE;

    REQUIRE(vcpu->state < CEDE_STATE_COUNT, "a vCPU's state is out of range");
    REQUIRE(vcpu->waiting + vcpu->in_limbo == (runnable ? 1 : 0),
            "a vCPU is runnable and in no queue, or in a queue and not runnable");
    if (vcpu->state == CEDE_STATE_RUNNING || vcpu->state == CEDE_STATE_POLLING) {
        REQUIRE(vcpu->pcpu < core->config.pcpu_count && core->pcpu[vcpu->pcpu].current == id,
                "a running or polling vCPU isn't its pCPU's current one");
    } else {
        REQUIRE(!vcpu->stopping, "a vCPU off its pCPU is still stopping");
        REQUIRE(vcpu->paused == (vcpu->state == CEDE_STATE_PAUSED) ||
                    vcpu->state == CEDE_STATE_OFFLINE, "a vCPU off its pCPU isn't paused as told");
    }
    REQUIRE(vcpu->state != CEDE_STATE_RUNNING || !vcpu->hooked,
            "a running vCPU's blocking hook is in force");
    REQUIRE(vcpu->state != CEDE_STATE_BLOCKED || vcpu->hooked,
            "a blocked vCPU's blocking hook isn't in force");
    REQUIRE(vcpu->state != CEDE_STATE_RUNNING || !vcpu->published_preempted,
            "a running vCPU is published as preempted");
    REQUIRE(vcpu->timer_armed || vcpu->timer_pcpu == NONE, "a timer is placed but not armed");
    return NULL;
}

static const char *check_links(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];

    REQUIRE(vcpu->yielded_to == NONE ||
                (core->vcpu[vcpu->yielded_to].yielder == id && vcpu->waiting),
            "a yielder waits for a vCPU that doesn't know");
    REQUIRE(vcpu->yielder == NONE || core->vcpu[vcpu->yielder].yielded_to == id,
            "a yield's target knows a yielder that doesn't wait for it");
    REQUIRE(vcpu->set == cede_sets_wanted(vcpu), "a vCPU isn't in the set that its state implies");
    REQUIRE(cede_sets_at(core, vcpu->vm, vcpu->index) == id, "a vCPU isn't where its VM looks");
    return NULL;
}

static const char *check_vcpu(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    const char *fault = check_place(core, id);
    uint64_t sum_ns = 0;

    fault = fault != NULL ? fault : check_links(core, id);
    REQUIRE(fault == NULL, fault);
    for (uint32_t n = 0; n < CEDE_TIME_COUNT; n++) {
        sum_ns += vcpu->time_ns[n];
    }
    REQUIRE(vcpu->since_ns <= core->now_ns && vcpu->since_ns - vcpu->added_ns == sum_ns,
            "a vCPU's time classes don't sum to its lifetime");
    return NULL;
}

/* The sets' words against the members' own words; the VM's sums. */
static const char *check_chunk(const struct cede *core, uint32_t vm, uint32_t number,
                               uint32_t *set_count, uint32_t *active_count, int64_t *granted_ns)
{
    const struct cede_chunk *chunk = &core->chunk[core->vm_chunk[vm * core->vm_chunks + number]];
    uint64_t word[CEDE_SET_COUNT] = {0};

    for (uint64_t bits = chunk->present; bits != 0; bits &= bits - 1) {
        uint32_t bit = cede_bits_lowest(bits), id = chunk->vcpu[bit];
        REQUIRE(id < core->config.vcpu_count && core->vcpu[id].exists && core->vcpu[id].vm == vm,
                "a VM's vCPU isn't its own");
        const struct cede_vcpu *vcpu = &core->vcpu[id];
        if (vcpu->set != CEDE_SET_NONE) {
            word[vcpu->set] |= UINT64_C(1) << bit;
            set_count[vcpu->set]++;
        }
        if (vcpu->waiting || vcpu->state == CEDE_STATE_RUNNING) {
            (*active_count)++;
        }
        if (vcpu->grant_epoch == core->vm[vm].cap_epoch) {
            *granted_ns += vcpu->grant_ns;
        }
    }
    for (uint32_t set = 0; set < CEDE_SET_COUNT; set++) {
        bool up = (core->vm[vm].set_summary[set] >> number & 1u) != 0;
        REQUIRE(word[set] == chunk->word[set], "a set has a stale or missing member");
        REQUIRE(up == (word[set] != 0), "a set's summary is wrong");
    }
    return NULL;
}

static const char *check_vm(const struct cede *core, uint32_t number)
{
    const struct cede_vm *vm = &core->vm[number];
    uint32_t set_count[CEDE_SET_COUNT] = {0}, active_count = 0;
    int64_t granted_ns = 0;

    for (uint32_t n = 0; n < core->vm_chunks; n++) {
        if (core->vm_chunk[number * core->vm_chunks + n] != NONE) {
            const char *fault = check_chunk(core, number, n, set_count, &active_count,
                                            &granted_ns);
            REQUIRE(fault == NULL, fault);
        }
    }
    for (uint32_t set = 0; set < CEDE_SET_COUNT; set++) {
        REQUIRE(set_count[set] == vm->set_count[set], "a set's count is wrong");
    }
    REQUIRE(active_count == vm->active_count, "a VM's count of active vCPUs is wrong");
    REQUIRE(vm->last_boosted < CEDE_VM_VCPU_COUNT_MAX, "last_boosted is out of range");
    if (vm->quota_ns != 0) {
        REQUIRE(granted_ns == vm->granted_ns, "a VM's grants don't sum up");
        REQUIRE(vm->budget_ns + vm->granted_ns <= (int64_t)vm->quota_ns,
                "a VM may use more than its quota");
        REQUIRE(vm->set_count[CEDE_SET_THROTTLED] == 0 || vm->refill_armed,
                "a VM is throttled and no refill is on its way");
    } else {
        REQUIRE(vm->set_count[CEDE_SET_THROTTLED] == 0 || vm->refill_armed,
                "vCPUs stay throttled without a cap");
    }
    return NULL;
}

static const char *check_limbo(const struct cede *core)
{
    uint32_t id = core->limbo, before = NONE;

    for (uint32_t n = 0; id != NONE; n++) {
        REQUIRE(n < core->config.vcpu_count && id < core->config.vcpu_count,
                "the limbo list is damaged");
        REQUIRE(core->vcpu[id].in_limbo && core->vcpu[id].left == before,
                "a vCPU in limbo doesn't say so");
        before = id;
        id = core->vcpu[id].right;
    }
    return NULL;
}

const char *cede_check_all(const struct cede *core)
{
    const char *fault = check_limbo(core);

    for (uint32_t n = 0; n < core->config.pcpu_count && fault == NULL; n++) {
        fault = check_pcpu(core, n);
    }
    for (uint32_t n = 0; n < core->config.vm_count && fault == NULL; n++) {
        fault = core->vm[n].exists ? check_vm(core, n) : NULL;
    }
    for (uint32_t n = 0; n < core->config.vcpu_count && fault == NULL; n++) {
        fault = core->vcpu[n].exists ? check_vcpu(core, n) : NULL;
    }
    return fault;
}
