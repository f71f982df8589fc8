/*
 * trace.h - traces as files, in order of time; as text, as Chrome/Perfetto JSON, and as the answer
 * to "why did that vCPU run, or not, then?". The same for both worlds.
 *
 * Owns the records of struct host_trace. No locks.
 */
#ifndef HOST_TRACE_H
#define HOST_TRACE_H

#include <stdbool.h>
#include <stdio.h>

#include "abi/trace.h"
#include "abi/trace_file.h"
#include "host/scenario.h"

struct host_trace {
    struct abi_trace_file head;
    struct abi_trace_vm *vm;
    struct abi_trace_record *record; /* by time; those of an instant in the order of their rings */
    size_t count;
    uint64_t lost;
};

/* Writes header and names for a scenario; chunks follow by host_trace_chunk(). */
bool host_trace_begin(FILE *file, const struct host_scenario *scenario, const char *world);
bool host_trace_chunk(FILE *file, uint32_t pcpu, const struct abi_trace_record *record,
                      uint32_t count, uint64_t lost);

/* False: error (HOST_ERROR_SIZE). */
bool host_trace_read(struct host_trace *trace, const char *path, char *error);
void host_trace_free(struct host_trace *trace);

/* "web-1/2"; "-" for none. `text` of at least 48 bytes. */
const char *host_trace_vcpu(const struct host_trace *trace, uint32_t vcpu, char *text);
/* The other way round; false if there is no such vCPU. */
bool host_trace_find_vcpu(const struct host_trace *trace, const char *name, uint32_t *vcpu);

/* Records between two instants, one line each. */
void host_trace_text(FILE *file, const struct host_trace *trace, uint64_t from_ns, uint64_t to_ns);
void host_trace_perfetto(FILE *file, const struct host_trace *trace, uint64_t from_ns,
                         uint64_t to_ns);

/* The chain of events that led to what that vCPU did at that instant. */
void host_trace_why(FILE *file, const struct host_trace *trace, uint32_t vcpu, uint64_t at_ns);

#endif
