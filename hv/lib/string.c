/*
 * string.c - the four memory functions that compilers and the core expect.
 *
 * No state. `rep movsb/stosb` is what hardware and emulators do fastest for the sizes here.
 */
#include "hv/lib/string.h"

void *memcpy(void *to, const void *from, size_t size)
{
    void *d = to;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    void *d = to;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(size) : "a"(byte) : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *d = to;
    const unsigned char *s = from;
    if (d <= s || d >= s + size) {
        return memcpy(to, from, size);
    }
    while (size-- > 0) {
        d[size] = s[size];
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}
