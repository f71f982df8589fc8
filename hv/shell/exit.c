/*
 * exit.c - what each exit means: emulation in hv/vcpu and hv/dev, events to the core.
 *
 * An exit is handled whole (registers written, instruction skipped) before an event is sent that
 * may give the vCPU to another pCPU; that is why yields asked for by hypercall wait until the end.
 */
#include "abi/exit.h"
#include "hv/arch/x86/svm/svm.h"
#include "hv/dev/decode.h"
#include "hv/dev/ports.h"
#include "hv/irq/idt.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"
#include "hv/time/clock.h"
#include "hv/vcpu/vcpu.h"
#include "hv/vcpu/walk.h"

/* The software's pause filter: a sequence of PAUSEs no further apart than the gap, that has lasted
 * for the window, is a spin exit. Times as PLE's, scaled to a PAUSE exit's cost here. */
#define SPIN_GAP_NS 50000u
#define SPIN_WINDOW_NS 20000u

static struct cede_event event_of(struct hv_vcpu *vcpu, enum cede_event_kind kind)
{
    return (struct cede_event){
        .kind = kind,
        .pcpu = {hv_this_pcpu()->index},
        .vcpu = vcpu->id,
        .vm = CEDE_VM_NONE,
    };
}

/* ---- exits that make events ---- */

static void on_pause(struct hv_vcpu *vcpu)
{
    struct hv_spin *spin = &vcpu->spin;
    uint64_t now_ns = hv_now_ns();
    arch_skip(&vcpu->arch, 2);
    if (now_ns - spin->last_ns > SPIN_GAP_NS) {
        spin->first_ns = now_ns;
    }
    spin->last_ns = now_ns;
    if (now_ns - spin->first_ns < SPIN_WINDOW_NS) {
        return;
    }
    spin->first_ns = now_ns;
    shell_save(vcpu);
    struct cede_event event = event_of(vcpu, CEDE_EVENT_SPIN);
    event.spin.ran = shell_take_ran(vcpu);
    event.spin.mode = (uint8_t)shell_mode(vcpu);
    event.spin.at_boundary = 1;
    shell_must(&event, NULL, NULL);
}

static bool sample_halt(struct cede_event *event, void *context)
{
    event->halt.interrupt_pending = hv_lapic_has_work(context);
    return true;
}

static void on_halt(struct hv_vcpu *vcpu)
{
    arch_skip(&vcpu->arch, 1);
    shell_save(vcpu);
    struct cede_event event = event_of(vcpu, CEDE_EVENT_HALT);
    event.halt.ran = shell_take_ran(vcpu);
    event.halt.poll_disabled = (vcpu->pv.poll_control & 1) == 0;
    event.halt.mode = CEDE_MODE_KERNEL;
    shell_must(&event, sample_halt, vcpu);
}

static void yield_now(struct hv_vcpu *vcpu)
{
    struct cede_event event = event_of(vcpu, CEDE_EVENT_YIELD_TO);
    event.yield_to.target = vcpu->yield_to->id;
    event.yield_to.cause = (uint8_t)vcpu->yield_cause;
    event.yield_to.mode = CEDE_MODE_KERNEL;
    event.yield_to.at_boundary = 1;
    vcpu->yield_to = NULL;
    shell_save(vcpu);
    event.yield_to.ran = shell_take_ran(vcpu);
    shell_must(&event, NULL, NULL);
}

void hv_shell_yield_to(struct hv_vcpu *vcpu, struct hv_vcpu *target, enum cede_yield_cause cause)
{
    if (target != vcpu) {
        vcpu->yield_to = target;
        vcpu->yield_cause = (uint32_t)cause;
    }
}

static bool sample_in_guest(struct cede_event *event, void *context)
{
    struct hv_vcpu *target = context;
    event->interrupt.in_guest = (uint8_t)__atomic_load_n(&target->in_guest, __ATOMIC_SEQ_CST);
    return target->online != 0;
}

void hv_shell_interrupt(struct hv_vcpu *target, struct hv_vcpu *sender,
                        enum cede_interrupt_source source)
{
    struct cede_event event = event_of(target, CEDE_EVENT_INTERRUPT);
    event.interrupt.sender = sender != NULL && sender != target ? sender->id : CEDE_VCPU_NONE;
    event.interrupt.source = (uint8_t)source;
    shell_must(&event, sample_in_guest, target);
}

/* ---- emulation ---- */

static void general_protection(struct hv_vcpu *vcpu)
{
    arch_inject_exception(&vcpu->arch, 13, 0);
}

