/*
 * role.h - pCPUs come, change roles, and go.
 */
#ifndef CORE_ROLE_H
#define CORE_ROLE_H

#include "turn.h"

/* Sends away what may not be on that pCPU's queue any more; bounded by CEDE_MOVES_MAX an event. */
void cede_role_evict(struct cede_turn *turn, uint32_t pcpu);

#endif
