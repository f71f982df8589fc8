/*
 * arch.c - finding machine models, and the rules that all architectures share. Owns nothing.
 */
#include "sim/arch/arch.h"

#include <stddef.h>
#include <string.h>

#define DEFAULT_MODEL "skylake"

const struct sim_arch *sim_arch_at(uint32_t index)
{
    const struct sim_arch *const family[] = {sim_arch_x86, sim_arch_arm, sim_arch_other,
                                             sim_arch_emulator};
    for (size_t f = 0; f < sizeof family / sizeof family[0]; f++) {
        for (const struct sim_arch *arch = family[f]; arch->name != NULL; arch++) {
            if (index-- == 0) {
                return arch;
            }
        }
    }
    return NULL;
}

const struct sim_arch *sim_arch_find(const char *name)
{
    const char *wanted = name[0] != '\0' ? name : DEFAULT_MODEL;
    const struct sim_arch *arch;
    for (uint32_t i = 0; (arch = sim_arch_at(i)) != NULL; i++) {
        if (strcmp(arch->name, wanted) == 0) {
            return arch;
        }
    }
    return NULL;
}

uint64_t sim_arch_spin_limit_ns(const struct sim_arch *arch, bool user, bool quiet,
                                bool dedicated, uint64_t window_ns)
{
    if (arch->spin == SIM_ARCH_SPIN_NONE || quiet || dedicated || (user && !arch->spin_in_user)) {
        return UINT64_MAX;
    }
    return window_ns;
}

uint64_t sim_arch_spin_grown_ns(const struct sim_arch *arch, uint64_t window_ns)
{
    if (arch->spin_grow < 2) {
        return window_ns;
    }
    uint64_t grown = window_ns * arch->spin_grow;
    return grown < arch->spin_window_max_ns ? grown : arch->spin_window_max_ns;
}

uint32_t sim_arch_ipi_exits(const struct sim_arch *arch, uint32_t targets, bool pv_send)
{
    /* One send-IPI hypercall covers 128 APIC ids (KVM's hypercall 10). */
    uint32_t batch = pv_send && arch->pv ? 128 : arch->ipi_batch;
    return (targets + batch - 1) / batch;
}
