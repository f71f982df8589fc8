/*
 * scenario.c - decodes a scenario's tree into manifest records (see scenario.h).
 *
 * Each map of the language is one table of keys; a key that isn't in its table is an error that
 * names the nearest one. Relies on node.c for places and value.c for scalars.
 */
#include "host/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cede/event.h"
#include "cede/policy.h"
#include "host/value.h"

struct decoder {
    const struct host_document *document;
    struct host_scenario *scenario;
    char *error;
    uint64_t policy[CEDE_POLICY_COUNT]; /* the scenario's, from which each VM starts */
    uint32_t preset;
    uint32_t vm_size;
    /* The VM being decoded. */
    struct abi_manifest_vm vm;
    struct host_scenario_vm extra;
    uint64_t vm_repeat;
};

struct key {
    const char *name;
    bool (*take)(struct decoder *decoder, const struct host_node *node);
};

static bool take_map(struct decoder *d, const struct host_node *map, const char *what,
                     const struct key *keys, size_t count)
{
    const char *names[32];
    if (map->kind != HOST_NODE_MAP) {
        return host_error_at(d->document, map, d->error, "%s: expected keys and values", what);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = keys[i].name;
    }
    for (const struct host_node *node = map->first; node != NULL; node = node->next) {
        size_t i = 0;
        while (i < count && strcmp(keys[i].name, node->key) != 0) {
            i++;
        }
        if (i == count) {
            const char *near = host_nearest(node->key, names, count);
            return host_error_at(d->document, node, d->error, "no key \"%.60s\" in %s%s%s%s",
                                 node->key, what, near != NULL ? "; did you mean \"" : "",
                                 near != NULL ? near : "", near != NULL ? "\"?" : "");
        }
        if (!keys[i].take(d, node)) {
            return false;
        }
    }
    return true;
}

static bool take_count(struct decoder *d, const struct host_node *node, uint64_t min, uint64_t max,
                       uint32_t *to)
{
    uint64_t value;
    bool fine = host_value_count(d->document, node, min, max, &value, d->error);
    *to = fine ? (uint32_t)value : *to;
    return fine;
}

/* ---- policy ---- */

struct policy_key {
    const char *name;
    enum cede_policy_type type;
    uint64_t min, max;
    uint64_t preset[CEDE_PRESET_COUNT];
};

