/*
 * tap.h - the tests' harness: prints TAP, one line a check.
 *
 * Owns a counter per program. Use: `TAP(condition, "what holds")` per check, and `return
 * tap_done();` from main. A failed check prints where it stands and the program goes on.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>

static unsigned tap_count;
static unsigned tap_failures;

static inline bool tap_check(bool holds, const char *what, const char *file, int line)
{
    tap_count++;
    if (!holds) {
        tap_failures++;
        printf("not ok %u - %s (%s:%d)\n", tap_count, what, file, line);
    } else {
        printf("ok %u - %s\n", tap_count, what);
    }
    fflush(stdout);
    return holds;
}

#define TAP(condition, what) tap_check((condition), (what), __FILE__, __LINE__)

static inline void tap_skip(const char *what, const char *why)
{
    printf("ok %u - %s # SKIP %s\n", ++tap_count, what, why);
}

static inline int tap_done(void)
{
    printf("1..%u\n", tap_count);
    return tap_failures == 0 && tap_count > 0 ? 0 : 1;
}

#endif
