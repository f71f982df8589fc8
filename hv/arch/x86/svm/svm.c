/*
 * svm.c - AMD-V: enabling, VMCBs, entry and exit. AMD64 APM volume 2, chapter 15.
 *
 * Owns the permission maps (constant after hv_svm_init()) and, per pCPU, who used which ASID last.
 */
#include "hv/arch/x86/svm/svm.h"

#include "hv/arch/x86/cpu.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/mm/pages.h"
#include "hv/pcpu.h"

#define MSR_EFER 0xc0000080u
#define MSR_VM_CR 0xc0010114u
#define MSR_VM_HSAVE_PA 0xc0010117u
#define EFER_SVME (1u << 12)
#define ASID_MAX 64u

void hv_svm_switch(uint64_t *gpr, uint64_t vmcb_pa, uint64_t host_pa);

static uint8_t *iopm;
static uint8_t *msrpm;
static uint32_t asid_count;
static const struct arch_vcpu *asid_owner[HV_PCPU_MAX][ASID_MAX];

/* Lets the guest read and write that MSR itself. The map: 15.11. */
static void allow_msr(uint32_t msr)
{
    uint32_t bit = msr < 0x2000 ? msr * 2 : 0x800 * 8 + (msr - 0xc0000000u) * 2;
    msrpm[bit / 8] &= (uint8_t) ~(3u << (bit % 8));
}

void hv_svm_init(void)
{
    /* VMLOAD and VMSAVE switch these; the guest can harm nobody through them */
    static const uint32_t own[] = {
        0x174,      0x175,      0x176,      /* SYSENTER_CS, ESP, EIP */
        0xc0000081, 0xc0000082, 0xc0000083, /* STAR, LSTAR, CSTAR */
        0xc0000084,                         /* SFMASK */
        0xc0000100, 0xc0000101, 0xc0000102  /* FS, GS, kernel GS base */
    };
    if ((cpu_cpuid(0x80000001, 0).ecx & 4) == 0 || (cpu_rdmsr(MSR_VM_CR) & 0x10) != 0) {
        hv_panic("this CPU has no AMD-V, or its firmware locked it");
    }
    struct cpu_id svm = cpu_cpuid(0x8000000a, 0);
    if ((svm.edx & 1) == 0) {
        hv_panic("this CPU has no nested paging");
    }
    asid_count = svm.ebx < ASID_MAX ? svm.ebx : ASID_MAX;
    iopm = hv_pages_alloc(3 * 4096, 4096, "the I/O permission map");
    msrpm = hv_pages_alloc(2 * 4096, 4096, "the MSR permission map");
    memset(iopm, 0xff, 3 * 4096);
    memset(msrpm, 0xff, 2 * 4096);
    for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        allow_msr(own[i]);
    }
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        hv_pcpu(i)->host_save_pa =
            (uint64_t)(uintptr_t)hv_pages_alloc(2 * 4096, 4096, "the host's save areas");
    }
}

void hv_svm_enable(void)
{
    cpu_wrmsr(MSR_EFER, cpu_rdmsr(MSR_EFER) | EFER_SVME);
    cpu_wrmsr(MSR_VM_HSAVE_PA, hv_this_pcpu()->host_save_pa);
    /* The second page keeps FS, GS, TR and the system call MSRs for VMLOAD. */
    __asm__ volatile("vmsave %0" : : "a"(hv_this_pcpu()->host_save_pa + 4096) : "memory");
}

void arch_vcpu_init(struct arch_vcpu *arch, uint32_t id, uint64_t nested_root)
{
    arch->vmcb = hv_pages_alloc(sizeof(struct vmcb), 4096, "a VMCB");
    arch->asid = 1 + id % (asid_count - 1);
    arch->vmcb->nested_cr3 = nested_root;
    arch_vcpu_reset(arch);
}

static struct vmcb_segment segment(uint16_t selector, uint16_t attributes, uint64_t base,
                                   uint32_t limit)
{
    return (struct vmcb_segment){selector, attributes, limit, base};
}

static void set_controls(struct vmcb *vmcb, uint32_t asid)
{
    vmcb->intercept_dr = 0x000f000f; /* DR0 to DR3 aren't switched */
    vmcb->intercept_exceptions = 1u << 13; /* for those of the emulator's making: hv/irq/idt.c */
    vmcb->intercept_1 = INTERCEPT_INTR | INTERCEPT_NMI | INTERCEPT_SMI | INTERCEPT_INIT |
                        INTERCEPT_RDPMC | INTERCEPT_CPUID | INTERCEPT_RSM | INTERCEPT_INVD |
                        INTERCEPT_PAUSE | INTERCEPT_HLT | INTERCEPT_INVLPGA | INTERCEPT_IOIO |
                        INTERCEPT_MSR | INTERCEPT_FERR | INTERCEPT_SHUTDOWN;
    vmcb->intercept_2 = INTERCEPT_2_ALL;
    vmcb->iopm = (uint64_t)(uintptr_t)iopm;
    vmcb->msrpm = (uint64_t)(uintptr_t)msrpm;
    vmcb->asid = asid;
    vmcb->int_ctl = INT_CTL_MASKING | INT_CTL_IGN_TPR;
    vmcb->nested_control = 1;
}