#define BOOL CEDE_POLICY_TYPE_BOOL
#define UINT CEDE_POLICY_TYPE_UINT
#define ENUM_YIELD CEDE_POLICY_TYPE_ENUM_YIELD
#define ENUM_HOOK CEDE_POLICY_TYPE_ENUM_HOOK
static const struct policy_key policy_keys[CEDE_POLICY_COUNT] = {
#define X(NAME, name, type, unit, min, max, o, k17, k19, km, ce, doc)                              \
    {#name, type, min, max, {o, k17, k19, km, ce}},
#include "cede/lists/policy.def"
#undef X
};
static const char *const preset_names[CEDE_PRESET_COUNT] = {"off", "kvm-2017", "kvm-2019",
                                                            "kvm-mainline", "cede"};
static const char *const yield_names[] = {"off", "hint", "pull"};
static const char *const hook_names[] = {"early", "late"};

static bool take_policy_value(struct decoder *d, const struct host_node *node,
                              const struct policy_key *key, uint64_t *to)
{
    size_t index = 0;
    bool flag = false, fine;
    switch (key->type) {
    case CEDE_POLICY_TYPE_BOOL:
        fine = host_value_switch(d->document, node, &flag, d->error);
        *to = fine ? flag : *to;
        return fine;
    case CEDE_POLICY_TYPE_ENUM_YIELD:
        fine = host_value_name(d->document, node, "yield", yield_names, 3, &index, d->error);
        *to = fine ? index : *to;
        return fine;
    case CEDE_POLICY_TYPE_ENUM_HOOK:
        fine = host_value_name(d->document, node, "halt_hook", hook_names, 2, &index, d->error);
        *to = fine ? index : *to;
        return fine;
    case CEDE_POLICY_TYPE_UINT:
        break;
    }
    size_t length = strlen(key->name);
    bool duration = length > 3 && strcmp(key->name + length - 3, "_ns") == 0;
    if (duration && node->kind == HOST_NODE_SCALAR && strpbrk(node->text, "num") != NULL) {
        fine = host_value_duration_ns(d->document, node, to, d->error);
        if (fine && (*to < key->min || *to > key->max)) {
            return host_error_at(d->document, node, d->error, "%s: %s is out of %llu..%llu ns",
                                 key->name, node->text, (unsigned long long)key->min,
                                 (unsigned long long)key->max);
        }
        return fine;
    }
    return host_value_count(d->document, node, key->min, key->max, to, d->error);
}

static bool take_preset(struct decoder *d, const struct host_node *node, uint64_t *policy,
                        uint32_t *preset)
{
    size_t index;
    if (!host_value_name(d->document, node, "policy", preset_names, CEDE_PRESET_COUNT, &index,
                         d->error)) {
        return false;
    }
    *preset = (uint32_t)index;
    for (size_t i = 0; i < CEDE_POLICY_COUNT; i++) {
        policy[i] = policy_keys[i].preset[index];
    }
    return true;
}

/* `policy: cede`, or a map of a preset and keys; the preset first, wherever it stands. */
static bool take_policy(struct decoder *d, const struct host_node *node, uint64_t *policy,
                        uint32_t *preset)
{
    const char *names[CEDE_POLICY_COUNT + 1] = {"preset"};
    if (node->kind == HOST_NODE_SCALAR) {
        return take_preset(d, node, policy, preset);
    }
    const struct host_node *base = host_node_child(node, "preset");
    if (base != NULL && !take_preset(d, base, policy, preset)) {
        return false;
    }
    for (size_t i = 0; i < CEDE_POLICY_COUNT; i++) {
        names[i + 1] = policy_keys[i].name;
    }
    for (const struct host_node *child = node->first; child != NULL; child = child->next) {
        size_t index = 0;
        while (child->key != NULL && index <= CEDE_POLICY_COUNT &&
               strcmp(child->key, names[index]) != 0) {
            index++;
        }
        if (child->key == NULL || index > CEDE_POLICY_COUNT) {
            const char *near = child->key == NULL
                                   ? NULL
                                   : host_nearest(child->key, names, CEDE_POLICY_COUNT + 1);
            return host_error_at(d->document, child, d->error, "no policy key \"%.60s\"%s%s%s",
                                 child->key == NULL ? "" : child->key,
                                 near != NULL ? "; did you mean \"" : "",
                                 near != NULL ? near : "", near != NULL ? "\"?" : "");
        }
        if (index > 0 &&
            !take_policy_value(d, child, &policy_keys[index - 1], &policy[index - 1])) {
            return false;
        }
    }
    return true;
}

/* ---- host ---- */

static bool host_pcpus(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, ABI_MANIFEST_PCPU_MAX, &d->scenario->head.pcpu_count);
}

static bool host_sockets(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, 64, &d->scenario->head.sockets);
}

static bool host_llcs(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, 64, &d->scenario->head.llcs_per_socket);
}

static bool host_cores(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, ABI_MANIFEST_PCPU_MAX, &d->scenario->head.cores_per_llc);
}

static bool host_threads(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, 8, &d->scenario->head.threads_per_core);
}

static bool host_model(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->scenario->head.model,
                           sizeof d->scenario->head.model, d->error);
}

static bool host_later(struct decoder *d, const struct host_node *node)
{
    (void)d;
    (void)node;
    return true; /* decoded once the number of pCPUs is known: take_roles() */
}

static const struct key host_keys[] = {
    {"pcpus", host_pcpus},     {"sockets", host_sockets},   {"llcs", host_llcs},
    {"cores", host_cores},     {"threads", host_threads},   {"model", host_model},
    {"dedicated", host_later}, {"housekeeping", host_later}, {"offline", host_later},
};

