/*
 * events.c - sends events to the core under its lock, and applies the effects.
 *
 * Twin of sim/shell's. Owns the lock and its hold times.
 */
#include "hv/shell/state.h"

#include "hv/console/console.h"
#include "hv/irq/apic.h"
#include "hv/log.h"
#include "hv/shell/shell.h"
#include "hv/time/clock.h"
#include "hv/vcpu/vcpu.h"

struct shell shell;

static uint64_t locked_at_ns[HV_PCPU_MAX];

void shell_lock(void)
{
    hv_lock(&shell.lock);
    locked_at_ns[hv_this_pcpu()->index] = hv_now_ns();
}

void shell_unlock(void)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    uint64_t held_ns = hv_now_ns() - locked_at_ns[pcpu->index];
    pcpu->lock_hold_max_ns = held_ns > pcpu->lock_hold_max_ns ? held_ns : pcpu->lock_hold_max_ns;
    pcpu->lock_hold_sum_ns += held_ns;
    pcpu->lock_count++;
    hv_unlock(&shell.lock);
}

void shell_ipi(uint32_t index)
{
    if (index != hv_this_pcpu()->index) {
        hv_apic_send(hv_pcpu(index)->apic_id, HV_VECTOR_KICK);
    }
}

static void kick(uint32_t index)
{
    struct hv_pcpu *pcpu = hv_pcpu(index);
    __atomic_store_n(&pcpu->kick_sent_ns, hv_now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&pcpu->kick, 1, __ATOMIC_SEQ_CST);
    shell_ipi(index);
}

/* The turn on this pCPU, as the core decided it. */
static void take_turn(const struct cede_effect *effect, enum hv_turn turn)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    pcpu->turn = turn;
    pcpu->until_ns = turn == HV_TURN_IDLE ? CEDE_NEVER_NS : effect->until_ns;
    pcpu->current = turn == HV_TURN_IDLE ? NULL : shell.vcpus[effect->vcpu.value];
    if (turn == HV_TURN_POLL) {
        __atomic_store_n(&pcpu->poll_stop, 0, __ATOMIC_SEQ_CST);
    }
}

/* What must be done before the lock is dropped. */
static void apply_locked(const struct cede_effect *effect)
{
    struct hv_vcpu *vcpu;
    switch ((enum cede_effect_kind)effect->kind) {
    case CEDE_EFFECT_RUN:
        take_turn(effect, HV_TURN_RUN);
        break;
    case CEDE_EFFECT_IDLE:
        take_turn(effect, HV_TURN_IDLE);
        break;
    case CEDE_EFFECT_POLL:
        take_turn(effect, HV_TURN_POLL);
        break;
    case CEDE_EFFECT_PUBLISH:
        vcpu = shell.vcpus[effect->vcpu.value];
        if (hv_pv_publish(vcpu, effect->publish.steal_ns, effect->publish.preempted != 0)) {
            __atomic_store_n(&vcpu->flush_tlb, 1, __ATOMIC_SEQ_CST);
        }
        break;
    case CEDE_EFFECT_TIMER_PLACE:
        shell_timer_place(shell.vcpus[effect->vcpu.value], effect->pcpu.value,
                          effect->deadline_ns);
        break;
    case CEDE_EFFECT_TIMER_UNPLACE:
        shell_timer_unplace(shell.vcpus[effect->vcpu.value]);
        break;
    case CEDE_EFFECT_VM_TIMER:
        shell.refill_ns[effect->vm.value] = effect->deadline_ns;
        if (effect->deadline_ns < shell.refill_next_ns) {
            shell.refill_next_ns = effect->deadline_ns;
        }
        break;
    case CEDE_EFFECT_POLL_STOP:
    case CEDE_EFFECT_KICK:
    case CEDE_EFFECT_POST:
    case CEDE_EFFECT_NOTIFY:
    case CEDE_EFFECT_HOOK_BLOCKING:
    case CEDE_EFFECT_HOOK_UNBLOCKING:
    case CEDE_EFFECT_COUNT:
        break;
    }
}

/* What may wait until the lock is dropped: messages to other pCPUs. */
static void apply_after(const struct cede_effect *effect)
{
    switch ((enum cede_effect_kind)effect->kind) {
    case CEDE_EFFECT_KICK:
        kick(effect->pcpu.value);
        break;
    case CEDE_EFFECT_POLL_STOP:
        __atomic_store_n(&hv_pcpu(effect->pcpu.value)->poll_stop, 1, __ATOMIC_SEQ_CST);
        break;
    case CEDE_EFFECT_POST: /* AVIC's doorbell would go here; without it, force an exit */
    case CEDE_EFFECT_NOTIFY:
        __atomic_store_n(&hv_pcpu(effect->pcpu.value)->notify, 1, __ATOMIC_SEQ_CST);
        shell_ipi(effect->pcpu.value);
        break;
    case CEDE_EFFECT_TIMER_PLACE: /* its pCPU must look at the new deadline */
        if (effect->pcpu.value != hv_this_pcpu()->index) {
            __atomic_store_n(&hv_pcpu(effect->pcpu.value)->notify, 1, __ATOMIC_SEQ_CST);
            shell_ipi(effect->pcpu.value);
        }
        break;
    case CEDE_EFFECT_HOOK_BLOCKING: /* AVIC is off: there is nothing to tell the hardware */
    case CEDE_EFFECT_HOOK_UNBLOCKING:
    case CEDE_EFFECT_RUN:
    case CEDE_EFFECT_IDLE:
    case CEDE_EFFECT_POLL:
    case CEDE_EFFECT_PUBLISH:
    case CEDE_EFFECT_TIMER_UNPLACE:
    case CEDE_EFFECT_VM_TIMER:
    case CEDE_EFFECT_COUNT:
        break;
    }
}

enum cede_status shell_send_locked(struct cede_event *event, struct cede_effects *effects)
{
    uint64_t now_ns = hv_now_ns();
    /* the counters of two pCPUs may differ by a few ticks; the core's time never goes back */
    shell.last_ns = now_ns > shell.last_ns ? now_ns : shell.last_ns;
    event->now_ns = shell.last_ns;
    enum cede_status status = cede_handle(shell.core, event, effects);
    hv_record_event(event, status, effects);
    for (uint32_t i = 0; i < effects->count; i++) {
        apply_locked(&effects->item[i]);
    }
    return status;
}

void shell_apply_after(const struct cede_effects *effects)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        apply_after(&effects->item[i]);
    }
}

enum cede_status shell_send(struct cede_event *event, shell_sample *sample, void *context)
{
    struct cede_effects effects;
    enum cede_status status = CEDE_OK;
    effects.count = 0;
    shell_lock();
    if (sample == NULL || sample(event, context)) {
        status = shell_send_locked(event, &effects);
    }
    shell_unlock();
    shell_apply_after(&effects);
    return status;
}

void shell_must(struct cede_event *event, shell_sample *sample, void *context)
{
    enum cede_status status = shell_send(event, sample, context);
    if (status != CEDE_OK) {
        hv_panic("the core refuses event %s (pCPU %u, vCPU %d, VM %d): %s",
                 cede_event_name(event->kind), event->pcpu.value, (int)event->vcpu.value,
                 (int)event->vm.value, cede_status_name(status));
    }
}
