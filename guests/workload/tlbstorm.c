/*
 * tlbstorm.c - threads of one address space allocate, touch, search and free memory, so that
 * every free is a TLB shootdown: the freeing CPU interrupts all others that run the process and
 * spins until each has answered. A vCPU without a pCPU can't answer.
 *
 * A record is a slice of a sorted table, copied into fresh memory, where random keys are then
 * looked up. Every key must be found at its place.
 * Parameters: chunk_kb, searches, free=munmap|madvise|both. Metric: records a second.
 */
#include "guests/workload/common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum free_mode { FREE_MUNMAP, FREE_MADVISE, FREE_BOTH };

static const char *const free_names[] = {"munmap", "madvise", "both", NULL};

#define TABLE_CHUNKS 16

static uint64_t *table; /* ascending; key i is 3 i + 1, so that its place can be checked */
static size_t chunk_bytes;
static size_t chunk_keys;
static unsigned searches;
static enum free_mode free_mode;

static bool prepare(struct run *run)
{
    chunk_bytes = (size_t)workload_param("chunk_kb", 64, 4, 1 << 20) * 1024;
    searches = (unsigned)workload_param("searches", 64, 0, 1 << 30);
    free_mode = workload_choice("free", free_names);
    chunk_keys = chunk_bytes / sizeof *table;
    table = malloc(chunk_bytes * TABLE_CHUNKS);
    if (table == NULL) {
        workload_fail(run, "no memory for the table");
        return false;
    }
    for (size_t i = 0; i < chunk_keys * TABLE_CHUNKS; i++) {
        table[i] = 3 * i + 1;
    }
    return true;
}

static bool finish(struct run *run)
{
    (void)run;
    free(table);
    return true;
}

/* The index of `key` in `keys`, or chunk_keys. */
static size_t find(const uint64_t *keys, uint64_t key)
{
    size_t low = 0, high = chunk_keys;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < chunk_keys && keys[low] == key ? low : chunk_keys;
}

static bool search(struct worker *worker, const uint64_t *keys, size_t first)
{
    for (unsigned i = 0; i < searches; i++) {
        size_t place = workload_random(&worker->random_state) % chunk_keys;
        if (find(keys, 3 * (first + place) + 1) != place) {
            workload_fail(worker->run, "key %zu of the slice at %zu isn't where it was put", place,
                          first);
            return false;
        }
    }
    return true;
}

/* Allocates, fills and searches one record. NULL: failed, and said so. */
static uint64_t *make_record(struct worker *worker)
{
    uint64_t *keys =
        mmap(NULL, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (keys == MAP_FAILED) {
        workload_fail(worker->run, "mmap: %s", strerror(errno));
        return NULL;
    }
    size_t first = workload_random(&worker->random_state) % ((TABLE_CHUNKS - 1) * chunk_keys);
    memcpy(keys, table + first, chunk_bytes);
    return search(worker, keys, first) ? keys : NULL;
}

static bool drop_record(struct worker *worker, uint64_t *keys)
{
    bool twice = free_mode == FREE_BOTH && (workload_random(&worker->random_state) & 1) != 0;
    if (free_mode == FREE_MADVISE || twice) {
        if (madvise(keys, chunk_bytes, MADV_DONTNEED) != 0) {
            workload_fail(worker->run, "madvise: %s", strerror(errno));
            return false;
        }
        if (keys[0] != 0) {
            workload_fail(worker->run, "memory given back is still there");
            return false;
        }
    }
    if (munmap(keys, chunk_bytes) != 0) {
        workload_fail(worker->run, "munmap: %s", strerror(errno));
        return false;
    }
    return true;
}

static void work(struct worker *worker)
{
    while (!workload_stopping(worker)) {
        uint64_t *keys = make_record(worker);
        if (keys == NULL || !drop_record(worker, keys)) {
            return;
        }
        workload_count(worker, 1);
    }
}

int main(int argc, char **argv)
{
    static const struct workload tlbstorm = {.name = "tlbstorm",
                                             .metric = "records_s",
                                             .prepare = prepare,
                                             .work = work,
                                             .finish = finish};
    return workload_main(&tlbstorm, argc, argv);
}
