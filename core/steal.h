/*
 * steal.h - what the guest is told of its vCPUs (M3): steal time, and which have no pCPU.
 */
#ifndef CORE_STEAL_H
#define CORE_STEAL_H

#include "turn.h"

/* It lost its pCPU while runnable: PUBLISH preempted = 1, if policy and the boundary allow. */
void cede_steal_lost(struct cede_turn *turn, uint32_t id);

/* It got a pCPU: PUBLISH preempted = 0 and the steal time, before RUN. */
void cede_steal_got(struct cede_turn *turn, uint32_t id);

#endif
