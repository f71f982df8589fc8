/*
 * library.c - the four functions that the compiler may call on its own.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
int strncmp(const char *a, const char *b, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
    return result;
}

void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to - (uintptr_t)from >= size) {
        return memcpy(to, from, size);
    }
    uint8_t *t = to;
    const uint8_t *f = from;
    while (size-- > 0) {
        t[size] = f[size];
    }
    return to;
}

void *memset(void *to, int value, size_t size)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
    return result;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;
    for (; size > 0; size--, x++, y++) {
        if (*x != *y) {
            return *x < *y ? -1 : 1;
        }
    }
    return 0;
}

int strncmp(const char *a, const char *b, size_t size)
{
    for (; size > 0; size--, a++, b++) {
        if (*a != *b || *a == '\0') {
            return (uint8_t)*a - (uint8_t)*b;
        }
    }
    return 0;
}