/* Either `pcpus` alone, or the topology; what is missing follows from what is there. */
static bool complete_topology(struct decoder *d, const struct host_node *node)
{
    struct abi_manifest *head = &d->scenario->head;
    head->sockets = head->sockets != 0 ? head->sockets : 1;
    head->llcs_per_socket = head->llcs_per_socket != 0 ? head->llcs_per_socket : 1;
    head->threads_per_core = head->threads_per_core != 0 ? head->threads_per_core : 1;
    uint64_t others = (uint64_t)head->sockets * head->llcs_per_socket * head->threads_per_core;
    if (head->cores_per_llc == 0 && head->pcpu_count == 0) {
        return host_error_at(d->document, node, d->error, "host: pcpus: is missing");
    }
    if (head->cores_per_llc == 0) {
        head->cores_per_llc = (uint32_t)(head->pcpu_count / others);
    }
    uint64_t product = others * head->cores_per_llc;
    if (head->pcpu_count == 0 && product <= ABI_MANIFEST_PCPU_MAX) {
        head->pcpu_count = (uint32_t)product;
    }
    if (product != head->pcpu_count) {
        return host_error_at(d->document, node, d->error,
                             "host: %u pcpus aren't %u sockets x %u llcs x %u cores x %u threads",
                             head->pcpu_count, head->sockets, head->llcs_per_socket,
                             head->cores_per_llc, head->threads_per_core);
    }
    return true;
}

static bool take_role(struct decoder *d, const struct host_node *node, enum cede_pcpu_role role,
                      uint32_t vm)
{
    struct abi_manifest *head = &d->scenario->head;
    uint64_t mask[ABI_MANIFEST_PCPU_MAX / 64] = {0};
    if (!host_value_pcpus(d->document, node, head->pcpu_count, mask, d->error)) {
        return false;
    }
    for (uint32_t i = 0; i < head->pcpu_count; i++) {
        if ((mask[i / 64] >> (i % 64) & 1) == 0) {
            continue;
        }
        if (head->role[i] != CEDE_ROLE_SHARED) {
            return host_error_at(d->document, node, d->error, "pCPU %u has a role already", i);
        }
        head->role[i] = (uint8_t)role;
        head->role_vm[i] = (uint16_t)vm;
    }
    return true;
}

/* host.dedicated: {web-1: 0-3}; names are those of VMs with their numbers. */
static bool take_dedicated(struct decoder *d, const struct host_node *map)
{
    struct abi_manifest *head = &d->scenario->head;
    if (map->kind != HOST_NODE_MAP) {
        return host_error_at(d->document, map, d->error, "dedicated: expected VM: pCPUs");
    }
    for (const struct host_node *node = map->first; node != NULL; node = node->next) {
        uint32_t vm = 0;
        while (vm < head->vm_count && strcmp(d->scenario->vm[vm].name, node->key) != 0) {
            vm++;
        }
        if (vm == head->vm_count) {
            return host_error_at(d->document, node, d->error, "dedicated: no VM \"%.60s\"",
                                 node->key);
        }
        if (!take_role(d, node, CEDE_ROLE_DEDICATED, vm)) {
            return false;
        }
        d->scenario->vm[vm].flags |= ABI_VM_DEDICATED;
    }
    return true;
}

static bool take_roles(struct decoder *d, const struct host_node *host)
{
    const struct host_node *dedicated = host_node_child(host, "dedicated");
    const struct host_node *housekeeping = host_node_child(host, "housekeeping");
    const struct host_node *offline = host_node_child(host, "offline");
    for (uint32_t i = 0; i < ABI_MANIFEST_PCPU_MAX; i++) {
        d->scenario->head.role_vm[i] = UINT16_MAX;
    }
    return (dedicated == NULL || take_dedicated(d, dedicated)) &&
           (housekeeping == NULL ||
            take_role(d, housekeeping, CEDE_ROLE_HOUSEKEEPING, UINT16_MAX)) &&
           (offline == NULL || take_role(d, offline, CEDE_ROLE_OFFLINE, UINT16_MAX));
}

