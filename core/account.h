/*
 * account.h - where time went: of vCPUs by state, of pCPUs by activity. Integers only; each
 * nanosecond is added to exactly one class. Lock held; all O(1).
 */
#ifndef CORE_ACCOUNT_H
#define CORE_ACCOUNT_H

#include "state.h"

/* The class that a state's time belongs to; a running vCPU's is split by facts instead. */
enum cede_time_class cede_account_class(uint8_t state);

/* The facts are consistent: they don't exceed the span since the last ones. */
bool cede_account_fits(const struct cede *core, uint32_t id, const struct cede_ran *ran,
                       uint64_t now_ns);

/* Splits the running vCPU's time, and its pCPU's, up to now. */
void cede_account_ran(struct cede *core, uint32_t id, const struct cede_ran *ran, uint64_t now_ns);

/* The time so far goes to the old state's class. A running vCPU's facts were taken before. */
void cede_account_enter(struct cede *core, uint32_t id, enum cede_vcpu_state state,
                        uint64_t now_ns);

/* The pCPU's time so far goes to what it did; a running one's was split before. */
void cede_account_pcpu(struct cede *core, uint32_t pcpu, uint64_t now_ns);
enum cede_pcpu_time_class cede_account_pcpu_class(const struct cede_pcpu *pcpu);

#endif
