/*
 * switch.h - what a pCPU does next: the end of each event that a pCPU sends about itself. Exactly
 * one RUN, IDLE or POLL comes out of each call of decide, next, stay.
 *
 * The sender's queue has been charged, and its current vCPU's facts have been accounted.
 */
#ifndef CORE_SWITCH_H
#define CORE_SWITCH_H

#include "turn.h"

/* Charges, accounts the facts, notes the mode, takes the kick as answered. O(1). */
void cede_switch_begin(struct cede_turn *turn, const struct cede_ran *ran, uint8_t mode);

/* The current vCPU may go on or not: fairness, hints, caps, the host's wishes decide. O(log q). */
void cede_switch_decide(struct cede_turn *turn);

/* Switches away from the current vCPU if it must or should leave; false: it may go on. O(log q). */
bool cede_switch_due(struct cede_turn *turn);

/* The pCPU polls, or polls on, for a vCPU that has left it. O(1). */
void cede_switch_poll(struct cede_turn *turn, uint32_t id, uint64_t until);

/* Nobody is current: takes the next. `reason` says why the one before left. O(log q). */
void cede_switch_next(struct cede_turn *turn, enum cede_reason reason);

/* The current vCPU goes on, whatever else waits, until its slice ends. O(1). */
void cede_switch_stay(struct cede_turn *turn, enum cede_reason reason);

/* The current vCPU loses its pCPU while it would run on: it waits here or elsewhere. O(log q). */
void cede_switch_preempt(struct cede_turn *turn, enum cede_reason reason);

/* The current vCPU has lost its pCPU and waits already (a yield's exchange): state, facts, hint. */
void cede_switch_lost(struct cede_turn *turn, uint32_t id, enum cede_reason reason);

/* The current vCPU leaves its pCPU and queue for another state. O(1). */
void cede_switch_leave(struct cede_turn *turn, enum cede_vcpu_state state);

/* Makes a vCPU that is joined to this queue, and not in its tree, the current one. O(1). */
void cede_switch_run(struct cede_turn *turn, uint32_t id, enum cede_reason reason);

/* Is the host waiting for the vCPU to leave its pCPU; if so, it leaves. O(log q). */
bool cede_switch_wanted(struct cede_turn *turn);

#endif
