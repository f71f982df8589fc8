/*
 * lapic_test.c - the guest's interrupt controllers, MSRs, CPUID, hypercalls and shared pages, on a
 * workstation: one VM of four vCPUs with a little memory, and a shell that only writes down what
 * it is told.
 */
#include "hv/arch/x86/svm/svm.h"
#include "hv/log.h"
#include "hv/shell/shell.h"
#include "hv/time/clock.h"
#include "hv/vcpu/vcpu.h"
#include "hv/vm/vm.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { VCPUS = 4, MEMORY = 1 << 20 };

static struct hv_vm vm;
static struct abi_manifest_vm config;
static uint8_t memory[MEMORY];

/* ---- the shell, the clock and the CPU, as far as they are asked for ---- */

static unsigned told[VCPUS], yields, starts;
static uint64_t armed_ns, now_ns = 1000;

void hv_shell_interrupt(struct hv_vcpu *target, struct hv_vcpu *sender,
                        enum cede_interrupt_source source)
{
    (void)sender;
    (void)source;
    told[target->index]++;
}

void hv_shell_start(struct hv_vcpu *target, enum hv_start start, uint8_t vector)
{
    (void)target;
    (void)start;
    (void)vector;
    starts++;
}

void hv_shell_timer_arm(struct hv_vcpu *vcpu, uint64_t deadline_ns, uint64_t period_ns,
                        enum cede_timer_kind kind)
{
    (void)vcpu;
    (void)period_ns;
    (void)kind;
    armed_ns = deadline_ns;
}

void hv_shell_timer_cancel(struct hv_vcpu *vcpu)
{
    (void)vcpu;
    armed_ns = 0;
}

void hv_shell_yield_to(struct hv_vcpu *vcpu, struct hv_vcpu *target, enum cede_yield_cause cause)
{
    (void)vcpu;
    (void)target;
    (void)cause;
    yields++;
}

uint64_t hv_now_ns(void)
{
    return now_ns;
}

uint64_t hv_tsc_khz(void)
{
    return 2600000;
}

uint64_t hv_tsc_to_ns(uint64_t tsc)
{
    return tsc;
}

uint64_t arch_gpr_get(const struct arch_vcpu *arch, enum arch_gpr reg)
{
    return reg == GPR_RAX ? arch->vmcb->rax : arch->gpr[reg % 14];
}

void arch_gpr_set(struct arch_vcpu *arch, enum arch_gpr reg, uint64_t value)
{
    *(reg == GPR_RAX ? &arch->vmcb->rax : &arch->gpr[reg % 14]) = value;
}

void arch_inject_exception(struct arch_vcpu *arch, uint8_t vector, int64_t error)
{
    (void)error;
    arch->vmcb->event_inject = vector;
}

_Noreturn void hv_panic(const char *format, ...)
{
    (void)format;
    abort();
}

void hv_log(const char *format, ...)
{
    (void)format;
}

/* ---- */

static void make_vm(uint32_t features, uint32_t flags)
{
    static struct hv_vcpu vcpus[VCPUS];
    static struct vmcb vmcbs[VCPUS];
    memset(&vm, 0, sizeof(vm));
    memset(vcpus, 0, sizeof(vcpus));
    memset(vmcbs, 0, sizeof(vmcbs));
    memset(told, 0, sizeof(told));
    config.guest_features = features;
    config.flags = flags;
    vm.config = &config;
    vm.memory = memory;
    vm.memory_size = MEMORY;
    vm.vcpu_count = VCPUS;
    for (uint32_t i = 0; i < VCPUS; i++) {
        vm.vcpu[i] = &vcpus[i];
        vcpus[i].vm = &vm;
        vcpus[i].index = i;
        vcpus[i].arch.vmcb = &vmcbs[i];
        hv_lapic_reset(&vcpus[i]);
        hv_pv_reset(&vcpus[i]);
    }
    hv_ioapic_reset(&vm);
}

static bool write_msr(unsigned vcpu, uint32_t msr, uint64_t value)
{
    return hv_vcpu_write_msr(vm.vcpu[vcpu], msr, value);
}

