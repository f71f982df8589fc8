/*
 * run.c - a pCPU's life: run a guest, poll for one, or sleep, as the core decided.
 *
 * The order before an entry matters. GIF is cleared first, then kick and notify are looked at: a
 * sender sets the flag before it sends the IPI, so either the flag is seen here, or the IPI is
 * pending and ends the guest's run at once.
 */
#include "hv/arch/x86/cpu.h"
#include "hv/arch/x86/svm/svm.h"
#include "hv/console/console.h"
#include "hv/irq/apic.h"
#include "hv/log.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"
#include "hv/time/clock.h"
#include "hv/vcpu/vcpu.h"

struct cede_ran shell_take_ran(struct hv_vcpu *vcpu)
{
    struct hv_account *account = &vcpu->account;
    struct cede_ran ran = {account->user_ns, account->kernel_ns, account->spin_ns};
    account->user_ns = account->kernel_ns = account->spin_ns = 0;
    return ran;
}

enum cede_mode shell_mode(const struct hv_vcpu *vcpu)
{
    return arch_cpl(&vcpu->arch) == 3 ? CEDE_MODE_USER : CEDE_MODE_KERNEL;
}

void shell_save(struct hv_vcpu *vcpu)
{
    const struct hv_pcpu *pcpu = hv_this_pcpu();
    if (pcpu->loaded == vcpu && vcpu->arch.last_pcpu == pcpu->index) {
        arch_vcpu_save(&vcpu->arch);
    }
}

static void resched(struct hv_pcpu *pcpu)
{
    struct hv_vcpu *vcpu = pcpu->turn == HV_TURN_IDLE ? NULL : pcpu->current;
    struct cede_event event = {
        .kind = CEDE_EVENT_RESCHED,
        .pcpu = {pcpu->index},
        .vcpu = vcpu != NULL ? vcpu->id : CEDE_VCPU_NONE,
        .vm = CEDE_VM_NONE,
    };
    __atomic_store_n(&pcpu->kick_sent_ns, 0, __ATOMIC_RELAXED);
    if (vcpu != NULL) {
        shell_save(vcpu);
        event.resched.ran = shell_take_ran(vcpu);
        event.resched.mode = (uint8_t)shell_mode(vcpu);
        event.resched.at_boundary = 1; /* exits are handled whole before this is reached */
    }
    shell_must(&event, NULL, NULL);
}

static bool sample_poll(struct cede_event *event, void *context)
{
    const struct hv_vcpu *vcpu = context;
    event->poll_end.woken = hv_lapic_has_work(vcpu);
    return true;
}

static void poll_end(struct hv_pcpu *pcpu)
{
    struct cede_event event = {
        .kind = CEDE_EVENT_POLL_END,
        .pcpu = {pcpu->index},
        .vcpu = pcpu->current->id,
        .vm = CEDE_VM_NONE,
    };
    shell_must(&event, sample_poll, pcpu->current);
}

