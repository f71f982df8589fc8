/*
 * runqueue.c - see runqueue.h. Owns the queue members of struct cede_pcpu and the entity members of
 * struct cede_vcpu.
 *
 * Ranges: weights are 1..2^28, a charge is cut at 2^34 ns (17 s), a slice is below 2^27 ns, so that
 * service << 28 fits in 62 bits and nothing here needs more than 64.
 */
#include "runqueue.h"

#include "cap.h"
#include "tree.h"

#define SERVICE_MAX_NS (UINT64_C(1) << 34)
#define UNIT_SHIFT 28u   /* 2^18, the weight of a vCPU alone in a VM of 1024, times 1024 */
#define LAG_SHIFT 18u    /* from virtual time times weight to lag */
#define WEIGHT_MAX (1u << 28)
#define DEBT_SLICES 8    /* what a vCPU owes is remembered up to that many slices */

static uint64_t virtual_of(uint64_t service_ns, uint64_t weight)
{
    if (service_ns > SERVICE_MAX_NS) {
        service_ns = SERVICE_MAX_NS;
    }
    return (service_ns << UNIT_SHIFT) / weight;
}

uint32_t cede_runqueue_weight(const struct cede *core, const struct cede_vcpu *vcpu,
                              uint32_t active_count)
{
    uint32_t weight = (core->vm[vcpu->vm].weight << 8) / (active_count == 0 ? 1 : active_count);

    return weight == 0 ? 1 : weight > WEIGHT_MAX ? WEIGHT_MAX : weight;
}

static uint64_t slice_ns(const struct cede *core, const struct cede_vcpu *vcpu)
{
    return cede_policy_of(core, vcpu, CEDE_POLICY_SLICE_NS);
}

/* Service owed to a joined vCPU, in ns << 10, within what 44 bits hold. */
static int64_t lag_of(const struct cede_pcpu *queue, const struct cede_vcpu *vcpu)
{
    int64_t ahead = (int64_t)(queue->vtime - vcpu->vruntime);
    int64_t limit = (int64_t)((SERVICE_MAX_NS << UNIT_SHIFT) / vcpu->weight);

    ahead = ahead > limit ? limit : ahead < -limit ? -limit : ahead;
    return (ahead * (int64_t)vcpu->weight) >> LAG_SHIFT;
}

static int64_t clamp_lag(int64_t lag, uint64_t slice)
{
    int64_t limit = (int64_t)(slice << 10);

    return lag > limit ? limit : lag < -limit * DEBT_SLICES ? -limit * DEBT_SLICES : lag;
}

static uint64_t shift_of(int64_t lag, uint64_t weight)
{
    return (uint64_t)((lag * (INT64_C(1) << LAG_SHIFT)) / (int64_t)weight);
}

#define MARK_IDLE 1u
#define MARK_POLLING 2u
#define MARK_SINGLE 4u
#define MARK_LOADED 8u

/* Most changes of a queue change none of the four: only those that do touch the sets. */
void cede_runqueue_mark(struct cede *core, uint32_t pcpu)
{
    static const uint8_t of_activity[] = {
        [CEDE_ACTIVITY_IDLE] = MARK_IDLE,
        [CEDE_ACTIVITY_RUN] = MARK_SINGLE,
        [CEDE_ACTIVITY_POLL] = MARK_POLLING,
    };
    struct cede_pcpu *queue = &core->pcpu[pcpu];
    uint32_t marks = queue->movable_count != 0 ? MARK_LOADED : 0, changed;

    if (queue->waiting_count == 0 && queue->exists && queue->role != CEDE_ROLE_OFFLINE) {
        marks |= of_activity[queue->activity];
    }
    changed = marks ^ queue->marks;
    if (changed == 0) {
        return;
    }
    queue->marks = (uint8_t)marks;
    if ((changed & MARK_IDLE) != 0) {
        cede_pset_put(&core->idle, pcpu, (marks & MARK_IDLE) != 0);
    }
    if ((changed & MARK_POLLING) != 0) {
        cede_pset_put(&core->polling, pcpu, (marks & MARK_POLLING) != 0);
    }
    if ((changed & MARK_SINGLE) != 0) {
        cede_pset_put(&core->single, pcpu, (marks & MARK_SINGLE) != 0);
    }
    if ((changed & MARK_LOADED) != 0) {
        cede_pset_put(&core->loaded, pcpu, (marks & MARK_LOADED) != 0);
    }
}

void cede_runqueue_charge(struct cede *core, uint32_t pcpu, uint64_t now_ns)
{
    struct cede_pcpu *queue = &core->pcpu[pcpu];
    uint64_t span_ns = now_ns - queue->charged_ns;

    queue->charged_ns = now_ns;
    if (span_ns == 0 || queue->activity != CEDE_ACTIVITY_RUN) {
        return;
    }
    struct cede_vcpu *vcpu = &core->vcpu[queue->current];
    uint64_t own = virtual_of(span_ns, vcpu->weight);
    vcpu->vruntime += own;
    queue->vtime += queue->weight == vcpu->weight ? own : virtual_of(span_ns, queue->weight);
    if (core->vm[vcpu->vm].quota_ns != 0) {
        cede_cap_charge(core, queue->current, span_ns, now_ns);
    }
}

