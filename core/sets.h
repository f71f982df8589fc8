/*
 * sets.h - a VM's vCPUs by index, and its sets of candidates for a directed yield.
 *
 * Which set a vCPU is in follows from its state (cede_sets_wanted()); cede_sets_update() is called
 * after each change of that state, under the same lock, so that no candidate is ever stale.
 * All O(1) but for attach and detach (O(1) too, with a pool of chunks). Lock held.
 */
#ifndef CORE_SETS_H
#define CORE_SETS_H

#include "state.h"

/* Makes `id` the VM's vCPU number `index`; there is a chunk for it (state.h sizes the pool). */
void cede_sets_attach(struct cede *core, uint32_t id);
void cede_sets_detach(struct cede *core, uint32_t id);

/* The VM's vCPU of that index, or NONE. */
uint32_t cede_sets_at(const struct cede *core, uint32_t vm, uint32_t index);

uint8_t cede_sets_wanted(const struct cede_vcpu *vcpu);
void cede_sets_update(struct cede *core, uint32_t id);

/* The member of that set with the next index after `after`, going round; NONE if it is empty. */
uint32_t cede_sets_next(const struct cede *core, uint32_t vm, enum cede_set set, uint32_t after);

#endif
