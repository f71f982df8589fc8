/*
 * run.h - runs a scenario on the hypervisor under QEMU, from bundle to outcome.
 *
 * Owns a temporary folder and the QEMU process while it runs. One run at a time a thread.
 */
#ifndef HOST_RUN_H
#define HOST_RUN_H

#include "host/outcome.h"
#include "host/scenario.h"

struct host_run_options {
    const char *accel;      /* one of HOST_ACCEL_NAMES; NULL: tcg */
    const char *qemu;       /* NULL: host_qemu_find() */
    const char *hypervisor; /* NULL: this build's */
    const char *kernel, *initrd; /* defaults for VMs that name none; NULL: this build's */
    double timeout_s;       /* 0: 600 */
    bool stream;            /* guests' consoles to standard output, each line with its VM's name */
    const char *attach;     /* VM that gets standard input; or NULL */
    const char *control_path; /* Unix socket for `cede ctl`; NULL: none */
    const char *log_path;   /* event log (abi/log.h); NULL: none */
    const char *trace_path; /* raw trace records, for `cede trace`; NULL: none */
    volatile int *interrupted; /* set by a signal handler: 1 stop cleanly, 2 at once; or NULL */
    void *context;
    /* Called about twice a second with what is known; may be NULL. */
    void (*live)(void *context, const struct host_observed *seen);
    /* A byte of standard input; the command line to send, or NULL. Instead of `attach`. */
    const char *(*key)(void *context, char c);
};

/*
 * False: error says why nothing could be run. Otherwise outcome is filled, and must be freed;
 * outcome->fine tells whether every VM finished well.
 */
bool host_run(const struct host_scenario *scenario, const struct host_run_options *options,
              struct host_outcome *outcome, char *error);

#endif