static void on_msr(struct hv_vcpu *vcpu)
{
    struct arch_vcpu *arch = &vcpu->arch;
    uint32_t msr = (uint32_t)arch_gpr_get(arch, GPR_RCX);
    uint64_t value = (uint32_t)arch_gpr_get(arch, GPR_RAX) | arch_gpr_get(arch, GPR_RDX) << 32;
    bool is_write = arch->vmcb->exit_info_1 != 0;
    bool ok = is_write ? hv_vcpu_write_msr(vcpu, msr, value) : hv_vcpu_read_msr(vcpu, msr, &value);
    if (!ok) {
        general_protection(vcpu);
        return;
    }
    if (!is_write) {
        arch_gpr_set(arch, GPR_RAX, (uint32_t)value);
        arch_gpr_set(arch, GPR_RDX, value >> 32);
    }
    arch_skip(arch, 2);
}

/* String I/O: one element at a time, by the guest's own REP; DF and address size as the CPU has
 * them. Only OUTS and INS to the serial port are worth having. */
static bool string_io(struct hv_vcpu *vcpu, uint64_t info, uint16_t port, unsigned size)
{
    struct arch_vcpu *arch = &vcpu->arch;
    bool is_in = (info & 1) != 0;
    bool rep = (info >> 3 & 1) != 0;
    enum arch_gpr index = is_in ? GPR_RDI : GPR_RSI;
    uint64_t count = rep ? arch_gpr_get(arch, GPR_RCX) : 1;
    uint64_t base = (info >> 9 & 1) != 0 ? 0 : is_in ? arch->vmcb->es.base : arch->vmcb->ds.base;
    int64_t step = (arch->vmcb->rflags >> 10 & 1) != 0 ? -(int64_t)size : (int64_t)size;
    uint64_t batch = count < 64 ? count : 64;
    for (uint64_t i = 0; i < batch; i++) {
        uint64_t gpa;
        uint64_t at = arch_gpr_get(arch, index);
        void *memory = hv_walk(vcpu, base + at, &gpa) ? hv_vm_memory(vcpu->vm, gpa, size) : NULL;
        uint32_t value = 0;
        if (memory == NULL) {
            return false;
        }
        if (is_in) {
            value = hv_port_read(vcpu, port, size);
            memcpy(memory, &value, size);
        } else {
            memcpy(&value, memory, size);
            hv_port_write(vcpu, port, size, value);
        }
        arch_gpr_set(arch, index, at + (uint64_t)step);
    }
    if (rep) {
        arch_gpr_set(arch, GPR_RCX, count - batch);
    }
    return batch == count || rep;
}

static void on_io(struct hv_vcpu *vcpu)
{
    struct arch_vcpu *arch = &vcpu->arch;
    uint64_t info = arch->vmcb->exit_info_1;
    uint16_t port = (uint16_t)(info >> 16);
    unsigned size = info >> 4 & 7;
    uint64_t rax = arch_gpr_get(arch, GPR_RAX);
    uint64_t mask = size == 4 ? UINT32_MAX : (UINT64_C(1) << (8 * size)) - 1;
    if ((info & 4) != 0) {
        if (!string_io(vcpu, info, port, size)) {
            general_protection(vcpu);
            return;
        }
        if ((info & 8) != 0 && arch_gpr_get(arch, GPR_RCX) != 0) {
            return; /* the rest of the REP comes back here */
        }
    } else if ((info & 1) != 0) {
        uint64_t value = hv_port_read(vcpu, port, size) & mask;
        arch_gpr_set(arch, GPR_RAX, size == 4 ? value : (rax & ~mask) | value);
    } else {
        hv_port_write(vcpu, port, size, (uint32_t)(rax & mask));
    }
    arch->vmcb->rip = arch->vmcb->exit_info_2;
    arch->vmcb->int_shadow = 0;
}

/* Reads or writes device memory; false if nothing is there (reads as ones, swallows writes). */
static uint32_t mmio_read(struct hv_vcpu *vcpu, uint64_t gpa)
{
    if (gpa >> 12 == 0xfee00) {
        return hv_lapic_read_mmio(vcpu, gpa & 0xfff);
    }
    return gpa >> 12 == 0xfec00 ? hv_ioapic_read(vcpu->vm, gpa & 0xfff) : UINT32_MAX;
}

static void mmio_write(struct hv_vcpu *vcpu, uint64_t gpa, uint32_t value)
{
    if (gpa >> 12 == 0xfee00) {
        hv_lapic_write_mmio(vcpu, gpa & 0xfff, value);
    } else if (gpa >> 12 == 0xfec00) {
        hv_ioapic_write(vcpu->vm, gpa & 0xfff, value);
    }
}

static unsigned code_bits(const struct vmcb *vmcb)
{
    bool is_long = (vmcb->efer >> 10 & 1) != 0 && (vmcb->cs.attributes & 0x200) != 0;
    return is_long ? 64 : (vmcb->cs.attributes & 0x400) != 0 ? 32 : 16;
}

