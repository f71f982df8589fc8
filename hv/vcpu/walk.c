/*
 * walk.c - reads guest memory by guest-virtual address. AMD64 APM volume 2, 5.2 and 5.3. Permission
 * bits don't matter here: the CPU has just executed, or tried to, what is read.
 */
#include "hv/vcpu/walk.h"

#include "hv/vm/vm.h"

#define CR0_PG (UINT64_C(1) << 31)
#define CR4_PAE (1u << 5)
#define CR4_PSE (1u << 4)
#define EFER_LMA (1u << 10)
#define ADDRESS_MASK UINT64_C(0x000ffffffffff000)

static bool read_entry(const struct hv_vm *vm, uint64_t gpa, unsigned size, uint64_t *entry)
{
    const void *at = hv_vm_memory(vm, gpa, size);
    if (at == NULL) {
        return false;
    }
    *entry = size == 8 ? __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED)
                       : __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
    return (*entry & 1) != 0;
}

/* levels of 9 bits with 8-byte entries, or of 10 bits with 4-byte ones */
static bool walk(const struct hv_vcpu *vcpu, uint64_t address, unsigned levels, unsigned size,
                 bool large, uint64_t *gpa)
{
    unsigned bits = size == 8 ? 9 : 10;
    uint64_t table = vcpu->arch.vmcb->cr3 & (levels == 3 ? 0xffffffe0 : ADDRESS_MASK);
    for (unsigned level = levels; level > 0; level--) {
        unsigned shift = 12 + bits * (level - 1);
        uint64_t index = address >> shift & ((1u << bits) - 1);
        uint64_t entry;
        if (!read_entry(vcpu->vm, table + index * size, size, &entry)) {
            return false;
        }
        if (level == 1 || (large && level <= 3 && (entry & 0x80) != 0)) {
            uint64_t mask = (UINT64_C(1) << shift) - 1;
            *gpa = (entry & ADDRESS_MASK & ~mask) | (address & mask);
            return true;
        }
        table = entry & ADDRESS_MASK;
    }
    return false;
}

bool hv_walk(const struct hv_vcpu *vcpu, uint64_t address, uint64_t *gpa)
{
    const struct vmcb *vmcb = vcpu->arch.vmcb;
    if ((vmcb->cr0 & CR0_PG) == 0) {
        *gpa = (uint32_t)address;
        return true;
    }
    if ((vmcb->efer & EFER_LMA) != 0) {
        return walk(vcpu, address, 4, 8, true, gpa);
    }
    if ((vmcb->cr4 & CR4_PAE) != 0) {
        return walk(vcpu, (uint32_t)address, 3, 8, true, gpa);
    }
    return walk(vcpu, (uint32_t)address, 2, 4, (vmcb->cr4 & CR4_PSE) != 0, gpa);
}

unsigned hv_walk_fetch(const struct hv_vcpu *vcpu, uint8_t *bytes, unsigned count)
{
    const struct vmcb *vmcb = vcpu->arch.vmcb;
    bool is_long = (vmcb->efer & EFER_LMA) != 0 && (vmcb->cs.attributes & 0x200) != 0;
    uint64_t at = vmcb->rip + (is_long ? 0 : vmcb->cs.base);
    for (unsigned i = 0; i < count; i++) {
        uint64_t gpa;
        const uint8_t *byte = NULL;
        if (hv_walk(vcpu, is_long ? at + i : (uint32_t)(at + i), &gpa)) {
            byte = hv_vm_memory(vcpu->vm, gpa, 1);
        }
        if (byte == NULL) {
            return i;
        }
        bytes[i] = __atomic_load_n(byte, __ATOMIC_RELAXED);
    }
    return count;
}
