/*
 * types.h - what every public header of the core shares: ids, status, limits, units.
 *
 * Units: every time is a uint64_t count of nanoseconds on one clock that never goes back, chosen
 * by the caller; names end in `_ns`. Ids are one-member structs, so that a vCPU's id can't be
 * passed where a pCPU's is wanted; they are indices below the counts given at cede_init().
 *
 * The core calls nothing but memcpy, memset, memmove, memcmp and cede_panic() (below).
 */
#ifndef CEDE_TYPES_H
#define CEDE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cede_pcpu_id {
    uint32_t value;
};

struct cede_vcpu_id {
    uint32_t value; /* unique over all VMs of one core */
};

struct cede_vm_id {
    uint32_t value;
};

#define CEDE_ID_NONE UINT32_MAX /* "no pCPU", "no vCPU", "no VM" in an event or effect */
#define CEDE_NEVER_NS UINT64_MAX

#define CEDE_PCPU_COUNT_MAX 1024u
#define CEDE_VCPU_COUNT_MAX 65536u
#define CEDE_VM_VCPU_COUNT_MAX 4096u
#define CEDE_VM_COUNT_MAX 65536u

static inline bool cede_pcpu_is_none(struct cede_pcpu_id id)
{
    return id.value == CEDE_ID_NONE;
}

static inline bool cede_vcpu_is_none(struct cede_vcpu_id id)
{
    return id.value == CEDE_ID_NONE;
}

static inline bool cede_vm_is_none(struct cede_vm_id id)
{
    return id.value == CEDE_ID_NONE;
}

#define CEDE_PCPU_NONE ((struct cede_pcpu_id){CEDE_ID_NONE})
#define CEDE_VCPU_NONE ((struct cede_vcpu_id){CEDE_ID_NONE})
#define CEDE_VM_NONE ((struct cede_vm_id){CEDE_ID_NONE})

/* Every status but CEDE_OK means: nothing was changed and there are no effects. */
enum cede_status {
    CEDE_OK = 0,
    CEDE_BAD_KIND,   /* no such event kind */
    CEDE_BAD_ID,     /* an id that is out of range, or of a pCPU, VM or vCPU that doesn't exist */
    CEDE_BAD_STATE,  /* the event doesn't fit the state: a spin of a vCPU that isn't running, ... */
    CEDE_BAD_TIME,   /* now_ns is before an earlier event's */
    CEDE_BAD_VALUE,  /* a policy value, weight, quota or fact out of its range */
    CEDE_BAD_MEMORY, /* cede_init(): memory too small or misaligned */
    CEDE_EXISTS,     /* adding what is there already */
    CEDE_BUSY,       /* removing what is still in use: a VM with vCPUs, a pCPU that runs one */
    CEDE_STATUS_COUNT
};

/*
 * The one hook: a broken invariant inside the core. Supplied by whoever links libcede.a; must not
 * return. Never called for bad input, which gets a status.
 */
_Noreturn void cede_panic(const char *what);

#endif
