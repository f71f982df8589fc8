/*
 * names.h - names of lists' members, for printing; from the list files, without linking the core.
 */
#ifndef HOST_NAMES_H
#define HOST_NAMES_H

#include <stdint.h>

/* NULL past the end. */
const char *host_time_class_name(uint32_t i);
const char *host_counter_name(uint32_t i);
const char *host_exit_name(uint32_t i);
const char *host_lost_name(uint32_t i);
const char *host_preset_name(uint32_t i);
const char *host_vm_state_name(uint32_t i);

#endif
