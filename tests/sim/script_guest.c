/*
 * script_guest.c - small guests with known behaviour (see script_guest.h).
 *
 *   compute   user mode for ever, in pieces of 1 ms
 *   sleeper   arms a timer 1 ms ahead, halts, computes 10 us in kernel mode
 *   pair      vCPUs 2k and 2k+1: a ping-pong by IPI: halt until the other's IPI, compute, answer
 *   shoot     each computes 50 us, then sends a call to all siblings and spins for their answers
 *   lock      one spin lock: 5 us outside, 5 us inside; handed over in order of arrival
 *   brief     computes 20 ms in all, then the workload is done
 */
#include "tests/sim/script_guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_WORDS 4u

enum script { COMPUTE, SLEEPER, PAIR, SHOOT, LOCK, BRIEF, SCRIPT_COUNT };

static const char *const names[SCRIPT_COUNT] = {"compute", "sleeper", "pair",
                                                "shoot",   "lock",    "brief"};

struct script_vcpu {
    uint32_t phase;
    uint32_t call_from; /* sender + 1 of the calls to answer, as a count of them */
    uint64_t rounds;
    bool in_handler;
    struct sim_step rest;
    bool has_rest;
    uint64_t targets[TARGET_WORDS];
    uint64_t owes[TARGET_WORDS]; /* senders that wait for this one's answer */
    uint64_t waits[TARGET_WORDS]; /* siblings whose answers this one waits for */
};

struct script_guest {
    struct sim_vm *vm;
    enum script script;
    uint32_t count;
    uint32_t holder, queue_head, queue_tail;
    uint32_t *queue;
    struct script_vcpu *vcpu;
    struct sim_random random;
};

static bool none(const uint64_t *words)
{
    for (uint32_t i = 0; i < TARGET_WORDS; i++) {
        if (words[i] != 0) {
            return false;
        }
    }
    return true;
}

static void run(struct sim_step *step, bool user, bool irq_off, uint64_t ns)
{
    *step = (struct sim_step){.kind = SIM_STEP_RUN, .user = user, .irq_off = irq_off, .ns = ns};
}

/* The called function is done: every sender that waits for this vCPU gets its answer. */
static void answer(struct script_guest *guest, uint32_t index)
{
    struct script_vcpu *me = &guest->vcpu[index];
    for (uint32_t i = 0; i < guest->count; i++) {
        if ((me->owes[i / 64] >> (i % 64) & 1) != 0) {
            guest->vcpu[i].waits[index / 64] &= ~(UINT64_C(1) << (index % 64));
            sim_guest_spin_changed(guest->vm, i);
            if (none(guest->vcpu[i].waits)) {
                sim_guest_spin_end(guest->vm, i);
            }
        }
    }
    memset(me->owes, 0, sizeof me->owes);
}

static void next_shoot(struct script_guest *guest, uint32_t index, struct sim_step *step)
{
    struct script_vcpu *me = &guest->vcpu[index];
    switch (me->phase++ % 3) {
    case 0:
        run(step, true, false, sim_random_around(&guest->random, 50000, 512));
        return;
    case 1:
        memset(me->waits, 0, sizeof me->waits);
        for (uint32_t i = 0; i < guest->count; i++) {
            if (i != index) {
                me->waits[i / 64] |= UINT64_C(1) << (i % 64);
                guest->vcpu[i].owes[index / 64] |= UINT64_C(1) << (index % 64);
            }
        }
        memcpy(me->targets, me->waits, sizeof me->targets);
        *step = (struct sim_step){.kind = SIM_STEP_IPI, .vector = SIM_VECTOR_CALL,
                                  .targets = me->targets};
        return;
    default:
        me->rounds++;
        if (none(me->waits)) {
            run(step, false, false, 0);
        } else {
            *step = (struct sim_step){.kind = SIM_STEP_SPIN};
        }
        return;
    }
}

static void next_lock(struct script_guest *guest, uint32_t index, struct sim_step *step)
{
    struct script_vcpu *me = &guest->vcpu[index];
    switch (me->phase++ % 4) {
    case 0:
        run(step, true, false, 5000);
        return;
    case 1:
        if (guest->holder == UINT32_MAX) {
            guest->holder = index;
            run(step, false, true, 0);
        } else {
            guest->queue[guest->queue_tail++ % (guest->count + 1)] = index;
            *step = (struct sim_step){.kind = SIM_STEP_SPIN, .irq_off = 1};
        }
        return;
    case 2:
        run(step, false, true, 5000);
        return;
    default:
        me->rounds++;
        guest->holder = UINT32_MAX;
        if (guest->queue_head != guest->queue_tail) {
            guest->holder = guest->queue[guest->queue_head++ % (guest->count + 1)];
            sim_guest_spin_end(guest->vm, guest->holder);
        }
        run(step, false, false, 0);
        return;
    }
}

