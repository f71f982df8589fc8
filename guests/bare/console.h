/*
 * console.h - text on the first serial port, polled. One CPU at a time: callers see to it.
 */
#ifndef GUESTS_BARE_CONSOLE_H
#define GUESTS_BARE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

void console_init(void);
void print(const char *text);
void print_u64(uint64_t value);
void print_hex(uint64_t value);

/* A byte that arrived, or -1. */
int console_read(void);

/* One result line of whole numbers: name, metric and value, then further members one by one. */
void result_begin(const char *workload, const char *metric, uint64_t value);
void result_member(const char *key, uint64_t value);
void result_text(const char *key, const char *text);
void result_end(void);

#endif