/* What the run loop does when the guest takes an interrupt. */
static void take(struct hv_vcpu *vcpu, uint8_t vector)
{
    hv_lapic_offer(vcpu, vector);
    hv_lapic_delivered(vcpu, vector);
}

static void test_priority(void)
{
    struct hv_vcpu *v = vm.vcpu[0];
    hv_lapic_send(v, 0x50, NULL);
    TAP(hv_lapic_deliverable(v) == -1, "a disabled APIC delivers nothing");
    write_msr(0, 0x80f, 0x1ff);
    TAP(hv_lapic_deliverable(v) == 0x50, "enabled, it delivers what is pending");
    hv_lapic_send(v, 0x61, NULL);
    TAP(hv_lapic_deliverable(v) == 0x61, "the higher vector comes first");
    take(v, 0x61);
    TAP(hv_lapic_deliverable(v) == -1, "a lower class waits for the one in service");
    write_msr(0, 0x80b, 0);
    TAP(hv_lapic_deliverable(v) == 0x50, "and comes after its EOI");
    hv_lapic_offer(v, 0x50);
    hv_lapic_send(v, 0x50, NULL);
    hv_lapic_withdraw(v, 0x50);
    TAP(hv_lapic_deliverable(v) == 0x50, "an offer that wasn't taken is pending again");
    write_msr(0, 0x808, 0x50);
    TAP(hv_lapic_deliverable(v) == -1, "task priority holds its own class back");
    write_msr(0, 0x808, 0);
    unsigned before = told[0];
    hv_lapic_send(v, 0x50, NULL);
    TAP(told[0] == before, "a vector that is pending already isn't announced again");
    hv_lapic_send(v, 0x0f, NULL);
    TAP(told[0] == before, "vectors below 16 don't exist");
}

static void test_destinations(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    write_msr(1, 0x830, UINT64_C(2) << 32 | 0x55);
    TAP(told[2] == 1 && told[0] + told[1] + told[3] == 0, "ICR: one physical destination");
    write_msr(1, 0x830, 3u << 18 | 0x56);
    TAP(told[0] == 1 && told[1] == 0 && told[2] == 2 && told[3] == 1, "ICR: all but itself");
    write_msr(1, 0x830, UINT64_C(0x9) << 32 | 0x800 | 0x57);
    TAP(told[0] == 2 && told[3] == 2 && told[1] == 0 && told[2] == 2, "ICR: a logical set");
    write_msr(1, 0x830, UINT64_C(77) << 32 | 0x58);
    TAP(told[0] + told[1] + told[2] + told[3] == 6, "ICR: a destination that isn't there");
    write_msr(1, 0x83f, 0x59);
    TAP(told[1] == 1, "self IPI");
    unsigned before = starts;
    write_msr(0, 0x830, UINT64_C(1) << 32 | 0x4500);
    write_msr(0, 0x830, UINT64_C(1) << 32 | 0x4608);
    TAP(starts == before + 2, "INIT and start-up reach the shell");
    for (uint32_t mode = 0; mode < 8; mode++) {
        write_msr(0, 0x830, UINT64_C(0xffffffff) << 32 | mode << 8 | 3);
    }
    TAP(true, "every delivery mode to everybody is survived");
}

static void test_timer(void)
{
    struct hv_vcpu *v = vm.vcpu[0];
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    write_msr(0, 0x80f, 0x1ff);
    write_msr(0, 0x832, 0x40);
    write_msr(0, 0x83e, 0xb);
    write_msr(0, 0x838, 5000);
    TAP(armed_ns == now_ns + 5000, "one-shot: a tick is a nanosecond");
    TAP(hv_lapic_timer_fire(v) && hv_lapic_deliverable(v) == 0x40, "it fires its vector");
    write_msr(0, 0x838, 0);
    TAP(armed_ns == 0, "count 0 disarms");
    write_msr(0, 0x832, 0x20040);
    write_msr(0, 0x838, 1);
    TAP(armed_ns >= now_ns + 100000, "a periodic timer isn't faster than 100 us");
    write_msr(0, 0x832, 0x40040);
    TAP(armed_ns == 0, "a change of mode disarms");
    write_msr(0, 0x6e0, 123456);
    TAP(armed_ns == 123456, "TSC deadline");
    write_msr(0, 0x832, 0x10040 | 0x40000);
    TAP(!hv_lapic_timer_fire(v), "masked, it fires nothing");
}

