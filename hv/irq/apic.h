/*
 * apic.h - the pCPU's local APIC: timer, IPIs, end of interrupt. xAPIC by MMIO: QEMU's TCG has no
 * x2APIC before version 8, and 255 pCPUs are more than are designed for.
 *
 * Each pCPU touches its own APIC only; no locks.
 */
#ifndef HV_IRQ_APIC_H
#define HV_IRQ_APIC_H

#include <stdbool.h>
#include <stdint.h>

enum hv_vector {
    HV_VECTOR_TIMER = 0xe0, /* the local APIC's one-shot */
    HV_VECTOR_KICK = 0xe1,  /* another pCPU wants attention: see its flags in struct hv_pcpu */
    HV_VECTOR_TICK = 0xe2,  /* the slow tick that stands behind everything */
    HV_VECTOR_STOP = 0xe3,  /* a pCPU panicked */
    HV_VECTOR_SPURIOUS = 0xff
};

/* On each pCPU: enable it; the boot CPU's first call also measures the timer. Returns the APIC id. */
uint32_t hv_apic_init(void);

/* Arms the one-shot for that instant of hv_now_ns(), now if it has passed; CEDE_NEVER_NS: off. */
void hv_apic_arm_ns(uint64_t deadline_ns);

void hv_apic_end(void);
void hv_apic_send(uint32_t apic_id, uint8_t vector);
void hv_apic_send_others(uint8_t vector);

/* INIT, then two SIPIs to the page, as the MP specification says. Boot CPU only. */
void hv_apic_start(uint32_t apic_id, uint8_t page);

/* Busy-waits. */
void hv_delay_us(uint64_t us);

#endif
