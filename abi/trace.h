/*
 * trace.h - the wire format of one trace record; same for hypervisor and simulator.
 *
 * Fixed size, little-endian, no padding. Rings of records are per pCPU; readers get the count of
 * records lost since the last read (include/cede/trace.h).
 */
#ifndef ABI_TRACE_H
#define ABI_TRACE_H

#include <stdint.h>

struct abi_trace_record {
    uint64_t now_ns;
    uint64_t arg;
    uint32_t pcpu; /* UINT32_MAX: none; the same for vcpu and other */
    uint32_t vcpu;
    uint32_t other;
    uint16_t kind;   /* include/cede/lists/trace.def */
    uint16_t reason; /* include/cede/lists/reason.def */
};

_Static_assert(sizeof(struct abi_trace_record) == 32, "trace records are 32 bytes");

#endif
