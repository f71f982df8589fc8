/*
 * core_model.c - random events against a naive model of the core: who is in which state, where time
 * went, what the guest was told, whom a spin exit may yield to (by looking at every vCPU), and that
 * no pCPU idles while somebody may run there. The model learns from events and effects only.
 *
 * A failure is shrunk (events are left out as long as it still fails) and printed with its seed.
 * `core_model SEEDS [FIRST]`; without arguments, the test.
 */
#include "cede/core.h"
#include "cede/stats.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define PCPUS 4u
#define VMS 2u
#define EACH 5u
#define VCPUS (VMS * EACH)
#define EVENTS 600u

struct vcpu {
    uint32_t state, resumes, pcpu, mode;
    uint64_t mask, since_ns, steal_ns, blocked_ns, paused_ns, offline_ns, poll_ns;
    bool paused, stopping, woken, pending, hooked;
};

struct pcpu {
    uint32_t current, role, role_vm;
    bool polls, kicked;
};

static struct vcpu vcpu[VCPUS];
static struct pcpu pcpu[PCPUS];
static bool capped[VMS], simple_rules[VMS];
static uint32_t last_boosted[VMS];
static uint64_t policy[VMS][CEDE_POLICY_COUNT];
static struct cede *core;
static struct cede_effects effects;
static unsigned char *memory;
static struct cede_event events[EVENTS];
static char failure[200];
static bool broken_model; /* a wrong model has to be found out: tests the test */

_Noreturn void cede_panic(const char *what)
{
    printf("not ok 1 - panic: %s\n", what);
    fflush(stdout);
    exit(1);
}

static bool fails(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    if (failure[0] == '\0') {
        vsnprintf(failure, sizeof(failure), format, list);
    }
    va_end(list);
    return false;
}

/* ---- the model ---- */

static void enter(uint32_t v, uint32_t state, uint64_t now_ns)
{
    uint64_t span_ns = now_ns - vcpu[v].since_ns;

    vcpu[v].steal_ns += vcpu[v].state == CEDE_STATE_RUNNABLE ? span_ns : 0;
    vcpu[v].blocked_ns += vcpu[v].state == CEDE_STATE_BLOCKED ? span_ns : 0;
    vcpu[v].paused_ns += vcpu[v].state == CEDE_STATE_PAUSED ? span_ns : 0;
    vcpu[v].offline_ns += vcpu[v].state == CEDE_STATE_OFFLINE ? span_ns : 0;
    vcpu[v].poll_ns += vcpu[v].state == CEDE_STATE_POLLING ? span_ns : 0;
    vcpu[v].since_ns = now_ns;
    vcpu[v].state = state;
}

static bool allowed(uint32_t v, uint32_t p)
{
    uint32_t role = pcpu[p].role;

    return (vcpu[v].mask >> p & 1u) != 0 && role != CEDE_ROLE_OFFLINE &&
           (role != CEDE_ROLE_DEDICATED || pcpu[p].role_vm == v / EACH);
}

/* What becomes of the vCPU that leaves pCPU p in this event. */
static void leave(const struct cede_event *event, uint32_t p)
{
    uint32_t v = pcpu[p].current;
    bool polled = pcpu[p].polls;
    bool halts = polled || (event->kind == CEDE_EVENT_HALT && event->halt.interrupt_pending == 0);
    uint32_t state = CEDE_STATE_RUNNABLE;

    if (v == NONE) {
        return;
    }
    if (polled && ((event->kind == CEDE_EVENT_POLL_END && event->poll_end.woken != 0) ||
                   vcpu[v].pending)) {
        halts = false;
    }
    if (event->kind == CEDE_EVENT_VCPU_STOP || vcpu[v].stopping) {
        state = CEDE_STATE_OFFLINE;
        vcpu[v].stopping = false;
        vcpu[v].pending = false;
        vcpu[v].hooked = false;
    } else if (vcpu[v].paused) {
        state = CEDE_STATE_PAUSED;
        vcpu[v].resumes = halts ? CEDE_STATE_BLOCKED : CEDE_STATE_RUNNABLE;
    } else if (halts) {
        state = CEDE_STATE_BLOCKED;
    }
    vcpu[v].woken = polled && !halts;
    enter(v, state, event->now_ns);
    pcpu[p].current = NONE;
    pcpu[p].polls = false;
}

