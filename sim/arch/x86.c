/*
 * x86.c - machine models of x86 servers and desktops: VMX and SVM. Constant data.
 *
 * Sources, by the marks below:
 *  [A] Agesen et al., "Software Techniques for Avoiding Hardware Virtualization Exits", USENIX ATC
 *      2012: an empty exit's round trip is about 1000 cycles on Nehalem, 780 on Sandy Bridge.
 *      Later parts with mitigations against speculation are given as 1200-1300 cycles [D].
 *  [D] Dall et al., "ARM Virtualization: Performance and Architectural Implications", ISCA 2016,
 *      table II, KVM on x86 (Xeon E5-2450, 2.1 GHz), cycles: hypercall 1300, interrupt controller
 *      trap 2384, virtual IPI 5230, virtual IRQ completion 1556, VM switch 4812, I/O out 560.
 *  [L] linux-kernel, December 2020, "KVM: SVM: use vmsave/vmload for saving/restoring additional
 *      host state": on EPYC, VMRUN to #VMEXIT about 1360 cycles, 2528 with the whole ioctl.
 *  [S] Intel SDM volume 3, 26.1.3 and 25.6.13: pause-loop exiting counts at CPL 0 only; a PAUSE
 *      within `gap` of the last belongs to the loop; a loop longer than `window` TSC cycles exits.
 *      KVM's parameters (modinfo kvm_intel): ple_gap 128, ple_window 4096, ple_window_grow 2,
 *      ple_window_shrink 0 (back to the start when the vCPU is scheduled in), max UINT_MAX.
 *  [P] AMD APM volume 2, 15.14.4 "Pause Intercept Filtering": count and threshold, at any CPL.
 *      KVM's parameters (modinfo kvm_amd): count 3000, thresh 128, grow 2, max 65535. A PAUSE takes
 *      about 40 cycles on Zen (Fog, "Instruction tables"), so 3000 of them about 40 us at 3 GHz.
 *  [W] Linux, intel_idle tables: leaving C1 2 us, C1E 10 us on Skylake servers and Haswell.
 *  [C] Li, Ding and Shen, "Quantifying the Cost of Context Switch", ExpCS 2007: a direct cost of a
 *      few us; an indirect one from several us to over a thousand, by working set. Here: half a
 *      level-2 cache from the shared cache at 30 GB/s (near), or from memory at 10 GB/s (far).
 *  [M] Marr et al., "Hyper-Threading Technology Architecture and Microarchitecture", Intel
 *      Technology Journal 6(1), 2002: two threads yield 1.16 to 1.28 of one: each runs at about 0.62.
 *  "assumed": no published figure was found; the order of magnitude is that of its neighbours.
 */
#include "sim/arch/arch.h"

#include <stddef.h>

/* Handlers, ns at 2.5 GHz: APIC from [D] (2384 - 1300 cycles); the rest assumed, near it. */
#define X86_HANDLERS                                                                               \
    {                                                                                              \
        [ABI_EXIT_EXTERNAL] = 500, [ABI_EXIT_HLT] = 400, [ABI_EXIT_PAUSE] = 400,                   \
        [ABI_EXIT_CPUID] = 100, [ABI_EXIT_MSR] = 350, [ABI_EXIT_APIC] = 430, [ABI_EXIT_IO] = 1500, \
        [ABI_EXIT_MMIO] = 1500, [ABI_EXIT_HYPERCALL] = 150, [ABI_EXIT_WINDOW] = 50,                \
        [ABI_EXIT_NPF] = 900, [ABI_EXIT_CR] = 150, [ABI_EXIT_SHUTDOWN] = 0,                        \
        [ABI_EXIT_EXCEPTION] = 300, [ABI_EXIT_OTHER] = 300                                         \
    }

/*
 * Common to VMX models. The IPI: [D]'s virtual IPI, 5230 cycles, less an APIC exit at the sender
 * (2384) and an exit and injection at the target (1300 + 300) leaves about 1250 cycles, 500 ns.
 */
