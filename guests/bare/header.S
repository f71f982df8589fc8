/*
 * header.S - the first two sectors of a bare guest: the setup header of the Linux boot protocol
 * (Documentation/arch/x86/boot.rst), so that whatever starts a Linux kernel starts a bare guest,
 * and the few real-mode instructions for loaders that enter there.
 *
 * Loaders that know the 64-bit protocol enter at start of the protected-mode part + 0x200.
 */
#include "guests/bare/layout.h"

    .section .setup, "ax"
    .code16
    .globl setup_begin
setup_begin:
    .org 0x1f1
    .byte 1              /* setup_sects: one beyond the boot sector */
    .word 0              /* root_flags */
    .long image_paragraphs /* syssize */
    .word 0, 0, 0        /* ram_size, vid_mode, root_dev */
    .word 0xaa55         /* boot_flag */
    .byte 0xeb, real_mode - header_magic /* jump */
header_magic:
    .ascii "HdrS"
    .word 0x020f         /* version 2.15 */
    .long 0              /* realmode_swtch */
    .word 0, 0           /* start_sys_seg, kernel_version */
    .byte 0              /* type_of_loader */
    .byte 1              /* loadflags: loaded high */
    .word 0              /* setup_move_size */
    .long BARE_LOAD_ADDRESS /* code32_start */
    .long 0, 0, 0        /* ramdisk_image, ramdisk_size, bootsect_kludge */
    .word 0              /* heap_end_ptr */
    .byte 0, 0           /* ext_loader_ver, ext_loader_type */
    .long 0              /* cmd_line_ptr */
    .long 0x7fffffff     /* initrd_addr_max */
    .long 0x1000         /* kernel_alignment */
    .byte 0, 12          /* relocatable_kernel: no; min_alignment */
    .word 1              /* xloadflags: has the 64-bit entry */
    .long 2047           /* cmdline_size */
    .long 0              /* hardware_subarch */
    .quad 0              /* hardware_subarch_data */
    .long 0, 0           /* payload_offset, payload_length */
    .quad 0              /* setup_data */
    .quad BARE_LOAD_ADDRESS /* pref_address */
    .long image_memory /* init_size */
    .long 0, 0           /* handover_offset, kernel_info_offset */

/* Entered with DS at this part's segment; the header above, filled in by the loader, becomes the
   boot parameters. */
real_mode:
    cli
    xorl %esi, %esi
    movw %ds, %si
    shll $4, %esi
    leal setup_gdt(%esi), %eax
    movl %eax, setup_gdt_pointer + 2
    lgdtl setup_gdt_pointer
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    movw $BARE_DATA, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    ljmpl $BARE_CODE32, $BARE_LOAD_ADDRESS

    .balign 8
setup_gdt:
    .quad 0
    .quad 0
    .quad 0x00cf92000000ffff /* BARE_DATA */
    .quad 0x00cf9a000000ffff /* BARE_CODE32 */
setup_gdt_end:
setup_gdt_pointer:
    .word setup_gdt_end - setup_gdt - 1
    .long 0
    .org 1024
