/*
 * log.h - event logs as files (abi/log.h): collected in any order, written at once, read back.
 *
 * Owns the records. No locks.
 */
#ifndef HOST_LOG_H
#define HOST_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/log.h"
#include "cede/event.h"

struct host_log {
    struct abi_log head;
    struct abi_log_record *record;
    uint64_t size;
    uint64_t event_count, digest_count; /* the longest prefix that is complete is what counts */
    bool failed; /* no memory, or a gap */
};

/* `count` events, or digests, from number `first` on; they come in order. */
void host_log_events(struct host_log *log, uint64_t first, const void *events, size_t count);
void host_log_digests(struct host_log *log, uint64_t first, const void *digests, size_t count);

/* False: error (HOST_ERROR_SIZE) says why. */
bool host_log_write(struct host_log *log, const char *path, char *error);
bool host_log_read(struct host_log *log, const char *path, char *error);

void host_log_free(struct host_log *log);

#endif
