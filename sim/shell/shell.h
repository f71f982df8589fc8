/*
 * shell.h - internal to sim/shell: between its files. See sim/engine/machine.h for what others use.
 */
#ifndef SIM_SHELL_SHELL_H
#define SIM_SHELL_SHELL_H

#include "sim/engine/machine.h"

/* An event with its ids filled in; p or v NULL: none. */
struct cede_event sim_shell_event(enum cede_event_kind kind, const struct sim_pcpu *p,
                                  const struct sim_vcpu *v);

/* Applies what the core returned for `event`. O(effects). */
void sim_shell_apply(struct sim_machine *m, const struct cede_event *event,
                     const struct cede_effects *effects);

#endif
