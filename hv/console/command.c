/*
 * command.c - commands from the channel: list, stats, set, pause, resume, reset, stop, trace.
 *
 * Boot CPU, from its loop. A line is untrusted: words are bounded, names looked up.
 */
#include "cede/policy.h"
#include "hv/console/console.h"
#include "hv/lib/format.h"
#include "hv/lib/string.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"

#define WORDS_MAX 5u
#define WORD_SIZE 48u

struct words {
    char word[WORDS_MAX][WORD_SIZE];
    uint32_t count;
};

static void reply(bool refused, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void reply(bool refused, const char *format, ...)
{
    struct {
        uint32_t refused;
        char text[200];
    } out = {refused, {0}};
    va_list arguments;
    va_start(arguments, format);
    size_t length = hv_format_v(out.text, sizeof(out.text), format, arguments);
    va_end(arguments);
    hv_channel_send(ABI_FRAME_REPLY, UINT16_MAX, &out, (uint32_t)(4 + length));
}

static void split(const uint8_t *line, uint32_t length, struct words *words)
{
    uint32_t at = 0;
    memset(words, 0, sizeof(*words));
    while (at < length && words->count < WORDS_MAX) {
        uint32_t size = 0;
        while (at < length && line[at] <= ' ') {
            at++;
        }
        for (; at < length && line[at] > ' '; at++) {
            if (size + 1 < WORD_SIZE) {
                words->word[words->count][size++] = (char)line[at];
            }
        }
        words->count += size > 0;
    }
}

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static struct hv_vm *find_vm(const char *name)
{
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        if (same(hv_vms[i]->config->name, name)) {
            return hv_vms[i];
        }
    }
    return NULL;
}

static bool parse_value(enum cede_policy_key key, const char *text, uint64_t *value)
{
    if (cede_policy_value_by_name(key, text, value)) {
        return true;
    }
    *value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        *value = *value * 10 + (uint64_t)(*text - '0');
    }
    return *text == '\0';
}

static void set_policy(const struct hv_vm *vm, const struct words *words)
{
    struct cede_event event = {
        .kind = CEDE_EVENT_VM_PRESET, .pcpu = CEDE_PCPU_NONE, .vcpu = CEDE_VCPU_NONE};
    event.vm.value = vm->index;
    if (words->count == 3) {
        enum cede_preset preset = cede_preset_by_name(words->word[2]);
        event.vm_preset.preset = preset;
        if (preset == CEDE_PRESET_COUNT || shell_send(&event, NULL, NULL) != CEDE_OK) {
            reply(true, "no preset \"%s\"", words->word[2]);
            return;
        }
    } else {
        enum cede_policy_key key = cede_policy_key_by_name(words->word[2]);
        event.kind = CEDE_EVENT_VM_POLICY;
        event.vm_policy.key = key;
        if (key == CEDE_POLICY_COUNT) {
            reply(true, "no policy key \"%s\"", words->word[2]);
            return;
        }
        if (!parse_value(key, words->word[3], &event.vm_policy.value) ||
            shell_send(&event, NULL, NULL) != CEDE_OK) {
            reply(true, "%s: \"%s\" is no value in its range", words->word[2], words->word[3]);
            return;
        }
    }
    reply(false, "%s set", vm->config->name);
}

static void pause_vm(struct hv_vm *vm, bool paused)
{
    vm->paused = paused;
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        struct cede_event event = {
            .kind = paused ? CEDE_EVENT_VCPU_PAUSE : CEDE_EVENT_VCPU_RESUME,
            .pcpu = {hv_this_pcpu()->index},
            .vcpu = vm->vcpu[i]->id,
            .vm = CEDE_VM_NONE,
        };
        shell_send(&event, NULL, NULL); /* refused where it has no effect: fine */
    }
    hv_channel_vm_state(vm);
    reply(false, "%s %s", vm->config->name, paused ? "paused" : "resumed");
}

static void list(void)
{
    char text[180];
    size_t at = 0;
    for (uint32_t i = 0; i < hv_vm_count && at + 40 < sizeof(text); i++) {
        at += hv_format(text + at, sizeof(text) - at, "%s%s:%u", i > 0 ? " " : "",
                        hv_vms[i]->config->name, hv_vms[i]->vcpu_count);
        hv_channel_vm_state(hv_vms[i]);
    }
    reply(false, "%s", text);
}

static void vm_command(struct hv_vm *vm, const struct words *words)
{
    const char *verb = words->word[0];
    if (same(verb, "set") && words->count >= 3) {
        set_policy(vm, words);
    } else if (same(verb, "pause")) {
        pause_vm(vm, true);
    } else if (same(verb, "resume")) {
        pause_vm(vm, false);
    } else if (same(verb, "reset")) {
        hv_vm_end(vm, HV_VM_RESETTING, "reset by command");
        reply(false, "%s restarts", vm->config->name);
    } else if (same(verb, "stop")) {
        hv_vm_end(vm, HV_VM_STOPPED, "stopped by command");
        reply(false, "%s stopped", vm->config->name);
    } else {
        reply(true, "no command \"%s\": list, stats, trace, set VM PRESET, set VM KEY VALUE, pause "
                    "VM, resume VM, reset VM, stop VM", verb);
    }
}

void hv_command(const uint8_t *line, uint32_t length)
{
    struct words words;
    split(line, length, &words);
    if (same(words.word[0], "list")) {
        list();
    } else if (same(words.word[0], "stats")) {
        hv_channel_stats();
        reply(false, "stats sent");
    } else if (same(words.word[0], "trace")) {
        for (uint32_t i = 0; i < hv_pcpu_count; i++) {
            hv_trace_send(i);
        }
        reply(false, "trace sent");
    } else {
        struct hv_vm *vm = find_vm(words.word[1]);
        if (vm == NULL && words.count > 1) {
            reply(true, "no VM \"%s\"", words.word[1]);
        } else if (vm == NULL) {
            reply(true, "no command \"%s\" without a VM", words.word[0]);
        } else {
            vm_command(vm, &words);
        }
    }
}
