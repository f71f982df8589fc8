/*
 * names.c - see names.h. Constant data.
 */
#include "host/names.h"

#include <stddef.h>

#define COUNT(names) ((uint32_t)(sizeof(names) / sizeof(names)[0]))

static const char *at(const char *const *names, uint32_t count, uint32_t i)
{
    return i < count ? names[i] : NULL;
}

#define X(NAME, name, doc) #name,
static const char *const time_names[] = {
#include "cede/lists/time_class.def"
};
static const char *const counter_names[] = {
#include "cede/lists/counter.def"
};
static const char *const exit_names[] = {
#include "abi/exit.def"
};
static const char *const lost_names[] = {
#include "sim/lost.def"
};
#undef X

const char *host_time_class_name(uint32_t i)
{
    return at(time_names, COUNT(time_names), i);
}

const char *host_counter_name(uint32_t i)
{
    return at(counter_names, COUNT(counter_names), i);
}

const char *host_exit_name(uint32_t i)
{
    return at(exit_names, COUNT(exit_names), i);
}

const char *host_lost_name(uint32_t i)
{
    return at(lost_names, COUNT(lost_names), i);
}

const char *host_preset_name(uint32_t i)
{
    static const char *const names[] = {"off", "kvm-2017", "kvm-2019", "kvm-mainline", "cede"};
    return at(names, COUNT(names), i);
}

const char *host_vm_state_name(uint32_t i)
{
    static const char *const names[] = {"starting", "ready", "running", "paused",
                                        "done",     "stopped", "killed"};
    return at(names, COUNT(names), i);
}
