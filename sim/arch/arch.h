/*
 * arch.h - what the simulator knows of a machine: how spinning is noticed, what is known of a
 * vCPU's mode, how interrupts are delivered, and what everything costs.
 *
 * A machine model is constant data; each number stands with its source in the file that holds it
 * (x86.c, arm.c, other.c, emulator.c). "assumed" is a source too: it says that none was found.
 */
#ifndef SIM_ARCH_ARCH_H
#define SIM_ARCH_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/exit.h"

enum sim_arch_spin {
    SIM_ARCH_SPIN_NONE,   /* spinning is never noticed */
    SIM_ARCH_SPIN_WINDOW, /* an exit after a window of spinning: PLE, pause filter, diag loops */
    SIM_ARCH_SPIN_TRAP    /* each wait instruction traps at once: WFE, unfiltered PAUSE */
};

enum sim_arch_irq {
    SIM_ARCH_IRQ_INJECT,  /* every delivery needs an exit; end of interrupt may, too */
    SIM_ARCH_IRQ_LIST,    /* list registers: delivery needs an exit, end of interrupt doesn't */
    SIM_ARCH_IRQ_POSTED,  /* APICv with posted interrupts: none needed in guest mode */
    SIM_ARCH_IRQ_AVIC,    /* the same, and IPIs to running siblings leave without an exit */
    SIM_ARCH_IRQ_DIRECT   /* GICv4: devices' interrupts reach a resident vCPU without the host,
                             and are hidden from a host that polls until the blocking hook */
};

struct sim_arch {
    const char *name;
    const char *doc;

    /* Spin exits. */
    uint8_t spin;           /* enum sim_arch_spin */
    uint8_t spin_in_user;   /* spinning in user mode is noticed too */
    uint8_t mode_known;     /* a spin exit and a lost pCPU tell the mode (M2) */
    uint8_t spin_grow;      /* the window is multiplied by this at each exit; 0: fixed */
    uint32_t spin_window_ns; /* from the first wait in guest mode to the exit */
    uint32_t spin_window_max_ns;

    /* Interrupts. */
    uint8_t irq;            /* enum sim_arch_irq */
    uint8_t ipi_batch;      /* targets that one ICR or SGI write reaches */
    uint8_t pv;             /* the guest uses the KVM features that the manifest gives it */

    /* Costs, ns. */
    uint32_t exit_ns;       /* guest to hypervisor, and ... */
    uint32_t entry_ns;      /* ... back: together an empty exit's round trip */
    uint32_t handler_ns[ABI_EXIT_COUNT]; /* what the hypervisor then does, by reason */
    uint32_t inject_ns;     /* to put an interrupt into an entry */
    uint32_t switch_ns;     /* from one vCPU to another on a pCPU */
    uint32_t ipi_send_ns;   /* the sender's part of an inter-processor interrupt */
    uint32_t ipi_ns;        /* from sending it to its arrival */
    uint32_t post_ns;       /* from posting to the guest's interrupt */
    uint32_t ipi_target_ns; /* hypervisor's work for each target of a guest's IPI */
    uint32_t idle_wake_ns;  /* an idle pCPU's way back from its sleep state */
    uint32_t poll_look_ns;  /* until a poller sees what it polls for */
    uint32_t hook_ns;       /* the about-to-wait hook, or undoing it */
    uint32_t flush_ns;      /* a TLB flush at entry */

    /* How many times slower than the workloads' standard costs say; 0 or 1: not at all. */
    uint16_t user_scale;
    uint16_t kernel_scale;

    /* What sharing costs. */
    uint32_t refill_near_ns; /* extra time to fetch a working set again from the shared cache */
    uint32_t refill_far_ns;  /* ... from memory or another socket */
    uint32_t smt_q16;        /* speed of a thread whose sibling is busy; 65536: no loss */
};

/* The model of that name; NULL if there is none. "" is the default one. */
const struct sim_arch *sim_arch_find(const char *name);

/* All models, one after the other; NULL past the end. */
const struct sim_arch *sim_arch_at(uint32_t index);

/* Each file's models, ended by an entry without a name. */
extern const struct sim_arch sim_arch_x86[];
extern const struct sim_arch sim_arch_arm[];
extern const struct sim_arch sim_arch_other[];
extern const struct sim_arch sim_arch_emulator[];

/* Whether interrupts reach a vCPU in guest mode without an exit. */
static inline bool sim_arch_posts(const struct sim_arch *arch)
{
    return arch->irq == SIM_ARCH_IRQ_POSTED || arch->irq == SIM_ARCH_IRQ_AVIC ||
           arch->irq == SIM_ARCH_IRQ_DIRECT;
}

/*
 * How long that vCPU may spin in guest mode before it exits; UINT64_MAX for ever. `window_ns` is
 * its current window (grown since it got its pCPU).
 */
uint64_t sim_arch_spin_limit_ns(const struct sim_arch *arch, bool user, bool quiet,
                                bool dedicated, uint64_t window_ns);

/* The window after a spin exit. */
uint64_t sim_arch_spin_grown_ns(const struct sim_arch *arch, uint64_t window_ns);

/* Exits that the guest needs to send one IPI to `targets` vCPUs; feature: KVM's PV send IPI. */
uint32_t sim_arch_ipi_exits(const struct sim_arch *arch, uint32_t targets, bool pv_send);

#endif
