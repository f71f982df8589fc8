/*
 * trace.h - reading the core's trace: per-pCPU rings of fixed records (abi/trace.h).
 *
 * Every transition writes what it decided and why to the ring of the pCPU that sent it; events of
 * the host's management go to pCPU 0's ring. A full ring overwrites its oldest record; the reader is told how many it lost.
 */
#ifndef CEDE_TRACE_H
#define CEDE_TRACE_H

#include "abi/trace.h"
#include "cede/types.h"

struct cede;

enum cede_trace_kind {
#define X(NAME, name, doc) CEDE_TRACE_##NAME,
#include "cede/lists/trace.def"
#undef X
    CEDE_TRACE_COUNT
};

/*
 * Moves up to `max` of the oldest unread records of that pCPU's ring to `records`; returns how
 * many, and adds to *lost those overwritten since the last call. 0 for an unknown pCPU.
 * Lock held. O(records moved).
 */
uint32_t cede_trace_read(struct cede *core, struct cede_pcpu_id pcpu,
                         struct abi_trace_record *records, uint32_t max, uint64_t *lost);

/* "run", "yield", ...; NULL if there is no such kind. */
const char *cede_trace_name(uint32_t kind);

#endif
