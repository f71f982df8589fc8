/*
 * hostile.h - guests that do what no kernel would. One table of kinds (hostile.c), one file a
 * kind or a few small ones together.
 *
 * A kind is given a seeded generator and asked for one random operation at a time. It may harm
 * itself only by the hypervisor's fault: what would legitimately stop a machine (power-off port,
 * INIT to itself, writing over its own code) it leaves out, so that all operations take place.
 */
#ifndef GUESTS_BARE_HOSTILE_H
#define GUESTS_BARE_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

struct hostile {
    const char *name;
    /* Before the first operation; may be NULL. False: this machine can't do it. */
    bool (*prepare)(uint64_t *random);
    /* One random operation. */
    void (*step)(uint64_t *random);
    /* After the last; may be NULL. False: the machine did something it must not. */
    bool (*finish)(void);
};

extern const struct hostile hostile_msr;       /* hostile_msr.c */
extern const struct hostile hostile_registers; /* hostile_registers.c */
extern const struct hostile hostile_pages;     /* hostile_pages.c */
extern const struct hostile hostile_io;        /* hostile_io.c */
extern const struct hostile hostile_hypercall; /* hostile_calls.c */
extern const struct hostile hostile_mmio;      /* hostile_mmio.c */
extern const struct hostile hostile_tables;    /* hostile_tables.c */
extern const struct hostile hostile_code;      /* hostile_code.c */
extern const struct hostile hostile_storm;     /* hostile_irq.c */
extern const struct hostile hostile_sipi;      /* hostile_irq.c */
extern const struct hostile hostile_triple;    /* hostile_end.c */
extern const struct hostile hostile_pause;     /* hostile_end.c */
extern const struct hostile hostile_halt;      /* hostile_end.c */

/* trap_catch() that counts what faulted. */
int hostile_try(void (*body)(void *), void *argument);

/* May an operation reach for addresses where the guest has neither memory nor device, so that a
 * hypervisor may rightly stop it? (cede.outside=0 forbids it.) */
bool hostile_outside(void);

/* Runs on plain QEMU (cede.plain=1): leave out what it doesn't stand itself. Code that runs
 * from RAM into a device and a wide read of its serial port are failed assertions there, a CPU's
 * write to the message area above the APIC is an interrupt of any kind, INIT included, and PCI
 * configuration moves its devices about. */
bool hostile_plain(void);

/* Reach devices and holes by plain moves only (cede.moves=1): what a hypervisor may be asked to
 * emulate. It may rightly stop a guest that uses anything else there, and then soon does. */
bool hostile_moves_only(void);

/* A physical address without RAM: a hole below 4 GiB, above all RAM, or beyond any bus. */
uint64_t hostile_hole(uint64_t *random);

/* The other CPUs, started with `job` once; their number. */
unsigned hostile_start_others(void (*job)(void *));

#endif
