/*
 * vcpu.h - the architecture's part of a vCPU on AMD-V, embedded in struct hv_vcpu.
 *
 * Owned by the pCPU on which the vCPU is current; nobody else touches it.
 */
#ifndef HV_ARCH_X86_SVM_VCPU_H
#define HV_ARCH_X86_SVM_VCPU_H

#include "hv/arch/x86/svm/vmcb.h"

#include <stdbool.h>
#include <stdint.h>

/* Encoding order of the instruction set: what ModRM and REX name. */
enum arch_gpr {
    GPR_RAX, GPR_RCX, GPR_RDX, GPR_RBX, GPR_RSP, GPR_RBP, GPR_RSI, GPR_RDI,
    GPR_R8, GPR_R9, GPR_R10, GPR_R11, GPR_R12, GPR_R13, GPR_R14, GPR_R15,
    GPR_COUNT
};

struct arch_vcpu {
    struct vmcb *vmcb;
    uint64_t gpr[14]; /* switch.S: rcx rdx rbx rbp rsi rdi r8..r15; rax and rsp are in the VMCB */
    uint32_t asid;
    bool flush_tlb;       /* before the next entry */
    uint32_t last_pcpu;
    uint8_t fpu[512] __attribute__((aligned(16))); /* FXSAVE image while not loaded */
};

uint64_t arch_gpr_get(const struct arch_vcpu *arch, enum arch_gpr reg);
void arch_gpr_set(struct arch_vcpu *arch, enum arch_gpr reg, uint64_t value);

static inline unsigned arch_cpl(const struct arch_vcpu *arch)
{
    return arch->vmcb->cpl;
}

/* Skips an emulated instruction: RIP and the interrupt shadow. */
static inline void arch_skip(struct arch_vcpu *arch, unsigned length)
{
    arch->vmcb->rip += length;
    arch->vmcb->int_shadow = 0;
}

/* Injects an exception at the next entry; error < 0: it has no error code. */
void arch_inject_exception(struct arch_vcpu *arch, uint8_t vector, int64_t error);

#endif
