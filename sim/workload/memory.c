/*
 * memory.c - tlbstorm, filecopy, lockstorm: the guest programs of those names, as models.
 *
 * Each task's program is one round of the loop in guests/workload/<name>.c. Standard costs are
 * magnitudes measured on x86 servers (a page fault 0.5 us, a copy 10 GB/s, a system call 0.2 us);
 * a testbed's file may set others.
 */
#include "sim/workload/workload.h"

#define PAGE_KB 4u

/* arena, in the model only: the memory stays mapped and is given back by madvise(), as glibc's
 * arenas do it; nobody takes the lock for writing. */
static const char *const free_names[] = {"munmap", "madvise", "both", "arena", NULL};
enum { FREE_MUNMAP, FREE_MADVISE, FREE_BOTH, FREE_ARENA };

/* One free: the mapping goes under the lock for writing, the flush is done before it's released. */
static void unmap(struct workload_build *b, uint32_t lock, uint64_t unmap_ns, bool tables)
{
    struct workload_program *p = &b->program;
    bool downgrade = workload_number(&b->words, "downgrade", 1, 0, 1) != 0;
    workload_do(p, GUEST_OP_WRITE, lock);
    workload_kernel(p, unmap_ns);
    if (downgrade) {
        workload_do(p, GUEST_OP_DOWNGRADE, lock);
    }
    workload_do(p, GUEST_OP_SHOOTDOWN, tables);
    workload_do(p, downgrade ? GUEST_OP_UNREAD : GUEST_OP_UNWRITE, lock);
}

/* Now and then the page table itself goes, too. */
static void unmap_all(struct workload_build *b, uint32_t lock, uint64_t unmap_ns, uint32_t tables)
{
    struct workload_program *p = &b->program;
    uint32_t choice = workload_op(p, GUEST_OP_CHANCE, tables, 0, 0, 0);
    unmap(b, lock, unmap_ns, false);
    uint32_t skip = workload_do(p, GUEST_OP_JUMP, 0);
    p->op[choice].b = p->count;
    unmap(b, lock, unmap_ns, true);
    p->op[skip].a = p->count;
}

/* madvise(MADV_DONTNEED) takes the lock for reading only. */
static void give_back(struct workload_build *b, uint32_t lock, uint64_t unmap_ns)
{
    struct workload_program *p = &b->program;
    workload_do(p, GUEST_OP_READ, lock);
    workload_kernel(p, unmap_ns);
    workload_do(p, GUEST_OP_SHOOTDOWN, 0);
    workload_do(p, GUEST_OP_UNREAD, lock);
}

/*
 * Pages come from and go to lists that all CPUs share, each guarded by a spinlock with interrupts
 * off: the allocator's zone and the replacement's LRU. Linux takes them once per batch of pages (31
 * and 15); here both are taken once per `batch`, for a time in proportion.
 */
struct page_locks {
    uint32_t zone, lru;
    uint64_t hold_ns;
};

static void take_pages(struct workload_program *p, const struct page_locks *locks)
{
    const uint32_t both[] = {locks->zone, locks->lru};
    for (uint32_t i = 0; i < 2 && locks->hold_ns > 0; i++) {
        workload_do(p, GUEST_OP_IRQ_LOCK, both[i]);
        workload_kernel(p, locks->hold_ns);
        workload_do(p, GUEST_OP_IRQ_UNLOCK, both[i]);
    }
}

static void free_pages(struct workload_program *p, const struct page_locks *locks, uint32_t rounds)
{
    uint32_t start = p->count;
    if (locks->hold_ns > 0) {
        take_pages(p, locks);
        workload_loop(p, start, rounds, 1);
    }
}

