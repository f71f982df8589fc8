/*
 * vectors.S - the 256 entry points of the IDT, and the common way into hv_trap().
 *
 * Safe at any host instruction: nothing is read through GS or FS, no register of the interrupted
 * code is trusted but RSP, and all of them are saved and restored.
 */
.altmacro
.macro vector number
    .balign 16
    .if (\number == 8) || ((\number >= 10) && (\number <= 14)) || (\number == 17) || (\number == 21) || (\number == 29) || (\number == 30)
    .else
    pushq $0
    .endif
    pushq $\number
    jmp trap_common
.endm

.section .text
.balign 16
.global hv_vectors
hv_vectors:
.set i, 0
.rept 256
    vector %i
    .set i, i + 1
.endr

trap_common:
    cld
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, %rdi
    xorl %ebp, %ebp
    movq %rsp, %rbx
    andq $-16, %rsp
    call hv_trap
    movq %rbx, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rbp
    popq %rbx
    popq %rdx
    popq %rcx
    popq %rax
    addq $16, %rsp
    iretq
.section .note.GNU-stack, "", @progbits
