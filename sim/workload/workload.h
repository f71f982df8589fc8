/*
 * workload.h - how workloads are described: parameters in, locks and task programs out.
 *
 * A workload is one function that reads its parameters and gives the guest its tasks. Names and
 * parameters are those of the programs in guests/workload where both exist; what only a model has
 * (costs in ns, settings of the kernel) has names of its own, listed in docs/design/guest-model.md.
 * No globals, no locks: called once a VM, before time starts.
 */
#ifndef SIM_WORKLOAD_WORKLOAD_H
#define SIM_WORKLOAD_WORKLOAD_H

#include "sim/guest/guest.h"

#define WORKLOAD_WORDS 48u
#define WORKLOAD_TEXT 256u
#define WORKLOAD_OPS 1024u

struct workload_words {
    char text[WORKLOAD_TEXT]; /* the parameters, cut into words */
    const char *key[WORKLOAD_WORDS];
    const char *value[WORKLOAD_WORDS];
    bool asked[WORKLOAD_WORDS];
    uint32_t count;
    char *error; /* of the caller; "" while all is well */
    size_t error_size;
};

/* Cuts "threads=4 seconds=10" into words. False: malformed, said in error. */
bool workload_words_read(struct workload_words *words, const char *params, char *error,
                         size_t error_size);

/* A parameter, or `standard`; one out of its range or of another kind is said in `error`. */
uint64_t workload_number(struct workload_words *words, const char *key, uint64_t standard,
                         uint64_t low, uint64_t high);
/* Seconds with decimals, in ns. */
uint64_t workload_seconds(struct workload_words *words, const char *key, uint64_t standard_ns);
/* The index of the word in `choices` (ended by NULL). */
uint32_t workload_choice(struct workload_words *words, const char *key,
                         const char *const *choices, uint32_t standard);
const char *workload_text(struct workload_words *words, const char *key, const char *standard);
void workload_fail(struct workload_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* After all were read: words that nobody asked for are errors. True: no error at all. */
bool workload_words_end(struct workload_words *words);

/* A program being written. Operations past the room are an error at the end. */
struct workload_program {
    struct guest_op op[WORKLOAD_OPS];
    uint32_t count;
};

/* Adds one operation; its position. The others are short for it. */
uint32_t workload_op(struct workload_program *p, enum guest_op_kind kind, uint32_t a, uint32_t b,
                     uint64_t ns, uint32_t spread);
uint32_t workload_do(struct workload_program *p, enum guest_op_kind kind, uint32_t a);
void workload_user(struct workload_program *p, uint64_t ns);
void workload_kernel(struct workload_program *p, uint64_t ns);
/* Back to `to` until it was there `times` times; level: which counter of the task. */
void workload_loop(struct workload_program *p, uint32_t to, uint32_t times, uint32_t level);

/* What one workload measures, and what it needs while it runs. */
struct workload_state {
    const char *metric; /* headline: its name, unit, kind, and scale of counter 0 */
    const char *unit;
    enum sim_metric_kind kind;
    double scale;
    const char *second; /* COUNT of counter 1, or NULL */
    uint64_t end_ns;
    /* netserver, redis */
    uint32_t net_sem, net_cpu;
    uint64_t gap_ns; /* open loop: mean time between packets */
    uint64_t client_ns, wire_ns; /* one sender: what a packet takes it, and its way */
    uint64_t client_free_ns;     /* when it has made all those asked for */
};

#define WORKLOAD_COOKIE_END 1u
#define WORKLOAD_COOKIE_PACKET 2u
#define WORKLOAD_COOKIE_ARRIVAL 3u
#define WORKLOAD_COOKIE_ACK 4u

struct workload_build {
    struct guest *g;
    struct workload_words words;
    struct workload_state *state;
    uint32_t threads;
    uint64_t pinned; /* threads are bound to CPUs, in order */
    uint32_t mm;     /* one address space, for the threads of one process */
    struct workload_program program;
    bool failed; /* no memory */
};

/* The program written so far becomes a task; bound to a CPU if `pinned`. */
void workload_task(struct workload_build *b, uint32_t mm, uint32_t cpu);
/* The same for each thread: CPUs in order, bound if pin=1. */
void workload_tasks(struct workload_build *b, uint32_t mm);

struct workload {
    const char *name;
    const char *doc;
    void (*build)(struct workload_build *b);
    uint32_t threads; /* standard number; 0: one a CPU */
};

/* Ended by an entry without a name. */
extern const struct workload workload_memory[];
extern const struct workload workload_unixbench[];
extern const struct workload workload_compute[];
extern const struct workload workload_wakes[];
extern const struct workload workload_net[];
extern const struct workload workload_traces[];

#endif
