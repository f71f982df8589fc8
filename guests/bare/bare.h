/*
 * bare.h - what every bare guest builds on: its CPUs, its parameters, its way in and out.
 *
 * A bare guest is a few hundred lines that run alone on the virtual machine, without an operating
 * system: to start fast, to measure single exits, or to do what no kernel would do. Console
 * dialogue as of guests/README.md. Each guest defines bare_main().
 */
#ifndef GUESTS_BARE_BARE_H
#define GUESTS_BARE_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guests/bare/layout.h"

/* A CPU's own data, at the start of its block (layout.h). */
struct cpu {
    uint32_t apic_id;
    uint32_t running;       /* set by the CPU itself when it is up */
    uint64_t recovery_rsp;  /* where trap_catch() continues after a fault; 0: nowhere */
    uint64_t fault_address; /* CR2 of the last caught page fault */
    uint64_t tss[14];
    uint32_t interrupts[256]; /* taken, by vector */
    void (*job)(void *);      /* what smp_start() gave it */
    void *argument;
};

struct boot_parameters; /* the Linux boot protocol's; only boot.c looks inside */

/* The guest itself. Runs on the first CPU; its result is the exit status on the console. */
int bare_main(void);

/* The first CPU's and every other CPU's way from start.S. */
_Noreturn void bare_enter(const struct boot_parameters *parameters, uint32_t apic_id);

/* The calling CPU's data, found from its stack pointer. */
static inline struct cpu *cpu_this(void)
{
    uintptr_t rsp;
    __asm__ volatile("mov %%rsp, %0" : "=r"(rsp));
    return (struct cpu *)((rsp - 1) & ~(uintptr_t)(BARE_CPU_BLOCK - 1));
}

struct cpu *cpu_of(uint32_t apic_id);

/* Prints the last line, then powers the machine off. */
_Noreturn void bare_end(int status);

/* Waits for CEDE-START unless the command line says cede.autostart=1. */
void bare_await_start(void);

/* A number from the command line: cede.<key>=, decimal or 0x. */
uint64_t param_u64(const char *key, uint64_t standard);

/* Is cede.<key>= exactly `text`? */
bool param_is(const char *key, const char *text);

/* The address above the last byte of RAM below 4 GiB; 64 MiB when the loader doesn't say. */
uint64_t ram_end(void);

/* The loader's RSDP address, 0 when it doesn't say. */
uint64_t boot_rsdp(void);

/* Where the loader put the boot parameters. */
uint64_t boot_parameters_address(void);

/* Starts a CPU and returns true when it runs; then it calls job(argument) and halts after. */
bool smp_start(uint32_t apic_id, void (*job)(void *), void *argument);

/* xorshift64*, Marsaglia 2003, Vigna 2016. The state must not be 0. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (random_next(state) >> 11) % limit;
}

#endif
