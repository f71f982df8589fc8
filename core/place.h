/*
 * place.h - which pCPU a runnable vCPU waits on: placement on wake-up, pulling by idle pCPUs, and
 * the rotation that keeps uneven queues fair.
 *
 * Work is conserved: no pCPU is left idle while a vCPU waits that may run there, except for the
 * moment until a kick is answered.
 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include "turn.h"

/*
 * Puts a runnable vCPU that is in no queue on one, and asks that pCPU to look if it should: at most
 * one effect. If no pCPU may run it, it goes to limbo. O(pCPU words + log q).
 */
void cede_place(struct cede_turn *turn, uint32_t id, enum cede_reason reason);

/* Takes a vCPU off its queue, or out of limbo. O(log q). */
void cede_place_remove(struct cede_turn *turn, uint32_t id);

/*
 * For a pCPU without anybody to run: moves a vCPU from another queue to its own. Returns it, or
 * NONE. O(pCPU words + log q), and O(movable waiting vCPUs) if masks forbid what is looked at.
 */
uint32_t cede_place_pull(struct cede_turn *turn, uint32_t pcpu);

/*
 * Where a vCPU that just lost `pcpu` should rather wait: a pCPU that is free, or (`slice_over`) one
 * that is less loaded; NONE: stay. O(pCPU words).
 */
uint32_t cede_place_better(struct cede_turn *turn, uint32_t pcpu, uint32_t id, bool slice_over);

/* Moves a vCPU that is in no queue to that pCPU's; at most one effect. O(log q). */
void cede_place_on(struct cede_turn *turn, uint32_t pcpu, uint32_t id, enum cede_reason reason);

/* Asks a pCPU for an event of its own, unless it was asked already. */
void cede_place_kick(struct cede_turn *turn, uint32_t pcpu, uint32_t id, enum cede_reason reason);

/*
 * Two vCPUs may wait for one pCPU that was idle, the second because it may run nowhere else. If one
 * that still waits could run on an idle pCPU, that one is asked to pull: at most one effect.
 * O(pCPU words * waiting vCPUs, 64 at most), and only while some pCPU idles.
 */
void cede_place_spread(struct cede_turn *turn, uint32_t pcpu);

/* Lets vCPUs out of limbo that `pcpu` may run; at most CEDE_MOVES_MAX an event. */
void cede_place_limbo(struct cede_turn *turn, uint32_t pcpu);

#endif
