/*
 * string.h - memory functions, and the few string functions that the hypervisor needs.
 */
#ifndef HV_LIB_STRING_H
#define HV_LIB_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);

#endif
