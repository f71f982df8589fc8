/*
 * lapic.h - a vCPU's local APIC: x2APIC by MSR, xAPIC by MMIO. AMD64 APM volume 2, chapter 16;
 * Intel SDM volume 3, chapter 11.
 *
 * IRR is set by anybody, atomically; everything else belongs to the vCPU's pCPU.
 */
#ifndef HV_DEV_LAPIC_H
#define HV_DEV_LAPIC_H

#include <stdbool.h>
#include <stdint.h>

struct hv_vcpu;

struct hv_lapic {
    uint32_t irr[8]; /* atomic */
    uint32_t isr[8];
    uint32_t tmr[8]; /* level-triggered: EOI goes to the IO-APIC; under the device lock */
    uint64_t base;   /* IA32_APIC_BASE */
    uint32_t tpr;
    uint32_t spurious;
    uint32_t logical, format; /* xAPIC: LDR, DFR */
    uint32_t lvt[7]; /* CMCI, timer, thermal, perf, LINT0, LINT1, error */
    uint32_t esr;
    uint32_t icr_high;
    uint32_t divide;
    uint32_t initial;
    uint64_t started_ns;   /* when the count was written */
    uint64_t tsc_deadline; /* as the guest wrote it */
    bool nmi;              /* atomic: one is pending */
};

void hv_lapic_reset(struct hv_vcpu *vcpu);

/* MSR 0x800..0x8ff and 0x1b, 0x6e0; false: #GP. */
bool hv_lapic_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value);
bool hv_lapic_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value);

/* The MMIO page, offset 0..0xfff, 32-bit accesses. */
uint32_t hv_lapic_read_mmio(struct hv_vcpu *vcpu, uint32_t offset);
void hv_lapic_write_mmio(struct hv_vcpu *vcpu, uint32_t offset, uint32_t value);

/* Sets a vector pending; true if it wasn't. Any pCPU. The caller then tells the shell. */
bool hv_lapic_accept(struct hv_vcpu *vcpu, uint8_t vector);

/* The highest pending vector, if it may be delivered now by priority, else -1. RFLAGS.IF is the
 * CPU's business. */
int hv_lapic_deliverable(const struct hv_vcpu *vcpu);

/* Whether that edge-triggered vector is all there is: nothing else pending or in service. */
bool hv_lapic_only(const struct hv_vcpu *vcpu, uint8_t vector);

/* Whether anything is pending that would wake a halted vCPU. Any pCPU, a sample. */
bool hv_lapic_has_work(const struct hv_vcpu *vcpu);

/*
 * A vector on its way to the guest: offered at an entry (it leaves IRR), then at the exit delivered
 * (it is in service) or withdrawn (it is pending again). It leaves IRR before the guest runs because
 * the guest may take it, and a sibling send the same vector again, before the exit that tells us of
 * the first: that second one must find IRR clear, or it is lost.
 */
void hv_lapic_offer(struct hv_vcpu *vcpu, uint8_t vector);
void hv_lapic_delivered(struct hv_vcpu *vcpu, uint8_t vector);
void hv_lapic_withdraw(struct hv_vcpu *vcpu, uint8_t vector);

/* The emulated timer expired: sets its vector pending; a periodic one gets its next deadline.
 * Returns true if a vector became pending. */
bool hv_lapic_timer_fire(struct hv_vcpu *vcpu);

/* Delivers a fixed interrupt to the vCPUs of its VM that the destination names (IO-APIC, MSI). */
void hv_lapic_deliver(struct hv_vcpu *from_any, uint32_t destination, bool logical, uint8_t vector);

/* Sends an interrupt to one vCPU and tells the shell. sender may be NULL. */
void hv_lapic_send(struct hv_vcpu *target, uint8_t vector, struct hv_vcpu *sender);

/* Ends the highest interrupt in service. */
void hv_lapic_eoi(struct hv_vcpu *vcpu);

#endif