/* A spin exit that pulled: the nearest acceptable sibling after the one boosted last. Only looked
 * at while the VM's rules are simple (no alternate, no IPI first, no return). */
static bool may_pull(const struct cede_event *event, uint32_t me, uint32_t target)
{
    uint32_t vm = me / EACH;

    if (target / EACH != vm || target == me || vcpu[target].state != CEDE_STATE_RUNNABLE) {
        return fails("pull of a vCPU that doesn't wait in the same VM");
    }
    for (uint32_t n = 1; simple_rules[vm] && n <= EACH; n++) {
        uint32_t at = vm * EACH + (last_boosted[vm] + n) % EACH;
        const struct vcpu *v = &vcpu[at];
        bool user = !v->woken && v->mode == CEDE_MODE_USER && !v->pending;
        if (at == me || v->state != CEDE_STATE_RUNNABLE || v->paused) {
            continue;
        }
        if (at != target && (capped[vm] || v->pcpu == NONE || pcpu[v->pcpu].current == NONE)) {
            continue; /* throttled perhaps, or an idle pCPU was asked to run it */
        }
        if ((v->woken && policy[vm][CEDE_POLICY_YIELD_TO_WOKEN] == 0) ||
            (user && event->spin.mode == CEDE_MODE_KERNEL &&
             policy[vm][CEDE_POLICY_YIELD_KERNEL_FILTER] != 0)) {
            if (at == target) {
                return fails("pull of a vCPU that the rules skip");
            }
            continue;
        }
        return at == target || fails("pull of vCPU %u, but %u comes first", target, at);
    }
    return true;
}

/* A run of `v` on `p`: it came from waiting, or goes on. */
static bool runs(const struct cede_event *event, uint32_t p, uint32_t v, uint32_t reason,
                 bool published, uint64_t steal_ns)
{
    uint32_t before = pcpu[p].current;
    bool polled = pcpu[p].polls;

    if (!allowed(v, p)) {
        return fails("vCPU %u runs on pCPU %u, where it may not", v, p);
    }
    if (v == before && !polled && !published) {
        return true; /* goes on */
    }
    if (reason == CEDE_REASON_YIELD_PULL) {
        if (event->kind == CEDE_EVENT_SPIN && !may_pull(event, before, v)) {
            return false;
        }
        last_boosted[v / EACH] = v % EACH;
    }
    leave(event, p);
    if (vcpu[v].state != CEDE_STATE_RUNNABLE) {
        return fails("vCPU %u runs from state %s", v, cede_vcpu_state_name(vcpu[v].state));
    }
    enter(v, CEDE_STATE_RUNNING, event->now_ns);
    if (!published || steal_ns != vcpu[v].steal_ns) {
        return fails("vCPU %u was told %llu ns of steal time, not %llu", v,
                     (unsigned long long)steal_ns, (unsigned long long)vcpu[v].steal_ns);
    }
    if (vcpu[v].hooked) {
        return fails("vCPU %u runs with its hook in force", v);
    }
    vcpu[v].woken = false;
    vcpu[v].pending = false;
    vcpu[v].pcpu = p;
    pcpu[p].current = v;
    pcpu[p].polls = false;
    return true;
}

