/*
 * wake.pml - a SPIN model of the protocol around the core's lock: halt, poll, wake, kick, preempt
 * and yield, with three pCPUs and three vCPUs. docs/design/wake.md says what it leaves out.
 *
 * Each event under the lock is one atomic step, as cede_handle() under the caller's lock is. What
 * the shell does outside it (pending bits, flags, the check before an entry) is step by step.
 * BAD_FLAG_AFTER, BAD_SAMPLE_OUTSIDE and BAD_KICK_BEFORE_GIF make the known-bad variants.
 */
#define PCPUS 3
#define VCPUS 3
#ifndef USED
#define USED 2 /* vCPUs that ever run: 2, or 3 */
#endif
#define NONE 255
#ifndef SENDS
#define SENDS 2 /* interrupts in all */
#endif

mtype = { RUNNABLE, RUNNING, POLLING, BLOCKED };
mtype state[VCPUS] = RUNNABLE;
byte current[PCPUS] = NONE; /* what the core has given each pCPU */
bool pending[VCPUS];        /* the vCPU's interrupt, as a sender sets it */
byte waking[VCPUS];         /* senders that lie between the bit and its INTERRUPT event */
bool kick[PCPUS];           /* the flag */
bool ipi[PCPUS];            /* held while GIF is clear; wakes a sleeper, ends a guest's run */
bool resting[PCPUS]; /* asleep or in guest mode: only an IPI makes it look at its flag */
byte inside[VCPUS];         /* pCPUs that have it in guest mode */
byte sends;                 /* how many interrupts were sent in all */

/* ---- the core, inside atomic ---- */

inline kick_pcpu(k) { kick[k] = true; ipi[k] = true }

/* A runnable vCPU or none for a pCPU: any, since which one is the policy's and not the model's. */
inline pick(p)
{
    if
    :: state[0] == RUNNABLE -> current[p] = 0; state[0] = RUNNING
    :: state[1] == RUNNABLE -> current[p] = 1; state[1] = RUNNING
    :: state[2] == RUNNABLE -> current[p] = 2; state[2] = RUNNING
    :: state[0] != RUNNABLE && state[1] != RUNNABLE && state[2] != RUNNABLE -> current[p] = NONE
    fi
}

/* It becomes runnable, and some pCPU is kicked to take it: an idle one, or one that runs. */
inline wake(v)
{
    state[v] = RUNNABLE;
    if
    :: current[0] == NONE && !kick[0] -> kick_pcpu(0)
    :: current[1] == NONE && !kick[1] -> kick_pcpu(1)
    :: current[2] == NONE && !kick[2] -> kick_pcpu(2)
    :: else -> /* wherever it is, some pCPU is going to look */
        if
        :: kick_pcpu(0) /* wake-up preemption */
        :: kick_pcpu(1)
        :: kick_pcpu(2)
        fi
    fi
}

inline interrupt_event(v)
{
    if
    :: state[v] == BLOCKED -> wake(v)
    :: state[v] == RUNNING ->
        if /* NOTIFY: an exit is forced wherever it runs */
        :: current[0] == v -> ipi[0] = true
        :: current[1] == v -> ipi[1] = true
        :: current[2] == v -> ipi[2] = true
        fi
    :: else -> skip /* it waits for a pCPU already, or its poller looks at the bit */
    fi
}

/* ---- a sender: a device or a sibling ---- */

proctype sender()
{
    byte t;
    do
    :: atomic { sends < SENDS -> sends++; if :: t = 0 :: t = 1 :: USED == 3 -> t = 2 fi; waking[t]++ }
#ifdef BAD_FLAG_AFTER
        atomic { interrupt_event(t); waking[t]-- }
        pending[t] = true
#else
        pending[t] = true;
        atomic { interrupt_event(t); waking[t]--; t = 0 }
#endif
    :: sends >= SENDS -> break
    od
}

/* ---- a pCPU ---- */

inline resched(p)
{
    atomic {
        kick[p] = false;
        if
        :: current[p] != NONE -> state[current[p]] = RUNNABLE
        :: else -> skip
        fi;
        pick(p)
    }
}

