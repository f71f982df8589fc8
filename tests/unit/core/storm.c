/*
 * storm.c - random events against the core, most of them sensible, some of them nonsense: every
 * invariant holds after each, refused ones change nothing, and no runnable vCPU is left waiting
 * while a pCPU that may run it idles and hasn't been asked.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "cede/digest.h"
#include "tests/tap.h"

#define NONE CEDE_ID_NONE
#define PCPUS 6u
#define VMS 3u
#define EACH 8u
#define VCPUS (VMS * EACH)

static uint64_t state;

/* Splitmix-like: enough for choosing. */
static uint32_t pick(uint32_t below)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (state ^ (state >> 31)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)((z ^ (z >> 32)) % below);
}

static void facts(struct cede_ran *ran, uint64_t span_ns)
{
    ran->user_ns = span_ns / 4;
    ran->kernel_ns = span_ns / 3;
    ran->spin_ns = pick(2) != 0 ? span_ns / 5 : 0;
}

static uint64_t digest = CEDE_DIGEST_START; /* of every decision so far */
static uint32_t seen[CEDE_EVENT_COUNT][CEDE_STATUS_COUNT];
static uint64_t last_own_ns[PCPUS];

static void fill(struct cede_event *event)
{
    uint64_t span_ns = event->pcpu.value < PCPUS ? event->now_ns - last_own_ns[event->pcpu.value]
                                                 : 0;
    bool running = event->vcpu.value < VCPUS &&
                   bench_state(event->vcpu.value) == CEDE_STATE_RUNNING;

    span_ns = running ? span_ns : 0;
    switch (event->kind) {
    case CEDE_EVENT_PCPU_ROLE:
        event->pcpu_role.role = pick(CEDE_ROLE_COUNT);
        event->pcpu_role.role_vm.value = event->pcpu_role.role == CEDE_ROLE_DEDICATED ? pick(VMS)
                                                                                     : NONE;
        break;
    case CEDE_EVENT_VM_WEIGHT:
        event->vm_weight.weight = 1u << pick(20);
        break;
    case CEDE_EVENT_VM_CAP:
        event->vm_cap.quota_ns = pick(3) * 5000000u;
        event->vm_cap.period_ns = 10000000;
        break;
    case CEDE_EVENT_VM_POLICY:
        event->vm_policy.key = pick(CEDE_POLICY_COUNT);
        event->vm_policy.value =
            cede_policy_info((enum cede_policy_key)event->vm_policy.key)->preset[pick(5)];
        break;
    case CEDE_EVENT_VM_PRESET:
        event->vm_preset.preset = pick(CEDE_PRESET_COUNT);
        break;
    case CEDE_EVENT_VCPU_AFFINITY:
        event->vcpu_affinity.mask = pick(3) == 0 ? pick(64) : UINT64_MAX;
        break;
    case CEDE_EVENT_VCPU_STOP:
    case CEDE_EVENT_RESCHED:
        facts(&event->resched.ran, span_ns);
        event->resched.mode = (uint8_t)pick(CEDE_MODE_COUNT);
        event->resched.at_boundary = (uint8_t)pick(2);
        break;
    case CEDE_EVENT_SPIN:
        facts(&event->spin.ran, span_ns);
        event->spin.mode = (uint8_t)pick(CEDE_MODE_COUNT);
        event->spin.at_boundary = 1;
        break;
    case CEDE_EVENT_YIELD_TO:
        facts(&event->yield_to.ran, span_ns);
        event->yield_to.target.value = event->vcpu.value / EACH * EACH + pick(EACH);
        event->yield_to.cause = (uint8_t)pick(2);
        break;
    case CEDE_EVENT_HALT:
        facts(&event->halt.ran, span_ns);
        event->halt.interrupt_pending = pick(8) == 0;
        break;
    case CEDE_EVENT_POLL_END:
        event->poll_end.woken = (uint8_t)pick(2);
        break;
    case CEDE_EVENT_INTERRUPT:
        event->interrupt.sender.value = pick(2) != 0 ? pick(VCPUS) : NONE;
        event->interrupt.source = (uint8_t)pick(CEDE_SOURCE_COUNT);
        event->interrupt.in_guest = (uint8_t)pick(2);
        event->interrupt.can_post = (uint8_t)pick(2);
        break;
    case CEDE_EVENT_TIMER_ARM:
        event->timer_arm.kind = (uint8_t)pick(3);
        event->timer_arm.deadline_ns = event->now_ns + pick(1000000);
        event->timer_arm.period_ns = event->timer_arm.kind == CEDE_TIMER_PERIODIC ? 1000000 : 0;
        event->timer_arm.can_post = (uint8_t)pick(2);
        break;
    default:
        break;
    }
}