/* ---- one VM ---- */

static bool vm_name(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->vm.name, sizeof d->vm.name, d->error);
}

static bool vm_count(struct decoder *d, const struct host_node *node)
{
    return host_value_count(d->document, node, 0, ABI_MANIFEST_VM_MAX, &d->vm_repeat, d->error);
}

static bool vm_vcpus(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, CEDE_VM_VCPU_COUNT_MAX, &d->vm.vcpu_count);
}

static bool vm_memory(struct decoder *d, const struct host_node *node)
{
    return host_value_size(d->document, node, &d->vm.memory_bytes, d->error);
}

static bool vm_weight(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 1, 1048576, &d->vm.weight);
}

static bool cap_quota(struct decoder *d, const struct host_node *node)
{
    return host_value_duration_ns(d->document, node, &d->vm.quota_ns, d->error);
}

static bool cap_period(struct decoder *d, const struct host_node *node)
{
    return host_value_duration_ns(d->document, node, &d->vm.period_ns, d->error);
}

static bool vm_cap(struct decoder *d, const struct host_node *node)
{
    static const struct key keys[] = {{"quota", cap_quota}, {"period", cap_period}};
    d->vm.period_ns = 100000000;
    if (!take_map(d, node, "cap", keys, 2)) {
        return false;
    }
    if (d->vm.quota_ns < 1000000 || d->vm.period_ns < 1000000 || d->vm.period_ns > 1000000000) {
        return host_error_at(d->document, node, d->error,
                             "cap: expected a quota of at least 1ms in a period of 1ms to 1s");
    }
    return true;
}

static bool vm_pin(struct decoder *d, const struct host_node *node)
{
    static const char *const names[] = {"none", "each"};
    size_t index = 0;
    bool fine = host_value_name(d->document, node, "pin", names, 2, &index, d->error);
    d->vm.pin = (uint32_t)index;
    return fine;
}

static bool vm_pcpus(struct decoder *d, const struct host_node *node)
{
    memset(d->vm.affinity, 0, sizeof d->vm.affinity);
    return host_value_pcpus(d->document, node, d->scenario->head.pcpu_count, d->vm.affinity,
                            d->error);
}

static bool take_flag(struct decoder *d, const struct host_node *node, uint32_t flag)
{
    bool on = false;
    bool fine = host_value_switch(d->document, node, &on, d->error);
    d->vm.flags = on ? d->vm.flags | flag : d->vm.flags & ~flag;
    return fine;
}

static bool vm_dedicated(struct decoder *d, const struct host_node *node)
{
    return take_flag(d, node, ABI_VM_DEDICATED);
}

static bool vm_xapic(struct decoder *d, const struct host_node *node)
{
    return take_flag(d, node, ABI_VM_XAPIC);
}

static bool vm_paused(struct decoder *d, const struct host_node *node)
{
    return take_flag(d, node, ABI_VM_PAUSED);
}

static bool one_feature(struct decoder *d, const struct host_node *node, uint32_t *features)
{
    static const char *const names[] = {"all",      "none",         "clock",     "steal-time",
                                        "pv-eoi",   "pv-unhalt",    "pv-flush",  "pv-ipi",
                                        "poll-control", "pv-yield"};
    static const uint32_t bits[] = {ABI_GUEST_FEATURES_ALL,
                                    0,
                                    1u << 3 | 1u << 24,
                                    1u << 5,
                                    1u << 6,
                                    1u << 7,
                                    1u << 9,
                                    1u << 11,
                                    1u << 12,
                                    1u << 13};
    size_t index = 0;
    bool fine = host_value_name(d->document, node, "guest feature", names,
                                sizeof names / sizeof names[0], &index, d->error);
    *features |= fine ? bits[index] : 0;
    return fine;
}

