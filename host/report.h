/*
 * report.h - one self-contained HTML page from results of `cede run`, `sim` and `compare`, and
 * optionally a trace: tables, the account of lost time, latencies, policies side by side, a
 * timeline. Drawn as SVG in the page; no scripts, nothing from elsewhere.
 */
#ifndef HOST_REPORT_H
#define HOST_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "host/trace.h"

void host_report_begin(FILE *file, const char *title);

/* Of one JSON file; false: it is none of ours (error says what was expected). */
bool host_report_results(FILE *file, const char *name, const json_t *json, char *error);

/* Which vCPU was on which pCPU between two instants. */
void host_report_timeline(FILE *file, const struct host_trace *trace, uint64_t from_ns,
                          uint64_t to_ns);
void host_report_end(FILE *file);

#endif
