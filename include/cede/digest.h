/*
 * digest.h - one 64-bit word that stands for what the core returned for an event.
 *
 * Used by event logs of hypervisor and simulator alike, so that a replay can compare decisions
 * without storing them. Covers the status, and of each effect the members that its kind uses. Not
 * cryptographic. No state, no locks.
 */
#ifndef CEDE_DIGEST_H
#define CEDE_DIGEST_H

#include "cede/effect.h"
#include "cede/types.h"

#define CEDE_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* Mixes one word into a digest: multiply (the FNV-1a 64-bit prime) and fold the high half down. */
static inline uint64_t cede_digest_word(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x100000001b3);
    return digest ^ (digest >> 29);
}

static inline uint64_t cede_digest_effect(uint64_t digest, const struct cede_effect *effect)
{
    digest = cede_digest_word(digest, (uint64_t)effect->kind << 32 | effect->reason);
    digest = cede_digest_word(digest, (uint64_t)effect->pcpu.value << 32 | effect->vcpu.value);
    digest = cede_digest_word(digest, effect->until_ns); /* or deadline_ns, or publish.steal_ns */
    if (effect->kind == CEDE_EFFECT_PUBLISH) {
        digest = cede_digest_word(digest, effect->publish.preempted);
    }
    if (effect->kind == CEDE_EFFECT_VM_TIMER) {
        digest = cede_digest_word(digest, effect->vm.value);
    }
    return digest;
}

/* The decision for one event. O(effects). */
static inline uint64_t cede_digest_decision(enum cede_status status,
                                            const struct cede_effects *effects)
{
    uint64_t digest = cede_digest_word(CEDE_DIGEST_START, (uint64_t)status);
    for (uint32_t i = 0; i < effects->count; i++) {
        digest = cede_digest_effect(digest, &effects->item[i]);
    }
    return digest;
}

#endif
