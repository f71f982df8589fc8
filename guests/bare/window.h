/*
 * window.h - a few pages of virtual address space that a hostile guest maps as it likes, apart
 * from the one-to-one map that keeps it alive. First CPU only.
 */
#ifndef GUESTS_BARE_WINDOW_H
#define GUESTS_BARE_WINDOW_H

#include <stdint.h>

#define WINDOW_BASE  (UINT64_C(1) << 39) /* the second entry of the top table */
#define WINDOW_PAGES 512u

#define PTE_PRESENT    UINT64_C(1)
#define PTE_WRITABLE   UINT64_C(2)
#define PTE_USER       UINT64_C(4)
#define PTE_LARGE      UINT64_C(0x80)
#define PTE_NO_EXECUTE (UINT64_C(1) << 63)

/* Sets the window's page table up. */
void window_init(void);

/* Maps the window's nth page by this entry, whatever it is. Its address. */
uint64_t window_map(unsigned n, uint64_t entry);

#endif