static bool apply(const struct cede_event *event)
{
    uint64_t steal_ns = 0;
    bool published = false;

    for (uint32_t n = 0; n < effects.count; n++) {
        const struct cede_effect *effect = &effects.item[n];
        uint32_t p = effect->pcpu.value, v = effect->vcpu.value;
        switch (effect->kind) {
        case CEDE_EFFECT_RUN:
            if (!runs(event, p, v, effect->reason, published, steal_ns)) {
                return false;
            }
            break;
        case CEDE_EFFECT_IDLE:
            leave(event, p);
            break;
        case CEDE_EFFECT_POLL:
            if (!pcpu[p].polls) {
                enter(v, CEDE_STATE_POLLING, event->now_ns);
                pcpu[p].polls = true;
            }
            break;
        case CEDE_EFFECT_KICK:
            pcpu[p].kicked = true;
            break;
        case CEDE_EFFECT_POLL_STOP:
            pcpu[p].kicked = true;
            break;
        case CEDE_EFFECT_PUBLISH:
            if (effect->publish.preempted != 0) {
                if (vcpu[v].paused || policy[v / EACH][CEDE_POLICY_PUBLISH_PREEMPTED] == 0) {
                    return fails("vCPU %u was published as preempted", v);
                }
            } else {
                published = true;
                steal_ns = effect->publish.steal_ns;
            }
            break;
        case CEDE_EFFECT_HOOK_BLOCKING:
            if (vcpu[v].hooked) {
                return fails("vCPU %u is hooked twice", v);
            }
            vcpu[v].hooked = true;
            break;
        case CEDE_EFFECT_HOOK_UNBLOCKING:
            vcpu[v].hooked = false;
            break;
        default:
            break;
        }
    }
    return true;
}

static void wake(uint32_t v, uint64_t now_ns)
{
    vcpu[v].woken = true;
    enter(v, CEDE_STATE_RUNNABLE, now_ns);
}

/* What an accepted event does by itself, before its effects. */
static void expect(const struct cede_event *event)
{
    uint32_t v = event->vcpu.value, vm = event->vm.value;

    switch (event->kind) {
    case CEDE_EVENT_INTERRUPT:
    case CEDE_EVENT_TIMER_FIRE:
        if (event->kind == CEDE_EVENT_TIMER_FIRE ||
            event->interrupt.source != CEDE_SOURCE_KICK || vcpu[v].state == CEDE_STATE_POLLING) {
            vcpu[v].pending = vcpu[v].state != CEDE_STATE_RUNNING;
        }
        if (vcpu[v].state == CEDE_STATE_BLOCKED && !broken_model) {
            wake(v, event->now_ns);
        } else if (vcpu[v].state == CEDE_STATE_PAUSED) {
            vcpu[v].resumes = CEDE_STATE_RUNNABLE;
        }
        break;
    case CEDE_EVENT_VCPU_START:
        if (vcpu[v].paused) {
            vcpu[v].resumes = CEDE_STATE_RUNNABLE;
            enter(v, CEDE_STATE_PAUSED, event->now_ns);
        } else {
            wake(v, event->now_ns);
        }
        break;
    case CEDE_EVENT_VCPU_STOP:
        if (vcpu[v].state == CEDE_STATE_RUNNING || vcpu[v].state == CEDE_STATE_POLLING) {
            vcpu[v].stopping = event->pcpu.value == NONE || pcpu[event->pcpu.value].current != v;
        } else {
            vcpu[v].pending = false;
            enter(v, CEDE_STATE_OFFLINE, event->now_ns);
        }
        break;
    case CEDE_EVENT_VCPU_PAUSE:
        vcpu[v].paused = true;
        if (vcpu[v].state == CEDE_STATE_RUNNABLE || vcpu[v].state == CEDE_STATE_BLOCKED) {
            vcpu[v].resumes = vcpu[v].state;
            enter(v, CEDE_STATE_PAUSED, event->now_ns);
        }
        break;
    case CEDE_EVENT_VCPU_RESUME:
        vcpu[v].paused = false;
        if (vcpu[v].state == CEDE_STATE_PAUSED) {
            vcpu[v].woken = vcpu[v].resumes == CEDE_STATE_RUNNABLE;
            enter(v, vcpu[v].resumes, event->now_ns);
        }
        break;
    case CEDE_EVENT_VCPU_AFFINITY:
        vcpu[v].mask = event->vcpu_affinity.mask;
        break;
    case CEDE_EVENT_PCPU_ROLE:
        pcpu[event->pcpu.value].role = event->pcpu_role.role;
        pcpu[event->pcpu.value].role_vm = event->pcpu_role.role_vm.value;
        break;
    case CEDE_EVENT_VM_CAP:
        capped[vm] = true; /* and may stay throttled a little after the cap is gone */
        break;
    case CEDE_EVENT_VM_POLICY:
        policy[vm][event->vm_policy.key] = event->vm_policy.value;
        break;
    case CEDE_EVENT_RESCHED:
    case CEDE_EVENT_SPIN:
    case CEDE_EVENT_YIELD_TO:
    case CEDE_EVENT_HALT:
        pcpu[event->pcpu.value].kicked = false;
        if (v != NONE && vcpu[v].state == CEDE_STATE_RUNNING) {
            vcpu[v].mode = event->kind == CEDE_EVENT_RESCHED ? event->resched.mode
                           : event->kind == CEDE_EVENT_SPIN  ? event->spin.mode
                           : event->kind == CEDE_EVENT_HALT  ? event->halt.mode
                                                             : event->yield_to.mode;
        }
        break;
    case CEDE_EVENT_POLL_END:
        pcpu[event->pcpu.value].kicked = false;
        break;
    default:
        break;
    }
}

