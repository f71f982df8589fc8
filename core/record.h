/*
 * record.h - writing the trace: one record into the ring of the pCPU whose event is handled. O(1).
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include "state.h"

/* `ring`: the sender's pCPU, or NONE for the host's management (ring 0). `pcpu`: see trace.def. */
static inline void cede_record(struct cede *core, uint64_t now_ns, uint32_t ring,
                               enum cede_trace_kind kind, uint32_t reason, uint32_t pcpu,
                               uint32_t vcpu, uint32_t other, uint64_t arg)
{
    uint32_t size = core->config.trace_count;
    struct cede_pcpu *owner;
    struct abi_trace_record *record;

    if (size == 0) {
        return;
    }
    ring = ring == NONE ? 0 : ring;
    owner = &core->pcpu[ring];
    record = &core->trace[(size_t)ring * size + (size_t)(owner->trace_head & (size - 1))];
    owner->trace_head++;
    if (owner->trace_head - owner->trace_tail > size) {
        owner->trace_tail++;
        owner->trace_lost++;
    }
    record->now_ns = now_ns;
    record->arg = arg;
    record->pcpu = pcpu;
    record->vcpu = vcpu;
    record->other = other;
    record->kind = (uint16_t)kind;
    record->reason = (uint16_t)reason;
}

#endif