/* Frequent kinds stand more often. */
static const uint32_t kinds[] = {
    CEDE_EVENT_RESCHED,    CEDE_EVENT_RESCHED,      CEDE_EVENT_RESCHED,    CEDE_EVENT_RESCHED,
    CEDE_EVENT_SPIN,       CEDE_EVENT_SPIN,         CEDE_EVENT_SPIN,       CEDE_EVENT_YIELD_TO,
    CEDE_EVENT_HALT,       CEDE_EVENT_HALT,         CEDE_EVENT_HALT,       CEDE_EVENT_POLL_END,
    CEDE_EVENT_POLL_END,   CEDE_EVENT_INTERRUPT,    CEDE_EVENT_INTERRUPT,  CEDE_EVENT_INTERRUPT,
    CEDE_EVENT_INTERRUPT,  CEDE_EVENT_INTERRUPT,    CEDE_EVENT_TIMER_ARM,  CEDE_EVENT_TIMER_FIRE,
    CEDE_EVENT_TIMER_CANCEL, CEDE_EVENT_VCPU_START, CEDE_EVENT_VCPU_START, CEDE_EVENT_VCPU_STOP,
    CEDE_EVENT_VCPU_PAUSE, CEDE_EVENT_VCPU_RESUME,  CEDE_EVENT_VCPU_RESUME,
    CEDE_EVENT_VCPU_AFFINITY, CEDE_EVENT_VM_CAP,    CEDE_EVENT_VM_REFILL,  CEDE_EVENT_VM_REFILL,
    CEDE_EVENT_VM_POLICY,  CEDE_EVENT_VM_PRESET,    CEDE_EVENT_VM_WEIGHT,  CEDE_EVENT_PCPU_ROLE,
};

static void one(void)
{
    struct cede_event event;
    uint32_t pcpu = pick(PCPUS), vcpu;
    enum cede_status status;
    uint32_t kind = kinds[pick(sizeof(kinds) / sizeof(kinds[0]))];

    bench.now_ns += pick(8) == 0 ? pick(4000000) : pick(20000);
    vcpu = pick(VCPUS);
    event = bench_event(kind, pcpu, vcpu);
    event.vm.value = pick(VMS);
    if (kind == CEDE_EVENT_RESCHED || kind == CEDE_EVENT_SPIN || kind == CEDE_EVENT_HALT ||
        kind == CEDE_EVENT_YIELD_TO || kind == CEDE_EVENT_POLL_END) {
        event.vcpu.value = bench_current(pcpu);
    }
    fill(&event);
    if (pick(50) == 0) { /* nonsense */
        event.words[pick(5)] ^= UINT64_C(1) << pick(64);
    }
    if (pick(200) == 0) {
        event.pcpu.value = pick(100);
    }
    status = bench_send(&event);
    digest = cede_digest_word(digest, cede_digest_decision(status, &bench.effects));
    if (event.kind < CEDE_EVENT_COUNT) {
        seen[event.kind][status]++;
    }
    if (bench.effects.count != 0 && event.pcpu.value < PCPUS) {
        last_own_ns[event.pcpu.value] = event.now_ns;
    }
}

/*
 *   storm [ROUNDS]          the test
 *   storm digest ROUNDS     one line: a digest of all decisions (tests/golden)
 */
int main(int argc, char **argv)
{
    bool digest_only = argc > 2 && strcmp(argv[1], "digest") == 0;
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[argc - 1]) : 40;

    for (uint32_t seed = 1; seed <= rounds && bench.fault == NULL; seed++) {
        state = seed;
        bench_build(PCPUS, VMS, EACH, CEDE_PRESET_CEDE, true);
        memset(last_own_ns, 0, sizeof(last_own_ns));
        for (uint32_t n = 0; n < PCPUS; n++) {
            last_own_ns[n] = bench.now_ns;
        }
        for (uint32_t n = 0; n < 3000 && bench.fault == NULL; n++) {
            one();
        }
        if (bench.fault != NULL) {
            printf("# seed %u\n", seed);
        }
    }
    if (digest_only) {
        printf("%016llx\n", (unsigned long long)digest);
        return bench.fault == NULL ? 0 : 1;
    }
    for (uint32_t kind = 0; kind < CEDE_EVENT_COUNT; kind++) {
        printf("# %-14s", cede_event_name(kind));
        for (uint32_t status = 0; status < CEDE_STATUS_COUNT; status++) {
            printf(" %6u", seen[kind][status]);
        }
        printf("\n");
    }
    TAP(bench.fault == NULL, "random events keep every invariant, refused ones change nothing");
    return tap_done();
}
