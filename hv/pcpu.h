/*
 * pcpu.h - one physical CPU: its block of 64 KiB, found from the stack pointer.
 *
 * Every stack of a pCPU lies in its block, and the block starts with struct hv_pcpu, so
 * hv_this_pcpu() is right at any host instruction: whatever GS, FS or TR hold, on whatever stack
 * an interrupt or exception was taken. Layout of a block:
 *
 *   0x0000  struct hv_pcpu (12 KiB at most)
 *   0x3000  guard      0x4000  exception stack (IST 1)
 *   0x5000  guard      0x6000  NMI and machine check stack (IST 2)
 *   0x7000  guard      0x8000  main stack, 32 KiB, also taken by interrupts
 *
 * Guards are unmapped by hv/mm/map.c. Members are written by their own pCPU alone, unless said.
 */
#ifndef HV_PCPU_H
#define HV_PCPU_H

#include "cede/types.h"

#include <stdbool.h>
#include <stdint.h>

#define HV_PCPU_MAX 64u
#define HV_PCPU_BLOCK 65536u
#define HV_PCPU_GUARD_1 0x3000u
#define HV_PCPU_EXCEPTION_TOP 0x5000u
#define HV_PCPU_GUARD_2 0x5000u
#define HV_PCPU_NMI_TOP 0x7000u
#define HV_PCPU_GUARD_3 0x7000u

struct hv_vcpu;

/* What the core wants of a pCPU. */
enum hv_turn { HV_TURN_IDLE, HV_TURN_RUN, HV_TURN_POLL };

struct hv_tss {
    uint32_t reserved;
    uint64_t rsp[3];
    uint64_t reserved_2;
    uint64_t ist[7];
    uint64_t reserved_3;
    uint16_t reserved_4;
    uint16_t io_map;
} __attribute__((packed));

struct hv_pcpu {
    uint32_t index;
    uint32_t apic_id;
    uint32_t online;  /* set by itself, read by the boot CPU */
    uint32_t stopped; /* set by itself after a panic elsewhere */

    /* The shell's (hv/shell). */
    uint32_t kick;             /* set by anybody: RESCHED is owed */
    uint32_t notify;           /* set by anybody: leave the guest, look at pending interrupts */
    uint32_t poll_stop;        /* set by anybody: the poller should look up */
    uint64_t kick_sent_ns;     /* when, by the sender; 0: none outstanding */
    uint64_t kicks_resent;     /* counted by senders, under no lock: a statistic */
    uint32_t turn;             /* enum hv_turn */
    struct hv_vcpu *current;   /* whose turn it is, or NULL */
    struct hv_vcpu *loaded;    /* whose FPU and MSR state is in the CPU */
    uint64_t until_ns;         /* of the RUN or POLL in force */
    uint64_t timers_next_ns;   /* atomic: the earliest of these */
    struct hv_vcpu *timers;    /* core lock: vCPUs whose emulated timers are placed here */
    uint64_t ticks;            /* timer and tick interrupts taken */
    uint64_t after_vmrun_interrupts; /* host interrupts at the instruction after VMRUN */
    uint64_t vectorless_interrupts;  /* in the host or a guest; see hv/irq/idt.c */
    uint64_t lock_hold_max_ns;
    uint64_t lock_hold_sum_ns;
    uint64_t lock_count;

    uint64_t host_save_pa; /* VM_HSAVE_PA */
    uint64_t gdt[8];
    struct hv_tss tss;
};

extern uint8_t hv_pcpu_blocks[];
extern uint32_t hv_pcpu_count; /* online ones; indices are 0..count-1 */

static inline struct hv_pcpu *hv_pcpu(uint32_t index)
{
    return (struct hv_pcpu *)(void *)(hv_pcpu_blocks + (uint64_t)index * HV_PCPU_BLOCK);
}

static inline struct hv_pcpu *hv_this_pcpu(void)
{
    uint64_t sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    return (struct hv_pcpu *)((sp - 1) & ~(uint64_t)(HV_PCPU_BLOCK - 1));
}

#endif
