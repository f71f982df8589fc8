/*
 * lapic.c - a vCPU's local APIC. See lapic.h for who owns what.
 *
 * The shell is told of what becomes pending (hv_shell_interrupt) and of the timer
 * (hv_shell_timer_arm, _cancel); it asks the core where the timer runs.
 */
#include "hv/dev/lapic.h"

#include "cede/event.h"
#include "hv/lib/string.h"
#include "hv/shell/shell.h"
#include "hv/time/clock.h"
#include "hv/vm/vm.h"

#define BASE_ENABLED (1u << 11)
#define BASE_X2APIC (1u << 10)
#define BASE_BSP (1u << 8)
#define LVT_MASKED (1u << 16)
#define SPURIOUS_ENABLED (1u << 8)

enum lvt { LVT_CMCI, LVT_TIMER, LVT_THERMAL, LVT_PERF, LVT_LINT0, LVT_LINT1, LVT_ERROR };
enum timer_mode { TIMER_ONE_SHOT, TIMER_PERIODIC, TIMER_DEADLINE };

/* The count runs at 1 GHz (KVM does the same): one tick a nanosecond, times the divisor. */
static uint32_t divisor(const struct hv_lapic *lapic)
{
    uint32_t code = (lapic->divide & 3) | (lapic->divide >> 1 & 4);
    return code == 7 ? 1 : 2u << code;
}

static enum timer_mode timer_mode(const struct hv_lapic *lapic)
{
    return (enum timer_mode)(lapic->lvt[LVT_TIMER] >> 17 & 3);
}

static int highest(const uint32_t *bits)
{
    for (int word = 7; word >= 0; word--) {
        uint32_t value = __atomic_load_n(&bits[word], __ATOMIC_ACQUIRE);
        if (value != 0) {
            return word * 32 + 31 - __builtin_clz(value);
        }
    }
    return -1;
}

static bool is_x2apic(const struct hv_lapic *lapic)
{
    return (lapic->base & BASE_X2APIC) != 0;
}

void hv_lapic_reset(struct hv_vcpu *vcpu)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    bool x2 = (vcpu->vm->config->flags & ABI_VM_XAPIC) == 0;
    memset(lapic, 0, sizeof(*lapic));
    lapic->base = 0xfee00000u | BASE_ENABLED | (x2 ? BASE_X2APIC : 0) |
                  (vcpu->index == 0 ? BASE_BSP : 0);
    lapic->spurious = 0xff;
    lapic->format = UINT32_MAX;
    for (unsigned i = 0; i < 7; i++) {
        lapic->lvt[i] = LVT_MASKED;
    }
}

bool hv_lapic_accept(struct hv_vcpu *vcpu, uint8_t vector)
{
    uint32_t bit = 1u << (vector & 31);
    uint32_t before = __atomic_fetch_or(&vcpu->lapic.irr[vector >> 5], bit, __ATOMIC_ACQ_REL);
    return (before & bit) == 0;
}

int hv_lapic_deliverable(const struct hv_vcpu *vcpu)
{
    const struct hv_lapic *lapic = &vcpu->lapic;
    if ((lapic->spurious & SPURIOUS_ENABLED) == 0) {
        return -1;
    }
    int vector = highest(lapic->irr);
    int in_service = highest(lapic->isr);
    uint32_t priority = lapic->tpr >> 4;
    if (in_service >= 0 && (uint32_t)in_service >> 4 > priority) {
        priority = (uint32_t)in_service >> 4;
    }
    return vector >= 0 && (uint32_t)vector >> 4 > priority ? vector : -1;
}

bool hv_lapic_only(const struct hv_vcpu *vcpu, uint8_t vector)
{
    const struct hv_lapic *lapic = &vcpu->lapic;
    for (unsigned word = 0; word < 8; word++) {
        uint32_t mine = word == vector >> 5 ? 1u << (vector & 31) : 0;
        if ((__atomic_load_n(&lapic->irr[word], __ATOMIC_ACQUIRE) & ~mine) != 0 ||
            lapic->isr[word] != 0) {
            return false;
        }
    }
    return (lapic->tmr[vector >> 5] >> (vector & 31) & 1) == 0;
}