static bool vm_features(struct decoder *d, const struct host_node *node)
{
    uint32_t features = 0;
    bool fine = true;
    if (node->kind == HOST_NODE_LIST) {
        for (const struct host_node *child = node->first; child != NULL && fine;
             child = child->next) {
            fine = one_feature(d, child, &features);
        }
    } else {
        fine = one_feature(d, node, &features);
    }
    d->vm.guest_features = features;
    return fine;
}

static bool vm_policy(struct decoder *d, const struct host_node *node)
{
    return take_policy(d, node, d->vm.policy, &d->vm.preset);
}

static bool vm_kernel(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->extra.kernel, sizeof d->extra.kernel, d->error);
}

static bool vm_initrd(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->extra.initrd, sizeof d->extra.initrd, d->error);
}

static bool vm_cmdline(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->vm.cmdline, sizeof d->vm.cmdline, d->error);
}

/* `workload: burner`, or a map with its name and parameters, which become "key=value" words. */
static bool vm_workload(struct decoder *d, const struct host_node *node)
{
    if (node->kind == HOST_NODE_SCALAR) {
        return host_value_text(d->document, node, d->vm.workload, sizeof d->vm.workload, d->error);
    }
    const struct host_node *name = host_node_child(node, "name");
    if (name == NULL) {
        return host_error_at(d->document, node, d->error, "workload: name: is missing");
    }
    size_t used = 0;
    d->vm.params[0] = '\0';
    for (const struct host_node *child = node->first; child != NULL; child = child->next) {
        if (child == name) {
            continue;
        }
        if (child->kind != HOST_NODE_SCALAR || strpbrk(child->text, " \t\n") != NULL) {
            return host_error_at(d->document, child, d->error,
                                 "workload: %s: expected one word or number", child->key);
        }
        int more = snprintf(d->vm.params + used, sizeof d->vm.params - used, "%s%s=%s",
                            used == 0 ? "" : " ", child->key, child->text);
        used += more > 0 ? (size_t)more : 0;
        if (used >= sizeof d->vm.params) {
            return host_error_at(d->document, child, d->error,
                                 "workload: its parameters exceed %zu characters",
                                 sizeof d->vm.params - 1);
        }
    }
    return host_value_text(d->document, name, d->vm.workload, sizeof d->vm.workload, d->error);
}

static const struct key vm_keys[] = {
    {"name", vm_name},       {"count", vm_count},     {"vcpus", vm_vcpus},
    {"memory", vm_memory},   {"weight", vm_weight},   {"cap", vm_cap},
    {"pin", vm_pin},         {"pcpus", vm_pcpus},     {"dedicated", vm_dedicated},
    {"xapic", vm_xapic},     {"paused", vm_paused},   {"guest_features", vm_features},
    {"policy", vm_policy},   {"kernel", vm_kernel},   {"initrd", vm_initrd},
    {"cmdline", vm_cmdline}, {"workload", vm_workload},
};

