/*
 * idt.h - descriptor tables of a pCPU, and what happens on its interrupts.
 */
#ifndef HV_IRQ_IDT_H
#define HV_IRQ_IDT_H

/* Error code of the #GP by which QEMU's TCG shows an interrupt that has no vector; see idt.c. */
#define HV_VECTORLESS_ERROR 0xfffffff2u

/* Fills the shared IDT. Boot CPU, once, before the first hv_tables_load(). */
void hv_idt_init(void);

/* Loads GDT, TSS and IDT of this pCPU. */
void hv_tables_load(void);

#endif
