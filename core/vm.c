/*
 * vm.c - VMs come, change weight and policy, and go. Owns `weight` and `policy` of struct cede_vm.
 */
#include "base/memory.h"
#include "policy.h"
#include "record.h"
#include "turn.h"

#define WEIGHT_LIMIT 1048576u

enum cede_status cede_decode_vm_add(const struct cede *core, const struct cede_event *event)
{
    if (event->vm.value >= core->config.vm_count) {
        return CEDE_BAD_ID;
    }
    if (core->vm[event->vm.value].exists) {
        return CEDE_EXISTS;
    }
    if (event->vm_add.weight == 0 || event->vm_add.weight > WEIGHT_LIMIT ||
        event->vm_add.preset >= CEDE_PRESET_COUNT) {
        return CEDE_BAD_VALUE;
    }
    return CEDE_OK;
}

void cede_act_vm_add(struct cede_turn *turn, const struct cede_event *event)
{
    struct cede_vm *vm = &turn->core->vm[event->vm.value];

    memset(vm, 0, sizeof(*vm));
    vm->exists = true;
    vm->weight = event->vm_add.weight;
    vm->recheck = NONE;
    vm->last_boosted = CEDE_VM_VCPU_COUNT_MAX - 1;
    cede_policy_preset(vm->policy, event->vm_add.preset);
}

enum cede_status cede_decode_vm_weight(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    return event->vm_weight.weight == 0 || event->vm_weight.weight > WEIGHT_LIMIT ? CEDE_BAD_VALUE
                                                                                  : CEDE_OK;
}

/* Each of its vCPUs takes the new weight when it next joins a queue or starts a slice. */
void cede_act_vm_weight(struct cede_turn *turn, const struct cede_event *event)
{
    turn->core->vm[event->vm.value].weight = event->vm_weight.weight;
}

enum cede_status cede_decode_vm_policy(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    return cede_policy_fits(event->vm_policy.key, event->vm_policy.value) ? CEDE_OK
                                                                          : CEDE_BAD_VALUE;
}

void cede_act_vm_policy(struct cede_turn *turn, const struct cede_event *event)
{
    turn->core->vm[event->vm.value].policy[event->vm_policy.key] =
        (uint32_t)event->vm_policy.value;
    cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_POLICY, CEDE_REASON_NONE, NONE,
                NONE, event->vm.value,
                (uint64_t)event->vm_policy.key << 48 | event->vm_policy.value);
}

enum cede_status cede_decode_vm_preset(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    return event->vm_preset.preset >= CEDE_PRESET_COUNT ? CEDE_BAD_VALUE : CEDE_OK;
}

void cede_act_vm_preset(struct cede_turn *turn, const struct cede_event *event)
{
    uint32_t *policy = turn->core->vm[event->vm.value].policy;

    cede_policy_preset(policy, event->vm_preset.preset);
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        cede_record(turn->core, turn->now_ns, turn->pcpu, CEDE_TRACE_POLICY, CEDE_REASON_NONE,
                    NONE, NONE, event->vm.value, (uint64_t)key << 48 | policy[key]);
    }
}

enum cede_status cede_decode_vm_remove(const struct cede *core, const struct cede_event *event)
{
    if (!cede_turn_vm_exists(core, event->vm)) {
        return CEDE_BAD_ID;
    }
    return core->vm[event->vm.value].vcpu_count != 0 ||
                   core->vm[event->vm.value].dedicated_count != 0
               ? CEDE_BUSY : CEDE_OK;
}

void cede_act_vm_remove(struct cede_turn *turn, const struct cede_event *event)
{
    turn->core->vm[event->vm.value].exists = false;
}

enum cede_status cede_vm_policy(const struct cede *core, struct cede_vm_id vm,
                                struct cede_policy *policy)
{
    if (!cede_turn_vm_exists(core, vm)) {
        return CEDE_BAD_ID;
    }
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        policy->value[key] = core->vm[vm.value].policy[key];
    }
    return CEDE_OK;
}
