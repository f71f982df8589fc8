/*
 * embed.c - the smallest useful port of the core: two pCPUs that are threads, four vCPUs that are
 * step functions. docs/design/embedding.md walks through it.
 *
 * Two vCPUs play ping-pong by interrupts and halt between them; two hand a turn to each other
 * and spin while they wait for it. Owns all state in `port`. `port.lock` is the core's lock: it
 * is held around every cede_*() call, and each pCPU's condition variable goes with it. Pending
 * bits and flags are atomic, since guests and pollers read them without the lock.
 */
#include "examples/embed/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct port port = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = 2, .live = VCPUS};

_Noreturn void cede_panic(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(1);
}

uint64_t embed_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- effects ---- */

static void apply(struct pcpu *self, const struct cede_effect *effect)
{
    switch ((enum cede_effect_kind)effect->kind) {
    case CEDE_EFFECT_RUN:
    case CEDE_EFFECT_IDLE:
    case CEDE_EFFECT_POLL:
        self->turn = *effect; /* acted upon by the pCPU's loop, after the lock */
        atomic_store(&self->poll_stop, false);
        break;
    case CEDE_EFFECT_KICK:
        atomic_store(&port.pcpu[effect->pcpu.value].kick, true);
        pthread_cond_signal(&port.pcpu[effect->pcpu.value].woken);
        break;
    case CEDE_EFFECT_POLL_STOP:
        atomic_store(&port.pcpu[effect->pcpu.value].poll_stop, true);
        break;
    case CEDE_EFFECT_PUBLISH:
        port.steal_ns[effect->vcpu.value] = effect->publish.steal_ns;
        break;
    case CEDE_EFFECT_POST: /* these guests look at their pending bit at each step */
    case CEDE_EFFECT_NOTIFY:
    case CEDE_EFFECT_HOOK_BLOCKING: /* no hardware to prepare for a sleep */
    case CEDE_EFFECT_HOOK_UNBLOCKING:
    case CEDE_EFFECT_TIMER_PLACE: /* no emulated timers, no caps */
    case CEDE_EFFECT_TIMER_UNPLACE:
    case CEDE_EFFECT_VM_TIMER:
    case CEDE_EFFECT_COUNT:
        break;
    }
}

/* One transition; the lock is held. `self` is NULL for the host's management. */
void embed_send(struct pcpu *self, struct cede_event event)
{
    struct cede_effects effects;
    event.now_ns = embed_now_ns(); /* read under the lock, so that it never goes back */
    enum cede_status status = cede_handle(port.core, &event, &effects);
    if (status == CEDE_BAD_STATE && event.kind == CEDE_EVENT_INTERRUPT) {
        return; /* its target saw the bit by itself and has stopped since: nobody to wake */
    }
    if (status != CEDE_OK) {
        printf("# %s: ", cede_event_name(event.kind));
        cede_panic(cede_status_name(status));
    }
    for (uint32_t i = 0; i < effects.count; i++) {
        apply(self, &effects.item[i]);
    }
}

struct cede_event embed_event(enum cede_event_kind kind, const struct pcpu *pcpu,
                                  struct cede_vcpu_id vcpu)
{
    return (struct cede_event){.kind = kind, .vcpu = vcpu, .vm = CEDE_VM_NONE,
                               .pcpu = pcpu != NULL ? pcpu->id : CEDE_PCPU_NONE};
}

/* All of the current vCPU's time since the last report, as user or as spinning. */
static struct cede_ran take_ran(struct pcpu *self, bool spinning)
{
    uint64_t now = embed_now_ns(), span = now - self->ran_from_ns;
    self->ran_from_ns = now;
    return spinning ? (struct cede_ran){.spin_ns = span} : (struct cede_ran){.user_ns = span};
}

/* ---- guests ---- */

/* No wake-up is lost: the bit first, then the lock, then the event. */
static void interrupt(struct pcpu *self, uint32_t sender, uint32_t target)
{
    atomic_store(&port.pending[target], true);
    pthread_mutex_lock(&port.lock);
    struct cede_event event =
        embed_event(CEDE_EVENT_INTERRUPT, self, (struct cede_vcpu_id){target});
    event.interrupt.sender.value = sender;
    event.interrupt.source = CEDE_SOURCE_IPI;
    embed_send(self, event);
    pthread_mutex_unlock(&port.lock);
}

static enum step step_ping_pong(struct pcpu *self, uint32_t vcpu)
{
    if (!atomic_exchange(&port.pending[vcpu], false)) {
        return STEP_HALT;
    }
    port.rounds[vcpu]++;
    if (port.rounds[vcpu] <= ROUNDS) {
        interrupt(self, vcpu, 1 - vcpu);
    }
    return port.rounds[vcpu] == ROUNDS + (vcpu == 0) ? STEP_STOP : STEP_GO_ON; /* 0 began */
}