static void tlbstorm(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    uint64_t pages = workload_number(w, "chunk_kb", 64, 4, 1 << 20) / PAGE_KB;
    uint64_t searches = workload_number(w, "searches", 64, 0, 1 << 20);
    uint32_t mode = workload_choice(w, "free", free_names, 0);
    uint64_t fault_ns = workload_number(w, "fault_ns", 500, 0, 1000000);
    uint64_t search_ns = workload_number(w, "search_ns", 60, 0, 1000000000);
    uint64_t map_ns = workload_number(w, "map_ns", 1000, 0, 1000000);
    uint64_t unmap_ns = workload_number(w, "unmap_ns", 1500, 0, 1000000) + pages * 50;
    /* How often the page table itself is freed, so that idle CPUs are interrupted too; of 1024. */
    uint32_t tables = (uint32_t)workload_number(w, "tables", 512, 0, 1024);
    /* Faults taken at once by the model: fewer events for the same time and locking. */
    uint64_t batch = workload_number(w, "batch", 4, 1, 1024);
    uint32_t lock = guest_add_sleeplock(b->g);
    uint32_t rounds = (uint32_t)((pages + batch - 1) / batch);
    struct page_locks locks = {.zone = guest_add_spinlock(b->g), .lru = guest_add_spinlock(b->g)};
    locks.hold_ns = workload_number(w, "page_ns", 50, 0, 100000) * batch;

    if (mode != FREE_ARENA) {
        workload_do(p, GUEST_OP_WRITE, lock);
        workload_kernel(p, map_ns);
        workload_do(p, GUEST_OP_UNWRITE, lock);
    }
    uint32_t faults = p->count;
    workload_user(p, batch * 400); /* 4 KB copied at 10 GB/s */
    workload_do(p, GUEST_OP_READ, lock);
    workload_kernel(p, batch * fault_ns);
    take_pages(p, &locks);
    workload_do(p, GUEST_OP_UNREAD, lock);
    workload_loop(p, faults, rounds, 0);
    workload_user(p, searches * search_ns);
    if (mode != FREE_MUNMAP) {
        if (mode == FREE_BOTH) {
            workload_op(p, GUEST_OP_CHANCE, 512, p->count + 5, 0, 0);
        }
        give_back(b, lock, pages * 50);
    }
    if (mode != FREE_ARENA) {
        unmap_all(b, lock, unmap_ns, tables);
    }
    free_pages(p, &locks, rounds);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "records";
    workload_tasks(b, b->mm);
}

/* A read outside of the file's lock, a write inside. */
static void filecopy(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    uint64_t block_b = workload_number(w, "block_b", 1024, 1, 1 << 20);
    uint32_t files = (uint32_t)workload_number(w, "files", 1, 1, 64);
    workload_number(w, "file_kb", 2000, 1, 1 << 30);
    workload_text(w, "dir", "");
    uint64_t read_ns = workload_number(w, "read_ns", 400, 0, 1000000);
    uint64_t write_ns = workload_number(w, "write_ns", 600, 0, 1000000);
    uint64_t byte_ps = workload_number(w, "byte_ps", 100, 0, 1000000);
    uint32_t first = b->g->sleeplock_count;
    for (uint32_t i = 0; i < files; i++) {
        guest_add_sleeplock(b->g);
    }
    for (uint32_t i = 0; i < b->threads; i++) {
        struct workload_program *p = &b->program;
        p->count = 0;
        workload_user(p, 100);
        workload_kernel(p, read_ns + block_b * byte_ps / 1000);
        workload_do(p, GUEST_OP_WRITE, first + i % files);
        workload_kernel(p, write_ns + block_b * byte_ps / 1000);
        workload_do(p, GUEST_OP_UNWRITE, first + i % files);
        workload_do(p, GUEST_OP_TALLY, 0);
        workload_do(p, GUEST_OP_JUMP, 0);
        workload_task(b, b->mm, i % b->g->config.vcpu_count);
    }
    b->state->metric = "copied";
    b->state->unit = "KB";
    b->state->scale = (double)block_b / 1024;
}

static const char *const hot_locks[] = {"files", "signals", NULL};

static void lockstorm(struct workload_build *b)
{
    struct workload_words *w = &b->words;
    struct workload_program *p = &b->program;
    bool signals = workload_choice(w, "lock", hot_locks, 0) == 1;
    uint64_t hold_ns = workload_number(w, "hold_ns", signals ? 1500 : 80, 1, 1000000000);
    uint64_t outside_ns = workload_number(w, "outside_ns", 200, 0, 1000000000);
    bool irq = workload_number(w, "irq_off", signals, 0, 1) != 0;
    uint32_t lock = guest_add_spinlock(b->g);
    workload_user(p, outside_ns);
    workload_do(p, irq ? GUEST_OP_IRQ_LOCK : GUEST_OP_LOCK, lock);
    workload_kernel(p, hold_ns);
    workload_do(p, irq ? GUEST_OP_IRQ_UNLOCK : GUEST_OP_UNLOCK, lock);
    workload_do(p, GUEST_OP_TALLY, 0);
    workload_do(p, GUEST_OP_JUMP, 0);
    b->state->metric = "calls";
    workload_tasks(b, b->mm);
}

const struct workload workload_memory[] = {
    {"tlbstorm", "threads of one process map, touch, search and unmap memory", tlbstorm, 0},
    {"filecopy", "copiers write blocks to the same file, under its lock", filecopy, 0},
    {"lockstorm", "one hot kernel spinlock", lockstorm, 0},
    {.name = NULL},
};