/* Spins until something comes in or the window closes; timers of this pCPU go on meanwhile. */
static void poll(struct hv_pcpu *pcpu)
{
    while (hv_now_ns() < pcpu->until_ns && !hv_lapic_has_work(pcpu->current) &&
           __atomic_load_n(&pcpu->poll_stop, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&pcpu->kick, __ATOMIC_ACQUIRE) == 0) {
        if (shell_timers_next_ns(pcpu) <= hv_now_ns()) {
            return;
        }
        cpu_pause();
        cpu_take_interrupts();
    }
    poll_end(pcpu);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void arm(struct hv_pcpu *pcpu)
{
    uint64_t at = earliest(pcpu->until_ns, shell_timers_next_ns(pcpu));
    if (pcpu->index == 0) {
        at = earliest(at, __atomic_load_n(&shell.refill_next_ns, __ATOMIC_ACQUIRE));
    }
    hv_apic_arm_ns(earliest(at, hv_now_ns() + SHELL_TICK_NS));
}

static void idle(struct hv_pcpu *pcpu)
{
    arm(pcpu);
    if (__atomic_load_n(&pcpu->kick, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&pcpu->notify, __ATOMIC_SEQ_CST) == 0) {
        cpu_sleep();
    }
    __atomic_store_n(&pcpu->notify, 0, __ATOMIC_SEQ_CST);
}

/* ---- running a guest ---- */

/* Offers what is pending to the CPU: an NMI by injection, else the best vector by V_IRQ, which
 * waits by itself until the guest can take it. */
static void inject(struct hv_vcpu *vcpu)
{
    struct vmcb *vmcb = vcpu->arch.vmcb;
    vmcb->int_ctl = INT_CTL_MASKING | INT_CTL_IGN_TPR | vcpu->lapic.tpr >> 4; /* CR8 */
    vcpu->injecting = -1;
    if (__atomic_load_n(&vcpu->lapic.nmi, __ATOMIC_ACQUIRE) && vmcb->event_inject == 0) {
        __atomic_store_n(&vcpu->lapic.nmi, false, __ATOMIC_RELEASE);
        vmcb->event_inject = 2 | EVENT_NMI << EVENT_TYPE_SHIFT | EVENT_VALID;
        return;
    }
    int vector = hv_lapic_deliverable(vcpu);
    if (vector >= 0) {
        vcpu->injecting = vector;
        hv_lapic_offer(vcpu, (uint8_t)vector);
        vmcb->int_ctl |= INT_CTL_V_IRQ | (uint32_t)(vector >> 4) << INT_CTL_PRIO_SHIFT;
        vmcb->int_vector = (uint32_t)vector;
    }
}

/* Whether the offered vector was taken; and what was under way when the exit came. */
static void collect(struct hv_vcpu *vcpu)
{
    struct vmcb *vmcb = vcpu->arch.vmcb;
    uint64_t info = vmcb->exit_int_info;
    bool valid = (info & EVENT_VALID) != 0;
    unsigned type = info >> EVENT_TYPE_SHIFT & 7;
    bool again = valid && type == EVENT_INTERRUPT; /* delivery was cut short: offer it again */

    vmcb->event_inject = 0;
    if ((vmcb->int_ctl & INT_CTL_V_TPR) != vcpu->lapic.tpr >> 4) {
        vcpu->lapic.tpr = (vmcb->int_ctl & INT_CTL_V_TPR) << 4; /* the guest wrote CR8 */
    }
    if (vcpu->injecting >= 0) {
        bool taken = (vmcb->int_ctl & INT_CTL_V_IRQ) == 0 && !again;
        (taken ? hv_lapic_delivered : hv_lapic_withdraw)(vcpu, (uint8_t)vcpu->injecting);
    }
    if (valid && (type == EVENT_EXCEPTION || type == EVENT_NMI)) {
        vmcb->event_inject = info;
    }
    hv_pv_eoi_collect(vcpu);
}

static void account_guest(struct hv_vcpu *vcpu, uint64_t ran_ns)
{
    if (vcpu->arch.vmcb->exit_code == EXIT_PAUSE) {
        vcpu->account.spin_ns += ran_ns;
    } else if (arch_cpl(&vcpu->arch) == 3) {
        vcpu->account.user_ns += ran_ns;
    } else {
        vcpu->account.kernel_ns += ran_ns;
    }
}

static void enter(struct hv_vcpu *vcpu)
{
    if (__atomic_exchange_n(&vcpu->flush_tlb, 0, __ATOMIC_SEQ_CST) != 0) {
        vcpu->arch.flush_tlb = true;
    }
    inject(vcpu);
    hv_pv_eoi_offer(vcpu, vcpu->injecting >= 0 && hv_lapic_only(vcpu, (uint8_t)vcpu->injecting));
    uint64_t start_ns = hv_now_ns();
    arch_guest_run(&vcpu->arch);
    __atomic_store_n(&vcpu->in_guest, 0, __ATOMIC_SEQ_CST);
    account_guest(vcpu, hv_now_ns() - start_ns);
    collect(vcpu);
    cpu_take_interrupts();
}

void shell_run_guest(struct hv_pcpu *pcpu)
{
    struct hv_vcpu *vcpu = pcpu->current;
    if (pcpu->loaded != vcpu || vcpu->arch.last_pcpu != pcpu->index) {
        arch_vcpu_load(&vcpu->arch);
        pcpu->loaded = vcpu;
    }
    arm(pcpu);
    arch_guest_prepare();
    __atomic_store_n(&vcpu->in_guest, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pcpu->kick, __ATOMIC_SEQ_CST) != 0 ||
        __atomic_exchange_n(&pcpu->notify, 0, __ATOMIC_SEQ_CST) != 0) {
        __atomic_store_n(&vcpu->in_guest, 0, __ATOMIC_SEQ_CST);
        arch_guest_abort();
        cpu_take_interrupts();
        return;
    }
    enter(vcpu);
    shell_exit(vcpu);
}

static void look_up(struct hv_pcpu *pcpu)
{
    if (shell_timers_next_ns(pcpu) <= hv_now_ns()) {
        shell_timers_fire(pcpu);
    }
    if (pcpu->index == 0) {
        shell_housekeep();
    }
    if (pcpu->turn == HV_TURN_POLL) {
        return; /* ends by POLL_END, which also answers a kick */
    }
    if (__atomic_exchange_n(&pcpu->kick, 0, __ATOMIC_SEQ_CST) != 0 ||
        hv_now_ns() >= pcpu->until_ns) {
        resched(pcpu);
    }
}

_Noreturn void hv_shell_run(void)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    for (;;) {
        look_up(pcpu);
        if (pcpu->turn == HV_TURN_RUN) {
            shell_run_guest(pcpu);
        } else if (pcpu->turn == HV_TURN_POLL) {
            poll(pcpu);
        } else {
            idle(pcpu);
        }
    }
}
