/*
 * vcpu.h - vCPUs come, start, pause, stop, and go.
 */
#ifndef CORE_VCPU_H
#define CORE_VCPU_H

#include "turn.h"

/* The sender's current vCPU (running or polled) was to be stopped: it is now; the next one runs. */
void cede_vcpu_leave_stopped(struct cede_turn *turn);

#endif
