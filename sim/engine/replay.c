/*
 * replay.c - gives a recorded event log to a fresh core and compares decisions.
 */
#include <stdlib.h>

#include "cede/digest.h"
#include "sim/run.h"

bool sim_replay(const struct sim_replay *replay, uint64_t *first, uint64_t *count)
{
    size_t size = cede_size(&replay->config);
    void *memory = size == 0 ? NULL : aligned_alloc(CEDE_ALIGN, (size + 63) & ~(size_t)63);
    struct cede *core;
    bool same = memory != NULL && cede_init(memory, size, &replay->config, &core) == CEDE_OK;
    struct cede_event event;
    uint64_t recorded;
    *count = 0;
    *first = 0;
    while (same && replay->next(replay->context, &event, &recorded)) {
        struct cede_effects effects;
        enum cede_status status = cede_handle(core, &event, &effects);
        if (cede_digest_decision(status, &effects) != recorded) {
            *first = *count;
            same = false;
        }
        ++*count;
    }
    free(memory);
    return same;
}
