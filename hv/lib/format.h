/*
 * format.h - a small printf: %s %c %d %u %x %p %%, with l, ll, z, width, 0 and - flags.
 */
#ifndef HV_LIB_FORMAT_H
#define HV_LIB_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most size bytes, always ended by 0 when size > 0; returns the length written. */
size_t hv_format(char *buffer, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t hv_format_v(char *buffer, size_t size, const char *format, va_list arguments);

#endif
