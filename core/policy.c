/*
 * policy.c - the policy table and the names in it. Constant data; no locks.
 */
#include "policy.h"

/* lists/policy.def names types BOOL, UINT, ENUM_YIELD, ENUM_HOOK. */
static const struct cede_policy_info info[CEDE_POLICY_COUNT] = {
#define X(NAME, name, type, unit, min, max, o, k17, k19, km, ce, doc) \
    {#name, unit, doc, CEDE_POLICY_TYPE_##type, min, max, {o, k17, k19, km, ce}},
#include "cede/lists/policy.def"
#undef X
};

#define X(NAME, name, type, unit, min, max, o, k17, k19, km, ce, doc) \
    _Static_assert((max) <= UINT32_MAX, #name " fits in 32 bits");
#include "cede/lists/policy.def"
#undef X

static const char *const preset_name[CEDE_PRESET_COUNT] = {
    [CEDE_PRESET_OFF] = "off",
    [CEDE_PRESET_KVM_2017] = "kvm-2017",
    [CEDE_PRESET_KVM_2019] = "kvm-2019",
    [CEDE_PRESET_KVM_MAINLINE] = "kvm-mainline",
    [CEDE_PRESET_CEDE] = "cede",
};

struct value_name {
    enum cede_policy_type type;
    uint64_t value;
    const char *name;
};

static const struct value_name value_name[] = {
    {CEDE_POLICY_TYPE_BOOL, 0, "off"},
    {CEDE_POLICY_TYPE_BOOL, 1, "on"},
#define X(ENUM, NAME, name, value) {CEDE_POLICY_TYPE_ENUM_##ENUM, value, #name},
#include "cede/lists/policy_enum.def"
#undef X
};

#define VALUE_NAMES (sizeof(value_name) / sizeof(value_name[0]))

static bool equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

void cede_policy_preset(uint32_t *policy, uint32_t preset)
{
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        policy[key] = (uint32_t)info[key].preset[preset];
    }
}

bool cede_policy_fits(uint32_t key, uint64_t value)
{
    return key < CEDE_POLICY_COUNT && value >= info[key].min && value <= info[key].max;
}

const struct cede_policy_info *cede_policy_info(enum cede_policy_key key)
{
    return (uint32_t)key < CEDE_POLICY_COUNT ? &info[key] : NULL;
}

const char *cede_preset_name(enum cede_preset preset)
{
    return (uint32_t)preset < CEDE_PRESET_COUNT ? preset_name[preset] : NULL;
}

enum cede_policy_key cede_policy_key_by_name(const char *name)
{
    uint32_t key = 0;

    while (key < CEDE_POLICY_COUNT && !equal(name, info[key].name)) {
        key++;
    }
    return (enum cede_policy_key)key;
}

enum cede_preset cede_preset_by_name(const char *name)
{
    uint32_t preset = 0;

    while (preset < CEDE_PRESET_COUNT && !equal(name, preset_name[preset])) {
        preset++;
    }
    return (enum cede_preset)preset;
}

const char *cede_policy_value_name(enum cede_policy_key key, uint64_t value)
{
    if ((uint32_t)key >= CEDE_POLICY_COUNT) {
        return NULL;
    }
    for (size_t n = 0; n < VALUE_NAMES; n++) {
        if (value_name[n].type == info[key].type && value_name[n].value == value) {
            return value_name[n].name;
        }
    }
    return NULL;
}

bool cede_policy_value_by_name(enum cede_policy_key key, const char *name, uint64_t *value)
{
    if ((uint32_t)key >= CEDE_POLICY_COUNT) {
        return false;
    }
    for (size_t n = 0; n < VALUE_NAMES; n++) {
        if (value_name[n].type == info[key].type && equal(value_name[n].name, name)) {
            *value = value_name[n].value;
            return true;
        }
    }
    return false;
}
