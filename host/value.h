/*
 * value.h - scalars of a scenario: counts, sizes, durations, switches, lists of pCPUs.
 *
 * Each returns false with "file:line:column: ..." that names what was found and what was expected.
 * Owns nothing.
 */
#ifndef HOST_VALUE_H
#define HOST_VALUE_H

#include "host/node.h"

bool host_value_count(const struct host_document *document, const struct host_node *node,
                      uint64_t min, uint64_t max, uint64_t *value, char *error);

/* "192M", "1G", "4096"; K, M, G are powers of 1024. */
bool host_value_size(const struct host_document *document, const struct host_node *node,
                     uint64_t *value, char *error);

/* "10s", "20ms", "500us", "100ns"; 0 needs no unit. */
bool host_value_duration_ns(const struct host_document *document, const struct host_node *node,
                            uint64_t *value, char *error);

/* true, false, yes, no, on, off. */
bool host_value_switch(const struct host_document *document, const struct host_node *node,
                       bool *value, char *error);

/* "0-3,6" or a list of such: sets bits below `count` in `mask`. */
bool host_value_pcpus(const struct host_document *document, const struct host_node *node,
                      uint32_t count, uint64_t *mask, char *error);

/* One of `count` names: its index. */
bool host_value_name(const struct host_document *document, const struct host_node *node,
                     const char *what, const char *const *names, size_t count, size_t *index,
                     char *error);

/* Text that fits into `size` bytes with its end. */
bool host_value_text(const struct host_document *document, const struct host_node *node,
                     char *text, size_t size, char *error);

#endif
