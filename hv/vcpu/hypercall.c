/*
 * hypercall.c - KVM's hypercalls: 5 kick a CPU, 9 clock pairing (not offered), 10 send IPIs,
 * 11 sched yield. From CPL 0 only. Linux' Documentation/virt/kvm/x86/hypercalls.rst (facts only).
 */
#include "hv/vcpu/vcpu.h"

#include "cede/event.h"
#include "hv/shell/shell.h"
#include "hv/vm/vm.h"

enum { CALL_KICK = 5, CALL_SEND_IPI = 10, CALL_SCHED_YIELD = 11 };
enum { PV_UNHALT = 7, PV_SEND_IPI = 11, PV_SCHED_YIELD = 13 };
#define ENOSYS_RESULT (-1000) /* -KVM_ENOSYS */
#define EPERM_RESULT (-1)

static struct hv_vcpu *by_apic_id(struct hv_vm *vm, uint64_t apic_id)
{
    return apic_id < vm->vcpu_count ? vm->vcpu[apic_id] : NULL;
}

static int64_t kick(struct hv_vcpu *vcpu, uint64_t apic_id)
{
    struct hv_vcpu *target = by_apic_id(vcpu->vm, apic_id);
    if (target != NULL) {
        hv_shell_interrupt(target, vcpu, CEDE_SOURCE_KICK);
        hv_shell_yield_to(vcpu, target, CEDE_YIELD_CAUSE_KICK);
    }
    return 0;
}

static int64_t send_ipis(struct hv_vcpu *vcpu, uint64_t low, uint64_t high, uint64_t first,
                         uint64_t icr)
{
    int64_t sent = 0;
    for (unsigned bit = 0; bit < 128; bit++) {
        uint64_t word = bit < 64 ? low : high;
        struct hv_vcpu *target = NULL;
        if ((word >> (bit & 63) & 1) != 0 && first <= UINT32_MAX) {
            target = by_apic_id(vcpu->vm, first + bit);
        }
        if (target == NULL) {
            continue;
        }
        if ((icr >> 8 & 7) == 4) {
            __atomic_store_n(&target->lapic.nmi, true, __ATOMIC_RELEASE);
            hv_shell_interrupt(target, vcpu, CEDE_SOURCE_IPI);
        } else {
            hv_lapic_send(target, (uint8_t)icr, vcpu);
        }
        sent++;
    }
    return sent;
}

static int64_t sched_yield(struct hv_vcpu *vcpu, uint64_t apic_id)
{
    struct hv_vcpu *target = by_apic_id(vcpu->vm, apic_id);
    if (target != NULL && target != vcpu) {
        hv_shell_yield_to(vcpu, target, CEDE_YIELD_CAUSE_SCHED);
    }
    return 0;
}

void hv_vcpu_hypercall(struct hv_vcpu *vcpu)
{
    struct arch_vcpu *arch = &vcpu->arch;
    const struct hv_vm *vm = vcpu->vm;
    uint64_t a0 = arch_gpr_get(arch, GPR_RBX);
    uint64_t a1 = arch_gpr_get(arch, GPR_RCX);
    uint64_t a2 = arch_gpr_get(arch, GPR_RDX);
    uint64_t a3 = arch_gpr_get(arch, GPR_RSI);
    int64_t result = ENOSYS_RESULT;

    if (arch_cpl(arch) != 0) {
        result = EPERM_RESULT;
    } else {
        switch (arch_gpr_get(arch, GPR_RAX)) {
        case CALL_KICK: /* flags, apic id */
            result = hv_vm_shows(vm, PV_UNHALT) ? kick(vcpu, a1) : result;
            break;
        case CALL_SEND_IPI:
            result = hv_vm_shows(vm, PV_SEND_IPI) ? send_ipis(vcpu, a0, a1, a2, a3) : result;
            break;
        case CALL_SCHED_YIELD:
            result = hv_vm_shows(vm, PV_SCHED_YIELD) ? sched_yield(vcpu, a0) : result;
            break;
        default:
            break;
        }
    }
    arch_gpr_set(arch, GPR_RAX, (uint64_t)result);
}
