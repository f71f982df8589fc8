/*
 * interrupt.h - an interrupt that became pending for a vCPU: posted, kicked, pended, or a wake-up.
 */
#ifndef CORE_INTERRUPT_H
#define CORE_INTERRUPT_H

#include "turn.h"

/* `sender`: the vCPU that sent an IPI, or NONE. At most one effect. O(1) if the target runs. */
void cede_interrupt_deliver(struct cede_turn *turn, uint32_t id, uint32_t sender, uint8_t source,
                            bool in_guest, bool can_post);

#endif