bool hv_lapic_has_work(const struct hv_vcpu *vcpu)
{
    return hv_lapic_deliverable(vcpu) >= 0 ||
           __atomic_load_n(&vcpu->lapic.nmi, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&vcpu->start, __ATOMIC_ACQUIRE) != HV_START_NONE;
}

void hv_lapic_offer(struct hv_vcpu *vcpu, uint8_t vector)
{
    uint32_t bit = 1u << (vector & 31);
    __atomic_fetch_and(&vcpu->lapic.irr[vector >> 5], ~bit, __ATOMIC_ACQ_REL);
}

void hv_lapic_delivered(struct hv_vcpu *vcpu, uint8_t vector)
{
    vcpu->lapic.isr[vector >> 5] |= 1u << (vector & 31);
}

void hv_lapic_withdraw(struct hv_vcpu *vcpu, uint8_t vector)
{
    hv_lapic_accept(vcpu, vector);
}

void hv_lapic_eoi(struct hv_vcpu *vcpu)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    int vector = highest(lapic->isr);
    if (vector < 0) {
        return;
    }
    lapic->isr[vector >> 5] &= ~(1u << (vector & 31));
    if ((lapic->tmr[vector >> 5] >> (vector & 31) & 1) != 0) {
        hv_ioapic_eoi(vcpu->vm, (uint8_t)vector);
    }
}

void hv_lapic_send(struct hv_vcpu *target, uint8_t vector, struct hv_vcpu *sender)
{
    /* one that is pending already has been announced by whoever set it */
    if (vector < 16 || !hv_lapic_accept(target, vector)) {
        return;
    }
    hv_shell_interrupt(target, sender, sender != NULL ? CEDE_SOURCE_IPI : CEDE_SOURCE_DEVICE);
}

/* ---- destinations ---- */

static bool is_destination(const struct hv_vcpu *vcpu, uint32_t destination, bool logical)
{
    const struct hv_lapic *lapic = &vcpu->lapic;
    if (is_x2apic(lapic)) {
        uint32_t ldr = (vcpu->index >> 4) << 16 | 1u << (vcpu->index & 15);
        return destination == UINT32_MAX ||
               (!logical ? destination == vcpu->index
                         : ldr >> 16 == destination >> 16 && (ldr & destination & 0xffff) != 0);
    }
    if ((destination & 0xff) == 0xff) {
        return true;
    }
    if (!logical) {
        return (destination & 0xff) == vcpu->index;
    }
    uint32_t mine = lapic->logical >> 24;
    if (lapic->format >> 28 == 0xf) {
        return (mine & destination & 0xff) != 0;
    }
    return mine >> 4 == (destination >> 4 & 0xf) && (mine & destination & 0xf) != 0;
}

void hv_lapic_deliver(struct hv_vcpu *from_any, uint32_t destination, bool logical, uint8_t vector)
{
    struct hv_vm *vm = from_any->vm;
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        if (is_destination(vm->vcpu[i], destination, logical)) {
            hv_lapic_send(vm->vcpu[i], vector, NULL);
        }
    }
}

static void send_mode(struct hv_vcpu *target, uint32_t icr, struct hv_vcpu *sender)
{
    switch (icr >> 8 & 7) {
    case 0: /* fixed */
    case 1: /* lowest priority: the caller sends to one only */
        hv_lapic_send(target, (uint8_t)icr, sender);
        break;
    case 4: /* NMI */
        __atomic_store_n(&target->lapic.nmi, true, __ATOMIC_RELEASE);
        hv_shell_interrupt(target, sender, CEDE_SOURCE_IPI);
        break;
    case 5: /* INIT; its de-assert does nothing */
        if ((icr >> 14 & 1) != 0) {
            hv_shell_start(target, HV_START_INIT, 0);
        }
        break;
    case 6: /* start-up */
        hv_shell_start(target, HV_START_SIPI, (uint8_t)icr);
        break;
    default: /* SMI and reserved modes: no effect */
        break;
    }
}

static void write_icr(struct hv_vcpu *vcpu, uint32_t icr, uint32_t destination)
{
    struct hv_vm *vm = vcpu->vm;
    uint32_t shorthand = icr >> 18 & 3;
    bool logical = (icr >> 11 & 1) != 0;
    bool one_only = (icr >> 8 & 7) == 1;
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        struct hv_vcpu *target = vm->vcpu[i];
        bool hit = shorthand == 0   ? is_destination(target, destination, logical)
                   : shorthand == 1 ? target == vcpu
                                    : shorthand == 2 || target != vcpu;
        if (hit) {
            send_mode(target, icr, vcpu);
            if (one_only) {
                break;
            }
        }
    }
}