/* ---- comparing ---- */

static bool same_state(uint32_t v, uint64_t now_ns)
{
    struct cede_vcpu_stats stats;
    uint32_t state = vcpu[v].state;
    uint64_t steal_ns = vcpu[v].steal_ns + (state == CEDE_STATE_RUNNABLE ? now_ns - vcpu[v].since_ns : 0);
    uint64_t blocked_ns = vcpu[v].blocked_ns + (state == CEDE_STATE_BLOCKED ? now_ns - vcpu[v].since_ns : 0);
    uint64_t poll_ns = vcpu[v].poll_ns + (state == CEDE_STATE_POLLING ? now_ns - vcpu[v].since_ns : 0);
    uint64_t paused_ns = vcpu[v].paused_ns + (state == CEDE_STATE_PAUSED ? now_ns - vcpu[v].since_ns : 0);

    (void)cede_vcpu_stats(core, now_ns, (struct cede_vcpu_id){v}, &stats);
    if (stats.state != state &&
        !(stats.state == CEDE_STATE_THROTTLED && state == CEDE_STATE_RUNNABLE && capped[v / EACH])) {
        return fails("vCPU %u is %s, the model says %s", v, cede_vcpu_state_name(stats.state),
                     cede_vcpu_state_name(state));
    }
    if (stats.time_ns[CEDE_TIME_STEAL] + stats.time_ns[CEDE_TIME_THROTTLED] != steal_ns ||
        stats.time_ns[CEDE_TIME_BLOCKED] != blocked_ns ||
        stats.time_ns[CEDE_TIME_POLL] != poll_ns || stats.time_ns[CEDE_TIME_PAUSED] != paused_ns) {
        return fails("vCPU %u's time differs from the model's", v);
    }
    vcpu[v].pcpu = stats.pcpu.value;
    return true;
}

/* Some idle pCPU that may run it has been asked to look. */
static bool another_comes(uint32_t v)
{
    for (uint32_t p = 0; p < PCPUS; p++) {
        if (pcpu[p].kicked && pcpu[p].current == NONE && allowed(v, p)) {
            return true;
        }
    }
    return false;
}

/* Somebody who waits may run on an idle pCPU that nobody has asked to look. A vCPU whose own pCPU
 * idles and was asked is on its way; a throttled one isn't waiting for a pCPU. */
