/*
 * report_timeline.c - which vCPU was on which pCPU, as bars; a colour per VM, polling drawn thin.
 */
#include <stdlib.h>
#include <string.h>

#include "cede/trace.h"
#include "host/html.h"
#include "host/report.h"

#define WIDTH 860.0
#define LABEL 70.0
#define ROW 20.0
#define BARS_MAX 20000u /* what a browser draws without effort */

struct lane {
    uint32_t vcpu;
    uint64_t since_ns;
    bool busy, polls;
};

struct picture {
    FILE *file;
    const struct host_trace *trace;
    uint64_t from_ns, to_ns;
    struct lane *lane;
    uint32_t bars;
};

static double x_of(const struct picture *p, uint64_t ns)
{
    uint64_t at = ns < p->from_ns ? p->from_ns : ns > p->to_ns ? p->to_ns : ns;
    return LABEL + (double)(at - p->from_ns) / (double)(p->to_ns - p->from_ns) * (WIDTH - LABEL);
}

static uint32_t vm_of(const struct host_trace *trace, uint32_t vcpu)
{
    uint32_t vm = 0;
    while (vm + 1 < trace->head.vm_count && trace->vm[vm + 1].first_vcpu <= vcpu) {
        vm++;
    }
    return vm;
}

static void close_bar(struct picture *p, uint32_t pcpu, uint64_t now_ns)
{
    struct lane *lane = &p->lane[pcpu];
    double x = x_of(p, lane->since_ns), width = x_of(p, now_ns) - x;
    char title[128], who[48];
    if (lane->busy && now_ns > p->from_ns && lane->since_ns < p->to_ns && width > 0 &&
        p->bars < BARS_MAX) {
        snprintf(title, sizeof title, "%s%s, %.3f to %.3f ms", lane->polls ? "polling for " : "",
                 host_trace_vcpu(p->trace, lane->vcpu, who), (double)lane->since_ns / 1e6,
                 (double)now_ns / 1e6);
        svg_rect(p->file, x, 20 + pcpu * ROW + (lane->polls ? 6 : 2), width, lane->polls ? 6 : 14,
                 svg_colour(vm_of(p->trace, lane->vcpu)), title);
        p->bars++;
    }
    lane->busy = false;
}

static void take(struct picture *p, const struct abi_trace_record *r)
{
    bool run = r->kind == CEDE_TRACE_RUN, poll = r->kind == CEDE_TRACE_POLL;
    if (r->pcpu >= p->trace->head.pcpu_count || (!run && !poll && r->kind != CEDE_TRACE_IDLE)) {
        return;
    }
    close_bar(p, r->pcpu, r->now_ns);
    if (run || poll) {
        p->lane[r->pcpu] = (struct lane){r->vcpu, r->now_ns, true, poll};
    }
}

static void axis(const struct picture *p, double height)
{
    for (uint32_t i = 0; i <= 8; i++) {
        char text[32];
        uint64_t ns = p->from_ns + (p->to_ns - p->from_ns) / 8 * i;
        snprintf(text, sizeof text, "%.4g ms", (double)ns / 1e6);
        svg_line(p->file, x_of(p, ns), 16, x_of(p, ns), height, "#e5e5e5", 1);
        svg_text(p->file, x_of(p, ns), 12, i == 8 ? "end" : i == 0 ? "start" : "middle", text);
    }
}

void host_report_timeline(FILE *file, const struct host_trace *trace, uint64_t from_ns,
                          uint64_t to_ns)
{
    uint64_t last_ns = trace->count > 0 ? trace->record[trace->count - 1].now_ns : 1;
    struct picture p = {.file = file, .trace = trace, .from_ns = from_ns,
                        .to_ns = to_ns < last_ns ? to_ns : last_ns};
    double height = 24 + trace->head.pcpu_count * ROW;
    p.lane = calloc(trace->head.pcpu_count + 1, sizeof *p.lane);
    if (p.lane == NULL || p.to_ns <= p.from_ns) {
        free(p.lane);
        return;
    }
    fprintf(file, "<h2>Timeline: which VM was on which pCPU</h2>\n");
    svg_begin(file, WIDTH, height, "timeline of pCPUs");
    axis(&p, height);
    for (uint32_t i = 0; i < trace->head.pcpu_count; i++) {
        char text[24];
        snprintf(text, sizeof text, "pCPU %u", i);
        svg_text(file, LABEL - 8, 20 + i * ROW + 14, "end", text);
    }
    for (size_t i = 0; i < trace->count && trace->record[i].now_ns <= p.to_ns; i++) {
        take(&p, &trace->record[i]);
    }
    for (uint32_t i = 0; i < trace->head.pcpu_count; i++) {
        close_bar(&p, i, p.to_ns);
    }
    svg_end(file);
    fputs("<p class=\"key\">", file);
    for (uint32_t i = 0; i < trace->head.vm_count; i++) {
        fprintf(file, "<span><i style=\"background:%s\"></i>", svg_colour(i));
        html_text(file, trace->vm[i].name);
        fputs("</span>", file);
    }
    fprintf(file, "</p>\n<p class=\"note\">Thin bars: polling for a halted vCPU.%s</p>\n",
            p.bars == BARS_MAX ? " Too much to draw: the picture ends early; choose a shorter part "
                                 "with --from and --to." : "");
    free(p.lane);
}
