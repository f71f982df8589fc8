/*
 * hello.c - the smallest guest: says that it runs, and powers off. For boot tests.
 */
#include "guests/bare/bare.h"
#include "guests/bare/console.h"

int bare_main(void)
{
    print("CEDE-GUEST ready\nhello\n");
    return 0;
}
