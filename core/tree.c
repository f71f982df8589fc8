/*
 * tree.c - see tree.h. Owns the tree links and min_vruntime of waiting vCPUs; relies on deadline
 * and vruntime not changing while a vCPU is in a tree.
 */
#include "tree.h"

/* Recomputes the least vruntime of a subtree from its root and its two children. */
static void gather(struct cede *core, uint32_t id)
{
    struct cede_vcpu *node = &core->vcpu[id];
    uint64_t least = node->vruntime;

    if (node->left != NONE && cede_before(core->vcpu[node->left].min_vruntime, least)) {
        least = core->vcpu[node->left].min_vruntime;
    }
    if (node->right != NONE && cede_before(core->vcpu[node->right].min_vruntime, least)) {
        least = core->vcpu[node->right].min_vruntime;
    }
    node->min_vruntime = least;
}

/* Puts `child` where `old` hung below `parent`. */
static void replace(struct cede *core, uint32_t *root, uint32_t parent, uint32_t old,
                    uint32_t child)
{
    if (parent == NONE) {
        *root = child;
    } else if (core->vcpu[parent].left == old) {
        core->vcpu[parent].left = child;
    } else {
        core->vcpu[parent].right = child;
    }
    if (child != NONE) {
        core->vcpu[child].parent = parent;
    }
}

/* Turns the edge between `id` and its parent, so that `id` is above. */
static void rotate_up(struct cede *core, uint32_t *root, uint32_t id)
{
    struct cede_vcpu *node = &core->vcpu[id];
    uint32_t above = node->parent;
    struct cede_vcpu *old = &core->vcpu[above];
    uint32_t inner;

    replace(core, root, old->parent, above, id);
    if (old->left == id) {
        inner = node->right;
        old->left = inner;
        node->right = above;
    } else {
        inner = node->left;
        old->right = inner;
        node->left = above;
    }
    if (inner != NONE) {
        core->vcpu[inner].parent = above;
    }
    old->parent = id;
    gather(core, above);
}

/* Equal priorities are told apart by id, so that the shape doesn't depend on history. */
static bool outranks(const struct cede *core, uint32_t a, uint32_t b)
{
    uint32_t pa = core->vcpu[a].priority, pb = core->vcpu[b].priority;

    return pa != pb ? pa > pb : a < b;
}

void cede_tree_insert(struct cede *core, uint32_t *root, uint32_t id)
{
    struct cede_vcpu *node = &core->vcpu[id];
    uint32_t parent = NONE;
    uint32_t *link = root;

    while (*link != NONE) {
        struct cede_vcpu *at = &core->vcpu[*link];
        parent = *link;
        if (cede_before(node->vruntime, at->min_vruntime)) {
            at->min_vruntime = node->vruntime;
        }
        link = cede_earlier(core, id, parent) ? &at->left : &at->right;
    }
    *link = id;
    node->left = NONE;
    node->right = NONE;
    node->parent = parent;
    node->min_vruntime = node->vruntime;
    while (node->parent != NONE && outranks(core, id, node->parent)) {
        rotate_up(core, root, id);
        gather(core, id);
    }
}

void cede_tree_erase(struct cede *core, uint32_t *root, uint32_t id)
{
    struct cede_vcpu *node = &core->vcpu[id];
    uint32_t at;

    while (node->left != NONE && node->right != NONE) {
        rotate_up(core, root, outranks(core, node->left, node->right) ? node->left : node->right);
    }
    replace(core, root, node->parent, id, node->left != NONE ? node->left : node->right);
    for (at = node->parent; at != NONE; at = core->vcpu[at].parent) {
        gather(core, at);
    }
    node->left = NONE;
    node->right = NONE;
    node->parent = NONE;
}

uint32_t cede_tree_first(const struct cede *core, uint32_t root)
{
    uint32_t id = root;

    while (id != NONE && core->vcpu[id].left != NONE) {
        id = core->vcpu[id].left;
    }
    return id;
}

uint32_t cede_tree_next(const struct cede *core, uint32_t id)
{
    uint32_t parent;

    if (core->vcpu[id].right != NONE) {
        return cede_tree_first(core, core->vcpu[id].right);
    }
    parent = core->vcpu[id].parent;
    while (parent != NONE && core->vcpu[parent].right == id) {
        id = parent;
        parent = core->vcpu[id].parent;
    }
    return parent;
}

/* Goes left whenever somebody there is eligible: whoever is found there has an earlier deadline. */
uint32_t cede_tree_eligible(const struct cede *core, uint32_t root, uint64_t vtime)
{
    uint32_t id = root;

    while (id != NONE) {
        const struct cede_vcpu *node = &core->vcpu[id];
        if (node->left != NONE && !cede_before(vtime, core->vcpu[node->left].min_vruntime)) {
            id = node->left;
        } else if (!cede_before(vtime, node->vruntime)) {
            return id;
        } else {
            id = node->right;
        }
    }
    return NONE;
}
