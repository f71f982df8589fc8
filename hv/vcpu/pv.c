/*
 * pv.c - KVM's paravirtual interface: clock, steal time, PV EOI, poll control. Layouts and rules:
 * Linux' Documentation/virt/kvm/x86/msr.rst (facts only).
 *
 * Every guest address is checked at every use; a guest that misplaces a page gets no record, and
 * nobody else notices.
 */
#include "hv/vcpu/vcpu.h"

#include "hv/arch/x86/cpu.h"
#include "hv/time/clock.h"
#include "hv/vm/vm.h"

enum pv_feature {
    PV_CLOCK = 3,
    PV_STEAL = 5,
    PV_EOI = 6,
    PV_POLL = 12,
    PV_CLOCK_STABLE = 24
};

struct pv_clock {
    uint32_t version, pad;
    uint64_t tsc, system_ns;
    uint32_t mul;
    int8_t shift;
    uint8_t flags, pad_2[2];
};

struct pv_wall_clock {
    uint32_t version, seconds, ns;
};

struct pv_steal {
    uint64_t steal_ns;
    uint32_t version, flags;
    uint8_t preempted, pad_1[3];
    uint32_t pad[11];
};

_Static_assert(sizeof(struct pv_clock) == 32, "pvclock_vcpu_time_info");
_Static_assert(sizeof(struct pv_steal) == 64, "kvm_steal_time");

enum { STEAL_PREEMPTED = 1, STEAL_FLUSH_TLB = 2 };

void hv_pv_reset(struct hv_vcpu *vcpu)
{
    vcpu->pv = (struct hv_pv){.poll_control = 1};
}

/* ns = ((tsc << shift) * mul) >> 32 */
static void clock_scale(uint32_t *mul, int8_t *shift)
{
    uint64_t khz = hv_tsc_khz();
    int8_t s = 0;
    while (khz > 2000000) {
        khz >>= 1;
        s--;
    }
    while (khz <= 1000000) {
        khz <<= 1;
        s++;
    }
    *mul = (uint32_t)((UINT64_C(1000000) << 32) / khz);
    *shift = s;
}

static void write_clock(struct hv_vcpu *vcpu, uint64_t msr)
{
    struct pv_clock *clock = hv_vm_memory(vcpu->vm, msr & ~UINT64_C(1), sizeof(*clock));
    if ((msr & 1) == 0 || clock == NULL) {
        return;
    }
    uint32_t mul;
    int8_t shift;
    clock_scale(&mul, &shift);
    uint32_t version = (clock->version | 1) + 1;
    __atomic_store_n(&clock->version, version | 1, __ATOMIC_RELEASE);
    clock->tsc = cpu_rdtsc();
    clock->system_ns = hv_tsc_to_ns(clock->tsc);
    clock->mul = mul;
    clock->shift = shift;
    clock->flags = hv_vm_shows(vcpu->vm, PV_CLOCK_STABLE) ? 1 : 0;
    __atomic_store_n(&clock->version, version + 2, __ATOMIC_RELEASE);
}

static void write_wall_clock(struct hv_vcpu *vcpu, uint64_t gpa)
{
    struct pv_wall_clock *clock = hv_vm_memory(vcpu->vm, gpa, sizeof(*clock));
    if (clock == NULL) {
        return;
    }
    uint32_t version = clock->version;
    __atomic_store_n(&clock->version, version | 1, __ATOMIC_RELEASE);
    clock->seconds = 1767225600; /* the RTC's day: 1 January 2026 at boot */
    clock->ns = 0;
    __atomic_store_n(&clock->version, (version | 1) + 1, __ATOMIC_RELEASE);
}

static struct pv_steal *steal_record(const struct hv_vcpu *vcpu)
{
    uint64_t msr = vcpu->pv.steal_msr;
    return (msr & 1) != 0 ? hv_vm_memory(vcpu->vm, msr & ~UINT64_C(63), sizeof(struct pv_steal))
                          : NULL;
}

