/*
 * trace_perfetto.c - a trace as Chrome JSON, which the Perfetto UI opens: one track a pCPU (what ran
 * there), one a vCPU (running where, polling, waiting, blocked), arrows from yielder to target and
 * from waker to woken. Format: "Trace Event Format", Google, 2016.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cede/effect.h"
#include "cede/trace.h"
#include "host/trace.h"

#define PID_PCPUS 1u
#define PID_VMS 2u /* and up: one a VM */

struct track { /* what began on it and isn't over */
    uint64_t since_ns;
    char name[64];
    const char *why;
    bool open;
};

struct writer {
    FILE *file;
    const struct host_trace *trace;
    struct track *pcpu, *vcpu;
    uint64_t *arrow; /* per vCPU: number of the arrow that ends when it runs; 0: none */
    uint64_t arrows, from_ns, to_ns;
    bool any;
};

static void item(struct writer *w)
{
    fputs(w->any ? ",\n" : "\n", w->file);
    w->any = true;
}

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static void close_slice(struct writer *w, struct track *track, uint32_t pid, uint32_t tid,
                        uint64_t now_ns)
{
    if (track->open && now_ns >= w->from_ns && track->since_ns < w->to_ns &&
        now_ns > track->since_ns) {
        item(w);
        fprintf(w->file,
                "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"why\":\"%s\"}}",
                track->name, pid, tid, us(track->since_ns), us(now_ns - track->since_ns),
                track->why != NULL ? track->why : "");
    }
    track->open = false;
}

static void open_slice(struct track *track, const char *name, const char *why, uint64_t now_ns)
{
    snprintf(track->name, sizeof track->name, "%s", name);
    track->why = why;
    track->since_ns = now_ns;
    track->open = true;
}

static uint32_t vm_of(const struct host_trace *trace, uint32_t vcpu)
{
    uint32_t vm = 0;
    while (vm + 1 < trace->head.vm_count && trace->vm[vm + 1].first_vcpu <= vcpu) {
        vm++;
    }
    return vm;
}

static void vcpu_state(struct writer *w, const struct abi_trace_record *r, const char *name)
{
    const char *why = cede_reason_name(r->reason);
    if (r->vcpu < w->trace->head.vcpu_count) {
        close_slice(w, &w->vcpu[r->vcpu], PID_VMS + vm_of(w->trace, r->vcpu), r->vcpu, r->now_ns);
        open_slice(&w->vcpu[r->vcpu], name, why, r->now_ns);
    }
}

static void pcpu_state(struct writer *w, const struct abi_trace_record *r, const char *name)
{
    if (r->pcpu < w->trace->head.pcpu_count) {
        close_slice(w, &w->pcpu[r->pcpu], PID_PCPUS, r->pcpu, r->now_ns);
        if (name != NULL) {
            open_slice(&w->pcpu[r->pcpu], name, cede_reason_name(r->reason), r->now_ns);
        }
    }
}

static void arrow(struct writer *w, uint32_t vcpu, uint64_t now_ns, uint64_t number, bool end,
                  const char *name)
{
    if (now_ns < w->from_ns || now_ns >= w->to_ns) {
        return;
    }
    item(w);
    fprintf(w->file,
            "{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"flow\",\"id\":%" PRIu64
            ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f%s}",
            end ? "f" : "s", name, number, PID_VMS + vm_of(w->trace, vcpu), vcpu, us(now_ns),
            end ? ",\"bp\":\"e\"" : "");
}

static void begin_arrow(struct writer *w, uint32_t from, uint32_t to, uint64_t now_ns,
                        const char *name)
{
    if (from < w->trace->head.vcpu_count && to < w->trace->head.vcpu_count) {
        w->arrow[to] = ++w->arrows;
        arrow(w, from, now_ns, w->arrow[to], false, name);
    }
}

static void ran(struct writer *w, const struct abi_trace_record *r)
{
    char text[64], who[48];
    if (r->vcpu >= w->trace->head.vcpu_count) {
        return;
    }
    snprintf(text, sizeof text, "pCPU %u", r->pcpu);
    vcpu_state(w, r, text);
    pcpu_state(w, r, host_trace_vcpu(w->trace, r->vcpu, who));
    if (w->arrow[r->vcpu] != 0) {
        arrow(w, r->vcpu, r->now_ns, w->arrow[r->vcpu], true, "flow");
        w->arrow[r->vcpu] = 0;
    }
}

