/*
 * map.h - the hypervisor's own page tables: identity, write-xor-execute, guards under stacks.
 */
#ifndef HV_MM_MAP_H
#define HV_MM_MAP_H

#include <stdint.h>

/* Builds and loads them. Boot CPU, once; the others load hv_map_root(). */
void hv_map_init(void);
uint64_t hv_map_root(void);

/* Takes the trampoline's page away, once every pCPU has started. */
void hv_map_seal(void);

/* Builds nested page tables that map guest-physical 0..size to host memory in 2 MiB pages. Both
 * 2 MiB aligned. Returns their root. */
uint64_t hv_map_nested(uint64_t host_base, uint64_t size);

#endif