/* ---- timer ---- */

static void arm(struct hv_vcpu *vcpu, uint64_t deadline_ns, uint64_t period_ns,
                enum cede_timer_kind kind)
{
    hv_shell_timer_arm(vcpu, deadline_ns, period_ns, kind);
}

static void disarm(struct hv_vcpu *vcpu)
{
    hv_shell_timer_cancel(vcpu);
}

static uint64_t period_ns(const struct hv_lapic *lapic)
{
    return (uint64_t)lapic->initial * divisor(lapic);
}

#define PERIOD_MIN_NS 100000u /* a faster periodic timer would only keep the host busy */

static void write_initial(struct hv_vcpu *vcpu, uint32_t value)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (timer_mode(lapic) == TIMER_DEADLINE) {
        return;
    }
    lapic->initial = value;
    lapic->started_ns = hv_now_ns();
    if (value == 0) {
        disarm(vcpu);
        return;
    }
    bool periodic = timer_mode(lapic) == TIMER_PERIODIC;
    uint64_t period = period_ns(lapic);
    if (periodic && period < PERIOD_MIN_NS) {
        period = PERIOD_MIN_NS;
    }
    arm(vcpu, lapic->started_ns + period, periodic ? period : 0,
        periodic ? CEDE_TIMER_PERIODIC : CEDE_TIMER_ONE_SHOT);
}

static void write_deadline(struct hv_vcpu *vcpu, uint64_t tsc)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (timer_mode(lapic) != TIMER_DEADLINE) {
        return;
    }
    lapic->tsc_deadline = tsc;
    if (tsc == 0) {
        disarm(vcpu);
    } else {
        arm(vcpu, hv_tsc_to_ns(tsc), 0, CEDE_TIMER_DEADLINE);
    }
}

static uint32_t read_current(const struct hv_lapic *lapic)
{
    uint64_t period = period_ns(lapic);
    if (period == 0 || timer_mode(lapic) == TIMER_DEADLINE) {
        return 0;
    }
    uint64_t gone = hv_now_ns() - lapic->started_ns;
    if (timer_mode(lapic) == TIMER_PERIODIC) {
        gone %= period;
    }
    return gone >= period ? 0 : (uint32_t)((period - gone) / divisor(lapic));
}

bool hv_lapic_timer_fire(struct hv_vcpu *vcpu)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    uint32_t lvt = lapic->lvt[LVT_TIMER];
    if (timer_mode(lapic) == TIMER_PERIODIC) {
        lapic->started_ns = hv_now_ns();
    } else {
        lapic->tsc_deadline = 0;
    }
    if ((lvt & LVT_MASKED) != 0 || (lvt & 0xff) < 16) {
        return false;
    }
    hv_lapic_accept(vcpu, (uint8_t)lvt);
    return true;
}

/* ---- registers, by their MMIO offset / 16 ---- */

static int lvt_of(uint32_t reg)
{
    return reg == 0x2f ? LVT_CMCI : reg >= 0x32 && reg <= 0x37 ? (int)(reg - 0x31) : -1;
}

static uint32_t read_register(struct hv_vcpu *vcpu, uint32_t reg)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (lvt_of(reg) >= 0) {
        return lapic->lvt[lvt_of(reg)];
    }
    if (reg >= 0x10 && reg <= 0x27) {
        const uint32_t *bits = reg < 0x18 ? lapic->isr : reg < 0x20 ? lapic->tmr : lapic->irr;
        return __atomic_load_n(&bits[reg & 7], __ATOMIC_ACQUIRE);
    }
    switch (reg) {
    case 0x02:
        return is_x2apic(lapic) ? vcpu->index : vcpu->index << 24;
    case 0x03:
        return 0x50014; /* version 0x14, 6 LVT entries */
    case 0x08:
    case 0x0a:
        return lapic->tpr;
    case 0x0d:
        return is_x2apic(lapic) ? (vcpu->index >> 4) << 16 | 1u << (vcpu->index & 15)
                                : lapic->logical;
    case 0x0e:
        return lapic->format;
    case 0x0f:
        return lapic->spurious;
    case 0x28:
        return lapic->esr;
    case 0x31:
        return lapic->icr_high;
    case 0x38:
        return lapic->initial;
    case 0x39:
        return read_current(lapic);
    case 0x3e:
        return lapic->divide;
    default:
        return 0;
    }
}