#define VMX                                                                                        \
    .spin = SIM_ARCH_SPIN_WINDOW, .spin_in_user = 0, .mode_known = 1, .spin_grow = 2, /* [S] */    \
    .spin_window_max_ns = 1000000000, .ipi_batch = 1, .pv = 1,         \
    .handler_ns = X86_HANDLERS, .inject_ns = 120 /* assumed */, .ipi_send_ns = 100 /* assumed */,  \
    .ipi_ns = 500 /* [D] */, .post_ns = 300 /* assumed */, .ipi_target_ns = 150 /* assumed */,     \
    .poll_look_ns = 100 /* assumed */, .hook_ns = 250 /* assumed: descriptor and list lock */,     \
    .flush_ns = 200 /* assumed */, .smt_q16 = 40632 /* [M]: 0.62 */

/* Common to SVM models: [P], [L]. */
#define SVM                                                                                        \
    .spin = SIM_ARCH_SPIN_WINDOW, .spin_in_user = 1, .mode_known = 1, .spin_grow = 2, /* [P] */    \
    .spin_window_ns = 40000, .spin_window_max_ns = 870000, .ipi_batch = 1, .pv = 1,                \
    .exit_ns = 260, .entry_ns = 260, /* [L]: 1360 cycles at 2.6 GHz */                             \
    .handler_ns = X86_HANDLERS, .inject_ns = 120, .switch_ns = 1500 /* [D], near it */,            \
    .ipi_send_ns = 100, .ipi_ns = 500, .ipi_target_ns = 150, .idle_wake_ns = 2000 /* [W] */,       \
    .poll_look_ns = 100, .flush_ns = 200, .refill_near_ns = 8500, .refill_far_ns = 26000, /* [C] */\
    .smt_q16 = 40632

const struct sim_arch sim_arch_x86[] = {
    {.name = "skylake", .doc = "Intel Skylake server: VMX with PLE, APICv, posted interrupts",
     VMX, .spin_window_ns = 1640, /* [S]: 4096 cycles at 2.5 GHz */
     .irq = SIM_ARCH_IRQ_POSTED, .exit_ns = 250, .entry_ns = 250, /* [D]: 1250 cycles at 2.5 GHz */
     .switch_ns = 1900,               /* [D]: 4812 cycles at 2.5 GHz */
     .idle_wake_ns = 2000,            /* [W] */
     .refill_near_ns = 17000, .refill_far_ns = 52000}, /* [C]: 512 KB of 1 MB */
    {.name = "haswell", .doc = "Intel Haswell desktop: VMX with PLE, no APICv", VMX,
     .spin_window_ns = 1200, .exit_ns = 200, .entry_ns = 200, /* 4096, 1350 cycles at 3.4 GHz */
     .switch_ns = 1400, .idle_wake_ns = 2000,
     .refill_near_ns = 4200, .refill_far_ns = 13000, /* [C]: 128 KB of 256 KB */
     .irq = SIM_ARCH_IRQ_INJECT},
    {.name = "sandybridge", .doc = "Intel Sandy Bridge server: VMX with PLE, no APICv", VMX,
     .spin_window_ns = 1640, .exit_ns = 160, .entry_ns = 160, /* [A]: 784 cycles at 2.5 GHz */
     .switch_ns = 1900, .idle_wake_ns = 2000, .refill_near_ns = 4200, .refill_far_ns = 13000,
     .irq = SIM_ARCH_IRQ_INJECT},
    {.name = "zen", .doc = "AMD Zen server: SVM with pause filter, no AVIC", SVM,
     .irq = SIM_ARCH_IRQ_INJECT},
    {.name = "zen-avic", .doc = "AMD Zen server: SVM with pause filter and AVIC", SVM,
     .irq = SIM_ARCH_IRQ_AVIC, .post_ns = 300, .hook_ns = 400 /* assumed: table update */},
    {.name = NULL},
};
