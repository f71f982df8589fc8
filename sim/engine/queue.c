/*
 * queue.c - the event queue (see queue.h): an indexed 4-ary heap.
 */
#include "sim/engine/queue.h"

#include <stdlib.h>
#include <string.h>

#define UNSET UINT32_MAX
#define SLOT_MASK ((UINT64_C(1) << SIM_QUEUE_SLOT_BITS) - 1)
/* The heap starts at index 3, so that children 4i-8..4i-5 begin on a multiple of 4. */
#define ROOT 3u

bool sim_queue_init(struct sim_queue *queue, uint32_t slots)
{
    memset(queue, 0, sizeof *queue);
    return sim_queue_grow(queue, slots);
}

void sim_queue_fini(struct sim_queue *queue)
{
    free(queue->heap);
    free(queue->place);
    memset(queue, 0, sizeof *queue);
}

bool sim_queue_grow(struct sim_queue *queue, uint32_t slots)
{
    if (slots > SLOT_MASK) {
        return false;
    }
    struct sim_queue_entry *heap =
        aligned_alloc(64, (((size_t)slots + ROOT + 4) * sizeof *heap + 63) & ~(size_t)63);
    uint32_t *place = malloc(((size_t)slots + 1) * sizeof *place);
    if (heap == NULL || place == NULL) {
        free(heap);
        free(place);
        return false;
    }
    for (uint32_t i = 0; i < slots; i++) {
        place[i] = i < queue->slots ? queue->place[i] : UNSET;
    }
    if (queue->count > 0) {
        memcpy(heap + ROOT, queue->heap + ROOT, queue->count * sizeof *heap);
    }
    free(queue->heap);
    free(queue->place);
    queue->heap = heap;
    queue->place = place;
    queue->slots = slots;
    return true;
}

static bool before(struct sim_queue_entry a, struct sim_queue_entry b)
{
    return a.when_ns < b.when_ns || (a.when_ns == b.when_ns && a.order < b.order);
}

static void put(struct sim_queue *queue, uint32_t at, struct sim_queue_entry entry)
{
    queue->heap[at] = entry;
    queue->place[entry.order & SLOT_MASK] = at;
}

static uint32_t parent(uint32_t at)
{
    return (at >> 2) + 2;
}

static void sift_up(struct sim_queue *queue, uint32_t at, struct sim_queue_entry entry)
{
    while (at > ROOT && before(entry, queue->heap[parent(at)])) {
        put(queue, at, queue->heap[parent(at)]);
        at = parent(at);
    }
    put(queue, at, entry);
}

static void sift_down(struct sim_queue *queue, uint32_t at, struct sim_queue_entry entry)
{
    const uint32_t end = ROOT + queue->count;
    for (;;) {
        uint32_t child = 4 * at - 8;
        if (child >= end) {
            break;
        }
        uint32_t last = child + 4 < end ? child + 4 : end;
        uint32_t least = child;
        for (uint32_t i = child + 1; i < last; i++) {
            if (before(queue->heap[i], queue->heap[least])) {
                least = i;
            }
        }
        if (!before(queue->heap[least], entry)) {
            break;
        }
        put(queue, at, queue->heap[least]);
        at = least;
    }
    put(queue, at, entry);
}

void sim_queue_set(struct sim_queue *queue, uint32_t slot, uint64_t when_ns)
{
    struct sim_queue_entry entry = {when_ns, queue->sequence++ << SIM_QUEUE_SLOT_BITS | slot};
    uint32_t at = queue->place[slot];
    if (at == UNSET) {
        sift_up(queue, ROOT + queue->count++, entry);
    } else if (before(entry, queue->heap[at])) {
        sift_up(queue, at, entry);
    } else {
        sift_down(queue, at, entry);
    }
}

void sim_queue_clear(struct sim_queue *queue, uint32_t slot)
{
    uint32_t at = queue->place[slot];
    if (at == UNSET) {
        return;
    }
    queue->place[slot] = UNSET;
    struct sim_queue_entry last = queue->heap[ROOT + --queue->count];
    if (at == ROOT + queue->count) {
        return;
    }
    if (before(last, queue->heap[at])) {
        sift_up(queue, at, last);
    } else {
        sift_down(queue, at, last);
    }
}

uint64_t sim_queue_when(const struct sim_queue *queue, uint32_t slot)
{
    uint32_t at = queue->place[slot];
    return at == UNSET ? UINT64_MAX : queue->heap[at].when_ns;
}

bool sim_queue_pop(struct sim_queue *queue, uint32_t *slot, uint64_t *when_ns)
{
    if (queue->count == 0) {
        return false;
    }
    struct sim_queue_entry first = queue->heap[ROOT];
    *slot = (uint32_t)(first.order & SLOT_MASK);
    *when_ns = first.when_ns;
    sim_queue_clear(queue, *slot);
    return true;
}