void cede_runqueue_join(struct cede *core, uint32_t pcpu, uint32_t id)
{
    struct cede_pcpu *queue = &core->pcpu[pcpu];
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t slice = slice_ns(core, vcpu);
    int64_t lag = clamp_lag(vcpu->lag, slice);

    vcpu->weight = cede_runqueue_weight(core, vcpu, ++core->vm[vcpu->vm].active_count);
    vcpu->vruntime = queue->vtime - shift_of(lag, vcpu->weight);
    queue->weight += vcpu->weight;
    queue->vtime -= shift_of(lag, queue->weight);
    vcpu->deadline = vcpu->vruntime + virtual_of(slice, vcpu->weight);
    vcpu->pcpu = pcpu;
}

void cede_runqueue_leave(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_pcpu *queue = &core->pcpu[vcpu->pcpu];
    int64_t lag = lag_of(queue, vcpu);

    queue->weight -= vcpu->weight;
    if (queue->weight != 0) {
        queue->vtime += shift_of(lag, queue->weight);
    }
    core->vm[vcpu->vm].active_count--;
    vcpu->lag = clamp_lag(lag, slice_ns(core, vcpu));
}

void cede_runqueue_wait(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_pcpu *queue = &core->pcpu[vcpu->pcpu];

    cede_tree_insert(core, &queue->root, id);
    vcpu->waiting = true;
    queue->waiting_count++;
    queue->movable_count += vcpu->movable ? 1 : 0;
    cede_runqueue_mark(core, vcpu->pcpu);
}

void cede_runqueue_take(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    struct cede_pcpu *queue = &core->pcpu[vcpu->pcpu];

    cede_tree_erase(core, &queue->root, id);
    vcpu->waiting = false;
    queue->waiting_count--;
    queue->movable_count -= vcpu->movable ? 1 : 0;
    if (queue->next == id) {
        queue->next = NONE;
    }
    cede_runqueue_mark(core, vcpu->pcpu);
}

void cede_runqueue_enqueue(struct cede *core, uint32_t pcpu, uint32_t id)
{
    cede_runqueue_join(core, pcpu, id);
    cede_runqueue_wait(core, id);
}

void cede_runqueue_dequeue(struct cede *core, uint32_t id)
{
    cede_runqueue_take(core, id);
    cede_runqueue_leave(core, id);
}

void cede_runqueue_renew(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t weight = cede_runqueue_weight(core, vcpu, core->vm[vcpu->vm].active_count);

    if (weight != vcpu->weight) {
        cede_runqueue_leave(core, id);
        cede_runqueue_join(core, vcpu->pcpu, id);
    }
    vcpu->deadline = vcpu->vruntime + virtual_of(slice_ns(core, vcpu), vcpu->weight);
}

/*
 * If nobody at all is eligible, vtime is behind the least vruntime, which no average can be: the
 * sum of what integer division cut off. It is put right here, and so never grows.
 */
uint32_t cede_runqueue_best(struct cede *core, uint32_t pcpu)
{
    struct cede_pcpu *queue = &core->pcpu[pcpu];
    uint32_t id = cede_tree_eligible(core, queue->root, queue->vtime);

    if (id != NONE || queue->root == NONE) {
        return id;
    }
    if (queue->activity != CEDE_ACTIVITY_RUN || !cede_runqueue_eligible(core, queue->current)) {
        queue->vtime = core->vcpu[queue->root].min_vruntime;
        return cede_tree_eligible(core, queue->root, queue->vtime);
    }
    return cede_tree_first(core, queue->root); /* only the running one is owed anything */
}

uint32_t cede_runqueue_hint(const struct cede *core, uint32_t pcpu)
{
    const struct cede_pcpu *queue = &core->pcpu[pcpu];
    const struct cede_vcpu *vcpu;
    uint64_t ahead;

    if (queue->next == NONE) {
        return NONE;
    }
    vcpu = &core->vcpu[queue->next];
    ahead = virtual_of(slice_ns(core, vcpu) / 2, vcpu->weight);
    return cede_before(queue->vtime + ahead, vcpu->vruntime) ? NONE : queue->next;
}

uint64_t cede_runqueue_slice_left_ns(const struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint64_t limit = (SERVICE_MAX_NS << UNIT_SHIFT) / vcpu->weight;
    uint64_t left = vcpu->deadline - vcpu->vruntime;

    if (cede_runqueue_slice_over(core, id)) {
        return 0;
    }
    return ((left > limit ? limit : left) * vcpu->weight) >> UNIT_SHIFT;
}

void cede_runqueue_set_slice(struct cede *core, uint32_t id, uint64_t left_ns)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];

    vcpu->deadline = vcpu->vruntime + virtual_of(left_ns, vcpu->weight);
}

void cede_runqueue_exchange(struct cede *core, uint32_t running, uint32_t target)
{
    struct cede_vcpu *a = &core->vcpu[running], *b = &core->vcpu[target];
    uint64_t vruntime = a->vruntime, deadline = a->deadline;
    uint32_t weight = a->weight, pcpu = a->pcpu;

    cede_runqueue_take(core, target);
    a->vruntime = b->vruntime;
    a->deadline = b->deadline;
    a->weight = b->weight;
    a->pcpu = b->pcpu;
    b->vruntime = vruntime;
    b->deadline = deadline;
    b->weight = weight;
    b->pcpu = pcpu;
    cede_runqueue_wait(core, running);
}