static uint64_t merge(uint64_t before, uint64_t value, const struct hv_move *move)
{
    unsigned to = move->to_size;
    if (move->sign_extend && (value >> (8 * move->size - 1) & 1) != 0) {
        value |= ~UINT64_C(0) << (8 * move->size);
    }
    if (to == 8) {
        return value;
    }
    if (to == 4) {
        return (uint32_t)value;
    }
    uint64_t mask = to == 2 ? 0xffff : 0xff;
    unsigned shift = move->high_byte ? 8 : 0;
    return (before & ~(mask << shift)) | (value & mask) << shift;
}

static void on_nested_fault(struct hv_vcpu *vcpu)
{
    struct arch_vcpu *arch = &vcpu->arch;
    uint64_t gpa = arch->vmcb->exit_info_2;
    uint8_t bytes[HV_INSTRUCTION_MAX] = {0};
    struct hv_move move;
    unsigned count = hv_walk_fetch(vcpu, bytes, sizeof(bytes));
    if (!hv_decode_move(bytes, count, code_bits(arch->vmcb), &move)) {
        hv_vm_end(vcpu->vm, HV_VM_KILLED,
                  "vCPU %u touches %lx, where no memory is, by an instruction that is no plain "
                  "move (%u bytes: %x %x %x), rip %lx",
                  vcpu->index, gpa, count, bytes[0], bytes[1], bytes[2], arch->vmcb->rip);
        return;
    }
    if (move.is_write) {
        uint64_t value = move.is_immediate ? move.immediate
                                           : arch_gpr_get(arch, (enum arch_gpr)move.reg);
        mmio_write(vcpu, gpa, (uint32_t)(move.high_byte ? value >> 8 : value));
    } else {
        uint64_t value = mmio_read(vcpu, gpa);
        value &= move.size >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * move.size)) - 1;
        uint64_t before = arch_gpr_get(arch, (enum arch_gpr)move.reg);
        arch_gpr_set(arch, (enum arch_gpr)move.reg, merge(before, value, &move));
    }
    arch_skip(arch, move.length);
}

/* DR0 to DR3 aren't kept: a write does nothing, a read gives 0. MOV to or from DR is 0f 21/23 /r. */
static void on_debug_register(struct hv_vcpu *vcpu)
{
    uint8_t bytes[4] = {0};
    unsigned count = hv_walk_fetch(vcpu, bytes, sizeof(bytes));
    unsigned rex = (bytes[0] & 0xf0) == 0x40 ? 1 : 0;
    if (count < 3 + rex) {
        general_protection(vcpu);
        return;
    }
    if (bytes[rex + 1] == 0x21) {
        unsigned reg = (bytes[rex + 2] & 7u) | (rex != 0 ? (bytes[0] & 1u) << 3 : 0);
        arch_gpr_set(&vcpu->arch, (enum arch_gpr)reg, 0);
    }
    arch_skip(&vcpu->arch, 3 + rex);
}

/*
 * A #GP that came while another exception was being delivered (collect() has put that one back):
 * behind a contributory one or a page fault a double fault, behind a double fault the end. APM
 * volume 2, 8.2.9; a guest without a usable IDT would else get its #GP again for ever.
 */
static void on_nested_general_protection(struct hv_vcpu *vcpu, int64_t error)
{
    uint64_t event = vcpu->arch.vmcb->event_inject;
    uint8_t vector = (uint8_t)event;
    bool is_exception = (event & EVENT_VALID) != 0 &&
                        (event >> EVENT_TYPE_SHIFT & 7) == EVENT_EXCEPTION;
    if (is_exception && vector == 8) {
        hv_vm_end(vcpu->vm, HV_VM_KILLED, "triple fault of vCPU %u at rip %lx", vcpu->index,
                  vcpu->arch.vmcb->rip);
    } else if (is_exception && (vector == 0 || (vector >= 10 && vector <= 14))) {
        arch_inject_exception(&vcpu->arch, 8, 0);
    } else {
        arch_inject_exception(&vcpu->arch, 13, error);
    }
}

/* The guest's own #GP goes back to it; the emulator's is dropped. */
static void on_general_protection(struct hv_vcpu *vcpu)
{
    uint64_t error = vcpu->arch.vmcb->exit_info_1;
    if (hv_is_vectorless(error)) {
        hv_this_pcpu()->vectorless_interrupts++;
        return;
    }
    on_nested_general_protection(vcpu, (int64_t)(error & 0xffff));
}

/*
 * MOV to CR0, CR3 or CR4 with reserved or contradicting bits: QEMU leaves the guest with code -1
 * where a CPU raises #GP. The guest's state is as before the instruction, so the #GP can be given
 * to it. 0f 22 /0, /3, /4, maybe behind a REX.
 */
