/*
 * qemu.h - starts the hypervisor in QEMU and talks with it over pipes.
 *
 * The second serial port is the child's standard input and output; the first goes to a file. Owns
 * the child process and the pipes.
 */
#ifndef HOST_QEMU_H
#define HOST_QEMU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host_qemu {
    pid_t pid;
    int to, from; /* the channel */
    bool running;
    int exit_status; /* as of waitpid(): of QEMU, once it isn't running */
};

enum host_qemu_exit { HOST_QEMU_DONE = 33, HOST_QEMU_FAILED = 35, HOST_QEMU_PANIC = 37 };

struct host_qemu_options {
    const char *qemu;       /* program; NULL: found by host_qemu_find() */
    const char *hypervisor; /* flat image */
    const char *bundle;
    const char *log;    /* file for the first serial port */
    const char *errors; /* file for what QEMU itself says */
    const char *accel;  /* one of HOST_ACCEL_NAMES */
    uint32_t pcpu_count;
    uint64_t memory_bytes;
};

/*
 * tcg: emulated, a thread a pCPU. tcg-single: pCPUs take turns in one thread. virtual: the same, and
 * time is counted in instructions (QEMU 10 or later), so that what else the machine does doesn't
 * show in the figures. kvm: where nested AMD-V exists.
 */
#define HOST_ACCEL_NAMES "tcg, tcg-single, virtual, kvm"
bool host_accel_known(const char *name);

/* False: error says why. */
bool host_qemu_start(struct host_qemu *qemu, const struct host_qemu_options *options, char *error);

/* Whether it has ended; then exit_status is set. Doesn't wait. */
bool host_qemu_ended(struct host_qemu *qemu);

/* Ends it (SIGKILL) and waits. */
void host_qemu_kill(struct host_qemu *qemu);

/* The program to use: $CEDE_QEMU, QEMU 10 beside the build, or the system's. Static storage. */
const char *host_qemu_find(void);

/* A file that belongs to this build or installation: "hv/cede-hv.bin". Static storage, or NULL. */
const char *host_own_file(const char *name, char *path, uint32_t size);

#endif
