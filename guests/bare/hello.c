/*
 * hello.c - the smallest guest: says that it runs, and powers off. For boot tests.
 *
 * With cede.again=1 it first starts itself once more the way a loader of the 64-bit protocol does:
 * copied elsewhere, entered at +0x200. QEMU's -kernel never takes that way.
 */
#include "guests/bare/bare.h"
#include "guests/bare/console.h"

#define ELSEWHERE 0x1000000u

extern const char image_begin[], image_end[]; /* image.lds */

/* The boot parameters of the second start say "again", too: this byte in low memory ends it. */
static volatile uint8_t *const started_before = (volatile uint8_t *)0x6000;

static _Noreturn void start_again(void)
{
    __builtin_memcpy((void *)ELSEWHERE, image_begin, (size_t)(image_end - image_begin));
    uint64_t entry = ELSEWHERE + 0x200, parameters = boot_parameters_address();
    __asm__ volatile("jmp *%0" ::"r"(entry), "S"(parameters) : "memory");
    __builtin_unreachable();
}

int bare_main(void)
{
    if (param_u64("again", 0) != 0 && *started_before != 0xa5) {
        *started_before = 0xa5;
        start_again();
    }
    print("CEDE-GUEST ready\n");
    print(*started_before == 0xa5 ? "hello again\n" : "hello\n");
    return 0;
}
