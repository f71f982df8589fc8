/*
 * trace_file.h - the file format of a trace: who is who, then chunks as they come from a core.
 *
 * Header; vm_count names; then, to the end, chunks of `count` records (abi/trace.h) of one pCPU, in
 * the order in which they were read. Little-endian, no padding.
 */
#ifndef ABI_TRACE_FILE_H
#define ABI_TRACE_FILE_H

#include <stdint.h>

#define ABI_TRACE_FILE_MAGIC UINT64_C(0x3143525445444543) /* "CEDETRC1" */

struct abi_trace_file {
    uint64_t magic;
    uint32_t pcpu_count;
    uint32_t vm_count;
    uint32_t vcpu_count;
    char world[12]; /* "hv", "sim" */
};

struct abi_trace_vm {
    char name[32];
    uint32_t first_vcpu; /* its vCPUs are first_vcpu .. first_vcpu + vcpu_count - 1 */
    uint32_t vcpu_count;
};

/* The same layout as struct abi_trace_chunk in abi/channel.h, so that frames can be stored. */
struct abi_trace_file_chunk {
    uint32_t pcpu;
    uint32_t count;
    uint64_t lost;
};

_Static_assert(sizeof(struct abi_trace_file) == 32, "a trace file's header is 32 bytes");

#endif
