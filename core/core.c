/*
 * core.c - memory in, events in, effects out; what all decoders share.
 *
 * Owns the layout of the caller's memory: struct cede first, then one array per kind of thing, each
 * aligned to a cache line. The caller's lock is held in everything but cede_size() and cede_init().
 */
#include "base/memory.h"
#include "account.h"
#include "turn.h"

static const struct cede_handler handler[CEDE_EVENT_COUNT] = {
#define X(NAME, name, doc) [CEDE_EVENT_##NAME] = {cede_decode_##name, cede_act_##name},
#include "cede/lists/event.def"
#undef X
};

/* Offsets from the start of the memory. 64-bit sums can't overflow with the limits of types.h,
 * but for the trace, which is bounded here. */
struct layout {
    uint64_t pcpu, vm, vcpu, affinity, vm_own, llc_mask, llc_users, vm_chunk, chunk, trace, end;
    uint32_t pcpu_words, vm_chunks, chunk_count;
};

#define TRACE_COUNT_MAX (1u << 24)

static bool config_fits(const struct cede_config *config)
{
    return config->pcpu_count >= 1 && config->pcpu_count <= CEDE_PCPU_COUNT_MAX &&
           config->vm_count >= 1 && config->vm_count <= CEDE_VM_COUNT_MAX &&
           config->vcpu_count >= 1 && config->vcpu_count <= CEDE_VCPU_COUNT_MAX &&
           config->vm_vcpu_count >= 1 && config->vm_vcpu_count <= CEDE_VM_VCPU_COUNT_MAX &&
           config->trace_count <= TRACE_COUNT_MAX &&
           (config->trace_count & (config->trace_count - 1)) == 0;
}

static uint64_t reserve(uint64_t *end, uint64_t count, uint64_t size)
{
    uint64_t at = *end;

    *end = (at + count * size + CEDE_ALIGN - 1) & ~(uint64_t)(CEDE_ALIGN - 1);
    return at;
}

static void lay_out(const struct cede_config *config, struct layout *to)
{
    uint64_t end = 0, chunks;

    to->pcpu_words = (config->pcpu_count + 63u) / 64u;
    to->vm_chunks = (config->vm_vcpu_count + 63u) / 64u;
    chunks = (uint64_t)config->vm_count * to->vm_chunks;
    to->chunk_count = chunks < config->vcpu_count ? (uint32_t)chunks : config->vcpu_count;
    (void)reserve(&end, 1, sizeof(struct cede));
    to->pcpu = reserve(&end, config->pcpu_count, sizeof(struct cede_pcpu));
    to->vm = reserve(&end, config->vm_count, sizeof(struct cede_vm));
    to->vcpu = reserve(&end, config->vcpu_count, sizeof(struct cede_vcpu));
    to->affinity = reserve(&end, config->vcpu_count, 8u * to->pcpu_words);
    to->vm_own = reserve(&end, config->vm_count, 8u * to->pcpu_words);
    to->llc_mask = reserve(&end, config->pcpu_count, 8u * to->pcpu_words);
    to->llc_users = reserve(&end, config->pcpu_count, sizeof(uint32_t));
    to->vm_chunk = reserve(&end, config->vm_count, sizeof(uint32_t) * to->vm_chunks);
    to->chunk = reserve(&end, to->chunk_count, sizeof(struct cede_chunk));
    to->trace = reserve(&end, (uint64_t)config->pcpu_count * config->trace_count,
                        sizeof(struct abi_trace_record));
    to->end = end;
}

size_t cede_size(const struct cede_config *config)
{
    struct layout layout;

    if (!config_fits(config)) {
        return 0;
    }
    lay_out(config, &layout);
    return layout.end <= SIZE_MAX ? (size_t)layout.end : 0;
}

static void set_pointers(struct cede *core, unsigned char *base, const struct layout *layout)
{
    core->pcpu = (struct cede_pcpu *)(void *)(base + layout->pcpu);
    core->vm = (struct cede_vm *)(void *)(base + layout->vm);
    core->vcpu = (struct cede_vcpu *)(void *)(base + layout->vcpu);
    core->affinity = (uint64_t *)(void *)(base + layout->affinity);
    core->vm_own = (uint64_t *)(void *)(base + layout->vm_own);
    core->llc_mask = (uint64_t *)(void *)(base + layout->llc_mask);
    core->llc_users = (uint32_t *)(void *)(base + layout->llc_users);
    core->vm_chunk = (uint32_t *)(void *)(base + layout->vm_chunk);
    core->chunk = (struct cede_chunk *)(void *)(base + layout->chunk);
    core->trace = (struct abi_trace_record *)(void *)(base + layout->trace);
    core->pcpu_words = layout->pcpu_words;
    core->vm_chunks = layout->vm_chunks;
    core->chunk_count = layout->chunk_count;
}

