/*
 * yield.h - directed yields (M1, M2): spin exits, PV kicks and PV sched yields.
 */
#ifndef CORE_YIELD_H
#define CORE_YIELD_H

#include "turn.h"

/* It got a pCPU, or can't be waited for any more: whoever gave way to it may be picked again. */
void cede_yield_forget(struct cede *core, uint32_t id);

#endif
