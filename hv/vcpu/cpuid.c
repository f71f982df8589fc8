/*
 * cpuid.c - the CPU that a guest sees: the host's, less what isn't virtualized. Default deny: a
 * feature bit is shown only if it stands in a mask here.
 *
 * Sources: AMD64 APM volume 3, appendix E; KVM's leaf 0x40000000 as shared by its documentation.
 */
#include "hv/vcpu/vcpu.h"

#include "hv/arch/x86/cpu.h"
#include "hv/time/clock.h"
#include "hv/vm/vm.h"

#define BIT(n) (1u << (n))

/* Leaf 1 EDX: FPU VME DE PSE TSC MSR PAE CX8 APIC SEP PGE CMOV PAT PSE36 CLFLUSH MMX FXSR SSE SSE2.
 * Not MCE and MCA (no machine checks are injected), not MTRR (memory types are NPT's). */
#define LEAF_1_EDX                                                                                 \
    (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(8) | BIT(9) | BIT(11) |    \
     BIT(13) | BIT(15) | BIT(16) | BIT(17) | BIT(19) | BIT(23) | BIT(24) | BIT(25) | BIT(26))
/* Leaf 1 ECX: SSE3 PCLMUL SSSE3 CX16 SSE4.1 SSE4.2 MOVBE POPCNT AES RDRAND. Not XSAVE and AVX (only
 * FXSAVE state is switched), not MONITOR, PCID. */
#define LEAF_1_ECX                                                                                 \
    (BIT(0) | BIT(1) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(25) | BIT(30))
#define LEAF_1_ECX_X2APIC BIT(21)
#define LEAF_1_ECX_TSC_DEADLINE BIT(24)
#define LEAF_1_ECX_HYPERVISOR BIT(31)
/* Leaf 7 EBX: FSGSBASE BMI1 SMEP BMI2 ERMS RDSEED ADX SMAP CLFLUSHOPT: all without state of ours */
#define LEAF_7_EBX                                                                                 \
    (BIT(0) | BIT(3) | BIT(7) | BIT(8) | BIT(9) | BIT(18) | BIT(19) | BIT(20) | BIT(23))
/* 0x80000001 EDX: SYSCALL NX MMXEXT FFXSR PDPE1GB LM, and leaf 1's doubles; not RDTSCP (TSC_AUX) */
#define LEAF_81_EDX (LEAF_1_EDX | BIT(11) | BIT(20) | BIT(22) | BIT(26) | BIT(29))
/* 0x80000001 ECX: LAHF ABM SSE4A MISALIGNSSE 3DNOWPREFETCH; not SVM */
#define LEAF_81_ECX (BIT(0) | BIT(5) | BIT(6) | BIT(7) | BIT(8))

static struct cpu_id leaf_1(const struct hv_vcpu *vcpu)
{
    struct cpu_id id = cpu_cpuid(1, 0);
    id.ebx = (id.ebx & 0xffff) | 0 << 16 | vcpu->index << 24;
    id.ecx = (id.ecx & LEAF_1_ECX) | LEAF_1_ECX_X2APIC | LEAF_1_ECX_TSC_DEADLINE;
    if (vcpu->vm->config->guest_features != 0) {
        id.ecx |= LEAF_1_ECX_HYPERVISOR;
    }
    id.edx &= LEAF_1_EDX;
    return id;
}

/* Extended topology: one thread a core, all cores in one package. */
static struct cpu_id leaf_b(const struct hv_vcpu *vcpu, uint32_t subleaf)
{
    struct cpu_id id = {0, 0, subleaf & 0xff, vcpu->index};
    if (subleaf == 0) {
        id.ebx = 1;
        id.ecx |= 1 << 8;
    } else if (subleaf == 1) {
        id.eax = 6;
        id.ebx = vcpu->vm->vcpu_count;
        id.ecx |= 2 << 8;
    }
    return id;
}

static struct cpu_id leaf_kvm(const struct hv_vcpu *vcpu, uint32_t leaf)
{
    switch (leaf) {
    case 0x40000000: /* "KVMKVMKVM\0\0\0" */
        return (struct cpu_id){0x40000010, 0x4b4d564b, 0x564b4d56, 0x4d};
    case 0x40000001:
        return (struct cpu_id){vcpu->vm->config->guest_features, 0, 0, 0};
    case 0x40000010: /* TSC and APIC timer frequency in kHz, as VMware and KVM give them */
        return (struct cpu_id){(uint32_t)hv_tsc_khz(), 1000000, 0, 0};
    default:
        return (struct cpu_id){0, 0, 0, 0};
    }
}

static struct cpu_id look_up(const struct hv_vcpu *vcpu, uint32_t leaf, uint32_t subleaf)
{
    struct cpu_id id = {0, 0, 0, 0};
    if (leaf >= 0x40000000 && leaf <= 0x400000ff) {
        return vcpu->vm->config->guest_features != 0 ? leaf_kvm(vcpu, leaf) : id;
    }
    switch (leaf) {
    case 0:
        id = cpu_cpuid(0, 0);
        id.eax = 0xb;
        return id;
    case 1:
        return leaf_1(vcpu);
    case 6: /* the APIC timer runs in every sleep (ARAT): else Linux wants a PIT beside it */
        id.eax = BIT(2);
        return id;
    case 7:
        if (subleaf == 0) {
            id.ebx = cpu_cpuid(7, 0).ebx & LEAF_7_EBX;
        }
        return id;
    case 0xb:
        return leaf_b(vcpu, subleaf);
    case 0x80000000:
        id = cpu_cpuid(0x80000000, 0);
        id.eax = 0x80000008;
        return id;
    case 0x80000001:
        id = cpu_cpuid(leaf, 0);
        id.ecx &= LEAF_81_ECX;
        id.edx &= LEAF_81_EDX;
        return id;
    case 0x80000002: /* the brand string */
    case 0x80000003:
    case 0x80000004:
    case 0x80000005: /* caches */
    case 0x80000006:
        return cpu_cpuid(leaf, 0);
    case 0x80000007:
        id.edx = BIT(8); /* invariant TSC */
        return id;
    case 0x80000008:
        id.eax = cpu_cpuid(leaf, 0).eax & 0xffff;
        return id;
    default:
        return id;
    }
}

void hv_vcpu_cpuid(struct hv_vcpu *vcpu)
{
    struct cpu_id id = look_up(vcpu, (uint32_t)arch_gpr_get(&vcpu->arch, GPR_RAX),
                               (uint32_t)arch_gpr_get(&vcpu->arch, GPR_RCX));
    arch_gpr_set(&vcpu->arch, GPR_RAX, id.eax);
    arch_gpr_set(&vcpu->arch, GPR_RBX, id.ebx);
    arch_gpr_set(&vcpu->arch, GPR_RCX, id.ecx);
    arch_gpr_set(&vcpu->arch, GPR_RDX, id.edx);
}