static void vm_defaults(struct decoder *d)
{
    memset(&d->vm, 0, sizeof d->vm);
    memset(&d->extra, 0, sizeof d->extra);
    d->vm_repeat = 1;
    d->vm.vcpu_count = 1;
    d->vm.memory_bytes = UINT64_C(192) << 20;
    d->vm.weight = 1024;
    d->vm.guest_features = ABI_GUEST_FEATURES_ALL;
    d->vm.kernel = d->vm.initrd = ABI_BLOB_NONE;
    d->vm.preset = d->preset;
    memcpy(d->vm.policy, d->policy, sizeof d->policy);
    for (uint32_t i = 0; i < d->scenario->head.pcpu_count; i++) {
        d->vm.affinity[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

static bool add_record(struct decoder *d, const struct host_node *node, uint64_t number)
{
    struct host_scenario *s = d->scenario;
    if (s->head.vm_count == ABI_MANIFEST_VM_MAX) {
        return host_error_at(d->document, node, d->error, "more than %u VMs", ABI_MANIFEST_VM_MAX);
    }
    if (s->head.vm_count == d->vm_size) {
        d->vm_size = d->vm_size == 0 ? 8 : d->vm_size * 2;
        void *vm = realloc(s->vm, d->vm_size * sizeof *s->vm);
        void *extra = vm == NULL ? NULL : realloc(s->extra, d->vm_size * sizeof *s->extra);
        s->vm = vm != NULL ? vm : s->vm;
        s->extra = extra != NULL ? extra : s->extra;
        if (vm == NULL || extra == NULL) {
            return host_error_at(d->document, node, d->error, "no memory");
        }
    }
    struct abi_manifest_vm *record = &s->vm[s->head.vm_count];
    *record = d->vm;
    s->extra[s->head.vm_count] = d->extra;
    if (d->vm_repeat > 1) {
        int length = snprintf(record->name, sizeof record->name, "%.26s-%llu", d->vm.name,
                              (unsigned long long)number);
        (void)length; /* 26 + 1 + at most 4 digits */
    }
    for (uint32_t i = 0; i < s->head.vm_count; i++) {
        if (strcmp(s->vm[i].name, record->name) == 0) {
            return host_error_at(d->document, node, d->error, "two VMs are named \"%s\"",
                                 record->name);
        }
    }
    s->head.vm_count++;
    return true;
}

static bool take_vm(struct decoder *d, const struct host_node *node)
{
    vm_defaults(d);
    if (!take_map(d, node, "a VM", vm_keys, sizeof vm_keys / sizeof vm_keys[0])) {
        return false;
    }
    if (d->vm.name[0] == '\0') {
        return host_error_at(d->document, node, d->error, "a VM without name:");
    }
    for (uint64_t i = 1; i <= d->vm_repeat; i++) {
        if (!add_record(d, node, i)) {
            return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool top_name(struct decoder *d, const struct host_node *node)
{
    return host_value_text(d->document, node, d->scenario->head.name,
                           sizeof d->scenario->head.name, d->error);
}

static bool top_seed(struct decoder *d, const struct host_node *node)
{
    return take_count(d, node, 0, UINT32_MAX, &d->scenario->head.seed);
}

static bool top_duration(struct decoder *d, const struct host_node *node)
{
    return host_value_duration_ns(d->document, node, &d->scenario->head.duration_ns, d->error);
}

static bool top_flag(struct decoder *d, const struct host_node *node, uint32_t flag)
{
    bool on = false;
    bool fine = host_value_switch(d->document, node, &on, d->error);
    struct abi_manifest *head = &d->scenario->head;
    head->flags = on ? head->flags | flag : head->flags & ~flag;
    return fine;
}

static bool top_trace(struct decoder *d, const struct host_node *node)
{
    return top_flag(d, node, ABI_MANIFEST_TRACE);
}

static bool top_event_log(struct decoder *d, const struct host_node *node)
{
    return top_flag(d, node, ABI_MANIFEST_EVENT_LOG);
}

static bool top_sync_start(struct decoder *d, const struct host_node *node)
{
    return top_flag(d, node, ABI_MANIFEST_SYNC_START);
}

static bool top_host(struct decoder *d, const struct host_node *node)
{
    return take_map(d, node, "host", host_keys, sizeof host_keys / sizeof host_keys[0]);
}

static bool top_policy(struct decoder *d, const struct host_node *node)
{
    return take_policy(d, node, d->policy, &d->preset);
}

static bool top_later(struct decoder *d, const struct host_node *node)
{
    (void)d;
    (void)node;
    return true; /* vms: after host: and policy:, wherever they stand */
}

static const struct key top_keys[] = {
    {"name", top_name},           {"seed", top_seed},     {"duration", top_duration},
    {"trace", top_trace},         {"host", top_host},     {"event_log", top_event_log},
    {"sync_start", top_sync_start}, {"policy", top_policy}, {"vms", top_later},
};

static bool take_vms(struct decoder *d)
{
    const struct host_node *vms = host_node_child(d->document->root, "vms");
    if (vms == NULL || vms->kind != HOST_NODE_LIST || vms->first == NULL) {
        return host_error_at(d->document, vms != NULL ? vms : d->document->root, d->error,
                             "vms: expected a list with at least one VM");
    }
    for (const struct host_node *node = vms->first; node != NULL; node = node->next) {
        if (!take_vm(d, node)) {
            return false;
        }
    }
    return d->scenario->head.vm_count > 0 ||
           host_error_at(d->document, vms, d->error, "vms: every count is 0");
}

static bool take_document(struct decoder *d)
{
    struct abi_manifest *head = &d->scenario->head;
    const struct host_node *root = d->document->root;
    const struct host_node *host = host_node_child(root, "host");
    head->flags = ABI_MANIFEST_SYNC_START;
    head->seed = 1;
    d->preset = CEDE_PRESET_CEDE;
    for (size_t i = 0; i < CEDE_POLICY_COUNT; i++) {
        d->policy[i] = policy_keys[i].preset[CEDE_PRESET_CEDE];
    }
    if (!take_map(d, root, "a scenario", top_keys, sizeof top_keys / sizeof top_keys[0])) {
        return false;
    }
    if (host == NULL) {
        return host_error_at(d->document, root, d->error, "host: is missing");
    }
    return complete_topology(d, host) && take_vms(d) && take_roles(d, host);
}

static bool compile(struct host_scenario *scenario, struct host_document *document,
                    const char *const *set, size_t set_count, char *error)
{
    bool fine = true;
    for (size_t i = 0; i < set_count && fine; i++) {
        fine = host_document_set(document, set[i], error);
    }
    if (fine) {
        struct decoder decoder = {.document = document, .scenario = scenario, .error = error};
        fine = take_document(&decoder);
    }
    host_document_free(document);
    if (!fine) {
        host_scenario_free(scenario);
    }
    return fine;
}

bool host_scenario_load(struct host_scenario *scenario, const char *path, const char *const *set,
                        size_t set_count, char *error)
{
    struct host_document document;
    memset(scenario, 0, sizeof *scenario);
    return host_document_load(&document, path, error) &&
           compile(scenario, &document, set, set_count, error);
}

bool host_scenario_parse(struct host_scenario *scenario, const char *path, const char *bytes,
                         size_t size, const char *const *set, size_t set_count, char *error)
{
    struct host_document document;
    memset(scenario, 0, sizeof *scenario);
    return host_document_parse(&document, path, bytes, size, error) &&
           compile(scenario, &document, set, set_count, error);
}

void host_scenario_free(struct host_scenario *scenario)
{
    free(scenario->vm);
    free(scenario->extra);
    memset(scenario, 0, sizeof *scenario);
}

uint32_t host_crc32(const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= byte[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

void host_scenario_seal(struct abi_manifest *head)
{
    head->magic = ABI_MANIFEST_MAGIC;
    head->version = ABI_MANIFEST_VERSION;
    head->header_size = sizeof *head;
    head->vm_size = sizeof(struct abi_manifest_vm);
    head->blob_size = sizeof(struct abi_manifest_blob);
    head->policy_count = CEDE_POLICY_COUNT;
}

void *host_scenario_manifest(const struct host_scenario *scenario, size_t *size)
{
    struct abi_manifest head = scenario->head;
    size_t records = head.vm_count * sizeof *scenario->vm;
    uint8_t *bytes = malloc(sizeof head + records);
    if (bytes == NULL) {
        return NULL;
    }
    host_scenario_seal(&head);
    head.blob_count = 0;
    head.total_size = sizeof head + records;
    head.crc32 = host_crc32(scenario->vm, records);
    head.header_crc32 = 0;
    head.header_crc32 = host_crc32(&head, sizeof head);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, scenario->vm, records);
    *size = sizeof head + records;
    return bytes;
}