static void test_ioapic(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    write_msr(0, 0x80f, 0x1ff);
    hv_ioapic_write(&vm, 0, 0x10 + 8);
    hv_ioapic_write(&vm, 0x10, 0x31); /* pin 4: edge, vector 0x31, to vCPU 0 */
    hv_ioapic_set_line(&vm, 4, true);
    hv_ioapic_set_line(&vm, 4, true);
    TAP(told[0] == 1, "edge: once a rise");
    hv_ioapic_write(&vm, 0, 0x10 + 18);
    hv_ioapic_write(&vm, 0x10, 0x8042); /* pin 9: level */
    hv_ioapic_set_line(&vm, 9, true);
    TAP(hv_lapic_deliverable(vm.vcpu[0]) == 0x42, "level: delivered");
    take(vm.vcpu[0], 0x42);
    write_msr(0, 0x80b, 0);
    TAP(hv_lapic_deliverable(vm.vcpu[0]) == 0x42, "level: again after EOI while the line is up");
    take(vm.vcpu[0], 0x42);
    hv_ioapic_set_line(&vm, 9, false);
    write_msr(0, 0x80b, 0);
    TAP(hv_lapic_deliverable(vm.vcpu[0]) == 0x31, "and not when it is down");
    for (uint32_t reg = 0; reg < 256; reg++) {
        hv_ioapic_write(&vm, 0, reg);
        hv_ioapic_write(&vm, 0x10, UINT32_MAX);
        hv_ioapic_read(&vm, 0x10);
    }
    TAP(true, "all its registers, all ones: survived");
}

static void test_default_deny(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    unsigned readable = 0;
    uint64_t value;
    for (uint32_t base = 0; base < 3; base++) {
        static const uint32_t first[] = {0, 0xc0000000, 0xc0010000};
        for (uint32_t msr = first[base]; msr < first[base] + 0x2000; msr++) {
            readable += (msr < 0x800 || msr > 0x8ff) && hv_vcpu_read_msr(vm.vcpu[0], msr, &value);
        }
    }
    TAP(readable > 5 && readable < 24, "of 24,000 MSRs, fewer than two dozen can be read");
    TAP(!write_msr(0, 0xc0000080, 1 << 12), "EFER.SVME can't be set");
    TAP(!write_msr(0, 0x277, 2), "PAT refuses a reserved type");
    TAP(!write_msr(0, 0x1b, 0x1000), "the APIC's page doesn't move");
}

static void test_cpuid(void)
{
    bool hidden = true;
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    struct arch_vcpu *arch = &vm.vcpu[1]->arch;
    arch_gpr_set(arch, GPR_RAX, 1);
    hv_vcpu_cpuid(vm.vcpu[1]);
    uint64_t ecx = arch_gpr_get(arch, GPR_RCX);
    hidden = (ecx & (1u << 26 | 1u << 28 | 1u << 3 | 1u << 17)) == 0;
    TAP(hidden, "no XSAVE, AVX, MONITOR, PCID");
    TAP((ecx & (1u << 21)) != 0 && arch_gpr_get(arch, GPR_RBX) >> 24 == 1, "x2APIC and its id");
    arch_gpr_set(arch, GPR_RAX, 0x80000001);
    hv_vcpu_cpuid(vm.vcpu[1]);
    TAP((arch_gpr_get(arch, GPR_RCX) & 4) == 0, "no SVM");
    arch_gpr_set(arch, GPR_RAX, 0x40000000);
    hv_vcpu_cpuid(vm.vcpu[1]);
    TAP(arch_gpr_get(arch, GPR_RBX) == 0x4b4d564b, "KVM's signature where it is shown");
    make_vm(0, 0);
    arch_gpr_set(arch, GPR_RAX, 0x40000000);
    hv_vcpu_cpuid(vm.vcpu[1]);
    TAP(arch_gpr_get(arch, GPR_RBX) == 0, "and none where it is hidden");
}