static void write_lvt(struct hv_vcpu *vcpu, unsigned index, uint32_t value)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    enum timer_mode before = timer_mode(lapic);
    lapic->lvt[index] = value & 0x000777ff;
    if (index == LVT_TIMER && timer_mode(lapic) != before) {
        disarm(vcpu);
        lapic->initial = 0;
    }
}

static void write_register(struct hv_vcpu *vcpu, uint32_t reg, uint32_t value)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (lvt_of(reg) >= 0) {
        write_lvt(vcpu, (unsigned)lvt_of(reg), value);
        return;
    }
    switch (reg) {
    case 0x08:
        lapic->tpr = value & 0xff;
        break;
    case 0x0b:
        hv_lapic_eoi(vcpu);
        break;
    case 0x0d:
        lapic->logical = value & 0xff000000;
        break;
    case 0x0e:
        lapic->format = value | 0x0fffffff;
        break;
    case 0x0f:
        lapic->spurious = value & 0x1ff;
        break;
    case 0x28:
        lapic->esr = 0;
        break;
    case 0x30:
        write_icr(vcpu, value, lapic->icr_high >> 24);
        break;
    case 0x31:
        lapic->icr_high = value;
        break;
    case 0x38:
        write_initial(vcpu, value);
        break;
    case 0x3e:
        lapic->divide = value & 0xb;
        break;
    default:
        break;
    }
}

uint32_t hv_lapic_read_mmio(struct hv_vcpu *vcpu, uint32_t offset)
{
    if (is_x2apic(&vcpu->lapic) || (offset & 0xf) != 0) {
        return 0;
    }
    return read_register(vcpu, offset >> 4);
}

void hv_lapic_write_mmio(struct hv_vcpu *vcpu, uint32_t offset, uint32_t value)
{
    if (!is_x2apic(&vcpu->lapic) && (offset & 0xf) == 0) {
        write_register(vcpu, offset >> 4, value);
    }
}

static bool write_base(struct hv_lapic *lapic, uint64_t value)
{
    bool to_x2 = (value & BASE_X2APIC) != 0;
    if (to_x2 && (value & BASE_ENABLED) == 0) {
        return false;
    }
    if (is_x2apic(lapic) && !to_x2 && (value & BASE_ENABLED) != 0) {
        return false; /* x2APIC to xAPIC only by way of disabled */
    }
    if ((value & ~UINT64_C(0xfff)) != 0xfee00000) {
        return false; /* the page stays where it is */
    }
    lapic->base = (value & (BASE_ENABLED | BASE_X2APIC)) | 0xfee00000u | (lapic->base & BASE_BSP);
    return true;
}

bool hv_lapic_read_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t *value)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (msr == 0x1b) {
        *value = lapic->base;
        return true;
    }
    if (msr == 0x6e0) {
        *value = lapic->tsc_deadline;
        return true;
    }
    if (!is_x2apic(lapic) || msr == 0x830 + 1 || msr == 0x80e) {
        return false;
    }
    *value = read_register(vcpu, msr - 0x800);
    return true;
}

bool hv_lapic_write_msr(struct hv_vcpu *vcpu, uint32_t msr, uint64_t value)
{
    struct hv_lapic *lapic = &vcpu->lapic;
    if (msr == 0x1b) {
        return write_base(lapic, value);
    }
    if (msr == 0x6e0) {
        write_deadline(vcpu, value);
        return true;
    }
    if (!is_x2apic(lapic)) {
        return false;
    }
    if (msr == 0x830) {
        write_icr(vcpu, (uint32_t)value, (uint32_t)(value >> 32));
        return true;
    }
    if (msr == 0x83f) {
        hv_lapic_send(vcpu, (uint8_t)value, vcpu);
        return true;
    }
    if (value >> 32 != 0 || msr == 0x802 || msr == 0x803 || msr == 0x80d || msr == 0x831) {
        return false;
    }
    write_register(vcpu, msr - 0x800, (uint32_t)value);
    return true;
}
