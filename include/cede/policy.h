/*
 * policy.h - policy keys, presets, and their names.
 *
 * A policy is one value per key, per VM; it changes through the events VM_POLICY and VM_PRESET.
 * Everything here comes from lists/policy.def and lists/policy_enum.def. No locks: constant data.
 */
#ifndef CEDE_POLICY_H
#define CEDE_POLICY_H

#include "cede/types.h"

enum cede_policy_key {
#define X(NAME, name, type, unit, min, max, o, k17, k19, km, ce, doc) CEDE_POLICY_##NAME,
#include "cede/lists/policy.def"
#undef X
    CEDE_POLICY_COUNT
};

enum cede_preset {
    CEDE_PRESET_OFF,
    CEDE_PRESET_KVM_2017,
    CEDE_PRESET_KVM_2019,
    CEDE_PRESET_KVM_MAINLINE,
    CEDE_PRESET_CEDE,
    CEDE_PRESET_COUNT
};

enum cede_policy_type {
    CEDE_POLICY_TYPE_BOOL,
    CEDE_POLICY_TYPE_UINT,
    CEDE_POLICY_TYPE_ENUM_YIELD,
    CEDE_POLICY_TYPE_ENUM_HOOK,
};

#define X(ENUM, NAME, name, value) CEDE_##ENUM##_##NAME = value,
enum cede_policy_value {
    CEDE_POLICY_VALUE_FALSE = 0,
#include "cede/lists/policy_enum.def"
};
#undef X

struct cede_policy {
    uint64_t value[CEDE_POLICY_COUNT];
};

struct cede_policy_info {
    const char *name; /* as in scenarios and JSON: "yield_kernel_filter" */
    const char *unit; /* "", "ns", "count", ... */
    const char *doc;
    enum cede_policy_type type;
    uint64_t min, max;
    uint64_t preset[CEDE_PRESET_COUNT];
};

/* The description of a key; NULL if there is no such key. O(1). */
const struct cede_policy_info *cede_policy_info(enum cede_policy_key key);

/* "off", "kvm-2017", ...; NULL if there is no such preset. O(1). */
const char *cede_preset_name(enum cede_preset preset);

/* Finds a key or preset by its name: the key or preset, or the count if there is none. O(keys). */
enum cede_policy_key cede_policy_key_by_name(const char *name);
enum cede_preset cede_preset_by_name(const char *name);

/*
 * The name of an enumerated or boolean value of that key ("pull", "on"), NULL for UINT keys and
 * values out of range; and the value of a name, false if there is none. O(values).
 */
const char *cede_policy_value_name(enum cede_policy_key key, uint64_t value);
bool cede_policy_value_by_name(enum cede_policy_key key, const char *name, uint64_t *value);

#endif