static void next_pair(struct script_guest *guest, uint32_t index, struct sim_step *step)
{
    struct script_vcpu *me = &guest->vcpu[index];
    if (me->phase == 0 && index % 2 == 0) {
        me->phase = 2; /* the even one serves first */
    }
    switch (me->phase) {
    case 1:
        run(step, false, false, 2000);
        me->phase = 2;
        return;
    case 2:
        *step = (struct sim_step){.kind = SIM_STEP_IPI, .vector = SIM_VECTOR_RESCHED,
                                  .target = index ^ 1};
        me->phase = 3;
        me->rounds++;
        return;
    default:
        *step = (struct sim_step){.kind = SIM_STEP_HALT};
        return;
    }
}

static void next_sleeper(struct script_vcpu *me, uint64_t now_ns, struct sim_step *step)
{
    switch (me->phase++ % 3) {
    case 0:
        *step = (struct sim_step){.kind = SIM_STEP_TIMER, .timer = SIM_TIMER_DEADLINE,
                                  .deadline_ns = now_ns + 1000000};
        return;
    case 1:
        *step = (struct sim_step){.kind = SIM_STEP_HALT};
        return;
    default:
        me->rounds++;
        run(step, false, false, 10000);
        return;
    }
}

static void script_next(void *context, uint32_t index, uint64_t now_ns, struct sim_step *step)
{
    struct script_guest *guest = context;
    struct script_vcpu *me = &guest->vcpu[index];
    if (me->in_handler) {
        me->in_handler = false;
        answer(guest, index);
        if (me->has_rest) {
            me->has_rest = false;
            *step = me->rest;
            if (step->kind == SIM_STEP_SPIN && guest->script == SHOOT && none(me->waits)) {
                run(step, false, false, 0); /* answered meanwhile */
            }
            return;
        }
    }
    switch (guest->script) {
    case COMPUTE:
        me->rounds++;
        run(step, true, false, 1000000);
        return;
    case SLEEPER:
        next_sleeper(me, now_ns, step);
        return;
    case PAIR:
        next_pair(guest, index, step);
        return;
    case SHOOT:
        next_shoot(guest, index, step);
        return;
    case LOCK:
        next_lock(guest, index, step);
        return;
    case BRIEF:
        if (++me->rounds > 20 && index == 0) {
            sim_guest_done(guest->vm, 0);
        }
        run(step, true, false, 1000000);
        return;
    case SCRIPT_COUNT:
        break;
    }
}

static void script_interrupt(void *context, uint32_t index, enum sim_vector vector,
                             uint64_t now_ns, const struct sim_step *rest)
{
    struct script_guest *guest = context;
    struct script_vcpu *me = &guest->vcpu[index];
    (void)now_ns;
    if (guest->script == PAIR && vector == SIM_VECTOR_RESCHED) {
        me->phase = 1;
    }
    me->in_handler = true;
    me->has_rest = rest->kind != SIM_STEP_NONE;
    me->rest = *rest;
}

static enum sim_spin_blame script_blame(void *context, uint32_t index)
{
    struct script_guest *guest = context;
    if (guest->script == LOCK) {
        return guest->holder != UINT32_MAX && !sim_guest_on_cpu(guest->vm, guest->holder)
                   ? SIM_SPIN_LOCK_OFF_CPU
                   : SIM_SPIN_OTHER;
    }
    for (uint32_t i = 0; i < guest->count; i++) {
        if ((guest->vcpu[index].waits[i / 64] >> (i % 64) & 1) != 0 &&
            !sim_guest_on_cpu(guest->vm, i)) {
            return SIM_SPIN_IPI_OFF_CPU;
        }
    }
    return SIM_SPIN_OTHER;
}

static void script_published(void *context, uint32_t vcpu, bool preempted)
{
    (void)context;
    (void)vcpu;
    (void)preempted;
}

static void script_outside(void *context, uint64_t cookie, uint64_t now_ns)
{
    (void)context;
    (void)cookie;
    (void)now_ns;
}

