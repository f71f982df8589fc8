/*
 * switch.S - the world switch: void hv_svm_switch(uint64_t *gpr, uint64_t vmcb_pa, uint64_t host_pa).
 *
 * gpr: the guest's rcx, rdx, rbx, rbp, rsi, rdi, r8..r15, at 8-byte steps from 0 (rax and rsp are in the VMCB).
 * Called with interrupts off and GIF clear; returns so. Between VMRUN and the VMLOAD of the host's
 * state, FS, GS, TR and the guest's general registers are still the guest's: an interrupt that the
 * emulator takes there (see hv/irq/idt.c) must find nothing but RSP.
 */
.section .text
.global hv_svm_switch, hv_after_vmrun
hv_svm_switch:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    pushq %rdi
    pushq %rdx
    movq %rsi, %rax
    vmload %rax
    movq 0(%rdi), %rcx
    movq 8(%rdi), %rdx
    movq 16(%rdi), %rbx
    movq 24(%rdi), %rbp
    movq 32(%rdi), %rsi
    movq 48(%rdi), %r8
    movq 56(%rdi), %r9
    movq 64(%rdi), %r10
    movq 72(%rdi), %r11
    movq 80(%rdi), %r12
    movq 88(%rdi), %r13
    movq 96(%rdi), %r14
    movq 104(%rdi), %r15
    movq 40(%rdi), %rdi
    sti
    nop
    vmrun %rax
hv_after_vmrun:
    cli
    vmsave %rax
    movq (%rsp), %rax
    vmload %rax
    movq 8(%rsp), %rax
    movq %rcx, 0(%rax)
    movq %rdx, 8(%rax)
    movq %rbx, 16(%rax)
    movq %rbp, 24(%rax)
    movq %rsi, 32(%rax)
    movq %rdi, 40(%rax)
    movq %r8, 48(%rax)
    movq %r9, 56(%rax)
    movq %r10, 64(%rax)
    movq %r11, 72(%rax)
    movq %r12, 80(%rax)
    movq %r13, 88(%rax)
    movq %r14, 96(%rax)
    movq %r15, 104(%rax)
    popq %rdx
    popq %rdi
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
.section .note.GNU-stack, "", @progbits
