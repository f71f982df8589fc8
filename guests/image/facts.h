/*
 * facts.h - what the guest's kernel says of itself at the end of a run: where its CPU time went
 * (/proc/stat) and which paravirtual features it found (its log). Used by init.c alone.
 */
#ifndef GUESTS_IMAGE_FACTS_H
#define GUESTS_IMAGE_FACTS_H

#include <stdint.h>

enum facts_cpu_field {
    FACTS_USER,
    FACTS_NICE,
    FACTS_SYSTEM,
    FACTS_IDLE,
    FACTS_IOWAIT,
    FACTS_IRQ,
    FACTS_SOFTIRQ,
    FACTS_STEAL,
    FACTS_FIELDS
};

/* The sum over all CPUs since boot, in the kernel's ticks. */
struct facts_cpu_time {
    uint64_t ticks[FACTS_FIELDS];
};

/* All zero when /proc/stat can't be read. */
void facts_read_cpu_time(struct facts_cpu_time *time);

/* Prints one result line: the time spent since `before`, in seconds. */
void facts_print_cpu_time(const struct facts_cpu_time *before);

/* Prints one result line with a truth value for each feature. */
void facts_print_paravirtual(void);

#endif
