/*
 * queue.h - the event queue: when each *slot* is due, in the order (time, sequence).
 *
 * A slot is a fixed place for one future event of one entity: a pCPU's next boundary, a vCPU's
 * timer. Setting it replaces what was there, so there's nothing to cancel and memory is in
 * proportion to the entities. Two events of the same instant come in the order in which they were
 * set. A 4-ary heap of 16-byte entries: the children of one node share a cache line.
 * Owns its arrays. No locks: one simulation, one thread.
 */
#ifndef SIM_ENGINE_QUEUE_H
#define SIM_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_QUEUE_SLOT_BITS 22u /* up to 4 million slots */

struct sim_queue_entry {
    uint64_t when_ns;
    uint64_t order; /* sequence << SIM_QUEUE_SLOT_BITS | slot */
};

struct sim_queue {
    struct sim_queue_entry *heap;
    uint32_t *place; /* of each slot in the heap; UINT32_MAX: not set */
    uint32_t count;
    uint32_t slots;
    uint64_t sequence;
};

/* Room for slots 0..slots-1, none set. False without memory. */
bool sim_queue_init(struct sim_queue *queue, uint32_t slots);
void sim_queue_fini(struct sim_queue *queue);

/* More slots; those there keep their times. False without memory (nothing changed). */
bool sim_queue_grow(struct sim_queue *queue, uint32_t slots);

/* The slot is due at when_ns, whatever it was before. O(log count). */
void sim_queue_set(struct sim_queue *queue, uint32_t slot, uint64_t when_ns);

/* The slot isn't due any more; nothing if it wasn't. O(log count). */
void sim_queue_clear(struct sim_queue *queue, uint32_t slot);

/* When the slot is due; UINT64_MAX if it isn't set. O(1). */
uint64_t sim_queue_when(const struct sim_queue *queue, uint32_t slot);

/* Takes the first: false if there is none. O(log count). */
bool sim_queue_pop(struct sim_queue *queue, uint32_t *slot, uint64_t *when_ns);

#endif
