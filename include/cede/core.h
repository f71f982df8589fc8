/*
 * core.h - the core's life: memory in, events in, effects out.
 *
 * Locking: one lock, the caller's, around everything here that takes a `struct cede`; the core
 * has none. It is held for the few hundred instructions of one transition. What must happen
 * under the same lock as an event stands in event.h ("No wake-up is lost") and effect.h.
 * One process or machine may hold several cores; they share nothing.
 */
#ifndef CEDE_CORE_H
#define CEDE_CORE_H

#include "cede/effect.h"
#include "cede/event.h"
#include "cede/policy.h"
#include "cede/types.h"

struct cede;

/* How much there may ever be at once. Ids in events are below these counts. */
struct cede_config {
    uint32_t pcpu_count;    /* 1..CEDE_PCPU_COUNT_MAX */
    uint32_t vm_count;      /* 1..CEDE_VM_COUNT_MAX */
    uint32_t vcpu_count;    /* 1..CEDE_VCPU_COUNT_MAX, over all VMs */
    uint32_t vm_vcpu_count; /* 1..CEDE_VM_VCPU_COUNT_MAX: the most in one VM */
    uint32_t trace_count;   /* records in each pCPU's ring: 0 (no trace) or a power of two */
    uint32_t seed;          /* for tie-breaking structures only; any value; part of a replay */
};

#define CEDE_ALIGN 64u

/*
 * The bytes that cede_init() needs for that configuration; 0 if it is out of range or too large
 * for size_t. O(1). No lock.
 */
size_t cede_size(const struct cede_config *config);

/*
 * Makes a core in `memory` (CEDE_ALIGN-aligned, `size` >= cede_size()): no pCPUs, VMs or vCPUs.
 * CEDE_BAD_VALUE for a bad configuration, CEDE_BAD_MEMORY for bad memory. The core never frees
 * nor asks for more; the caller may drop the memory at any time. O(size).
 */
enum cede_status cede_init(void *memory, size_t size, const struct cede_config *config,
                           struct cede **core);

/*
 * One transition: takes the event, changes the state, writes the effects. On any other status
 * than CEDE_OK nothing has changed and effects->count is 0. Never waits. The event may not lie in
 * the core's memory. Lock held. Complexity: event.h.
 */
enum cede_status cede_handle(struct cede *core, const struct cede_event *event,
                             struct cede_effects *effects);

/* "CEDE_BAD_ID: an id that is out of range ..." in short: "bad id". Never NULL. */
const char *cede_status_name(enum cede_status status);

/*
 * The policy now in force for a VM. CEDE_BAD_ID if there is no such VM. Lock held. O(keys).
 */
enum cede_status cede_vm_policy(const struct cede *core, struct cede_vm_id vm,
                                struct cede_policy *policy);

/*
 * Verifies every invariant of the whole core: NULL if all hold, else a sentence that names the
 * first that doesn't. Changes nothing. Lock held. O(pCPUs + vCPUs); for debug builds and tests.
 */
const char *cede_check_all(const struct cede *core);

#endif
