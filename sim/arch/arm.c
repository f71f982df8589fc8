/*
 * arm.c - machine models of Arm servers. Constant data.
 *
 * Sources:
 *  [D] Dall et al., "ARM Virtualization: Performance and Architectural Implications", ISCA 2016,
 *      table II, KVM on ARM (2.4 GHz), cycles: hypercall 6500, interrupt controller trap 7370,
 *      virtual IPI 11557, virtual IRQ completion 71, VM switch 10387, I/O out 6024, in 13872.
 *  [V] Dall, Li and Nieh, "Optimizing the Design and Implementation of the Linux ARM Hypervisor",
 *      USENIX ATC 2017: with the host at EL2 (VHE) a hypercall costs about a quarter to a half of
 *      the split design; 1300 cycles is taken here.
 *  [A] Arm ARM (DDI 0487) D1, HCR_EL2.TWE: a WFE that would wait traps at once, at EL1 and, unless
 *      SCTLR_EL1.nTWE lets it through, at EL0; the spinner's mode is in SPSR_EL2.
 *  [G] GICv4 (IHI 0069) chapter 9: a vLPI for a resident vPE reaches it without the host; for others
 *      it is pended in memory, and a doorbell LPI rings if one was asked for.
 *  "assumed": no published figure was found.
 */
#include "sim/arch/arch.h"

#include <stddef.h>

#define ARM_HANDLERS                                                                               \
    {                                                                                              \
        [ABI_EXIT_EXTERNAL] = 500, [ABI_EXIT_HLT] = 300, [ABI_EXIT_PAUSE] = 300,                   \
        [ABI_EXIT_CPUID] = 100, [ABI_EXIT_MSR] = 200,                                              \
        [ABI_EXIT_APIC] = 360, /* [D]: 7370 - 6500 cycles */                                       \
        [ABI_EXIT_IO] = 1500, [ABI_EXIT_MMIO] = 1500, [ABI_EXIT_HYPERCALL] = 100,                  \
        [ABI_EXIT_WINDOW] = 0, [ABI_EXIT_NPF] = 900, [ABI_EXIT_CR] = 100,                          \
        [ABI_EXIT_SHUTDOWN] = 0, [ABI_EXIT_EXCEPTION] = 300, [ABI_EXIT_OTHER] = 300                \
    }

#define ARM                                                                                        \
    .spin = SIM_ARCH_SPIN_TRAP, .spin_in_user = 1, .mode_known = 1,                                \
    .spin_window_ns = 300 /* [A]; the loads before the WFE: assumed */,                            \
    .ipi_batch = 16 /* ICC_SGI1R_EL1: a target list of 16 */, .pv = 0,                             \
    .handler_ns = ARM_HANDLERS, .inject_ns = 60, .ipi_send_ns = 100, .ipi_ns = 600,                \
    .ipi_target_ns = 150, .idle_wake_ns = 2000, .poll_look_ns = 100, .flush_ns = 200,              \
    .refill_near_ns = 8500, .refill_far_ns = 26000, /* as in x86.c: 256 KB of a level-2 cache */   \
    .smt_q16 = 65536 /* one thread a core */

const struct sim_arch sim_arch_arm[] = {
    {.name = "arm-gicv2", .doc = "Arm server, split hypervisor, GICv2 list registers", ARM,
     .irq = SIM_ARCH_IRQ_LIST, .exit_ns = 1350, .entry_ns = 1350, /* [D]: 6500 cycles */
     .switch_ns = 4300, /* [D]: 10387 cycles */
     .hook_ns = 200},
    {.name = "arm-gicv3", .doc = "Arm server, host at EL2, GICv3 list registers", ARM,
     .irq = SIM_ARCH_IRQ_LIST, .exit_ns = 270, .entry_ns = 270 /* [V] */, .switch_ns = 2000,
     .hook_ns = 200},
    {.name = "arm-gicv4", .doc = "Arm server, host at EL2, GICv4 direct injection", ARM,
     .irq = SIM_ARCH_IRQ_DIRECT, .exit_ns = 270, .entry_ns = 270 /* [V] */, .switch_ns = 2000,
     .post_ns = 300, .hook_ns = 800 /* assumed: vPE descheduled, VMCR read back */},
    {.name = NULL},
};
