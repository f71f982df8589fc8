/*
 * emulator.c - the machine model `qemu-tcg`: the hypervisor's own default machine. Constant data.
 *
 * Everything there is slower by an order of magnitude or two, and an exit is slow in proportion to
 * nothing that hardware has. The numbers are those that guests/exitbench prints on the machine that
 * builds this; until it has been run they are marked "not measured" and are guesses to be replaced.
 * Facts: no pause filter (each PAUSE exits, the hypervisor counts: HV_SPIN_COUNT), no AVIC.
 */
#include "sim/arch/arch.h"

#include <stddef.h>

/* All of these: not measured. */
#define HANDLERS                                                                                   \
    {                                                                                              \
        [ABI_EXIT_EXTERNAL] = 4000, [ABI_EXIT_HLT] = 4000, [ABI_EXIT_PAUSE] = 4000,                \
        [ABI_EXIT_CPUID] = 1000, [ABI_EXIT_MSR] = 2000, [ABI_EXIT_APIC] = 3000,                    \
        [ABI_EXIT_IO] = 4000, [ABI_EXIT_MMIO] = 8000, [ABI_EXIT_HYPERCALL] = 2000,                 \
        [ABI_EXIT_WINDOW] = 1000, [ABI_EXIT_NPF] = 8000, [ABI_EXIT_CR] = 2000,                     \
        [ABI_EXIT_SHUTDOWN] = 0, [ABI_EXIT_EXCEPTION] = 3000, [ABI_EXIT_OTHER] = 3000              \
    }

const struct sim_arch sim_arch_emulator[] = {
    {.name = "qemu-tcg", .doc = "QEMU's TCG with emulated SVM: the hypervisor's default machine",
     .spin = SIM_ARCH_SPIN_TRAP, .spin_in_user = 1, .mode_known = 1,
     .spin_window_ns = 20000, .irq = SIM_ARCH_IRQ_INJECT, .ipi_batch = 1, .pv = 1,
     .exit_ns = 3000, .entry_ns = 3000, .handler_ns = HANDLERS, .inject_ns = 1000,
     .switch_ns = 10000, .ipi_send_ns = 1000, .ipi_ns = 10000, .post_ns = 10000,
     .ipi_target_ns = 1000, .idle_wake_ns = 20000, .poll_look_ns = 2000, .hook_ns = 0,
     .flush_ns = 20000, .refill_near_ns = 30000, .refill_far_ns = 30000, .smt_q16 = 65536},
    {.name = NULL},
};
