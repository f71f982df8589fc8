/*
 * vcpu.h - what a vCPU meets when it asks: CPUID, MSRs, hypercalls, KVM's paravirtual interface.
 *
 * All of it runs on the vCPU's pCPU, with the vCPU out of the guest, unless said otherwise.
 */
#ifndef HV_VCPU_VCPU_H
#define HV_VCPU_VCPU_H

#include <stdbool.h>
#include <stdint.h>

struct hv_vcpu;

void hv_vcpu_cpuid(struct hv_vcpu *vcpu);

/* False: #GP. */
bool hv_vcpu_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value);
bool hv_vcpu_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value);

void hv_vcpu_hypercall(struct hv_vcpu *vcpu);

/* Paravirtual MSRs 0x11, 0x12, 0x4b564d00..05; false: #GP. */
bool hv_pv_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value);
bool hv_pv_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value);
void hv_pv_reset(struct hv_vcpu *vcpu);

/*
 * Writes the vCPU's steal record, core's lock held, any pCPU. preempted: sets the byte; else it is
 * exchanged to 0, and true is returned if the guest had asked for a TLB flush in it.
 */
bool hv_pv_publish(struct hv_vcpu *vcpu, uint64_t steal_ns, bool preempted);

/* PV EOI: before an entry, offer the guest to end that interrupt without an exit; after the exit,
 * find out whether it did. */
void hv_pv_eoi_offer(struct hv_vcpu *vcpu, bool may);
void hv_pv_eoi_collect(struct hv_vcpu *vcpu);

#endif
