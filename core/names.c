/*
 * names.c - names of everything that the lists in include/cede/lists number. Constant data.
 */
#include "cede/core.h"
#include "cede/stats.h"
#include "cede/trace.h"

#define NAME_ENTRY(NAME, name, doc) #name,
#define NAME_TABLE(table) static const char *const table[]

#define X NAME_ENTRY
NAME_TABLE(event_name) = {
#include "cede/lists/event.def"
};
NAME_TABLE(effect_name) = {
#include "cede/lists/effect.def"
};
NAME_TABLE(reason_name) = {
#include "cede/lists/reason.def"
};
NAME_TABLE(counter_name) = {
#include "cede/lists/counter.def"
};
NAME_TABLE(time_class_name) = {
#include "cede/lists/time_class.def"
};
NAME_TABLE(pcpu_time_class_name) = {
#include "cede/lists/pcpu_time_class.def"
};
NAME_TABLE(trace_name) = {
#include "cede/lists/trace.def"
};
#undef X

static const char *const state_name[CEDE_STATE_COUNT] = {
    [CEDE_STATE_OFFLINE] = "offline",   [CEDE_STATE_RUNNABLE] = "runnable",
    [CEDE_STATE_RUNNING] = "running",   [CEDE_STATE_POLLING] = "polling",
    [CEDE_STATE_BLOCKED] = "blocked",   [CEDE_STATE_PAUSED] = "paused",
    [CEDE_STATE_THROTTLED] = "throttled",
};

static const char *const status_name[CEDE_STATUS_COUNT] = {
    [CEDE_OK] = "ok",
    [CEDE_BAD_KIND] = "bad kind",
    [CEDE_BAD_ID] = "bad id",
    [CEDE_BAD_STATE] = "bad state",
    [CEDE_BAD_TIME] = "bad time",
    [CEDE_BAD_VALUE] = "bad value",
    [CEDE_BAD_MEMORY] = "bad memory",
    [CEDE_EXISTS] = "exists",
    [CEDE_BUSY] = "busy",
};

const char *cede_event_name(uint32_t kind)
{
    return kind < CEDE_EVENT_COUNT ? event_name[kind] : NULL;
}

const char *cede_effect_name(uint32_t kind)
{
    return kind < CEDE_EFFECT_COUNT ? effect_name[kind] : NULL;
}

const char *cede_reason_name(uint32_t reason)
{
    return reason < CEDE_REASON_COUNT ? reason_name[reason] : NULL;
}

const char *cede_time_class_name(uint32_t time_class)
{
    return time_class < CEDE_TIME_COUNT ? time_class_name[time_class] : NULL;
}

const char *cede_pcpu_time_class_name(uint32_t time_class)
{
    return time_class < CEDE_PCPU_TIME_COUNT ? pcpu_time_class_name[time_class] : NULL;
}

const char *cede_counter_name(uint32_t counter)
{
    return counter < CEDE_COUNTER_COUNT ? counter_name[counter] : NULL;
}

const char *cede_vcpu_state_name(uint32_t state)
{
    return state < CEDE_STATE_COUNT ? state_name[state] : NULL;
}

const char *cede_trace_name(uint32_t kind)
{
    return kind < CEDE_TRACE_COUNT ? trace_name[kind] : NULL;
}

const char *cede_status_name(enum cede_status status)
{
    return (uint32_t)status < CEDE_STATUS_COUNT ? status_name[status] : "unknown status";
}
