/*
 * panic.c - the core's one hook, for every program that links the simulator. Nothing is owned.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cede/types.h"

_Noreturn void cede_panic(const char *what)
{
    fprintf(stderr, "cede: the core broke an invariant: %s\n", what);
    abort();
}
