/*
 * stats.c - copies of what was counted, as of a given time. Reads only. Lock held.
 */
#include "account.h"
#include "base/memory.h"
#include "turn.h"

enum cede_status cede_vcpu_stats(const struct cede *core, uint64_t now_ns,
                                 struct cede_vcpu_id vcpu, struct cede_vcpu_stats *stats)
{
    const struct cede_vcpu *from;

    if (!cede_turn_vcpu_exists(core, vcpu)) {
        return CEDE_BAD_ID;
    }
    if (now_ns < core->now_ns) {
        return CEDE_BAD_TIME;
    }
    from = &core->vcpu[vcpu.value];
    memcpy(stats->time_ns, from->time_ns, sizeof(stats->time_ns));
    memcpy(stats->count, from->count, sizeof(stats->count));
    stats->time_ns[cede_account_class(from->state)] += now_ns - from->since_ns;
    stats->wake_latency = from->wake_latency;
    stats->added_ns = from->added_ns;
    stats->state = from->state;
    stats->pcpu.value = from->pcpu;
    return CEDE_OK;
}

enum cede_status cede_pcpu_stats(const struct cede *core, uint64_t now_ns,
                                 struct cede_pcpu_id pcpu, struct cede_pcpu_stats *stats)
{
    const struct cede_pcpu *from;

    if (!cede_turn_pcpu_exists(core, pcpu)) {
        return CEDE_BAD_ID;
    }
    if (now_ns < core->now_ns) {
        return CEDE_BAD_TIME;
    }
    from = &core->pcpu[pcpu.value];
    memcpy(stats->time_ns, from->time_ns, sizeof(stats->time_ns));
    stats->time_ns[cede_account_pcpu_class(from)] += now_ns - from->since_ns;
    stats->added_ns = from->added_ns;
    stats->switches = from->switches;
    stats->kicks = from->kicks;
    stats->current.value = from->current;
    stats->waiting = from->waiting_count;
    return CEDE_OK;
}
