/*
 * state.h - what the files of the shell share; nobody else includes it.
 */
#ifndef HV_SHELL_STATE_H
#define HV_SHELL_STATE_H

#include "abi/manifest.h"
#include "cede/core.h"
#include "hv/lock.h"
#include "hv/pcpu.h"
#include "hv/vm/vm.h"

#define SHELL_TICK_NS UINT64_C(10000000) /* the longest that a pCPU goes without looking up */
#define SHELL_KICK_PATIENCE_NS UINT64_C(2000000) /* an unanswered kick is sent again after this */

struct shell {
    struct hv_lock lock; /* the core's */
    struct cede *core;
    uint64_t last_ns; /* of the last event */
    const struct abi_manifest *manifest;
    struct hv_vcpu **vcpus; /* by core id */
    uint32_t vcpu_count;
    uint64_t *refill_ns; /* a VM: when VM_REFILL is due, CEDE_NEVER_NS if not */
    uint64_t refill_next_ns;
    uint64_t start_ns; /* when the VMs were started */
};

extern struct shell shell;

/*
 * Sends an event and applies what comes back. Fills in now_ns (and the pCPU). `sample`, if not
 * NULL, is called under the lock before the event is sent, to fill in facts that must be sampled
 * there; it may return false to drop the event.
 */
typedef bool shell_sample(struct cede_event *event, void *context);
enum cede_status shell_send(struct cede_event *event, shell_sample *sample, void *context);

/* shell_send() for an event that must fit the state; panics if it doesn't. */
void shell_must(struct cede_event *event, shell_sample *sample, void *context);

/* With the lock held already: the same, but effects that wait for the lock's end are left in
 * *effects for shell_apply_after(). */
enum cede_status shell_send_locked(struct cede_event *event, struct cede_effects *effects);
void shell_apply_after(const struct cede_effects *effects);

void shell_lock(void);
void shell_unlock(void);

/* Writes an event and its decision to the log, if one is kept; core's lock held. */
void hv_record_event(const struct cede_event *event, enum cede_status status,
                     const struct cede_effects *effects);

/* The log: made if the manifest asks for it, sent at the end; and a pCPU's trace, sent now. */
void hv_record_init(void);
void hv_record_send(void);
void hv_trace_send(uint32_t pcpu);

/* The ran facts since the last event that took them. */
struct cede_ran shell_take_ran(struct hv_vcpu *vcpu);

/* Puts the vCPU's FPU state into memory, if this pCPU holds it: a vCPU that has just got its turn may
 * lose it again before its state was ever loaded. */
void shell_save(struct hv_vcpu *vcpu);

/* The mode that the vCPU was in when it left the guest. */
enum cede_mode shell_mode(const struct hv_vcpu *vcpu);

/* What a pCPU does until something happens; one function a state of the turn. */
void shell_run_guest(struct hv_pcpu *pcpu);

/* Emulated timers that are placed on this pCPU: fires those that are due; when the next one is. */
void shell_timers_fire(struct hv_pcpu *pcpu);
uint64_t shell_timers_next_ns(const struct hv_pcpu *pcpu);
void shell_timer_place(struct hv_vcpu *vcpu, uint32_t pcpu, uint64_t deadline_ns);
void shell_timer_unplace(struct hv_vcpu *vcpu);

/* An IPI, unless the pCPU is this one. */
void shell_ipi(uint32_t pcpu);

/* Handles what the exit says (hv/shell/exit.c). */
void shell_exit(struct hv_vcpu *vcpu);

/* Starts, or restarts, a VM whose vCPUs are all off: loads it, announces vCPU 0. */
void shell_start_vm(struct hv_vm *vm);

/* Sends VCPU_STOP for every vCPU of a VM that has ended. */
void shell_stop_vm(struct hv_vm *vm);

/* Housekeeping of the boot CPU: resends kicks, restarts VMs, ends the machine. */
void shell_housekeep(void);

#endif
