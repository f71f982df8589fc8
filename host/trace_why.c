/*
 * trace_why.c - `cede trace --why VCPU@TIME`: the chain of events behind what a vCPU did then.
 *
 * Each link is a record and the question it leaves open; at most LINKS of them.
 */
#include "cede/effect.h"
#include "cede/trace.h"
#include "host/trace.h"

#define LINKS 10u

static const char *const reason_docs[] = {
#define X(NAME, name, doc) doc,
#include "cede/lists/reason.def"
#undef X
};

struct question {
    const struct host_trace *trace;
    FILE *file;
};

static const char *doc_of(uint16_t reason)
{
    return reason < CEDE_REASON_COUNT ? reason_docs[reason] : "for an unknown reason";
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* The last record at or before `end` (an index) for which all that is asked for holds. */
static const struct abi_trace_record *last(const struct host_trace *trace, size_t end,
                                           uint32_t kind, uint32_t vcpu, uint32_t other,
                                           uint32_t pcpu)
{
    for (size_t i = end; i-- > 0;) {
        const struct abi_trace_record *r = &trace->record[i];
        if (r->kind == kind && (vcpu == CEDE_ID_NONE || r->vcpu == vcpu) &&
            (other == CEDE_ID_NONE || r->other == other) &&
            (pcpu == CEDE_ID_NONE || r->pcpu == pcpu)) {
            return r;
        }
    }
    return NULL;
}

static bool tells_state(uint16_t kind)
{
    return kind == CEDE_TRACE_RUN || kind == CEDE_TRACE_PREEMPT || kind == CEDE_TRACE_BLOCK ||
           kind == CEDE_TRACE_POLL || kind == CEDE_TRACE_WAKE || kind == CEDE_TRACE_THROTTLE ||
           kind == CEDE_TRACE_STATE;
}

static const struct abi_trace_record *state_at(const struct host_trace *trace, uint32_t vcpu,
                                               size_t end)
{
    for (size_t i = end; i-- > 0;) {
        if (trace->record[i].vcpu == vcpu && tells_state(trace->record[i].kind)) {
            return &trace->record[i];
        }
    }
    return NULL;
}

/* Records up to and including that one. */
static size_t end_of(const struct host_trace *trace, const struct abi_trace_record *r)
{
    return (size_t)(r - trace->record) + 1;
}

/* The same, with all others of its instant: a wake-up stands before the interrupt that caused it. */
static size_t end_of_instant(const struct host_trace *trace, const struct abi_trace_record *r)
{
    size_t end = end_of(trace, r);
    while (end < trace->count && trace->record[end].now_ns == r->now_ns) {
        end++;
    }
    return end;
}

/* It woke: by whom? The waker is what to look at next; NONE: the outside. */
static uint32_t explain_wake(const struct question *q, uint32_t vcpu, size_t end, size_t *next)
{
    char who[48], other[48];
    const struct abi_trace_record *r =
        last(q->trace, end, CEDE_TRACE_INTERRUPT, vcpu, CEDE_ID_NONE, CEDE_ID_NONE);
    if (r == NULL) {
        return CEDE_ID_NONE;
    }
    *next = end_of(q->trace, r);
    if (r->other == CEDE_ID_NONE) {
        fprintf(q->file, "%12.6f ms  %s got an interrupt from a device, a timer or the host\n",
                ms(r->now_ns), host_trace_vcpu(q->trace, vcpu, who));
        return CEDE_ID_NONE;
    }
    fprintf(q->file, "%12.6f ms  %s got an interrupt from %s\n", ms(r->now_ns),
            host_trace_vcpu(q->trace, vcpu, who), host_trace_vcpu(q->trace, r->other, other));
    return r->other;
}

/* It runs: why? The vCPU whose doing it was, or NONE. */
static uint32_t explain_run(const struct question *q, const struct abi_trace_record *r,
                            size_t *next)
{
    char who[48], other[48];
    size_t end = end_of(q->trace, r);
    *next = end - 1;
    fprintf(q->file, "%12.6f ms  %s got pCPU %u: %s", ms(r->now_ns),
            host_trace_vcpu(q->trace, r->vcpu, who), r->pcpu, doc_of(r->reason));
    if (r->other != CEDE_ID_NONE) {
        fprintf(q->file, " (%s was there before)", host_trace_vcpu(q->trace, r->other, other));
    }
    fputc('\n', q->file);
    if (r->reason == CEDE_REASON_YIELD_HINT || r->reason == CEDE_REASON_YIELD_PULL) {
        const struct abi_trace_record *yield =
            last(q->trace, end, CEDE_TRACE_YIELD, CEDE_ID_NONE, r->vcpu, CEDE_ID_NONE);
        if (yield != NULL) {
            *next = (size_t)(yield - q->trace->record);
            fprintf(q->file, "%12.6f ms  %s gave way to it, by %s\n", ms(yield->now_ns),
                    host_trace_vcpu(q->trace, yield->vcpu, who), yield->arg == 2 ? "pull" : "hint");
            return yield->vcpu;
        }
        return CEDE_ID_NONE;
    }
    const struct abi_trace_record *wake =
        last(q->trace, end, CEDE_TRACE_WAKE, r->vcpu, CEDE_ID_NONE, CEDE_ID_NONE);
    const struct abi_trace_record *before = state_at(q->trace, r->vcpu, end - 1);
    if (wake != NULL && before == wake) {
        fprintf(q->file, "%12.6f ms  %s woke and was put on pCPU %u's queue\n", ms(wake->now_ns),
                host_trace_vcpu(q->trace, r->vcpu, who), wake->pcpu);
        return explain_wake(q, r->vcpu, end_of_instant(q->trace, wake), next);
    }
    return CEDE_ID_NONE;
}

/* It waits: for whom? The one that has its pCPU. */
static uint32_t explain_waiting(const struct question *q, const struct abi_trace_record *r,
                                size_t end, size_t *next)
{
    char who[48];
    bool woke = r->kind == CEDE_TRACE_WAKE;
    fprintf(q->file, "%12.6f ms  %s %s pCPU %u%s%s\n", ms(r->now_ns),
            host_trace_vcpu(q->trace, r->vcpu, who), woke ? "woke, and waits for" : "lost", r->pcpu,
            woke ? "" : ": ", woke ? "" : doc_of(r->reason));
    const struct abi_trace_record *there =
        last(q->trace, end, CEDE_TRACE_RUN, CEDE_ID_NONE, CEDE_ID_NONE, r->pcpu);
    *next = end;
    return there != NULL && there->vcpu != r->vcpu ? there->vcpu : CEDE_ID_NONE;
}

static uint32_t explain(const struct question *q, uint32_t vcpu, size_t end, size_t *next)
{
    char who[48];
    const struct abi_trace_record *r = state_at(q->trace, vcpu, end);
    if (r == NULL) {
        fprintf(q->file, "                 nothing is known of %s before\n",
                host_trace_vcpu(q->trace, vcpu, who));
        return CEDE_ID_NONE;
    }
    switch (r->kind) {
    case CEDE_TRACE_RUN:
        return explain_run(q, r, next);
    case CEDE_TRACE_WAKE:
    case CEDE_TRACE_PREEMPT:
        return explain_waiting(q, r, end, next);
    default:
        fprintf(q->file, "%12.6f ms  %s: %s\n", ms(r->now_ns),
                host_trace_vcpu(q->trace, vcpu, who),
                r->kind == CEDE_TRACE_BLOCK      ? "halted, and nothing has woken it since"
                : r->kind == CEDE_TRACE_POLL     ? "halted; its pCPU polls for it"
                : r->kind == CEDE_TRACE_THROTTLE ? "held back: its VM's quota is used up"
                                                 : "started, stopped, paused or resumed by the host");
        return CEDE_ID_NONE;
    }
}

void host_trace_why(FILE *file, const struct host_trace *trace, uint32_t vcpu, uint64_t at_ns)
{
    struct question q = {trace, file};
    char who[48];
    size_t end = 0, next = 0;
    while (end < trace->count && trace->record[end].now_ns <= at_ns) {
        end++;
    }
    fprintf(file, "%s at %.6f ms, backwards:\n", host_trace_vcpu(trace, vcpu, who), ms(at_ns));
    for (uint32_t i = 0; i < LINKS && vcpu != CEDE_ID_NONE; i++) {
        next = end;
        vcpu = explain(&q, vcpu, end, &next);
        end = next;
    }
}
