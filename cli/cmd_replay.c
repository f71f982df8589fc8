/*
 * cmd_replay.c - `cede replay LOG`: gives a recorded event log to this build's core and compares
 * every decision with the recorded one.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "host/log.h"
#include "host/node.h"
#include "sim/run.h"

struct player {
    const struct host_log *log;
    uint64_t next;
};

static bool play(void *context, struct cede_event *event, uint64_t *digest)
{
    struct player *player = context;
    if (player->next == player->log->head.count) {
        return false;
    }
    const struct abi_log_record *record = &player->log->record[player->next++];
    memcpy(event, record->event, sizeof *event);
    *digest = record->digest;
    return true;
}

static int replay(const struct host_log *log, const char *path)
{
    struct player player = {.log = log};
    struct sim_replay replay = {
        .config = {.pcpu_count = log->head.pcpu_count,
                   .vm_count = log->head.vm_count,
                   .vcpu_count = log->head.vcpu_count,
                   .vm_vcpu_count = log->head.vm_vcpu_count,
                   .seed = log->head.seed},
        .context = &player,
        .next = play,
    };
    uint64_t first, count;
    if (sim_replay(&replay, &first, &count)) {
        printf("%s: %llu events of a %.15s, %u pCPUs, %u vCPUs: the same decisions\n", path,
               (unsigned long long)count, log->head.world, log->head.pcpu_count,
               log->head.vcpu_count);
        return CLI_DONE;
    }
    if (count == 0) {
        fprintf(stderr, "cede replay: %s: its configuration makes no core\n", path);
        return CLI_BAD_INPUT;
    }
    struct cede_event event;
    memcpy(&event, log->record[first].event, sizeof event);
    const char *name = cede_event_name(event.kind);
    fprintf(stderr, "cede replay: %s: decision %llu differs: %s at %llu ns, pCPU %d, vCPU %d\n",
            path, (unsigned long long)first, name != NULL ? name : "unknown event",
            (unsigned long long)event.now_ns, (int)event.pcpu.value, (int)event.vcpu.value);
    return CLI_FAILED;
}

int cmd_replay(int count, char **argument)
{
    struct host_log log;
    char error[HOST_ERROR_SIZE];
    if (count != 2 || strcmp(argument[1], "--help") == 0) {
        fputs("usage: cede replay LOG\n\n"
              "LOG comes from `cede run --log` or `cede sim --log`.\n", stderr);
        return count == 2 ? CLI_DONE : CLI_BAD_INPUT;
    }
    if (!host_log_read(&log, argument[1], error)) {
        fprintf(stderr, "cede replay: %s\n", error);
        return CLI_BAD_INPUT;
    }
    int status = replay(&log, argument[1]);
    host_log_free(&log);
    return status;
}
