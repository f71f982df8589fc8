/*
 * interrupt.c - see interrupt.h. Owns `interrupt_pending` and the record of unanswered IPIs.
 */
#include "interrupt.h"

#include "halt.h"
#include "out.h"
#include "record.h"
#include "sets.h"

/* What trace.def says of INTERRUPT's arg. */
enum outcome { PENDED, KICKED, POSTED, WOKE, POLLED };

/* In guest mode it must be told; outside, it sees the pending bit before it enters. */
static enum outcome to_running(struct cede_turn *turn, uint32_t id, bool in_guest, bool can_post)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (!in_guest) {
        return PENDED;
    }
    if (can_post) {
        vcpu->count[CEDE_COUNT_INTERRUPTS_POSTED]++;
        cede_out(turn->out, CEDE_EFFECT_POST, vcpu->pcpu, id, CEDE_REASON_INTERRUPT);
        return POSTED;
    }
    vcpu->count[CEDE_COUNT_INTERRUPTS_KICKED]++;
    cede_out(turn->out, CEDE_EFFECT_NOTIFY, vcpu->pcpu, id, CEDE_REASON_INTERRUPT);
    return KICKED;
}

static enum outcome to_polling(struct cede_turn *turn, uint32_t id)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (!vcpu->poll_woken) {
        vcpu->poll_woken = true;
        vcpu->wake_ns = turn->now_ns;
        cede_out(turn->out, CEDE_EFFECT_POLL_STOP, vcpu->pcpu, id, CEDE_REASON_POLL_HIT);
    }
    return POLLED;
}

static enum outcome to_waiting(struct cede_turn *turn, uint32_t id, uint8_t source)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];

    if (source != CEDE_SOURCE_KICK) {
        vcpu->interrupt_pending = true;
        vcpu->count[CEDE_COUNT_INTERRUPTS_PENDED]++;
    }
    if (vcpu->state == CEDE_STATE_PAUSED && vcpu->resumes == CEDE_STATE_BLOCKED) {
        vcpu->resumes = CEDE_STATE_RUNNABLE;
    }
    cede_sets_update(turn->core, id);
    return PENDED;
}

/* The target has to get a pCPU before it can answer. */
static void owe_answer(struct cede *core, uint32_t id, uint32_t sender)
{
    if (sender != NONE && core->vcpu[id].state != CEDE_STATE_RUNNING) {
        core->vcpu[sender].ipi_target = id;
        core->vcpu[sender].ipi_run_count = core->vcpu[id].run_count;
    }
}

void cede_interrupt_deliver(struct cede_turn *turn, uint32_t id, uint32_t sender, uint8_t source,
                            bool in_guest, bool can_post)
{
    struct cede_vcpu *vcpu = &turn->core->vcpu[id];
    enum outcome outcome = PENDED;

    if (source == CEDE_SOURCE_IPI) {
        owe_answer(turn->core, id, sender);
    }
    if (vcpu->state == CEDE_STATE_RUNNING) {
        outcome = to_running(turn, id, in_guest && source != CEDE_SOURCE_KICK, can_post);
    } else if (vcpu->state == CEDE_STATE_POLLING) {
        outcome = to_polling(turn, id);
    } else if (vcpu->state == CEDE_STATE_BLOCKED) {
        vcpu->interrupt_pending = source != CEDE_SOURCE_KICK;
        cede_halt_wake(turn, id, CEDE_REASON_WAKE);
        outcome = WOKE;
    } else {
        outcome = to_waiting(turn, id, source);
    }
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_INTERRUPT, CEDE_REASON_INTERRUPT,
                vcpu->pcpu, id, sender, outcome);
}

enum cede_status cede_decode_interrupt(const struct cede *core, const struct cede_event *event)
{
    const struct cede_event_interrupt *facts = &event->interrupt;
    enum cede_status status = cede_turn_target(core, event);

    if (status != CEDE_OK) {
        return status;
    }
    if (facts->sender.value != NONE && !cede_turn_vcpu_exists(core, facts->sender)) {
        return CEDE_BAD_ID;
    }
    if (facts->source >= CEDE_SOURCE_COUNT || facts->in_guest > 1 || facts->can_post > 1) {
        return CEDE_BAD_VALUE;
    }
    return core->vcpu[event->vcpu.value].state == CEDE_STATE_OFFLINE ? CEDE_BAD_STATE : CEDE_OK;
}

void cede_act_interrupt(struct cede_turn *turn, const struct cede_event *event)
{
    cede_interrupt_deliver(turn, event->vcpu.value, event->interrupt.sender.value,
                           event->interrupt.source, event->interrupt.in_guest != 0,
                           event->interrupt.can_post != 0);
}
