/*
 * halt.h - halts: the adaptive polling window, blocking, waking, and the architecture's hook.
 *
 * HOOK_BLOCKING comes before POLL (early) or before the vCPU is off its pCPU (late); each has its
 * HOOK_UNBLOCKING, when the vCPU gets a pCPU again or is stopped.
 */
#ifndef CORE_HALT_H
#define CORE_HALT_H

#include "turn.h"

/* A blocked vCPU becomes runnable and is placed: at most one effect. O(pCPU words + log q). */
void cede_halt_wake(struct cede_turn *turn, uint32_t id, enum cede_reason reason);

/* The sender's polling ended or was asked about; `woken`: there is work. One RUN, IDLE or POLL. */
void cede_halt_poll_ended(struct cede_turn *turn, bool woken);

#endif
