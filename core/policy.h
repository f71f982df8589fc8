/*
 * policy.h - policy values as the core keeps them: 32 bits each; every maximum in policy.def fits.
 */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H

#include "cede/policy.h"

void cede_policy_preset(uint32_t *policy, uint32_t preset);
bool cede_policy_fits(uint32_t key, uint64_t value);

#endif