static bool conserves_work(void)
{
    for (uint32_t p = 0; p < PCPUS; p++) {
        if (pcpu[p].current != NONE || pcpu[p].kicked || pcpu[p].role == CEDE_ROLE_OFFLINE) {
            continue;
        }
        for (uint32_t v = 0; v < VCPUS; v++) {
            struct cede_vcpu_stats stats;
            uint32_t home = vcpu[v].pcpu;
            (void)cede_vcpu_stats(core, UINT64_MAX, (struct cede_vcpu_id){v}, &stats);
            if (stats.state != CEDE_STATE_RUNNABLE || !allowed(v, p) || another_comes(v) ||
                (home != NONE && pcpu[home].kicked)) {
                continue;
            }
            return fails("pCPU %u idles, unasked, while vCPU %u waits for pCPU %d", p, v,
                         (int)home);
        }
    }
    return true;
}

static bool step(const struct cede_event *event)
{
    enum cede_status status = cede_handle(core, event, &effects);
    const char *fault;

    if (status != CEDE_OK) {
        return true; /* refused: tests/unit/core/misuse.c looks at those */
    }
    expect(event);
    if (!apply(event)) {
        return false;
    }
    if (event->kind == CEDE_EVENT_VCPU_STOP && effects.count != 0 && event->pcpu.value != NONE &&
        pcpu[event->pcpu.value].current == event->vcpu.value && !vcpu[event->vcpu.value].stopping) {
        return fails("a stop by itself left the vCPU where it was");
    }
    fault = cede_check_all(core);
    if (fault != NULL) {
        return fails("%s", fault);
    }
    for (uint32_t v = 0; v < VCPUS; v++) {
        if (!same_state(v, event->now_ns)) {
            return false;
        }
    }
    return conserves_work();
}

/* ---- a machine, events for it, shrinking ---- */

static uint64_t state;

static uint32_t pick(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static struct cede_event blank(uint32_t kind, uint64_t now_ns)
{
    struct cede_event event;

    memset(&event, 0, sizeof(event));
    event.kind = kind;
    event.now_ns = now_ns;
    event.pcpu.value = NONE;
    event.vcpu.value = NONE;
    event.vm.value = NONE;
    return event;
}

static void begin(uint64_t seed)
{
    struct cede_config config = {.pcpu_count = PCPUS, .vm_count = VMS, .vcpu_count = VCPUS,
                                 .vm_vcpu_count = EACH, .trace_count = 16, .seed = 7};
    size_t size = cede_size(&config);

    memory = memory != NULL ? memory : aligned_alloc(CEDE_ALIGN, size);
    (void)cede_init(memory, size, &config, &core);
    memset(vcpu, 0, sizeof(vcpu));
    memset(pcpu, 0, sizeof(pcpu));
    failure[0] = '\0';
    for (uint32_t p = 0; p < PCPUS; p++) {
        struct cede_event event = blank(CEDE_EVENT_PCPU_ADD, 0);
        event.pcpu.value = p;
        event.pcpu_add.role_vm.value = NONE;
        (void)cede_handle(core, &event, &effects);
        pcpu[p] = (struct pcpu){.current = NONE};
    }
    for (uint32_t vm = 0; vm < VMS; vm++) {
        struct cede_event event = blank(CEDE_EVENT_VM_ADD, 0);
        event.vm.value = vm;
        event.vm_add.weight = 1024;
        event.vm_add.preset = CEDE_PRESET_CEDE;
        (void)cede_handle(core, &event, &effects);
        for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
            policy[vm][key] = cede_policy_info((enum cede_policy_key)key)->preset[CEDE_PRESET_CEDE];
        }
        capped[vm] = false;
        last_boosted[vm] = EACH - 1;
        simple_rules[vm] = (seed & 1u) != 0;
        for (uint32_t n = 0; simple_rules[vm] && n < 3; n++) {
            static const uint32_t off[] = {CEDE_POLICY_YIELD_ALTERNATE, CEDE_POLICY_YIELD_IPI_FIRST,
                                           CEDE_POLICY_YIELD_NO_RETURN};
            event = blank(CEDE_EVENT_VM_POLICY, 0);
            event.vm.value = vm;
            event.vm_policy.key = off[n];
            (void)cede_handle(core, &event, &effects);
        }
    }
    for (uint32_t v = 0; v < VCPUS; v++) {
        struct cede_event event = blank(CEDE_EVENT_VCPU_ADD, 0);
        event.vcpu.value = v;
        event.vm.value = v / EACH;
        event.vcpu_add.index = v % EACH;
        (void)cede_handle(core, &event, &effects);
        vcpu[v] = (struct vcpu){.state = CEDE_STATE_OFFLINE, .mask = UINT64_MAX, .pcpu = NONE};
    }
}

