/*
 * traps.S - the 256 interrupt entries, and the way back from a fault that a guest provoked.
 *
 * All entries build a struct trap_frame (trap.h) on the interrupt stack and call trap_handle().
 */
    .section .text
    .balign 16
    .globl trap_entries
trap_entries: /* 16 bytes each */
    .set vector, 0
    .rept 256
    .balign 16
    /* These exceptions push an error code; the others get a zero (APM volume 2, 8.2) */
    .if !((vector == 8) || (vector >= 10 && vector <= 14) || (vector == 17) || (vector == 21) || (vector == 29) || (vector == 30))
    pushq $0
    .endif
    pushq $vector
    jmp trap_common
    .set vector, vector + 1
    .endr

trap_common:
    cld
    pushq %rax
    pushq %rbx
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %rbp
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, %rdi
    movq %rsp, %rbp
    andq $-16, %rsp
    call trap_handle
    movq %rbp, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rbp
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rbx
    popq %rax
    addq $16, %rsp
    iretq

/* int trap_call(void (*body)(void *), void *argument, uint64_t *saved_rsp): 0 when body returned,
   1 + vector when it faulted: trap_handle() then continues at trap_resume with RSP = *saved_rsp and
   that value in RAX. Flags are the caller's again. */
    .globl trap_call, trap_resume
trap_call:
    pushfq
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rsp, (%rdx)
    call *%rax
    xorl %eax, %eax
trap_resume:
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    popfq
    ret
