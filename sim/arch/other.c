/*
 * other.c - machine models of s390, POWER and MIPS. Constant data.
 *
 * Sources:
 *  [Z] z/Architecture guests under KVM (Linux Documentation/virt/kvm/s390/s390-diag.rst): diagnose
 *      0x44 and 0x9c are voluntary time-slice ends; both are privileged, and the PSW of a vCPU that
 *      has no pCPU can be read at any time. Linux spins 1000 times (sysctl spin_retry) before one.
 *  [K] Linux powerpc and mips KVM: no exit of theirs tells that a guest spins with its mode; the
 *      guest confers (H_CONFER) or the host sees a WAIT.
 *  Times: no published figures were found for these; they are assumed, near x86's and Arm's.
 */
#include "sim/arch/arch.h"

#include <stddef.h>

#define HANDLERS                                                                                   \
    {                                                                                              \
        [ABI_EXIT_EXTERNAL] = 500, [ABI_EXIT_HLT] = 400, [ABI_EXIT_PAUSE] = 300,                   \
        [ABI_EXIT_CPUID] = 100, [ABI_EXIT_MSR] = 300, [ABI_EXIT_APIC] = 400, [ABI_EXIT_IO] = 1500, \
        [ABI_EXIT_MMIO] = 1500, [ABI_EXIT_HYPERCALL] = 150, [ABI_EXIT_WINDOW] = 50,                \
        [ABI_EXIT_NPF] = 900, [ABI_EXIT_CR] = 150, [ABI_EXIT_SHUTDOWN] = 0,                        \
        [ABI_EXIT_EXCEPTION] = 300, [ABI_EXIT_OTHER] = 300                                         \
    }

#define COMMON                                                                                     \
    .ipi_batch = 1, .pv = 0, .handler_ns = HANDLERS, .inject_ns = 100, .ipi_send_ns = 100,         \
    .ipi_ns = 600, .ipi_target_ns = 150, .idle_wake_ns = 2000, .poll_look_ns = 100,                \
    .hook_ns = 200, .flush_ns = 200, .switch_ns = 2000, .refill_near_ns = 17000,                   \
    .refill_far_ns = 52000

const struct sim_arch sim_arch_other[] = {
    {.name = "s390", .doc = "IBM Z: diagnose 0x44 after a bounded spin, mode always known", COMMON,
     .spin = SIM_ARCH_SPIN_WINDOW, .mode_known = 1, .irq = SIM_ARCH_IRQ_LIST,
     .spin_window_ns = 10000, /* [Z]: 1000 rounds at about 10 ns, assumed */
     .exit_ns = 200, .entry_ns = 200, .smt_q16 = 65536},
    {.name = "power", .doc = "POWER: spin exits that tell no mode", COMMON,
     .spin = SIM_ARCH_SPIN_WINDOW, .spin_in_user = 1, .irq = SIM_ARCH_IRQ_INJECT,
     .spin_window_ns = 10000, .exit_ns = 400, .entry_ns = 400, .smt_q16 = 40632},
    {.name = "mips", .doc = "MIPS: spin exits that tell no mode", COMMON,
     .spin = SIM_ARCH_SPIN_WINDOW, .spin_in_user = 1, .irq = SIM_ARCH_IRQ_INJECT,
     .spin_window_ns = 10000, .exit_ns = 500, .entry_ns = 500, .smt_q16 = 65536},
    {.name = NULL},
};