static enum step step_spinner(uint32_t vcpu)
{
    for (int i = 0; i < 100; i++) { /* a pause-loop exit after that many */
        if (atomic_load(&port.turn) == vcpu) {
            port.rounds[vcpu]++;
            atomic_store(&port.turn, 5 - vcpu);
            return port.rounds[vcpu] == ROUNDS ? STEP_STOP : STEP_GO_ON;
        }
    }
    return STEP_SPIN;
}

static enum step run_guest(struct pcpu *self)
{
    uint32_t vcpu = self->turn.vcpu.value;
    if (atomic_fetch_add(&port.on_pcpu[vcpu], 1) != 0) {
        atomic_fetch_add(&port.twice, 1);
    }
    enum step step = vcpu < 2 ? step_ping_pong(self, vcpu) : step_spinner(vcpu);
    atomic_fetch_sub(&port.on_pcpu[vcpu], 1);
    return step;
}

/* ---- a pCPU's life ---- */

static void resched(struct pcpu *self)
{
    bool idle = self->turn.kind == CEDE_EFFECT_IDLE;
    struct cede_event event =
        embed_event(CEDE_EVENT_RESCHED, self, idle ? CEDE_VCPU_NONE : self->turn.vcpu);
    if (!idle) {
        event.resched.ran = take_ran(self, false);
        event.resched.at_boundary = 1;
    }
    embed_send(self, event);
}

/* After a step: the event that it calls for, with what must be sampled under the lock. */
static void leave_guest(struct pcpu *self, enum step step)
{
    struct cede_vcpu_id vcpu = self->turn.vcpu;
    struct cede_event event = embed_event(CEDE_EVENT_SPIN, self, vcpu);
    if (step == STEP_SPIN) {
        event.spin.ran = take_ran(self, true);
        event.spin.mode = CEDE_MODE_KERNEL;
        event.spin.at_boundary = 1;
    } else if (step == STEP_HALT) {
        event.kind = CEDE_EVENT_HALT;
        event.halt.ran = take_ran(self, false);
        event.halt.interrupt_pending = atomic_load(&port.pending[vcpu.value]);
    } else if (step == STEP_STOP) {
        event.kind = CEDE_EVENT_VCPU_STOP;
        event.stop.ran = take_ran(self, false);
        event.stop.at_boundary = 1;
        port.live--;
    }
    embed_send(self, event);
    for (int i = 0; i < PCPUS && port.live == 0; i++) {
        pthread_cond_signal(&port.pcpu[i].woken); /* all is done: sleepers may end */
    }
}

static void run(struct pcpu *self)
{
    enum step step = run_guest(self);
    bool kicked = atomic_load(&self->kick) || embed_now_ns() >= self->turn.until_ns;
    if (step == STEP_GO_ON && !kicked) {
        return; /* the common way: no lock, no event */
    }
    pthread_mutex_lock(&port.lock);
    if (step != STEP_GO_ON) {
        leave_guest(self, step);
    } else if (atomic_exchange(&self->kick, false) || kicked) {
        resched(self);
    }
    self->ran_from_ns = embed_now_ns(); /* the guest's time begins after the lock */
    pthread_mutex_unlock(&port.lock);
}

static void poll(struct pcpu *self)
{
    uint32_t vcpu = self->turn.vcpu.value;
    while (!atomic_load(&port.pending[vcpu]) && !atomic_load(&self->poll_stop) &&
           !atomic_load(&self->kick) && embed_now_ns() < self->turn.until_ns) {
    }
    pthread_mutex_lock(&port.lock);
    struct cede_event event = embed_event(CEDE_EVENT_POLL_END, self, self->turn.vcpu);
    event.poll_end.woken = atomic_load(&port.pending[vcpu]);
    embed_send(self, event);
    self->ran_from_ns = embed_now_ns();
    pthread_mutex_unlock(&port.lock);
}

static void idle(struct pcpu *self)
{
    pthread_mutex_lock(&port.lock);
    while (!atomic_load(&self->kick) && port.live > 0) {
        pthread_cond_wait(&self->woken, &port.lock);
    }
    if (atomic_exchange(&self->kick, false)) {
        resched(self);
    }
    self->ran_from_ns = embed_now_ns();
    pthread_mutex_unlock(&port.lock);
}

void *embed_pcpu_main(void *argument)
{
    struct pcpu *self = argument;
    for (;;) {
        if (self->turn.kind == CEDE_EFFECT_RUN) {
            run(self);
        } else if (self->turn.kind == CEDE_EFFECT_POLL) {
            poll(self);
        } else {
            idle(self);
            pthread_mutex_lock(&port.lock);
            bool over = port.live == 0;
            pthread_mutex_unlock(&port.lock);
            if (over && self->turn.kind == CEDE_EFFECT_IDLE) {
                return NULL;
            }
        }
    }
}
