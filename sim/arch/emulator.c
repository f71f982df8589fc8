/*
 * emulator.c - the machine model `qemu-tcg`: the hypervisor's own default machine. Constant data.
 *
 * Measured with guests/bare/exitbench (300 samples each, two runs, medians) on the hypervisor under
 * QEMU's TCG, two emulated pCPUs on two busy cores at 2.6 GHz:
 *  [E] CPUID, hypercall, port read: 19.4 us, the least of all exits: exit and entry, half each;
 *      APIC write 19.8; PAUSE 30 to 34; self-IPI 44.5 (two exits, the IPI's and its end's, and an
 *      injection); timer while running 104 to 126, while halted 109 to 158; IPI to a halted sibling
 *      95 to 101 us.
 *  [C] The core's lock is held for 17 to 37 us an event (cede run's last line): the core's own code
 *      is slow there, too. A spin exit, a halt, a reschedule, a timer armed each hold one event.
 *  [S] Workloads that `cede run` and `cede sim` both ran alone on one vCPU, real over model: cpu 3.6
 *      times slower, lockstorm 7.9, tlbstorm 66 (page faults under nested paging). Kernel work is
 *      given the geometric mean of the last two.
 * Each PAUSE exits; there's no AVIC. Figures from a busy machine: good to a factor of two.
 *  "assumed": not measured.
 */
#include "sim/arch/arch.h"

#include <stddef.h>

#define EVENT 17000 /* [C] */

#define HANDLERS                                                                                   \
    {                                                                                              \
        [ABI_EXIT_EXTERNAL] = EVENT, [ABI_EXIT_HLT] = EVENT, [ABI_EXIT_PAUSE] = 12000 /* [E] */,   \
        [ABI_EXIT_CPUID] = 0, [ABI_EXIT_MSR] = EVENT, [ABI_EXIT_APIC] = 400 /* [E] */,             \
        [ABI_EXIT_IO] = 100 /* [E] */, [ABI_EXIT_MMIO] = 10000 /* assumed */,                      \
        [ABI_EXIT_HYPERCALL] = 0, [ABI_EXIT_WINDOW] = 500 /* assumed */,                           \
        [ABI_EXIT_NPF] = 10000 /* assumed */, [ABI_EXIT_CR] = 2000 /* assumed */,                  \
        [ABI_EXIT_SHUTDOWN] = 0, [ABI_EXIT_EXCEPTION] = 3000, [ABI_EXIT_OTHER] = 3000 /* assumed */\
    }

const struct sim_arch sim_arch_emulator[] = {
    {.name = "qemu-tcg", .doc = "QEMU's TCG with emulated SVM: the hypervisor's default machine",
     .spin = SIM_ARCH_SPIN_TRAP, .spin_in_user = 1, .mode_known = 1,
     .spin_window_ns = 300 /* assumed: up to the first PAUSE */, .irq = SIM_ARCH_IRQ_INJECT,
     .ipi_batch = 1, .pv = 1, .exit_ns = 9700, .entry_ns = 9700 /* [E] */, .handler_ns = HANDLERS,
     .inject_ns = 5000 /* [E]: self-IPI less two exits */, .switch_ns = EVENT,
     .ipi_send_ns = 2000 /* assumed */, .ipi_ns = 25000, .idle_wake_ns = 25000 /* [E]: what is left
     of the halted sibling's IPI, halved */, .post_ns = 25000, .ipi_target_ns = EVENT,
     .poll_look_ns = 2000 /* assumed */, .hook_ns = 0, .flush_ns = 20000 /* assumed */,
     .user_scale = 4, .kernel_scale = 23, /* [S] */
     .refill_near_ns = 30000, .refill_far_ns = 30000 /* assumed: the emulator's own TLB */,
     .smt_q16 = 65536},
    {.name = NULL},
};
