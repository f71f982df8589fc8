/*
 * start.S - the bare guests' way into C: 32-bit entry, 64-bit entry, application processors.
 *
 * Owns the static page tables (4 GiB mapped one to one by 2 MiB pages) and the descriptor table.
 * Relies on RSI/ESI holding the address of the boot parameters at either entry. Page tables are
 * data, not built by code, so that both entries share them.
 */
#include "guests/bare/layout.h"

#define CR0_VALUE  0x80010033 /* PG WP NE ET MP PE */
#define CR4_VALUE  0x00000620 /* OSXMMEXCPT OSFXSR PAE */
#define EFER       0xc0000080
#define EFER_VALUE 0x00000900 /* NXE LME */

    .section .start, "ax"
    .code32
    .globl start32
start32:
    cli
    cld
    movl %esi, %edi /* boot parameters, as the first argument */
    lgdtl gdt_pointer
enter_long_mode: /* EDI is kept */
    movl $CR4_VALUE, %eax
    movl %eax, %cr4
    movl $page_map, %eax
    movl %eax, %cr3
    movl $EFER, %ecx
    rdmsr
    orl $EFER_VALUE, %eax
    wrmsr
    movl $CR0_VALUE, %eax
    movl %eax, %cr0
    ljmpl $BARE_CODE64, $at_home

/* A started application processor, in 32-bit mode: EDI = 0 tells it from the first CPU. */
    .globl ap_start32
ap_start32:
    movw $BARE_DATA, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %edi, %edi
    jmp enter_long_mode

    .org 0x200
    .code64
    .globl start64
start64:
    cli
    cld
    movq %rsi, %rdi
    /* Where are we? Move to the linked address if that is elsewhere; the image is much smaller
       than the distance to any other address that a loader would choose. */
    leaq image_begin(%rip), %rsi
    cmpq $image_begin, %rsi
    je 1f
    movq %rdi, %rdx
    movq $image_begin, %rdi
    movq $image_end, %rcx
    subq %rdi, %rcx
    rep movsb
    movq %rdx, %rdi
1:  movq $2f, %rax
    jmp *%rax
2:  lgdt gdt_pointer
    movl $page_map, %eax
    movq %rax, %cr3
    movl $CR4_VALUE, %eax
    movq %rax, %cr4
    movl $EFER, %ecx
    rdmsr
    orl $EFER_VALUE, %eax
    wrmsr
    movl $CR0_VALUE, %eax
    movq %rax, %cr0
    leaq far_home(%rip), %rax
    ljmp *(%rax)
far_home:
    .long at_home
    .word BARE_CODE64

at_home:
    movl $BARE_DATA, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movq %rdi, %r12
    testq %rdi, %rdi
    jz 1f
    movq $bss_begin, %rdi
    movq $bss_end, %rcx
    subq %rdi, %rcx
    rep stosb
    /* The stack of CPU n is the block of its initial APIC id. */
1:  movl $1, %eax
    cpuid
    shrl $24, %ebx
    cmpl $BARE_CPUS_MAX, %ebx
    jae stop
    movl %ebx, %esi
    imull $BARE_CPU_BLOCK, %ebx, %ebx
    leaq cpu_blocks + BARE_STACK_TOP(%rbx), %rsp
    movq %r12, %rdi
    xorl %ebp, %ebp
    pushq $0 /* keeps the stack aligned as after a call */
    jmp bare_enter /* (boot parameters or NULL, APIC id) */
stop:
    cli
    hlt
    jmp stop

/* Copied to a page below 1 MiB; runs in real mode at that page's start, wherever it is. */
    .code16
    .globl trampoline_begin, trampoline_end
trampoline_begin:
    cli
    movw %cs, %ax
    movw %ax, %ds
    lgdtl trampoline_gdt - trampoline_begin
    movl $0x11, %eax
    movl %eax, %cr0
    ljmpl $BARE_CODE32, $ap_start32
    .balign 8
trampoline_gdt:
    .word BARE_GDT_ENTRIES * 8 - 1
    .long gdt
trampoline_end:

    .section .data
    .balign 16
    .globl gdt
gdt:
    .quad 0
    .quad 0x00af9a000000ffff /* BARE_CODE64 */
    .quad 0x00cf92000000ffff /* BARE_DATA */
    .quad 0x00cf9a000000ffff /* BARE_CODE32 */
    .fill 2 * BARE_CPUS_MAX, 8, 0 /* task state segments, filled by bare_enter() */
gdt_pointer:
    .word BARE_GDT_ENTRIES * 8 - 1
    .quad gdt

    .balign 4096
    .globl page_map
page_map:
    .quad page_pointers + 7
    .fill 511, 8, 0
page_pointers:
    .quad page_directories + 7
    .quad page_directories + 0x1007
    .quad page_directories + 0x2007
    .quad page_directories + 0x3007
    .fill 508, 8, 0
page_directories:
    .set page, 0
    .rept 2048
    .quad page * 0x200000 + 0x87
    .set page, page + 1
    .endr
