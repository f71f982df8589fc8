/*
 * bench.h - a test bench for the core: one core in malloc'ed memory, one event at a time, all
 * invariants checked after each. The clock is `bench.now_ns`; tests move it.
 *
 * One bench per program; no locks: tests have one thread.
 */
#ifndef TESTS_UNIT_CORE_BENCH_H
#define TESTS_UNIT_CORE_BENCH_H

#include "cede/core.h"
#include "cede/stats.h"
#include "cede/trace.h"

struct bench {
    struct cede *core;
    struct cede_config config;
    size_t size;
    unsigned char *image; /* for comparing before and after */
    uint64_t now_ns;
    struct cede_effects effects; /* of the last event */
    const char *fault;           /* the first that cede_check_all() found, ever; or NULL */
};

extern struct bench bench;

/* A new core, nothing in it; the clock at 1 ms. Frees the one before. */
void bench_begin(uint32_t pcpus, uint32_t vms, uint32_t vcpus, uint32_t vm_vcpus);

/* As most tests want it: pcpus shared pCPUs, added; vms VMs of `preset` with `each` vCPUs, started
 * if `start`. VM v's vCPU i is vCPU v * each + i. */
void bench_build(uint32_t pcpus, uint32_t vms, uint32_t each, uint32_t preset, bool start);

/* An event with now, kind and ids set (NONE: CEDE_ID_NONE), the rest 0. */
struct cede_event bench_event(uint32_t kind, uint32_t pcpu, uint32_t vcpu);

/* Sends it; on a status other than CEDE_OK, also checks that nothing changed (else `fault`). */
enum cede_status bench_send(const struct cede_event *event);

/* Short forms; `ns` passes before the event, all of it in guest kernel mode for the current one. */
enum cede_status bench_add_pcpu(uint32_t pcpu, uint32_t role, uint32_t vm, uint32_t core,
                                uint32_t llc);
enum cede_status bench_resched(uint32_t pcpu, uint64_t ns);
enum cede_status bench_spin(uint32_t pcpu, uint64_t ns, uint8_t mode);
enum cede_status bench_halt(uint32_t pcpu, uint64_t ns);
enum cede_status bench_interrupt(uint32_t pcpu, uint32_t vcpu);
enum cede_status bench_simple(uint32_t kind, uint32_t vcpu);
enum cede_status bench_policy(uint32_t vm, uint32_t key, uint64_t value);
enum cede_status bench_affinity(uint32_t vcpu, uint64_t mask);
enum cede_status bench_cap(uint32_t vm, uint64_t quota_ns, uint64_t period_ns);

/* Of the last event: how many effects of that kind, the first one (NULL: none). */
uint32_t bench_count(uint32_t kind);
const struct cede_effect *bench_find(uint32_t kind);

/* The last event made that pCPU run that vCPU. */
bool bench_ran(uint32_t pcpu, uint32_t vcpu);

uint32_t bench_current(uint32_t pcpu); /* CEDE_ID_NONE: none */
uint32_t bench_state(uint32_t vcpu);
uint64_t bench_counter(uint32_t vcpu, uint32_t counter);
uint64_t bench_time(uint32_t vcpu, uint32_t time_class);

/*
 * Lets every pCPU do what it was told for `ns`: run to until_ns, answer kicks at once, fire VM
 * timers; each vCPU computes for ever. For fairness and caps. False: something went wrong.
 */
bool bench_run(uint64_t ns);

#endif
