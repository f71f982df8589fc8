/*
 * idt.h - descriptor tables of a pCPU, and what happens on its interrupts.
 */
#ifndef HV_IRQ_IDT_H
#define HV_IRQ_IDT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the error code of a #GP is the one by which QEMU's TCG shows an interrupt that has no
 * vector (-14 in version 7.2, -6 in 10.0): a real error code has 16 bits. See idt.c.
 */
static inline bool hv_is_vectorless(uint64_t error)
{
    return (uint32_t)error > 0xffff;
}

/* Fills the shared IDT. Boot CPU, once, before the first hv_tables_load(). */
void hv_idt_init(void);

/* Loads GDT, TSS and IDT of this pCPU. */
void hv_tables_load(void);

#endif
