/*
 * observe.h - what the command learns of a running hypervisor from its frames: VMs' states, what
 * their guests say, results, statistics.
 *
 * Owns struct host_observed and all below it. No locks: one thread feeds it.
 */
#ifndef HOST_OBSERVE_H
#define HOST_OBSERVE_H

#include "cede/stats.h"
#include "host/channel.h"
#include "host/scenario.h"

/* One CEDE-RESULT line. */
struct host_guest_result {
    char workload[32];
    char metric[32];
    uint32_t interval; /* from 1; 0: the whole run */
    double interval_s;
    double value;
    uint64_t arrived_ns; /* hypervisor's clock */
};

struct host_seen_vm {
    const struct abi_manifest_vm *record;
    uint32_t state; /* enum abi_vm_run_state */
    char text[112];
    bool ready, started, done;
    int status; /* of CEDE-GUEST done */
    uint64_t started_ns, done_ns;
    char line[1024];
    size_t line_length;
    struct host_guest_result *result;
    size_t result_count, result_size;
    struct abi_vcpu_stats *vcpu; /* record->vcpu_count, the last frame of each */
};

struct host_observed {
    const struct host_scenario *scenario;
    struct host_seen_vm *vm;
    struct abi_pcpu_stats *pcpu;
    struct abi_hello hello;
    bool said_hello, ended;
    uint32_t end_status;
    uint64_t now_ns; /* of the last frame */
    void *context;
    /* A whole line of a guest's console, without its end. */
    void (*line)(void *context, uint32_t vm, const char *text);
    void (*reply)(void *context, bool refused, const char *text);
    /* TRACE, EVENTS and DECISIONS frames as they come; may be NULL. */
    void (*raw)(void *context, const struct abi_frame *frame, const uint8_t *payload);
};

/* False without memory. */
bool host_observed_init(struct host_observed *seen, const struct host_scenario *scenario);
void host_observed_fini(struct host_observed *seen);

/* For struct host_channel: context is the struct host_observed. */
void host_observed_frame(void *seen, const struct abi_frame *frame, const uint8_t *payload);

/* Whether that VM is at its end: powered off, stopped, killed. */
bool host_seen_ended(const struct host_seen_vm *vm);

#endif
