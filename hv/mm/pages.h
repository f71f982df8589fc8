/*
 * pages.h - memory at boot: handed out once, never given back. Boot CPU only, before the other
 * pCPUs run vCPUs; no locks.
 */
#ifndef HV_MM_PAGES_H
#define HV_MM_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* Takes over the RAM of hv_boot_info, less the image, the module and the first MiB. */
void hv_pages_init(void);

/* Zeroed, aligned to `align` (a power of two, >= 4096 here rounded up); panics when none is left. */
void *hv_pages_alloc(size_t size, size_t align, const char *what);

/* The same without zeroing, NULL when none is left: for guests' memory. */
void *hv_pages_try(size_t size, size_t align);

uint64_t hv_pages_free_bytes(void);

/* The end of the highest RAM range: what the page tables map. */
uint64_t hv_pages_top(void);

#endif