static void test_pages(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    struct hv_vcpu *v = vm.vcpu[0];
    memset(memory, 0, sizeof(memory));
    TAP(write_msr(0, 0x4b564d03, 0x1000 | 1), "a steal record");
    hv_pv_publish(v, 77, true);
    TAP((memory[0x1010] & 1) != 0, "preempted is set");
    memory[0x1010] |= 2;
    TAP(hv_pv_publish(v, 99, false) && memory[0x1010] == 0 && memory[0x1000] == 99,
        "taken back, the flush is reported, steal is written");
    TAP((memory[0x1008] & 1) == 0 && memory[0x1008] != 0, "its version is even again");
    TAP(!write_msr(0, 0x4b564d03, 0x1000 | 0x11), "reserved bits of the steal MSR are refused");
    write_msr(0, 0x4b564d03, (MEMORY - 32) | 1);
    write_msr(0, 0x4b564d03, UINT64_MAX << 6 | 1);
    hv_pv_publish(v, 1, true);
    hv_pv_publish(v, 1, false);
    write_msr(0, 0x4b564d01, (MEMORY - 8) | 1);
    write_msr(0, 0x4b564d01, UINT64_MAX);
    write_msr(0, 0x4b564d00, MEMORY - 1);
    write_msr(0, 0x4b564d04, UINT64_MAX & ~UINT64_C(2));
    hv_pv_eoi_offer(v, true);
    hv_pv_eoi_collect(v);
    TAP(true, "records past the end of memory are left alone");
    make_vm(0, 0);
    memset(memory, 0, sizeof(memory));
    bool refused = !write_msr(0, 0x4b564d01, 0x2000 | 1) && !write_msr(0, 0x4b564d00, 0x3000) &&
                   !write_msr(0, 0x4b564d03, 0x1001) && !write_msr(0, 0x4b564d04, 0x4001);
    bool clean = true;
    for (size_t i = 0; i < sizeof(memory); i++) {
        clean = clean && memory[i] == 0;
    }
    TAP(refused && clean, "a hidden interface is refused, and writes nothing");
}

static int64_t call(unsigned number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
    struct arch_vcpu *arch = &vm.vcpu[0]->arch;
    arch_gpr_set(arch, GPR_RAX, number);
    arch_gpr_set(arch, GPR_RBX, a0);
    arch_gpr_set(arch, GPR_RCX, a1);
    arch_gpr_set(arch, GPR_RDX, a2);
    arch_gpr_set(arch, GPR_RSI, a3);
    hv_vcpu_hypercall(vm.vcpu[0]);
    return (int64_t)arch_gpr_get(arch, GPR_RAX);
}

static void test_hypercalls(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    vm.vcpu[0]->arch.vmcb->efer = 0x400;
    vm.vcpu[0]->arch.vmcb->cs.attributes = 0xa9b;
    TAP(call(10, 0xe, 0, 0, 0xfb) == 3 && told[1] == 1 && told[3] == 1, "IPIs to three siblings");
    TAP(call(10, UINT64_MAX, UINT64_MAX, UINT64_MAX - 2, 0xfb) == 0, "IPIs to nobody there");
    unsigned before = yields;
    TAP(call(5, 0, 2, 0, 0) == 0 && yields == before + 1, "a kick wakes and yields");
    TAP(call(5, 0, UINT64_MAX, 0, 0) == 0 && yields == before + 1, "a kick of nobody");
    TAP(call(11, 9999, 0, 0, 0) == 0 && yields == before + 1, "a yield to nobody");
    TAP(call(12345, 0, 0, 0, 0) == -1000, "an unknown call is -ENOSYS");
    vm.vcpu[0]->arch.vmcb->cpl = 3;
    TAP(call(5, 0, 2, 0, 0) == -1 && yields == before + 1, "from user mode, none");
}

int main(void)
{
    make_vm(ABI_GUEST_FEATURES_ALL, 0);
    test_priority();
    test_destinations();
    test_timer();
    test_ioapic();
    test_default_deny();
    test_cpuid();
    test_pages();
    test_hypercalls();
    return tap_done();
}
