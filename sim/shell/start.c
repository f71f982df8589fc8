/*
 * start.c - makes the scenario's VMs, pCPUs and vCPUs known to the core, and starts the vCPUs.
 *
 * The order matters: a dedicated pCPU names its VM, and a vCPU's affinity names pCPUs.
 */
#include "sim/shell/shell.h"

/*
 * "Late" in the presets kvm-mainline and cede means: late where the hook only costs. Linux, too, kept
 * it early inside Arm's own halt handler, since on GICv4 it makes a wake-up visible. Whoever wants it
 * late on such a machine starts from another preset.
 */
static uint64_t policy_value(const struct sim_machine *m, const struct sim_vm *vm, uint32_t key)
{
    bool by_machine = vm->record->preset == CEDE_PRESET_KVM_MAINLINE ||
                      vm->record->preset == CEDE_PRESET_CEDE;
    if (key == CEDE_POLICY_HALT_HOOK && by_machine && m->arch->irq == SIM_ARCH_IRQ_DIRECT) {
        return CEDE_HOOK_EARLY;
    }
    return vm->record->policy[key];
}

static bool add_vm(struct sim_machine *m, const struct sim_vm *vm)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_VM_ADD, NULL, NULL);
    event.vm = (struct cede_vm_id){vm->id};
    event.vm_add.weight = vm->record->weight;
    event.vm_add.preset = vm->record->preset;
    bool fine = sim_shell_send(m, &event);
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT && fine; key++) {
        event = sim_shell_event(CEDE_EVENT_VM_POLICY, NULL, NULL);
        event.vm = (struct cede_vm_id){vm->id};
        event.vm_policy.key = key;
        event.vm_policy.value = policy_value(m, vm, key);
        fine = sim_shell_send(m, &event);
    }
    if (fine && vm->record->quota_ns > 0 && m->options.fault != SIM_FAULT_IGNORE_CAP) {
        event = sim_shell_event(CEDE_EVENT_VM_CAP, NULL, NULL);
        event.vm = (struct cede_vm_id){vm->id};
        event.vm_cap.quota_ns = vm->record->quota_ns;
        event.vm_cap.period_ns = vm->record->period_ns;
        fine = sim_shell_send(m, &event);
    }
    return fine;
}

static bool add_pcpu(struct sim_machine *m, const struct abi_manifest *manifest,
                     const struct sim_pcpu *p)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_PCPU_ADD, p, NULL);
    event.pcpu_add.role = manifest->role[p->id];
    event.pcpu_add.role_vm = manifest->role[p->id] == CEDE_ROLE_DEDICATED
                                 ? (struct cede_vm_id){manifest->role_vm[p->id]}
                                 : CEDE_VM_NONE;
    event.pcpu_add.core = p->core;
    event.pcpu_add.llc = p->llc;
    event.pcpu_add.socket = p->socket;
    return sim_shell_send(m, &event);
}

/* The n-th pCPU, counted from 0, of a mask. */
static uint32_t nth_pcpu(const uint64_t *mask, uint32_t words, uint32_t n)
{
    for (uint32_t word = 0; word < words; word++) {
        for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
            if (n-- == 0) {
                return word * 64 + (uint32_t)__builtin_ctzll(bits);
            }
        }
    }
    return 0;
}

static uint64_t affinity_word(const struct sim_machine *m, const struct sim_vcpu *v,
                              uint32_t word)
{
    const struct abi_manifest_vm *record = m->vm[v->vm].record;
    uint32_t words = (m->pcpu_count + 63) / 64;
    if (record->pin != ABI_PIN_EACH) {
        return record->affinity[word];
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < words; i++) {
        count += (uint32_t)__builtin_popcountll(record->affinity[i]);
    }
    uint32_t pcpu = nth_pcpu(record->affinity, words, v->index % count);
    return pcpu / 64 == word ? UINT64_C(1) << (pcpu % 64) : 0;
}

bool sim_shell_may_run(const struct sim_machine *m, const struct sim_vcpu *v, uint32_t pcpu)
{
    return (affinity_word(m, v, pcpu / 64) >> (pcpu % 64) & 1) != 0;
}

bool sim_shell_usable(const struct sim_machine *m, const struct sim_vcpu *v, uint32_t pcpu)
{
    const struct sim_pcpu *p = &m->pcpu[pcpu];
    bool fits = p->role == CEDE_ROLE_DEDICATED ? p->role_vm == v->vm : p->role != CEDE_ROLE_OFFLINE;
    return fits && sim_shell_may_run(m, v, pcpu);
}

static bool add_vcpu(struct sim_machine *m, const struct sim_vcpu *v)
{
    struct cede_event event = sim_shell_event(CEDE_EVENT_VCPU_ADD, NULL, v);
    event.vcpu_add.index = v->index;
    bool fine = sim_shell_send(m, &event);
    /* The new word first, then the rest cleared: the mask is never empty in between. */
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t word = 0; word < (m->pcpu_count + 63) / 64 && fine; word++) {
            uint64_t mask = affinity_word(m, v, word);
            if ((mask != 0) == (pass == 0)) {
                event = sim_shell_event(CEDE_EVENT_VCPU_AFFINITY, NULL, v);
                event.vcpu_affinity.word = word;
                event.vcpu_affinity.mask = mask;
                fine = sim_shell_send(m, &event);
            }
        }
    }
    return fine;
}

bool sim_shell_start(struct sim_machine *m, const struct abi_manifest *manifest)
{
    bool fine = true;
    for (uint32_t i = 0; i < m->vm_count && fine; i++) {
        fine = add_vm(m, &m->vm[i]);
    }
    for (uint32_t i = 0; i < m->pcpu_count && fine; i++) {
        fine = add_pcpu(m, manifest, &m->pcpu[i]);
    }
    for (uint32_t i = 0; i < m->vcpu_count && fine; i++) {
        fine = add_vcpu(m, &m->vcpu[i]);
    }
    for (uint32_t i = 0; i < m->vcpu_count && fine; i++) {
        const struct sim_vcpu *v = &m->vcpu[i];
        struct cede_event event = sim_shell_event(CEDE_EVENT_VCPU_START, NULL, v);
        fine = sim_shell_send(m, &event);
        if (fine && (m->vm[v->vm].record->flags & ABI_VM_PAUSED) != 0) {
            event = sim_shell_event(CEDE_EVENT_VCPU_PAUSE, NULL, v);
            fine = sim_shell_send(m, &event);
        }
    }
    return fine;
}