/* Some event that suits the model's state, more often than not. */
static struct cede_event make(uint64_t now_ns, bool simple)
{
    static const uint8_t kinds[] = {
        CEDE_EVENT_RESCHED, CEDE_EVENT_RESCHED, CEDE_EVENT_RESCHED, CEDE_EVENT_SPIN, CEDE_EVENT_SPIN,
        CEDE_EVENT_HALT, CEDE_EVENT_HALT, CEDE_EVENT_POLL_END, CEDE_EVENT_INTERRUPT,
        CEDE_EVENT_INTERRUPT, CEDE_EVENT_INTERRUPT, CEDE_EVENT_VCPU_START, CEDE_EVENT_VCPU_START,
        CEDE_EVENT_VCPU_START, CEDE_EVENT_YIELD_TO, CEDE_EVENT_VCPU_STOP, CEDE_EVENT_VCPU_PAUSE,
        CEDE_EVENT_VCPU_RESUME, CEDE_EVENT_VCPU_RESUME, CEDE_EVENT_VCPU_AFFINITY,
        CEDE_EVENT_PCPU_ROLE, CEDE_EVENT_VM_CAP, CEDE_EVENT_VM_REFILL, CEDE_EVENT_VM_POLICY,
    };
    struct cede_event event = blank(kinds[pick(sizeof(kinds))], now_ns);
    uint32_t p = pick(PCPUS);

    event.vcpu.value = pick(VCPUS);
    if (pcpu[p].polls && pick(2) == 0) {
        event.kind = CEDE_EVENT_POLL_END;
    }
    switch (event.kind) {
    case CEDE_EVENT_RESCHED:
    case CEDE_EVENT_SPIN:
        event.resched.mode = (uint8_t)pick(CEDE_MODE_COUNT);
        event.resched.at_boundary = 1;
        break;
    case CEDE_EVENT_HALT:
        event.halt.mode = CEDE_MODE_KERNEL;
        event.halt.interrupt_pending = pick(6) == 0;
        break;
    case CEDE_EVENT_POLL_END:
        event.poll_end.woken = (uint8_t)pick(2);
        break;
    case CEDE_EVENT_YIELD_TO:
        event.yield_to.target.value = event.vcpu.value / EACH * EACH + pick(EACH);
        event.yield_to.mode = CEDE_MODE_KERNEL;
        if (simple) { /* would move last_boosted by rules that the model leaves out */
            event.kind = CEDE_EVENT_RESCHED;
            memset(event.words, 0, sizeof(event.words));
        }
        break;
    case CEDE_EVENT_INTERRUPT:
        event.interrupt.sender.value = NONE;
        event.interrupt.source = (uint8_t)pick(CEDE_SOURCE_COUNT);
        break;
    case CEDE_EVENT_VCPU_AFFINITY:
        event.vcpu_affinity.mask = pick(3) == 0 ? pick(16) : UINT64_MAX;
        break;
    case CEDE_EVENT_PCPU_ROLE:
        event.pcpu.value = p;
        event.pcpu_role.role = pick(CEDE_ROLE_COUNT);
        event.pcpu_role.role_vm.value = event.pcpu_role.role == CEDE_ROLE_DEDICATED ? pick(VMS) : NONE;
        break;
    case CEDE_EVENT_VM_CAP:
        event.vm.value = pick(VMS);
        event.vm_cap.quota_ns = pick(3) * 3000000u;
        event.vm_cap.period_ns = 10000000;
        break;
    case CEDE_EVENT_VM_REFILL:
        event.vm.value = pick(VMS);
        break;
    case CEDE_EVENT_VM_POLICY:
        event.vm.value = pick(VMS);
        event.vm_policy.key = pick(2) == 0 ? CEDE_POLICY_YIELD_KERNEL_FILTER
                                           : CEDE_POLICY_PUBLISH_PREEMPTED;
        event.vm_policy.value = pick(2);
        break;
    default:
        break;
    }
    if (event.kind == CEDE_EVENT_RESCHED || event.kind == CEDE_EVENT_SPIN ||
        event.kind == CEDE_EVENT_HALT || event.kind == CEDE_EVENT_YIELD_TO ||
        event.kind == CEDE_EVENT_POLL_END) {
        event.pcpu.value = p;
        event.vcpu.value = pcpu[p].current;
    }
    return event;
}

