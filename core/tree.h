/*
 * tree.h - the tree of a run queue: vCPUs by (deadline, id), with the least vruntime of each
 * subtree. A treap: priorities are fixed per vCPU, so the shape depends on the set alone.
 *
 * Links are indices in struct cede_vcpu; the root is the pCPU's. Expected O(log n) each; no
 * recursion; every loop goes along one path. Lock held.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include "state.h"

void cede_tree_insert(struct cede *core, uint32_t *root, uint32_t id);
void cede_tree_erase(struct cede *core, uint32_t *root, uint32_t id);

/* First in order, and the next after `id`; NONE at the end. */
uint32_t cede_tree_first(const struct cede *core, uint32_t root);
uint32_t cede_tree_next(const struct cede *core, uint32_t id);

/* The earliest deadline among those whose vruntime isn't after vtime; NONE if there is none. */
uint32_t cede_tree_eligible(const struct cede *core, uint32_t root, uint64_t vtime);

/* a is before b on a clock that wraps. */
static inline bool cede_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

/* The queue's order. */
static inline bool cede_earlier(const struct cede *core, uint32_t a, uint32_t b)
{
    uint64_t da = core->vcpu[a].deadline, db = core->vcpu[b].deadline;

    return da != db ? cede_before(da, db) : a < b;
}

#endif
