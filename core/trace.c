/*
 * trace.c - reading the trace rings. Writing: record.h. Lock held.
 */
#include "turn.h"

uint32_t cede_trace_read(struct cede *core, struct cede_pcpu_id pcpu,
                         struct abi_trace_record *records, uint32_t max, uint64_t *lost)
{
    uint32_t size = core->config.trace_count, moved = 0;
    struct cede_pcpu *owner;

    if (pcpu.value >= core->config.pcpu_count || size == 0) {
        return 0;
    }
    owner = &core->pcpu[pcpu.value];
    *lost += owner->trace_lost;
    owner->trace_lost = 0;
    while (moved < max && owner->trace_tail != owner->trace_head) {
        records[moved++] =
            core->trace[(size_t)pcpu.value * size + (size_t)(owner->trace_tail & (size - 1))];
        owner->trace_tail++;
    }
    return moved;
}
