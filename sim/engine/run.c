/*
 * run.c - the loop: the next event, and who takes it. The simulator's public entry.
 */
#include <string.h>

#include "cede/digest.h"
#include "cede/trace.h"
#include "sim/engine/machine.h"

#define CHECK_NS 5000000u
#define PROGRESS_NS 10000000u
#define TRACE_AT_ONCE 256u

static void drain_trace(struct sim_machine *m)
{
    struct abi_trace_record records[TRACE_AT_ONCE];
    for (uint32_t i = 0; m->options.trace != NULL && i < m->pcpu_count; i++) {
        uint64_t lost = 0;
        uint32_t count;
        do {
            count = cede_trace_read(m->core, (struct cede_pcpu_id){i}, records, TRACE_AT_ONCE,
                                    &lost);
            if (count > 0) {
                m->options.trace(m->options.context, i, records, count, lost);
            }
            lost = 0;
        } while (count == TRACE_AT_ONCE);
    }
}

static void command_due(struct sim_machine *m)
{
    const struct sim_command *command = m->options.command;
    while (m->commands_done < m->options.command_count &&
           command[m->commands_done].at_ns <= m->now_ns) {
        sim_shell_command(m, &command[m->commands_done++]);
    }
    if (m->commands_done < m->options.command_count) {
        sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_COMMAND,
                      command[m->commands_done].at_ns);
    }
}

static void global_due(struct sim_machine *m, uint32_t which)
{
    uint32_t slot = m->slot_global + which;
    switch ((enum sim_global_slot)which) {
    case SIM_GLOBAL_CHECK:
        if (!m->options.no_oracle) {
            sim_oracle_check(m);
        }
        drain_trace(m);
        sim_queue_set(&m->queue, slot, m->now_ns + CHECK_NS);
        break;
    case SIM_GLOBAL_INTERVAL:
        sim_result_interval(m);
        sim_queue_set(&m->queue, slot, m->now_ns + m->interval_ns);
        break;
    case SIM_GLOBAL_PROGRESS:
        if (!m->options.progress(m->options.context, m->now_ns, m->end_ns, m->steps)) {
            m->result->status = SIM_STOPPED;
            m->stop = true;
        }
        sim_queue_set(&m->queue, slot, m->now_ns + PROGRESS_NS);
        break;
    case SIM_GLOBAL_WARMUP:
        sim_result_warmup(m);
        break;
    case SIM_GLOBAL_COMMAND:
        command_due(m);
        break;
    case SIM_GLOBAL_END:
    case SIM_GLOBAL_COUNT:
        m->stop = true;
        break;
    }
}

static void timer_due(struct sim_machine *m, struct sim_vcpu *v)
{
    sim_pcpu_timer(m, &m->pcpu[v->timer_pcpu], v);
}

/* Slots lie in ranges, the most frequent first. */
static void dispatch(struct sim_machine *m, uint32_t slot)
{
    if (slot < m->slot_arrival) {
        sim_pcpu_boundary(m, &m->pcpu[slot - m->slot_pcpu]);
    } else if (slot < m->slot_post) {
        sim_pcpu_arrival(m, &m->pcpu[slot - m->slot_arrival]);
    } else if (slot < m->slot_timer) {
        sim_pcpu_posted(m, &m->pcpu[slot - m->slot_post]);
    } else if (slot < m->slot_refill) {
        timer_due(m, &m->vcpu[slot - m->slot_timer]);
    } else if (slot < m->slot_stop) {
        sim_shell_refill(m, &m->vm[slot - m->slot_refill]);
    } else if (slot < m->slot_global) {
        sim_vm_stop_due(m, &m->vm[slot - m->slot_stop]);
    } else if (slot < m->slot_outside) {
        global_due(m, slot - m->slot_global);
    } else {
        sim_outside_due(m, slot - m->slot_outside);
    }
    if (m->deferred_count > 0) {
        sim_deferred_run(m);
    }
}

static void set_globals(struct sim_machine *m)
{
    sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_CHECK, CHECK_NS);
    sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_INTERVAL, m->interval_ns);
    if (m->options.progress != NULL) {
        sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_PROGRESS, PROGRESS_NS);
    }
    if (m->options.warmup_ns > 0) {
        sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_WARMUP, m->options.warmup_ns);
    }
    if (m->options.command_count > 0) {
        sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_COMMAND,
                      m->options.command[0].at_ns);
    }
    if (m->end_ns > 0) {
        sim_queue_set(&m->queue, m->slot_global + SIM_GLOBAL_END, m->end_ns);
    }
}

static void loop(struct sim_machine *m)
{
    uint32_t slot;
    uint64_t when_ns;
    while (!m->stop && sim_queue_pop(&m->queue, &slot, &when_ns)) {
        m->now_ns = when_ns;
        m->steps++;
        dispatch(m, slot);
    }
}

enum sim_status sim_run(const void *manifest, size_t size, const struct sim_options *options,
                        struct sim_result *result)
{
    static const struct sim_options no_options;
    struct sim_machine m;
    memset(result, 0, sizeof *result);
    result->digest = CEDE_DIGEST_START;
    result->status = sim_build(&m, manifest, size, options != NULL ? options : &no_options, result);
    if (result->status == SIM_OK) {
        set_globals(&m);
        loop(&m);
        if (sim_queue_when(&m.queue, m.slot_global + SIM_GLOBAL_INTERVAL) == m.now_ns) {
            sim_result_interval(&m); /* the end came first, at the same instant */
        }
        if (result->status == SIM_OK && !m.options.no_oracle) {
            sim_oracle_final(&m);
        }
        drain_trace(&m);
    }
    if ((result->status == SIM_OK || result->status == SIM_STOPPED ||
         result->status == SIM_VIOLATION) &&
        m.core != NULL && !sim_result_collect(&m)) {
        result->status = SIM_NO_MEMORY;
    }
    sim_build_free(&m);
    return result->status;
}