void arch_vcpu_reset(struct arch_vcpu *arch)
{
    struct vmcb *vmcb = arch->vmcb;
    uint64_t nested_root = vmcb->nested_cr3;
    memset(vmcb, 0, sizeof(*vmcb));
    memset(arch->gpr, 0, sizeof(arch->gpr));
    memset(arch->fpu, 0, sizeof(arch->fpu));
    arch->fpu[0] = 0x7f; /* FCW 0x037f */
    arch->fpu[1] = 0x03;
    arch->fpu[24] = 0x80; /* MXCSR 0x1f80 */
    arch->fpu[25] = 0x1f;
    vmcb->nested_cr3 = nested_root;
    set_controls(vmcb, arch->asid);
    vmcb->cs = segment(0xf000, 0x9b, 0xffff0000, 0xffff);
    vmcb->ds = vmcb->es = vmcb->fs = vmcb->gs = vmcb->ss = segment(0, 0x93, 0, 0xffff);
    vmcb->gdtr = vmcb->idtr = segment(0, 0, 0, 0xffff);
    vmcb->ldtr = segment(0, 0x82, 0, 0xffff);
    vmcb->tr = segment(0, 0x8b, 0, 0xffff);
    vmcb->efer = EFER_SVME;
    vmcb->cr0 = 0x60000010;
    vmcb->dr6 = 0xffff0ff0;
    vmcb->dr7 = 0x400;
    vmcb->rflags = 2;
    vmcb->rip = 0xfff0;
    vmcb->pat = 0x0007040600070406;
    arch->flush_tlb = true;
}

void arch_vcpu_sipi(struct arch_vcpu *arch, uint8_t vector)
{
    arch_vcpu_reset(arch);
    arch->vmcb->cs = segment((uint16_t)(vector << 8), 0x9b, (uint64_t)vector << 12, 0xffff);
    arch->vmcb->rip = 0;
}

void arch_vcpu_boot_linux(struct arch_vcpu *arch, uint64_t rip, uint64_t rsp, uint64_t rsi,
                          uint64_t cr3, uint64_t gdt)
{
    struct vmcb *vmcb = arch->vmcb;
    arch_vcpu_reset(arch);
    vmcb->cs = segment(0x10, 0xa9b, 0, UINT32_MAX);
    vmcb->ds = vmcb->es = vmcb->ss = segment(0x18, 0xc93, 0, UINT32_MAX);
    vmcb->gdtr = segment(0, 0, gdt, 0x1f);
    vmcb->efer = EFER_SVME | 0x500; /* LMA, LME */
    vmcb->cr4 = 0x20;
    vmcb->cr3 = cr3;
    vmcb->cr0 = 0x80000011;
    vmcb->rip = rip;
    vmcb->rsp = rsp;
    arch_gpr_set(arch, GPR_RSI, rsi);
}

/* switch.S's order of the registers that it keeps, by encoding; rax and rsp stand in the VMCB */
static const uint8_t gpr_slot[GPR_COUNT] = {0, 0, 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

uint64_t arch_gpr_get(const struct arch_vcpu *arch, enum arch_gpr reg)
{
    if (reg == GPR_RAX) {
        return arch->vmcb->rax;
    }
    return reg == GPR_RSP ? arch->vmcb->rsp : arch->gpr[gpr_slot[reg & 15]];
}

void arch_gpr_set(struct arch_vcpu *arch, enum arch_gpr reg, uint64_t value)
{
    if (reg == GPR_RAX) {
        arch->vmcb->rax = value;
    } else if (reg == GPR_RSP) {
        arch->vmcb->rsp = value;
    } else {
        arch->gpr[gpr_slot[reg & 15]] = value;
    }
}

void arch_inject_exception(struct arch_vcpu *arch, uint8_t vector, int64_t error)
{
    uint64_t event = vector | EVENT_EXCEPTION << EVENT_TYPE_SHIFT | EVENT_VALID;
    if (error >= 0) {
        event |= EVENT_ERROR_VALID | (uint64_t)error << 32;
    }
    arch->vmcb->event_inject = event;
}

void arch_vcpu_save(struct arch_vcpu *arch)
{
    __asm__ volatile("fxsave64 %0" : "=m"(arch->fpu));
}

void arch_vcpu_load(struct arch_vcpu *arch)
{
    uint32_t pcpu = hv_this_pcpu()->index;
    __asm__ volatile("fxrstor64 %0" : : "m"(arch->fpu));
    if (arch->last_pcpu != pcpu || asid_owner[pcpu][arch->asid] != arch) {
        arch->flush_tlb = true;
        arch->last_pcpu = pcpu;
        asid_owner[pcpu][arch->asid] = arch;
    }
}

void arch_guest_prepare(void)
{
    __asm__ volatile("clgi" : : : "memory");
}

void arch_guest_abort(void)
{
    __asm__ volatile("stgi" : : : "memory");
}

/*
 * Where a CPU gives the guest #GP, for upper bits in DR6 and DR7 and for CR0.NW without CD, QEMU
 * lets the MOV pass and refuses the next VMRUN; and a refused VMRUN leaves the host's own registers
 * in the VMCB.
 */
static void make_acceptable(struct vmcb *vmcb)
{
    const uint64_t nw = UINT64_C(1) << 29, cd = UINT64_C(1) << 30;
    vmcb->dr6 &= UINT32_MAX;
    vmcb->dr7 &= UINT32_MAX;
    if ((vmcb->cr0 & (nw | cd)) == nw) {
        vmcb->cr0 &= ~nw;
    }
}

void arch_guest_run(struct arch_vcpu *arch)
{
    make_acceptable(arch->vmcb);
    arch->vmcb->tlb_control = arch->flush_tlb ? 1 : 0;
    arch->flush_tlb = false;
    arch->vmcb->clean = 0;
    hv_svm_switch(arch->gpr, (uint64_t)(uintptr_t)arch->vmcb,
                  hv_this_pcpu()->host_save_pa + 4096);
    __asm__ volatile("stgi" : : : "memory");
}
