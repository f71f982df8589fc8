/*
 * svm.h - AMD-V: switching it on, making vCPUs, running them.
 */
#ifndef HV_ARCH_X86_SVM_SVM_H
#define HV_ARCH_X86_SVM_SVM_H

#include "hv/arch/x86/svm/vcpu.h"

/* Boot CPU, once: permission maps; panics without AMD-V and nested paging. */
void hv_svm_init(void);

/* On each pCPU: EFER.SVME, host save area. */
void hv_svm_enable(void);

/* A new vCPU's VMCB, in the state after INIT. */
void arch_vcpu_init(struct arch_vcpu *arch, uint32_t id, uint64_t nested_root);

/* INIT state: real mode at the reset vector; registers zero. */
void arch_vcpu_reset(struct arch_vcpu *arch);

/* Start-up IPI: real mode at vector * 4096. */
void arch_vcpu_sipi(struct arch_vcpu *arch, uint8_t vector);

/* Linux's 64-bit boot protocol: long mode, flat segments, tables as the loader made them. */
void arch_vcpu_boot_linux(struct arch_vcpu *arch, uint64_t rip, uint64_t rsp, uint64_t rsi,
                          uint64_t cr3, uint64_t gdt);

/*
 * The FPU state: saved before any event after which another pCPU may run the vCPU, loaded when the
 * vCPU comes to a pCPU, or comes back after it was elsewhere.
 */
void arch_vcpu_save(struct arch_vcpu *arch);
void arch_vcpu_load(struct arch_vcpu *arch);

/*
 * GIF off: from here to hv_svm_run() no interrupt is taken, so what the caller checks between
 * them still holds at the entry. hv_svm_run() ends with GIF set and interrupts still masked.
 */
void arch_guest_prepare(void);
void arch_guest_abort(void);
void arch_guest_run(struct arch_vcpu *arch);

#endif
