/*
 * external.h - workloads that other people's programs do: run again and again, each run's work
 * counted, an interval closed by the first run that ends after it is due.
 *
 * Single-threaded; the program run brings its own threads and processes.
 */
#ifndef GUESTS_WORKLOAD_EXTERNAL_H
#define GUESTS_WORKLOAD_EXTERNAL_H

#include "guests/workload/common.h"

#define EXTERNAL_ARGUMENTS_MAX 32
#define EXTERNAL_TEXT_MAX      64

/* A program's command line, of fixed size. */
struct external_command {
    char text[EXTERNAL_ARGUMENTS_MAX][EXTERNAL_TEXT_MAX];
    unsigned count;
};

struct external {
    const char *name;
    const char *metric;
    /* Reads parameters. */
    void (*prepare)(const struct run *run);
    /* Runs the program once, for `left_ns` at most if it can; false: it failed, and said so. */
    bool (*once)(uint64_t left_ns, double *operations);
};

int external_main(const struct external *external, int argc, char **argv);

/* Appends one argument. Too long or too many ends the program with status 2. */
void external_argument(struct external_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs it, its standard output (and error) into `output`, cut to `size`. Its exit status; 127 if
 * it can't be started, 128 and the signal's number if one ended it. */
int external_run(const struct external_command *command, char *output, size_t size);

#endif