static void take(struct writer *w, const struct abi_trace_record *r)
{
    char text[64], who[48];
    switch (r->kind) {
    case CEDE_TRACE_RUN:
        ran(w, r);
        break;
    case CEDE_TRACE_IDLE:
        pcpu_state(w, r, NULL);
        break;
    case CEDE_TRACE_BLOCK:
        vcpu_state(w, r, "blocked");
        break;
    case CEDE_TRACE_POLL:
        vcpu_state(w, r, "polling");
        snprintf(text, sizeof text, "poll %s", host_trace_vcpu(w->trace, r->vcpu, who));
        pcpu_state(w, r, text);
        break;
    case CEDE_TRACE_WAKE:
        vcpu_state(w, r, "waiting (woken)");
        break;
    case CEDE_TRACE_PREEMPT:
        vcpu_state(w, r, "waiting (preempted)");
        break;
    case CEDE_TRACE_THROTTLE:
        vcpu_state(w, r, "throttled");
        break;
    case CEDE_TRACE_YIELD:
        begin_arrow(w, r->vcpu, r->other, r->now_ns, "yield");
        break;
    case CEDE_TRACE_INTERRUPT:
        if (r->arg == 3) {
            begin_arrow(w, r->other, r->vcpu, r->now_ns, "wake");
        }
        break;
    default:
        break;
    }
}

static void name_tracks(struct writer *w)
{
    const struct host_trace *trace = w->trace;
    item(w);
    fprintf(w->file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":"
                     "\"pCPUs (%s)\"}}", PID_PCPUS, trace->head.world);
    for (uint32_t i = 0; i < trace->head.pcpu_count; i++) {
        item(w);
        fprintf(w->file, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":"
                         "{\"name\":\"pCPU %u\"}}", PID_PCPUS, i, i);
    }
    for (uint32_t i = 0; i < trace->head.vm_count; i++) {
        item(w);
        fprintf(w->file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":"
                         "\"%s\"}}", PID_VMS + i, trace->vm[i].name);
        for (uint32_t k = 0; k < trace->vm[i].vcpu_count; k++) {
            item(w);
            fprintf(w->file, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
                             "\"args\":{\"name\":\"%s/%u\"}}", PID_VMS + i,
                    trace->vm[i].first_vcpu + k, trace->vm[i].name, k);
        }
    }
}

void host_trace_perfetto(FILE *file, const struct host_trace *trace, uint64_t from_ns,
                         uint64_t to_ns)
{
    struct writer w = {.file = file, .trace = trace, .from_ns = from_ns, .to_ns = to_ns};
    w.pcpu = calloc(trace->head.pcpu_count + 1, sizeof *w.pcpu);
    w.vcpu = calloc(trace->head.vcpu_count + 1, sizeof *w.vcpu);
    w.arrow = calloc(trace->head.vcpu_count + 1, sizeof *w.arrow);
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    if (w.pcpu != NULL && w.vcpu != NULL && w.arrow != NULL) {
        uint64_t end_ns = trace->count > 0 ? trace->record[trace->count - 1].now_ns : 0;
        name_tracks(&w);
        for (size_t i = 0; i < trace->count && trace->record[i].now_ns < to_ns; i++) {
            take(&w, &trace->record[i]);
        }
        end_ns = end_ns < to_ns ? end_ns : to_ns;
        for (uint32_t i = 0; i < trace->head.pcpu_count; i++) {
            close_slice(&w, &w.pcpu[i], PID_PCPUS, i, end_ns);
        }
        for (uint32_t i = 0; i < trace->head.vcpu_count; i++) {
            close_slice(&w, &w.vcpu[i], PID_VMS + vm_of(trace, i), i, end_ns);
        }
    }
    fprintf(file, "\n]}\n");
    free(w.pcpu);
    free(w.vcpu);
    free(w.arrow);
}
