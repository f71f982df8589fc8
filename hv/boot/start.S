/*
 * start.S - from the boot loader's 32-bit entry to hv_main() in long mode, and the same for the
 * application processors.
 *
 * Owns the Multiboot 1 and 2 headers, the first page tables (identity, 4 GiB, thrown away by
 * hv/mm/map.c) and the trampoline that SIPI starts at 0x8000. Relies on: A20 on, paging off.
 */
#define MB1_FLAGS 0x00010003 /* page-aligned modules, memory map, addresses below */

.section .multiboot, "a"
.code32
.balign 8
mb1_header:
    .long 0x1BADB002, MB1_FLAGS, -(0x1BADB002 + MB1_FLAGS)
    .long mb1_header, hv_image_start, hv_load_end, hv_image_end, hv_start32
.balign 8
mb2_header:
    .long 0xE85250D6, 0, mb2_end - mb2_header, -(0xE85250D6 + mb2_end - mb2_header)
    .short 6, 0     /* modules page-aligned */
    .long 8
    .short 0, 0
    .long 8
mb2_end:

.section .text.boot, "ax"
.global hv_start32
hv_start32:
    cli
    cld
    movl %eax, %edi
    movl %ebx, %esi
    /* bss isn't zeroed by every loader in Multiboot 2 */
    movl $boot_pml4, %eax
    movl $boot_pdpt + 3, (%eax)
    movl $boot_pdpt, %eax
    movl $boot_pd + 3, %ecx
    movl $4, %edx
1:  movl %ecx, (%eax)
    addl $8, %eax
    addl $4096, %ecx
    decl %edx
    jnz 1b
    movl $boot_pd, %eax
    movl $0x83, %ecx
    movl $2048, %edx
1:  movl %ecx, (%eax)
    movl $0, 4(%eax)
    addl $8, %eax
    addl $0x200000, %ecx
    decl %edx
    jnz 1b
    movl $boot_pml4, %eax
    call enter_long
    lgdt boot_gdt_pointer
    ljmp $8, $start64

/* eax: CR3; leaves in compatibility mode */
enter_long:
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x6a0, %eax            /* PAE, PGE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    movl $0xC0000080, %ecx
    rdmsr
    orl $0x900, %eax            /* LME, NXE */
    wrmsr
    movl $0x80010033, %eax      /* PG, WP, NE, ET, MP, PE */
    movl %eax, %cr0
    ret

.code64
start64:
    movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movl %edi, %edi
    movl %esi, %esi
    movq $hv_pcpu_blocks + 65536, %rsp
    xorl %ebp, %ebp
    call hv_main
1:  hlt
    jmp 1b

/* ---- application processors: copied to 0x8000 ---- */
.code16
.global hv_trampoline, hv_trampoline_end, hv_trampoline_cr3, hv_trampoline_stack
hv_trampoline:
    cli
    cld
    movw %cs, %ax
    movw %ax, %ds
    lgdtl (tramp_gdt_pointer - hv_trampoline)
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $24, $(0x8000 + tramp32 - hv_trampoline)
.code32
tramp32:
    movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    movl 0x8000 + hv_trampoline_cr3 - hv_trampoline, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x6a0, %eax
    movl %eax, %cr4
    movl $0xC0000080, %ecx
    rdmsr
    orl $0x900, %eax
    wrmsr
    movl $0x80010033, %eax
    movl %eax, %cr0
    ljmpl $8, $(0x8000 + tramp64 - hv_trampoline)
.code64
tramp64:
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movq 0x8000 + hv_trampoline_stack - hv_trampoline, %rsp
    xorl %ebp, %ebp
    movabsq $hv_ap_main, %rax
    call *%rax
1:  hlt
    jmp 1b
.balign 16
tramp_gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff
tramp_gdt_pointer:
    .short 31
    .long 0x8000 + tramp_gdt - hv_trampoline
.balign 8
hv_trampoline_cr3:   .quad 0
hv_trampoline_stack: .quad 0
hv_trampoline_end:

.section .rodata
.balign 8
boot_gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
boot_gdt_pointer:
    .short 23
    .quad boot_gdt

.section .bss
.balign 4096
boot_pml4: .skip 4096
boot_pdpt: .skip 4096
boot_pd:   .skip 4096 * 4
.section .note.GNU-stack, "", @progbits