static uint32_t script_metrics(void *context, uint64_t now_ns, struct sim_metric *metric,
                               uint32_t max)
{
    struct script_guest *guest = context;
    (void)now_ns;
    (void)max;
    metric[0] = (struct sim_metric){.kind = SIM_METRIC_COUNT, .primary = 1};
    snprintf(metric[0].name, sizeof metric[0].name, "rounds");
    snprintf(metric[0].unit, sizeof metric[0].unit, "ops");
    for (uint32_t i = 0; i < guest->count; i++) {
        metric[0].value += (double)guest->vcpu[i].rounds;
    }
    return 1;
}

static void script_destroy(void *context)
{
    struct script_guest *guest = context;
    free(guest->vcpu);
    free(guest->queue);
    free(guest);
}

void *sim_guest_create(const struct sim_guest_config *config, const struct sim_guest_ops **ops,
                       char *error, size_t error_size)
{
    static const struct sim_guest_ops script_ops = {
        script_next,    script_interrupt, script_blame,  script_published,
        script_outside, script_metrics,   script_destroy};
    uint32_t script = 0;
    while (script < SCRIPT_COUNT && strcmp(names[script], config->workload) != 0) {
        script++;
    }
    if (script == SCRIPT_COUNT || config->vcpu_count > TARGET_WORDS * 64) {
        snprintf(error, error_size, "no workload \"%s\"", config->workload);
        return NULL;
    }
    struct script_guest *guest = calloc(1, sizeof *guest);
    guest->vcpu = calloc(config->vcpu_count, sizeof *guest->vcpu);
    guest->queue = calloc(config->vcpu_count + 1, sizeof *guest->queue);
    guest->vm = config->vm;
    guest->script = (enum script)script;
    guest->count = config->vcpu_count;
    guest->holder = UINT32_MAX;
    sim_random_init(&guest->random, config->seed, config->name, 0);
    *ops = &script_ops;
    return guest;
}

static uint32_t crc32_of(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

void script_bundle_init(struct script_bundle *bundle, const char *model, uint32_t pcpus,
                        uint32_t threads_per_core)
{
    memset(bundle, 0, sizeof *bundle);
    struct abi_manifest *head = &bundle->head;
    head->magic = ABI_MANIFEST_MAGIC;
    head->version = ABI_MANIFEST_VERSION;
    head->header_size = sizeof *head;
    head->vm_size = sizeof(struct abi_manifest_vm);
    head->blob_size = sizeof(struct abi_manifest_blob);
    head->policy_count = CEDE_POLICY_COUNT;
    head->seed = 1;
    head->duration_ns = 200000000;
    head->pcpu_count = pcpus;
    head->sockets = 1;
    head->llcs_per_socket = 1;
    head->cores_per_llc = pcpus / threads_per_core;
    head->threads_per_core = threads_per_core;
    snprintf(head->name, sizeof head->name, "script");
    snprintf(head->model, sizeof head->model, "%s", model);
}

struct abi_manifest_vm *script_bundle_add(struct script_bundle *bundle, const char *workload,
                                          uint32_t vcpus, enum cede_preset preset)
{
    static const uint64_t presets[CEDE_POLICY_COUNT][CEDE_PRESET_COUNT] = {
#define X(NAME, name, type, unit, min, max, o, k17, k19, km, ce, doc) {o, k17, k19, km, ce},
#include "cede/lists/policy.def"
#undef X
    };
    struct abi_manifest_vm *vm = &bundle->vm[bundle->head.vm_count];
    snprintf(vm->name, sizeof vm->name, "vm-%u", bundle->head.vm_count);
    snprintf(vm->workload, sizeof vm->workload, "%s", workload);
    vm->vcpu_count = vcpus;
    vm->weight = 1024;
    vm->guest_features = ABI_GUEST_FEATURES_ALL;
    vm->kernel = vm->initrd = ABI_BLOB_NONE;
    vm->preset = (uint32_t)preset;
    for (uint32_t i = 0; i < bundle->head.pcpu_count; i++) {
        vm->affinity[i / 64] |= UINT64_C(1) << (i % 64);
    }
    for (uint32_t i = 0; i < CEDE_POLICY_COUNT; i++) {
        vm->policy[i] = presets[i][preset];
    }
    bundle->head.vm_count++;
    return vm;
}

size_t script_bundle_seal(struct script_bundle *bundle)
{
    struct abi_manifest *head = &bundle->head;
    size_t size = sizeof *head + head->vm_count * sizeof(struct abi_manifest_vm);
    head->total_size = size;
    head->crc32 = crc32_of(bundle->vm, head->vm_count * sizeof(struct abi_manifest_vm));
    head->header_crc32 = 0;
    head->header_crc32 = crc32_of(head, sizeof *head);
    return size;
}
