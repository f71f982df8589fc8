/*
 * trap.h - exceptions and interrupts of a bare guest.
 *
 * A fault inside trap_catch() is an answer; anywhere else it ends the guest with status 100 plus
 * the vector. Interrupts (32 and up) are counted in struct cpu, acknowledged, then given to the
 * vector's handler if there is one. Handlers run with interrupts off, on the interrupt stack.
 */
#ifndef GUESTS_BARE_TRAP_H
#define GUESTS_BARE_TRAP_H

#include <stdint.h>

struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector, error_code;
    uint64_t rip, cs, rflags, rsp, ss;
};

#define VECTOR_NMI        2
#define VECTOR_PAGE_FAULT 14

/* Loads the calling CPU's task state segment and the interrupt table. */
void trap_init(uint32_t apic_id);

/* Calls body(argument): 0 if it returned, else 1 + the vector of the exception it ran into.
 * Doesn't nest. Registers, flags and stack pointer are restored either way. */
int trap_catch(void (*body)(void *), void *argument);

/* Sets the handler of an interrupt vector for all CPUs. */
void trap_set_handler(unsigned vector, void (*handler)(struct trap_frame *frame));

/* Loads the real table again, for guests that broke theirs on purpose. */
void trap_load_table(void);

#endif
