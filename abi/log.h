/*
 * log.h - the file format of an event log: every event given to a core, with its decision's digest.
 *
 * Written by the command from a hypervisor's EVENTS and DECISIONS frames, and by the simulator; a
 * replay gives the events to a fresh core and compares digests (include/cede/digest.h). A header,
 * then `count` records. Little-endian, no padding.
 */
#ifndef ABI_LOG_H
#define ABI_LOG_H

#include <stdint.h>

#define ABI_LOG_MAGIC UINT64_C(0x31474f4c45444543) /* "CEDELOG1" */

struct abi_log {
    uint64_t magic;
    uint64_t count;
    /* of struct cede_config */
    uint32_t pcpu_count;
    uint32_t vm_count;
    uint32_t vcpu_count;
    uint32_t vm_vcpu_count;
    uint32_t seed;
    uint32_t policy_count;
    uint8_t core_hash[32]; /* zero: unknown */
    char world[16];        /* "hv", "sim" */
};

struct abi_log_record {
    uint64_t event[8]; /* struct cede_event */
    uint64_t digest;
};

_Static_assert(sizeof(struct abi_log) == 88, "a log's header is 88 bytes");
_Static_assert(sizeof(struct abi_log_record) == 72, "a log's record is 72 bytes");

#endif
