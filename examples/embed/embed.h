/*
 * embed.h - what the port (embed.c) and the program around it (main.c) share.
 */
#ifndef EXAMPLES_EMBED_EMBED_H
#define EXAMPLES_EMBED_EMBED_H

#include "cede/core.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PCPUS = 2, VCPUS = 4, ROUNDS = 300 };
enum step { STEP_GO_ON, STEP_SPIN, STEP_HALT, STEP_STOP };

struct pcpu {
    struct cede_pcpu_id id;
    struct cede_effect turn; /* the last RUN, IDLE or POLL: what this pCPU does now */
    atomic_bool kick;        /* send RESCHED soon */
    atomic_bool poll_stop;
    pthread_cond_t woken;
    uint64_t ran_from_ns; /* since when the current vCPU's time is not yet reported */
};

struct port {
    pthread_mutex_t lock;
    struct cede *core;
    struct pcpu pcpu[PCPUS];
    atomic_bool pending[VCPUS];
    atomic_int on_pcpu[VCPUS]; /* how many pCPUs run it at this instant: never above 1 */
    atomic_uint twice;         /* how often that was broken */
    unsigned rounds[VCPUS];    /* each touched by its own vCPU only, until the threads ended */
    atomic_uint turn;          /* which spinner may go on: 2 or 3 */
    uint64_t steal_ns[VCPUS];  /* what PUBLISH wrote: a guest would read it in shared memory */
    unsigned live;             /* vCPUs not yet stopped; under the lock */
};

extern struct port port;

/* An event with its kind and ids; NULL and CEDE_VCPU_NONE: none. */
struct cede_event embed_event(enum cede_event_kind kind, const struct pcpu *pcpu,
                              struct cede_vcpu_id vcpu);

/* Sends it under the lock and applies what comes back; self: the pCPU that sends, or NULL. */
void embed_send(struct pcpu *self, struct cede_event event);

/* A pCPU's life, a thread's function; returns when all vCPUs have stopped. */
void *embed_pcpu_main(void *pcpu);

uint64_t embed_now_ns(void);

#endif
