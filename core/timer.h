/*
 * timer.h - where a vCPU's emulated timer runs (M4): on its own pCPU, or on a housekeeping one that
 * posts its interrupt.
 */
#ifndef CORE_TIMER_H
#define CORE_TIMER_H

#include "turn.h"

/* It got the sender's pCPU: a local timer comes along; at most one effect. O(1). */
void cede_timer_follow(struct cede_turn *turn, uint32_t id);

/* It was stopped: its timer is disarmed; at most one effect. O(1). */
void cede_timer_cancel(struct cede_turn *turn, uint32_t id);

/* An offline pCPU gives its timers away; at most CEDE_MOVES_MAX moves an event. */
void cede_timer_evict(struct cede_turn *turn, uint32_t pcpu);

#endif
