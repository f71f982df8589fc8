/*
 * msr.c - model-specific registers: default deny. A read or write that isn't named here is a #GP
 * in the guest, as on a CPU that lacks the register; each that is let through says why.
 */
#include "hv/vcpu/vcpu.h"

#include "hv/arch/x86/cpu.h"
#include "hv/vm/vm.h"

#define EFER_GUEST 0x4d01u /* SCE LME NXE FFXSR; LMA is the CPU's */
#define EFER_LMA (1u << 10)
#define EFER_SVME (1u << 12)

static bool write_efer(struct hv_vcpu *vcpu, uint64_t value)
{
    struct vmcb *vmcb = vcpu->arch.vmcb;
    if ((value & ~(uint64_t)(EFER_GUEST | EFER_LMA)) != 0) {
        return false;
    }
    vmcb->efer = (value & ~(uint64_t)EFER_LMA) | (vmcb->efer & EFER_LMA) | EFER_SVME;
    return true;
}

static bool write_pat(struct hv_vcpu *vcpu, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        uint8_t type = (uint8_t)(value >> (8 * i));
        if (type > 7 || type == 2 || type == 3) {
            return false;
        }
    }
    vcpu->arch.vmcb->pat = value;
    return true;
}

static bool is_apic(uint32_t msr)
{
    return msr == 0x1b || msr == 0x6e0 || (msr >= 0x800 && msr <= 0x8ff);
}

static bool is_pv(uint32_t msr)
{
    return msr == 0x11 || msr == 0x12 || (msr >= 0x4b564d00 && msr <= 0x4b564dff);
}

bool hv_vcpu_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value)
{
    const struct vmcb *vmcb = vcpu->arch.vmcb;
    *value = 0;
    if (is_apic(msr)) {
        return hv_lapic_read_msr(vcpu, msr, value);
    }
    if (is_pv(msr)) {
        return hv_pv_read_msr(vcpu, msr, value);
    }
    switch (msr) {
    case 0x10: /* TSC: the host's, not offset */
        *value = cpu_rdtsc();
        return true;
    case 0x277: /* PAT */
        *value = vmcb->pat;
        return true;
    case 0xc0000080: /* EFER, without our SVME */
        *value = vmcb->efer & ~(uint64_t)EFER_SVME;
        return true;
    case 0x8b:       /* microcode level: Linux reads it on AMD without asking CPUID */
    case 0x17a:      /* MCG_STATUS, MCG_CAP: no banks */
    case 0x179:
    case 0x1a0:      /* MISC_ENABLE: nothing enabled */
    case 0xc0010010: /* SYSCFG: no memory encryption */
    case 0xc0010015: /* HWCR: Linux tests TscFreqSel (bit 24) and says so if it is clear */
    case 0xc001001f: /* NB_CFG */
    case 0xc0010055: /* interrupt pending: no C1E */
    case 0xc0010140: /* OSVW: no errata to know of */
    case 0xc0010141:
        *value = msr == 0xc0010015 ? 1u << 24 : 0;
        return true;
    default:
        return false;
    }
}

bool hv_vcpu_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value)
{
    if (is_apic(msr)) {
        return hv_lapic_write_msr(vcpu, msr, value);
    }
    if (is_pv(msr)) {
        return hv_pv_write_msr(vcpu, msr, value);
    }
    switch (msr) {
    case 0x277:
        return write_pat(vcpu, value);
    case 0xc0000080:
        return write_efer(vcpu, value);
    case 0x8b:       /* microcode level: Linux clears it before it reads */
    case 0x17a:      /* MCG_STATUS: cleared at boot */
    case 0xc0010015: /* HWCR: Linux writes back what it read */
        return true;
    default:
        return false;
    }
}