/* Runs all events that aren't left out; true if every one agrees with the model. */
static bool replay(uint64_t seed, uint32_t count, const bool *left_out)
{
    begin(seed);
    for (uint32_t n = 0; n < count; n++) {
        if (!left_out[n] && !step(&events[n])) {
            return false;
        }
    }
    return true;
}

/* Leaves out chunks, large ones first, as long as it fails; returns how many events remain. */
static uint32_t shrink(uint64_t seed, uint32_t count, bool *left_out)
{
    uint32_t remain = 0;

    for (uint32_t chunk = count / 2; chunk > 0; chunk /= 2) {
        for (uint32_t at = 0; at < count; at += chunk) {
            bool kept[EVENTS];
            memcpy(kept, left_out, sizeof(kept));
            for (uint32_t n = at; n < at + chunk && n < count; n++) {
                left_out[n] = true;
            }
            if (replay(seed, count, left_out)) {
                memcpy(left_out, kept, sizeof(kept));
            }
        }
    }
    (void)replay(seed, count, left_out);
    for (uint32_t n = 0; n < count; n++) {
        remain += left_out[n] ? 0 : 1;
    }
    return remain;
}

static void show(uint32_t count, const bool *left_out)
{
    for (uint32_t n = 0; n < count; n++) {
        if (!left_out[n]) {
            printf("#   %llu %s pcpu %d vcpu %d vm %d: %llx %llx %llx %llx\n",
                   (unsigned long long)events[n].now_ns, cede_event_name(events[n].kind),
                   (int)events[n].pcpu.value, (int)events[n].vcpu.value, (int)events[n].vm.value,
                   (unsigned long long)events[n].words[0], (unsigned long long)events[n].words[1],
                   (unsigned long long)events[n].words[2], (unsigned long long)events[n].words[3]);
        }
    }
}

/* One random machine; returns 0 if it agrees, else how many events the failure needs. */
static uint32_t try_seed(uint64_t seed, bool print)
{
    static bool left_out[EVENTS];
    uint64_t now_ns = 1000;

    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    begin(seed);
    memset(left_out, 0, sizeof(left_out));
    for (uint32_t n = 0; n < EVENTS; n++) {
        now_ns += pick(6) == 0 ? pick(4000000) : pick(30000);
        events[n] = make(now_ns, (seed & 1u) != 0);
        if (!step(&events[n])) {
            uint32_t remain = shrink(seed, n + 1, left_out);
            if (print) {
                printf("# seed %llu: %s; %u events:\n", (unsigned long long)seed, failure, remain);
                show(n + 1, left_out);
            }
            return remain;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? (uint64_t)atoll(argv[1]) : 400;
    uint64_t first = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    uint32_t remain = 0;

    for (uint64_t seed = first; seed < first + seeds && remain == 0; seed++) {
        remain = try_seed(seed, true);
    }
    TAP(remain == 0, "the core agrees with the naive model");
    broken_model = true;
    remain = 0;
    for (uint64_t seed = 1; seed < 20 && remain == 0; seed++) {
        remain = try_seed(seed, false);
    }
    printf("# a model that forgets wake-ups is found out with %u events: %s\n", remain, failure);
    TAP(remain > 0 && remain <= 12, "a wrong model is found out, and the failure shrunk");
    return tap_done();
}
