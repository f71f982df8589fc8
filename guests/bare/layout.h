/*
 * layout.h - numbers that assembly, linker script and C of the bare guests share.
 *
 * Memory of a bare guest: the image at 1 MiB, with its zeroed data behind it; the first
 * application processor code at BARE_TRAMPOLINE; one block a CPU, aligned to its size, so that
 * code finds its CPU's data from the stack pointer alone.
 */
#ifndef GUESTS_BARE_LAYOUT_H
#define GUESTS_BARE_LAYOUT_H

#define BARE_LOAD_ADDRESS 0x100000
#define BARE_TRAMPOLINE   0x8000
#define BARE_CPUS_MAX     64

/* A CPU's block: struct cpu at its start, then the stacks, each given by its upper end. */
#define BARE_CPU_BLOCK      0x8000
#define BARE_TRAP_STACK_TOP 0x3000 /* interrupt stack 1: exceptions and interrupts */
#define BARE_NMI_STACK_TOP  0x4000 /* interrupt stack 2: NMI, double fault, machine check */
#define BARE_STACK_TOP      0x8000

#define BARE_CODE64      0x08
#define BARE_DATA        0x10
#define BARE_CODE32      0x18
#define BARE_TSS         0x20 /* 16 bytes a CPU from here */
#define BARE_GDT_ENTRIES (4 + 2 * BARE_CPUS_MAX)

#endif