inline halt(p, v)
{
#ifdef BAD_SAMPLE_OUTSIDE
    sample = pending[v];
    atomic {
#else
    atomic {
        sample = pending[v];
#endif
        if
        :: sample -> skip /* goes on */
        :: !sample -> state[v] = POLLING
        :: !sample -> state[v] = BLOCKED; pick(p)
        fi;
        sample = false
    }
}

inline poll_end(p, v)
{
    atomic {
        if
        :: pending[v] -> state[v] = RUNNING
        :: else -> state[v] = BLOCKED; pick(p)
        fi
    }
}

/* hint: it goes back to the queue; pull: the target comes to this pCPU. Either is a free choice of
 * who runs next, from any queue. */
inline yield_or_slice_end(p) { resched(p) }

/* The guest until its exit: it takes its interrupt, halts, spins (a yield), or just ends a slice. */
inline guest(p, v)
{
    atomic { inside[v]++; resting[p] = true; assert(inside[v] == 1) }
    if
    :: atomic { pending[v] -> pending[v] = false; inside[v]--; resting[p] = false }
    :: atomic { !pending[v] -> inside[v]--; resting[p] = false }; halt(p, v)
    :: atomic { true -> inside[v]--; resting[p] = false }; yield_or_slice_end(p)
    :: atomic { ipi[p] -> ipi[p] = false; inside[v]--; resting[p] = false } /* an IPI ends the run */
    fi
}

proctype pcpu(byte p)
{
    byte v;
    bool sample;
    bool seen;
end:
    do
    :: kick[p] && (current[p] == NONE || state[current[p]] != POLLING) -> resched(p)
    :: current[p] == NONE && !kick[p] -> /* IDLE: interrupts are off between look and sleep */
        resting[p] = true;
end_sleep:
        atomic { ipi[p] -> ipi[p] = false; resting[p] = false }
    :: atomic { current[p] != NONE && state[current[p]] == POLLING -> v = current[p] };
        poll_end(p, v); v = 0
    :: current[p] != NONE && state[current[p]] == RUNNING && !kick[p] ->
#ifdef BAD_KICK_BEFORE_GIF
        seen = kick[p];
        ipi[p] = false; /* GIF still set: the IPI is taken here, by a handler that does nothing */
#else
        /* GIF is clear: an IPI from here on stays pending and ends the run at once. */
        seen = kick[p];
#endif
        if
        :: atomic { seen -> seen = false; ipi[p] = false }
        :: atomic { else -> v = current[p] }; guest(p, v); v = 0
        fi
    od
}

/* Invariants, looked at in every state. The monitor is stuck as long as all hold. */
#define LOST(v) (state[v] == BLOCKED && pending[v] && !waking[v])
#define DEAF(p) (resting[p] && kick[p] && !ipi[p])
#define QUEUED (state[0] == RUNNABLE || state[1] == RUNNABLE || state[2] == RUNNABLE)
#define IDLE (current[0] == NONE || current[1] == NONE || current[2] == NONE)
#define STRANDED (QUEUED && IDLE && !kick[0] && !kick[1] && !kick[2])
#define SAME(a, b) (current[a] != NONE && current[a] == current[b])

proctype monitor()
{
end:
    if
    :: atomic { LOST(0) || LOST(1) || LOST(2) -> printf("LOST\n"); assert(false) }
    :: atomic { DEAF(0) || DEAF(1) || DEAF(2) -> printf("DEAF\n"); assert(false) }
    :: atomic { STRANDED -> printf("STRANDED\n"); assert(false) }
    :: atomic { SAME(0, 1) || SAME(0, 2) || SAME(1, 2) -> printf("SAME\n"); assert(false) }
    fi
}

init
{
    atomic {
        run pcpu(0); run pcpu(1); run pcpu(2);
        run sender(); run sender(); run monitor();
        if :: USED == 2 -> state[2] = BLOCKED :: else fi;
        kick_pcpu(0); kick_pcpu(1); kick_pcpu(2)
    }
}