bool hv_pv_publish(struct hv_vcpu *vcpu, uint64_t steal_ns, bool preempted)
{
    struct pv_steal *record = steal_record(vcpu);
    if (record == NULL) {
        return false;
    }
    if (preempted) {
        __atomic_fetch_or(&record->preempted, STEAL_PREEMPTED, __ATOMIC_ACQ_REL);
        return false;
    }
    uint8_t before = __atomic_exchange_n(&record->preempted, 0, __ATOMIC_ACQ_REL);
    uint32_t version = record->version;
    __atomic_store_n(&record->version, version | 1, __ATOMIC_RELEASE);
    __atomic_store_n(&record->steal_ns, steal_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&record->version, (version | 1) + 1, __ATOMIC_RELEASE);
    return (before & STEAL_FLUSH_TLB) != 0;
}

static uint8_t *eoi_flag(const struct hv_vcpu *vcpu)
{
    uint64_t msr = vcpu->pv.eoi_msr;
    return (msr & 1) != 0 ? hv_vm_memory(vcpu->vm, msr & ~UINT64_C(3), 4) : NULL;
}

void hv_pv_eoi_offer(struct hv_vcpu *vcpu, bool may)
{
    uint8_t *flag = eoi_flag(vcpu);
    if (flag != NULL) {
        __atomic_store_n(flag, may ? 1 : 0, __ATOMIC_RELEASE);
        vcpu->pv.eoi_offered = may;
    }
}

void hv_pv_eoi_collect(struct hv_vcpu *vcpu)
{
    uint8_t *flag = eoi_flag(vcpu);
    if (!vcpu->pv.eoi_offered) {
        return;
    }
    vcpu->pv.eoi_offered = false;
    if (flag != NULL && (__atomic_exchange_n(flag, 0, __ATOMIC_ACQ_REL) & 1) == 0) {
        hv_lapic_eoi(vcpu);
    }
}

bool hv_pv_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value)
{
    const struct hv_vm *vm = vcpu->vm;
    switch (msr) {
    case 0x4b564d01:
        *value = vcpu->pv.system_time_msr;
        return hv_vm_shows(vm, PV_CLOCK);
    case 0x4b564d00:
        *value = 0;
        return hv_vm_shows(vm, PV_CLOCK);
    case 0x4b564d03:
        *value = vcpu->pv.steal_msr;
        return hv_vm_shows(vm, PV_STEAL);
    case 0x4b564d04:
        *value = vcpu->pv.eoi_msr;
        return hv_vm_shows(vm, PV_EOI);
    case 0x4b564d05:
        *value = vcpu->pv.poll_control;
        return hv_vm_shows(vm, PV_POLL);
    default: /* 0x4b564d02, async page faults: not offered; the old clock MSRs 0x11, 0x12 neither */
        return false;
    }
}

bool hv_pv_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value)
{
    struct hv_vm *vm = vcpu->vm;
    switch (msr) {
    case 0x4b564d00:
        if (!hv_vm_shows(vm, PV_CLOCK)) {
            return false;
        }
        write_wall_clock(vcpu, value);
        return true;
    case 0x4b564d01:
        if (!hv_vm_shows(vm, PV_CLOCK)) {
            return false;
        }
        vcpu->pv.system_time_msr = value;
        write_clock(vcpu, value);
        return true;
    case 0x4b564d03:
        if (!hv_vm_shows(vm, PV_STEAL) || (value & 0x3e) != 0) {
            return false;
        }
        vcpu->pv.steal_msr = value;
        return true;
    case 0x4b564d04:
        if (!hv_vm_shows(vm, PV_EOI) || (value & 2) != 0) {
            return false;
        }
        vcpu->pv.eoi_msr = value;
        vcpu->pv.eoi_offered = false;
        return true;
    case 0x4b564d05:
        if (!hv_vm_shows(vm, PV_POLL) || (value & ~UINT64_C(1)) != 0) {
            return false;
        }
        vcpu->pv.poll_control = value;
        return true;
    default:
        return false;
    }
}