/* Mixes the bits of a number: xor-shift and odd multipliers, each step invertible. */
static uint32_t scramble(uint32_t value)
{
    value = (value ^ value >> 16) * 0x9e3779b1u;
    value = (value ^ value >> 15) * 0x85ebca77u;
    return value ^ value >> 16;
}

static void set_up_lists(struct cede *core)
{
    core->limbo = NONE;
    core->chunk_free = 0;
    for (uint32_t n = 0; n < core->chunk_count; n++) {
        core->chunk[n].next_free = n + 1 < core->chunk_count ? n + 1 : NONE;
    }
    for (uint32_t n = 0; n < core->config.vm_count * core->vm_chunks; n++) {
        core->vm_chunk[n] = NONE;
    }
    for (uint32_t n = 0; n < core->config.vcpu_count; n++) {
        core->vcpu[n].priority = scramble(scramble(core->config.seed) + n);
    }
    for (uint32_t n = 0; n < core->config.pcpu_count; n++) {
        core->pcpu[n].current = NONE;
        core->pcpu[n].root = NONE;
        core->pcpu[n].next = NONE;
        core->pcpu[n].timers = NONE;
        core->pcpu[n].asked_for = NONE;
    }
}

enum cede_status cede_init(void *memory, size_t size, const struct cede_config *config,
                           struct cede **core)
{
    size_t needed = cede_size(config);
    struct layout layout;

    if (needed == 0) {
        return CEDE_BAD_VALUE;
    }
    if (memory == NULL || size < needed || ((uintptr_t)memory & (CEDE_ALIGN - 1)) != 0) {
        return CEDE_BAD_MEMORY;
    }
    memset(memory, 0, needed);
    lay_out(config, &layout);
    *core = memory;
    (*core)->config = *config;
    set_pointers(*core, memory, &layout);
    set_up_lists(*core);
    return CEDE_OK;
}

enum cede_status cede_turn_current(const struct cede *core, const struct cede_event *event,
                                   const struct cede_ran *ran, uint8_t mode)
{
    const struct cede_pcpu *pcpu;

    if (!cede_turn_pcpu_exists(core, event->pcpu) || !cede_turn_vcpu_exists(core, event->vcpu)) {
        return CEDE_BAD_ID;
    }
    pcpu = &core->pcpu[event->pcpu.value];
    if (pcpu->activity != CEDE_ACTIVITY_RUN || pcpu->current != event->vcpu.value) {
        return CEDE_BAD_STATE;
    }
    return mode < CEDE_MODE_COUNT &&
                   cede_account_fits(core, event->vcpu.value, ran, event->now_ns)
               ? CEDE_OK : CEDE_BAD_VALUE;
}

enum cede_status cede_turn_target(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vcpu_exists(core, event->vcpu)) {
        return CEDE_BAD_ID;
    }
    return cede_pcpu_is_none(event->pcpu) || cede_turn_pcpu_exists(core, event->pcpu) ? CEDE_OK
                                                                                      : CEDE_BAD_ID;
}

enum cede_status cede_handle(struct cede *core, const struct cede_event *event,
                             struct cede_effects *effects)
{
    enum cede_status status;
    struct cede_turn turn;

    effects->count = 0;
    effects->pad = 0;
    if (event->kind >= CEDE_EVENT_COUNT) {
        return CEDE_BAD_KIND;
    }
    if (event->now_ns < core->now_ns) {
        return CEDE_BAD_TIME;
    }
    status = handler[event->kind].decode(core, event);
    if (status != CEDE_OK) {
        return status;
    }
    core->now_ns = event->now_ns;
    turn = (struct cede_turn){.core = core, .out = effects, .now_ns = event->now_ns,
                              .own = NULL, .pcpu = NONE, .before = NONE};
    if (cede_turn_pcpu_exists(core, event->pcpu)) { /* not yet, if it is being added */
        turn.pcpu = event->pcpu.value;
        turn.own = &core->pcpu[turn.pcpu];
    }
    handler[event->kind].act(&turn, event);
#ifdef CEDE_CHECK_EACH_EVENT
    const char *fault = cede_check_all(core);
    if (fault != NULL) {
        cede_panic(fault);
    }
#endif
    return CEDE_OK;
}
