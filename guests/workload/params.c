/*
 * params.c - the workloads' key=value parameters; see common.h.
 *
 * Owns the words of the command line and which of them were asked for, so that a misspelt one is
 * refused instead of ignored. Main thread only.
 */
#include "guests/workload/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  128
#define EXIT_USAGE 2

static const char *program;
static char *words[WORDS_MAX];
static bool asked[WORDS_MAX];
static int word_count;

void workload_take_words(int argc, char **argv)
{
    program = argc > 0 ? argv[0] : "workload";
    for (int i = 1; i < argc; i++) {
        if (word_count == WORDS_MAX || strchr(argv[i], '=') == NULL) {
            fprintf(stderr, "%s: %s: expected key=value\n", program, argv[i]);
            exit(EXIT_USAGE);
        }
        words[word_count++] = argv[i];
    }
}

/* The last one given counts, as on the kernel's command line. */
const char *workload_text(const char *key, const char *standard)
{
    size_t length = strlen(key);
    for (int i = 0; i < word_count; i++) {
        if (strncmp(words[i], key, length) == 0 && words[i][length] == '=') {
            asked[i] = true;
            standard = words[i] + length + 1;
        }
    }
    return standard;
}

uint64_t workload_param(const char *key, uint64_t standard, uint64_t low, uint64_t high)
{
    const char *text = workload_text(key, NULL);
    if (text == NULL) {
        return standard;
    }
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value < low || value > high) {
        fprintf(stderr, "%s: %s=%s: expected a number from %" PRIu64 " to %" PRIu64 "\n", program,
                key, text, low, high);
        exit(EXIT_USAGE);
    }
    return value;
}

unsigned workload_choice(const char *key, const char *const choices[])
{
    const char *text = workload_text(key, choices[0]);
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            return i;
        }
    }
    fprintf(stderr, "%s: %s=%s: expected one of", program, key, text);
    for (unsigned i = 0; choices[i] != NULL; i++) {
        fprintf(stderr, " %s", choices[i]);
    }
    fputc('\n', stderr);
    exit(EXIT_USAGE);
}

/* Seconds with up to nine decimals, in nanoseconds. */
static uint64_t seconds_param(const char *key, const char *standard, double low, double high)
{
    const char *text = workload_text(key, standard);
    char *end;
    double value = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end != '\0' || !(value >= low && value <= high)) {
        fprintf(stderr, "%s: %s=%s: expected seconds from %g to %g\n", program, key, text, low,
                high);
        exit(EXIT_USAGE);
    }
    return (uint64_t)(value * 1e9);
}

void workload_common_params(struct run *run)
{
    run->threads = (unsigned)workload_param("threads", workload_cpu_count(), 1, WORKERS_MAX);
    run->duration_ns = seconds_param("seconds", "10", 0.01, 86400);
    run->interval_ns = seconds_param("interval", "1", 0.001, 3600);
    run->seed = workload_param("seed", 1, 0, UINT64_MAX);
    run->pinned = workload_param("pin", 0, 0, 1) != 0;
    if (run->interval_ns > run->duration_ns) {
        run->interval_ns = run->duration_ns;
    }
}

void workload_reject_unknown(void)
{
    for (int i = 0; i < word_count; i++) {
        if (!asked[i]) {
            fprintf(stderr, "%s: %s: no such parameter here\n", program, words[i]);
            exit(EXIT_USAGE);
        }
    }
}