static bool is_control_write(struct hv_vcpu *vcpu)
{
    uint8_t bytes[4] = {0};
    unsigned count = hv_walk_fetch(vcpu, bytes, sizeof(bytes));
    unsigned rex = (bytes[0] & 0xf0) == 0x40 ? 1 : 0;
    unsigned reg = bytes[rex + 2] >> 3 & 7;
    return count >= 3 + rex && bytes[rex] == 0x0f && bytes[rex + 1] == 0x22 &&
           (reg == 0 || reg == 3 || reg == 4);
}

/* If a #GP given before didn't arrive, it isn't the instruction but the state that is refused. */
static void on_invalid_state(struct hv_vcpu *vcpu)
{
    const struct vmcb *vmcb = vcpu->arch.vmcb;
    bool first = (vmcb->event_inject & EVENT_VALID) == 0;
    if (first && arch_cpl(&vcpu->arch) == 0 && is_control_write(vcpu)) {
        general_protection(vcpu);
        return;
    }
    hv_vm_end(vcpu->vm, HV_VM_KILLED,
              "vCPU %u is in a state that the CPU refuses (cr0 %lx cr4 %lx efer %lx)",
              vcpu->index, vmcb->cr0, vmcb->cr4, vmcb->efer);
}

static enum abi_exit_reason dispatch(struct hv_vcpu *vcpu)
{
    struct vmcb *vmcb = vcpu->arch.vmcb;
    uint64_t code = vmcb->exit_code;
    if (code >= EXIT_DR_FIRST && code <= EXIT_DR_LAST) {
        on_debug_register(vcpu);
        return ABI_EXIT_CR;
    }
    if (code == EXIT_EXCEPTION_FIRST + 13) {
        on_general_protection(vcpu);
        return ABI_EXIT_EXCEPTION;
    }
    switch (code) {
    case EXIT_INTR:
    case EXIT_NMI:
    case EXIT_SMI:
    case EXIT_INIT:
        return ABI_EXIT_EXTERNAL;
    case EXIT_HLT:
        on_halt(vcpu);
        return ABI_EXIT_HLT;
    case EXIT_PAUSE:
        on_pause(vcpu);
        return ABI_EXIT_PAUSE;
    case EXIT_CPUID:
        hv_vcpu_cpuid(vcpu);
        arch_skip(&vcpu->arch, 2);
        return ABI_EXIT_CPUID;
    case EXIT_MSR: {
        uint32_t msr = (uint32_t)arch_gpr_get(&vcpu->arch, GPR_RCX);
        on_msr(vcpu);
        return (msr >= 0x800 && msr <= 0x8ff) || msr == 0x6e0 ? ABI_EXIT_APIC : ABI_EXIT_MSR;
    }
    case EXIT_IOIO:
        on_io(vcpu);
        return ABI_EXIT_IO;
    case EXIT_NPF:
        on_nested_fault(vcpu);
        return ABI_EXIT_MMIO;
    case EXIT_VMMCALL:
        hv_vcpu_hypercall(vcpu);
        arch_skip(&vcpu->arch, 3);
        return ABI_EXIT_HYPERCALL;
    case EXIT_INVD:
    case EXIT_WBINVD: /* caches are coherent; nothing to do for a guest without devices */
        arch_skip(&vcpu->arch, 2);
        return ABI_EXIT_OTHER;
    case EXIT_RDPMC:
        general_protection(vcpu);
        return ABI_EXIT_OTHER;
    case EXIT_SHUTDOWN:
        hv_vm_end(vcpu->vm, HV_VM_KILLED, "triple fault of vCPU %u at rip %lx", vcpu->index,
                  vmcb->rip);
        return ABI_EXIT_SHUTDOWN;
    case UINT64_MAX:
    case UINT32_MAX:
        on_invalid_state(vcpu);
        return ABI_EXIT_OTHER;
    default: /* SVM, MONITOR, XSETBV and what else isn't shown in CPUID: undefined opcode */
        arch_inject_exception(&vcpu->arch, 6, -1);
        return ABI_EXIT_OTHER;
    }
}

void shell_exit(struct hv_vcpu *vcpu)
{
    uint64_t start_ns = hv_now_ns();
    struct hv_vm *vm = vcpu->vm;
    enum abi_exit_reason reason = dispatch(vcpu);
    vcpu->account.exits[reason]++;
    vcpu->account.exit_ns[reason] += hv_now_ns() - start_ns;
    if (hv_this_pcpu()->current == vcpu && vcpu->yield_to != NULL) {
        yield_now(vcpu);
    }
    if (__atomic_load_n(&vm->state, __ATOMIC_ACQUIRE) != HV_VM_RUNNING) {
        shell_stop_vm(vm);
    }
}
