/*
 * sets.c - see sets.h. Owns the chunks, and the set members of struct cede_vm.
 */
#include "sets.h"

#include "base/memory.h"

static struct cede_chunk *chunk_of(const struct cede *core, uint32_t vm, uint32_t index)
{
    uint32_t number = core->vm_chunk[vm * core->vm_chunks + index / 64u];

    return number == NONE ? NULL : &core->chunk[number];
}

void cede_sets_attach(struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t *slot = &core->vm_chunk[vcpu->vm * core->vm_chunks + vcpu->index / 64u];

    if (*slot == NONE) {
        *slot = core->chunk_free;
        core->chunk_free = core->chunk[*slot].next_free;
        memset(&core->chunk[*slot], 0, sizeof(core->chunk[*slot]));
        core->chunk[*slot].next_free = NONE;
    }
    core->chunk[*slot].present |= UINT64_C(1) << (vcpu->index & 63u);
    core->chunk[*slot].vcpu[vcpu->index & 63u] = id;
    core->vm[vcpu->vm].vcpu_count++;
}

void cede_sets_detach(struct cede *core, uint32_t id)
{
    const struct cede_vcpu *vcpu = &core->vcpu[id];
    uint32_t *slot = &core->vm_chunk[vcpu->vm * core->vm_chunks + vcpu->index / 64u];
    struct cede_chunk *chunk = &core->chunk[*slot];

    chunk->present &= ~(UINT64_C(1) << (vcpu->index & 63u));
    if (chunk->present == 0) {
        chunk->next_free = core->chunk_free;
        core->chunk_free = *slot;
        *slot = NONE;
    }
    core->vm[vcpu->vm].vcpu_count--;
}

uint32_t cede_sets_at(const struct cede *core, uint32_t vm, uint32_t index)
{
    const struct cede_chunk *chunk = chunk_of(core, vm, index);

    if (chunk == NULL || (chunk->present >> (index & 63u) & 1u) == 0) {
        return NONE;
    }
    return chunk->vcpu[index & 63u];
}

uint8_t cede_sets_wanted(const struct cede_vcpu *vcpu)
{
    if (vcpu->state == CEDE_STATE_THROTTLED) {
        return CEDE_SET_THROTTLED;
    }
    if (!vcpu->waiting) {
        return CEDE_SET_NONE;
    }
    if (vcpu->yielded_to != NONE) {
        return CEDE_SET_NO_RETURN;
    }
    if (vcpu->woken) {
        return CEDE_SET_WOKEN;
    }
    if (vcpu->interrupt_pending) {
        return vcpu->spinning ? CEDE_SET_ANSWER_SPIN : CEDE_SET_KERNEL;
    }
    if (vcpu->mode == CEDE_MODE_USER) {
        return vcpu->spinning ? CEDE_SET_USER_SPIN : CEDE_SET_USER;
    }
    return vcpu->spinning ? CEDE_SET_KERNEL_SPIN : CEDE_SET_KERNEL;
}

void cede_sets_update(struct cede *core, uint32_t id)
{
    struct cede_vcpu *vcpu = &core->vcpu[id];
    uint8_t set = cede_sets_wanted(vcpu), old = vcpu->set;
    struct cede_vm *vm;
    struct cede_chunk *chunk;
    uint64_t bit, up;

    if (set == old) {
        return;
    }
    vm = &core->vm[vcpu->vm];
    chunk = chunk_of(core, vcpu->vm, vcpu->index);
    bit = UINT64_C(1) << (vcpu->index & 63u);
    up = UINT64_C(1) << (vcpu->index / 64u);
    if (old != CEDE_SET_NONE) {
        chunk->word[old] &= ~bit;
        vm->set_summary[old] &= chunk->word[old] != 0 ? UINT64_MAX : ~up;
        vm->set_count[old]--;
    }
    if (set != CEDE_SET_NONE) {
        chunk->word[set] |= bit;
        vm->set_summary[set] |= up;
        vm->set_count[set]++;
    }
    vcpu->set = set;
}

uint32_t cede_sets_next(const struct cede *core, uint32_t vm, enum cede_set set, uint32_t after)
{
    uint64_t summary = core->vm[vm].set_summary[set];
    uint32_t start = (after + 1) % CEDE_VM_VCPU_COUNT_MAX;
    uint32_t word = start / 64u;
    uint64_t bits;

    if (summary == 0) {
        return NONE;
    }
    if ((summary >> word & 1u) != 0) {
        bits = chunk_of(core, vm, start)->word[set] & cede_bits_from(start);
        if (bits != 0) {
            return chunk_of(core, vm, start)->vcpu[cede_bits_lowest(bits)];
        }
    }
    bits = word == 63u ? 0 : summary & cede_bits_from(word + 1);
    word = cede_bits_lowest(bits != 0 ? bits : summary);
    const struct cede_chunk *chunk = chunk_of(core, vm, word * 64u);
    return chunk->vcpu[cede_bits_lowest(chunk->word[set])];
}
