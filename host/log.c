/*
 * log.c - see log.h. A file is untrusted: its size must fit what its header says.
 */
#include "host/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cede/policy.h"
#include "host/node.h"

#define RECORDS_MAX (UINT64_C(1) << 26)

static bool make_room(struct host_log *log, uint64_t count)
{
    if (count > RECORDS_MAX) {
        return false;
    }
    if (count > log->size) {
        uint64_t size = log->size == 0 ? 4096 : log->size * 2;
        size = size < count ? count : size;
        void *record = realloc(log->record, size * sizeof *log->record);
        if (record == NULL) {
            return false;
        }
        log->record = record;
        log->size = size;
    }
    return true;
}

void host_log_events(struct host_log *log, uint64_t first, const void *events, size_t count)
{
    if (log->failed || first != log->event_count || !make_room(log, first + count)) {
        log->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(log->record[first + i].event, (const uint8_t *)events + i * 64, 64);
    }
    log->event_count += count;
}

void host_log_digests(struct host_log *log, uint64_t first, const void *digests, size_t count)
{
    if (log->failed || first != log->digest_count || !make_room(log, first + count)) {
        log->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(&log->record[first + i].digest, (const uint8_t *)digests + i * 8, 8);
    }
    log->digest_count += count;
}

bool host_log_write(struct host_log *log, const char *path, char *error)
{
    log->head.magic = ABI_LOG_MAGIC;
    log->head.policy_count = CEDE_POLICY_COUNT;
    log->head.count =
        log->event_count < log->digest_count ? log->event_count : log->digest_count;
    if (log->failed || log->head.count == 0) {
        snprintf(error, HOST_ERROR_SIZE, "%s: the log came with a gap, or empty", path);
        return false;
    }
    FILE *file = fopen(path, "wb");
    bool fine = file != NULL && fwrite(&log->head, sizeof log->head, 1, file) == 1 &&
                fwrite(log->record, sizeof *log->record, log->head.count, file) ==
                    log->head.count;
    if (file != NULL && fclose(file) != 0) {
        fine = false;
    }
    if (!fine) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", path, strerror(errno));
    }
    return fine;
}

static const char *read_file(struct host_log *log, FILE *file)
{
    if (fread(&log->head, sizeof log->head, 1, file) != 1 || log->head.magic != ABI_LOG_MAGIC) {
        return "not an event log";
    }
    if (log->head.policy_count != CEDE_POLICY_COUNT) {
        return "recorded with another set of policy keys than this program's";
    }
    if (log->head.count == 0 || !make_room(log, log->head.count)) {
        return "its length is out of range";
    }
    if (fread(log->record, sizeof *log->record, log->head.count, file) != log->head.count) {
        return "cut short";
    }
    return NULL;
}

bool host_log_read(struct host_log *log, const char *path, char *error)
{
    memset(log, 0, sizeof *log);
    FILE *file = fopen(path, "rb");
    const char *why = file == NULL ? strerror(errno) : read_file(log, file);
    if (file != NULL) {
        fclose(file);
    }
    if (why != NULL) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", path, why);
        host_log_free(log);
    }
    return why == NULL;
}

void host_log_free(struct host_log *log)
{
    free(log->record);
    log->record = NULL;
}
