/*
 * observe.c - see observe.h. Frames and lines are untrusted: sizes and indices are checked.
 */
#include "host/observe.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool host_observed_init(struct host_observed *seen, const struct host_scenario *scenario)
{
    const struct abi_manifest *head = &scenario->head;
    memset(seen, 0, sizeof *seen);
    seen->scenario = scenario;
    seen->vm = calloc(head->vm_count, sizeof *seen->vm);
    seen->pcpu = calloc(head->pcpu_count, sizeof *seen->pcpu);
    bool fine = seen->vm != NULL && seen->pcpu != NULL;
    for (uint32_t i = 0; i < head->vm_count && fine; i++) {
        seen->vm[i].record = &scenario->vm[i];
        seen->vm[i].vcpu = calloc(scenario->vm[i].vcpu_count, sizeof *seen->vm[i].vcpu);
        fine = seen->vm[i].vcpu != NULL;
    }
    return fine;
}

void host_observed_fini(struct host_observed *seen)
{
    for (uint32_t i = 0; seen->vm != NULL && i < seen->scenario->head.vm_count; i++) {
        free(seen->vm[i].result);
        free(seen->vm[i].vcpu);
    }
    free(seen->vm);
    free(seen->pcpu);
}

bool host_seen_ended(const struct host_seen_vm *vm)
{
    return vm->state == ABI_VM_STATE_DONE || vm->state == ABI_VM_STATE_STOPPED ||
           vm->state == ABI_VM_STATE_KILLED;
}

static struct host_guest_result *add_result(struct host_seen_vm *vm)
{
    if (vm->result_count == vm->result_size) {
        size_t size = vm->result_size == 0 ? 32 : vm->result_size * 2;
        void *result = realloc(vm->result, size * sizeof *vm->result);
        if (result == NULL) {
            return NULL;
        }
        vm->result = result;
        vm->result_size = size;
    }
    struct host_guest_result *result = &vm->result[vm->result_count++];
    memset(result, 0, sizeof *result);
    return result;
}

static void take_result(struct host_observed *seen, struct host_seen_vm *vm, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const char *workload, *metric;
    double value = 0, interval_s = 0;
    int interval = 0;
    struct host_guest_result *result;
    if (json != NULL &&
        json_unpack(json, "{s:s,s:s,s:F}", "workload", &workload, "metric", &metric, "value",
                    &value) == 0 &&
        (result = add_result(vm)) != NULL) {
        json_unpack(json, "{s?i,s?F}", "interval", &interval, "interval_s", &interval_s);
        snprintf(result->workload, sizeof result->workload, "%s", workload);
        snprintf(result->metric, sizeof result->metric, "%s", metric);
        result->interval = interval > 0 ? (uint32_t)interval : 0;
        result->interval_s = interval_s;
        result->value = value;
        result->arrived_ns = seen->now_ns;
    }
    json_decref(json);
}

static void take_line(struct host_observed *seen, uint32_t number)
{
    struct host_seen_vm *vm = &seen->vm[number];
    const char *said;
    vm->line[vm->line_length] = '\0';
    vm->line_length = 0;
    if (strstr(vm->line, "CEDE-GUEST ready") != NULL) {
        vm->ready = true;
    } else if ((said = strstr(vm->line, "CEDE-GUEST done status=")) != NULL) {
        vm->done = true;
        vm->status = atoi(said + strlen("CEDE-GUEST done status="));
        vm->done_ns = seen->now_ns;
    } else if ((said = strstr(vm->line, "CEDE-RESULT {")) != NULL) {
        take_result(seen, vm, said + strlen("CEDE-RESULT "));
    }
    if (seen->line != NULL) {
        seen->line(seen->context, number, vm->line);
    }
}

static void take_console(struct host_observed *seen, uint32_t number, const uint8_t *bytes,
                         size_t count)
{
    struct host_seen_vm *vm = &seen->vm[number];
    for (size_t i = 0; i < count; i++) {
        char c = (char)bytes[i];
        if (c == '\n' || vm->line_length == sizeof vm->line - 1) {
            take_line(seen, number);
        }
        if (c != '\n' && c != '\r' && c != '\0') {
            vm->line[vm->line_length++] = c;
        }
    }
}

static void take_vm_frame(struct host_observed *seen, const struct abi_frame *frame,
                          const uint8_t *payload)
{
    struct host_seen_vm *vm = &seen->vm[frame->vm];
    if (frame->kind == ABI_FRAME_CONSOLE) {
        take_console(seen, frame->vm, payload, frame->length);
    } else if (frame->kind == ABI_FRAME_VM_STATE && frame->length >= sizeof(struct abi_vm_state)) {
        struct abi_vm_state state;
        memcpy(&state, payload, sizeof state);
        vm->state = state.state;
        memcpy(vm->text, state.text, sizeof vm->text);
        vm->text[sizeof vm->text - 1] = '\0';
    } else if (frame->kind == ABI_FRAME_VCPU && frame->length >= sizeof(struct abi_vcpu_stats)) {
        struct abi_vcpu_stats stats;
        memcpy(&stats, payload, sizeof stats);
        if (stats.index < vm->record->vcpu_count) {
            vm->vcpu[stats.index] = stats;
        }
    }
}

static void take_reply(struct host_observed *seen, const struct abi_frame *frame,
                       const uint8_t *payload)
{
    char text[256];
    uint32_t refused;
    if (frame->length < sizeof refused || seen->reply == NULL) {
        return;
    }
    size_t length = frame->length - sizeof refused;
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(&refused, payload, sizeof refused);
    memcpy(text, payload + sizeof refused, length);
    text[length] = '\0';
    seen->reply(seen->context, refused != 0, text);
}

void host_observed_frame(void *context, const struct abi_frame *frame, const uint8_t *payload)
{
    struct host_observed *seen = context;
    seen->now_ns = frame->now_ns;
    if (frame->vm < seen->scenario->head.vm_count) {
        take_vm_frame(seen, frame, payload);
        return;
    }
    switch (frame->kind) {
    case ABI_FRAME_HELLO:
        if (frame->length >= sizeof seen->hello) {
            memcpy(&seen->hello, payload, sizeof seen->hello);
            seen->said_hello = true;
        }
        break;
    case ABI_FRAME_PCPU: {
        struct abi_pcpu_stats stats;
        if (frame->length >= sizeof stats) {
            memcpy(&stats, payload, sizeof stats);
            if (stats.pcpu < seen->scenario->head.pcpu_count) {
                seen->pcpu[stats.pcpu] = stats;
            }
        }
        break;
    }
    case ABI_FRAME_REPLY:
        take_reply(seen, frame, payload);
        break;
    case ABI_FRAME_END:
        seen->ended = true;
        if (frame->length >= sizeof seen->end_status) {
            memcpy(&seen->end_status, payload, sizeof seen->end_status);
        }
        break;
    default:
        if (seen->raw != NULL) {
            seen->raw(seen->context, frame, payload);
        }
        break;
    }
}
