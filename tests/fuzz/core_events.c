/*
 * core_events.c - bytes to events: whatever is sent, the core answers with a status, refuses without
 * a trace, and keeps every invariant. For libFuzzer; also runs alone on files given as arguments,
 * or (`random SEED COUNT`) on random bytes.
 *
 * Input: one byte sizes the machine; then an event each: kind, pCPU, vCPU, VM, time step (bytes),
 * and a count of payload bytes that follow. Ids are folded so that most exist; payloads aren't.
 */
#include "cede/core.h"
#include "cede/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *place = "";

_Noreturn void cede_panic(const char *what)
{
    fprintf(stderr, "panic: %s %s\n", what, place);
    abort();
}

struct input {
    const uint8_t *data;
    size_t left;
};

static uint8_t byte(struct input *input)
{
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->data++;
}

/* A folded id: 15 of 16 are below `count`, the rest say none or nonsense. */
static uint32_t id(struct input *input, uint32_t count)
{
    uint8_t value = byte(input);

    return value < 240 ? value % count : value < 248 ? CEDE_ID_NONE : value;
}

static void add_all(struct cede *core, const struct cede_config *config,
                    struct cede_effects *effects)
{
    struct cede_event event;

    memset(&event, 0, sizeof(event));
    for (uint32_t n = 0; n < config->vm_count; n++) {
        event.kind = CEDE_EVENT_VM_ADD;
        event.vm.value = n;
        event.vm_add.weight = 1024;
        event.vm_add.preset = n % CEDE_PRESET_COUNT;
        (void)cede_handle(core, &event, effects);
    }
    for (uint32_t n = 0; n < config->pcpu_count; n++) {
        memset(&event, 0, sizeof(event));
        event.kind = CEDE_EVENT_PCPU_ADD;
        event.pcpu.value = n;
        event.pcpu_add.role_vm.value = CEDE_ID_NONE;
        event.pcpu_add.llc = n / 2;
        (void)cede_handle(core, &event, effects);
    }
    for (uint32_t n = 0; n < config->vcpu_count; n++) {
        memset(&event, 0, sizeof(event));
        event.kind = CEDE_EVENT_VCPU_ADD;
        event.pcpu.value = CEDE_ID_NONE;
        event.vcpu.value = n;
        event.vm.value = n % config->vm_count;
        event.vcpu_add.index = n / config->vm_count;
        (void)cede_handle(core, &event, effects);
        event.kind = CEDE_EVENT_VCPU_START;
        memset(event.words, 0, sizeof(event.words));
        (void)cede_handle(core, &event, effects);
    }
}

/* Own events mostly name whom the pCPU runs, or they would all be refused. */
static void name_current(const struct cede *core, uint64_t now_ns, struct cede_event *event)
{
    struct cede_pcpu_stats stats;

    if ((event->kind == CEDE_EVENT_RESCHED || event->kind == CEDE_EVENT_SPIN ||
         event->kind == CEDE_EVENT_HALT || event->kind == CEDE_EVENT_YIELD_TO ||
         event->kind == CEDE_EVENT_POLL_END) &&
        cede_pcpu_stats(core, now_ns, event->pcpu, &stats) == CEDE_OK) {
        event->vcpu = stats.current;
    }
}

static void one(struct cede *core, struct input *input, const struct cede_config *config,
                uint64_t *now_ns, unsigned char *image, size_t size)
{
    static struct cede_effects effects;
    struct cede_event event;
    uint8_t payload, step;
    const char *fault;
    enum cede_status status;

    memset(&event, 0, sizeof(event));
    event.kind = byte(input) % (CEDE_EVENT_COUNT + 1u);
    event.pcpu.value = id(input, config->pcpu_count);
    event.vcpu.value = id(input, config->vcpu_count);
    event.vm.value = id(input, config->vm_count);
    step = byte(input);
    *now_ns += (uint64_t)step * step * 100;
    event.now_ns = *now_ns;
    payload = byte(input);
    if (payload < 128) {
        name_current(core, *now_ns, &event);
    }
    for (uint32_t n = 0; n < payload % 41u; n++) {
        ((unsigned char *)event.words)[n] = byte(input);
    }
    memcpy(image, core, size);
    place = cede_event_name(event.kind);
    status = cede_handle(core, &event, &effects);
    if (status != CEDE_OK && (effects.count != 0 || memcmp(image, core, size) != 0)) {
        cede_panic("a refused event changed something");
    }
    fault = cede_check_all(core);
    if (fault != NULL) {
        cede_panic(fault);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t shape = byte(&input);
    struct cede_config config = {.pcpu_count = 1u + (shape & 3u), .vm_count = 1u + (shape >> 2 & 1u),
                                 .vcpu_count = 2u + (shape >> 3 & 7u), .trace_count = 16};
    struct cede_effects effects;
    struct cede *core;
    uint64_t now_ns = 0;
    size_t bytes;

    config.vm_vcpu_count = config.vcpu_count;
    bytes = cede_size(&config);
    void *memory = aligned_alloc(CEDE_ALIGN, bytes);
    unsigned char *image = malloc(bytes);
    if (cede_init(memory, bytes, &config, &core) != CEDE_OK) {
        abort();
    }
    add_all(core, &config, &effects);
    while (input.left > 0) {
        one(core, &input, &config, &now_ns, image, bytes);
    }
    free(image);
    free(memory);
    return 0;
}

#ifndef FUZZER
static uint64_t state;

static uint8_t random_byte(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)(state >> 56);
}

int main(int argc, char **argv)
{
    static uint8_t data[4096];

    if (argc == 4 && strcmp(argv[1], "random") == 0) {
        state = (uint64_t)atoll(argv[2]);
        for (long n = 0; n < atol(argv[3]); n++) {
            for (size_t at = 0; at < sizeof(data); at++) {
                data[at] = random_byte();
            }
            (void)LLVMFuzzerTestOneInput(data, sizeof(data));
        }
        printf("1..1\nok 1 - %s inputs of random bytes, seed %s: no fault\n", argv[3], argv[2]);
        return 0;
    }
    for (int n = 1; n < argc; n++) {
        FILE *file = fopen(argv[n], "rb");
        if (file == NULL) {
            return 2;
        }
        size_t got = fread(data, 1, sizeof(data), file);
        fclose(file);
        (void)LLVMFuzzerTestOneInput(data, got);
    }
    return 0;
}
#endif
