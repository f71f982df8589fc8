/*
 * shell.h - between the machine and the core: exits and interrupts become events, effects become
 * switches, timers and IPIs. Twin of sim/shell.
 *
 * Locking: one lock around the core (docs/decisions/0002-one-lock.md). It also guards the lists of
 * emulated timers, steal records while they are written, and vCPUs that are off their CPU. All
 * functions here take it themselves; none may be called with a device lock of the same VM held,
 * but hv_shell_interrupt(), which may.
 */
#ifndef HV_SHELL_SHELL_H
#define HV_SHELL_SHELL_H

#include "cede/event.h"
#include "hv/vm/vm.h"

#include <stdbool.h>
#include <stdint.h>

/* Boot CPU: checks the bundle, makes core and VMs, announces all to the core. Panics on a bundle
 * that is damaged. */
void hv_shell_init(uint64_t bundle, uint64_t size);

/* A pCPU's life. */
_Noreturn void hv_shell_run(void);

/* An interrupt became pending for that vCPU; its bit is set already. sender: a vCPU, or NULL. */
void hv_shell_interrupt(struct hv_vcpu *target, struct hv_vcpu *sender,
                        enum cede_interrupt_source source);

/* A sibling sends INIT or a start-up IPI. */
void hv_shell_start(struct hv_vcpu *target, enum hv_start start, uint8_t vector);

/* The current vCPU arms or disarms its emulated timer. */
void hv_shell_timer_arm(struct hv_vcpu *vcpu, uint64_t deadline_ns, uint64_t period_ns,
                        enum cede_timer_kind kind);
void hv_shell_timer_cancel(struct hv_vcpu *vcpu);

/* The current vCPU, by hypercall, names a sibling that should run. */
void hv_shell_yield_to(struct hv_vcpu *vcpu, struct hv_vcpu *target, enum cede_yield_cause cause);

/* The machine's VMs; constant after hv_shell_init(). */
extern struct hv_vm *hv_vms[];
extern uint32_t hv_vm_count;

#endif
