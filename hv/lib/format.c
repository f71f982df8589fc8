/*
 * format.c - a small printf for the log, the panic and the control channel. No state.
 */
#include "hv/lib/format.h"

#include <stdbool.h>
#include <stdint.h>

struct sink {
    char *buffer;
    size_t size;
    size_t length;
};

struct spec {
    bool left;
    bool zero;
    unsigned width;
    bool is_long;
};

static void put(struct sink *sink, char c)
{
    if (sink->length + 1 < sink->size) {
        sink->buffer[sink->length++] = c;
    }
}

static void put_padded(struct sink *sink, const char *text, size_t length, const struct spec *spec)
{
    size_t fill = spec->width > length ? spec->width - length : 0;
    if (!spec->left) {
        for (size_t i = 0; i < fill; i++) {
            put(sink, spec->zero ? '0' : ' ');
        }
    }
    for (size_t i = 0; i < length; i++) {
        put(sink, text[i]);
    }
    if (spec->left) {
        for (size_t i = 0; i < fill; i++) {
            put(sink, ' ');
        }
    }
}

static void put_number(struct sink *sink, uint64_t value, unsigned base, bool minus,
                       const struct spec *spec)
{
    char digits[24];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    if (minus) {
        digits[--at] = '-';
    }
    put_padded(sink, digits + at, sizeof(digits) - at, spec);
}

static void put_string(struct sink *sink, const char *text, const struct spec *spec)
{
    size_t length = 0;
    if (text == NULL) {
        text = "(null)";
    }
    while (text[length] != '\0') {
        length++;
    }
    put_padded(sink, text, length, spec);
}

static const char *read_spec(const char *at, struct spec *spec)
{
    *spec = (struct spec){0};
    for (; *at == '-' || *at == '0'; at++) {
        spec->left = spec->left || *at == '-';
        spec->zero = spec->zero || *at == '0';
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        spec->width = spec->width * 10 + (unsigned)(*at - '0');
    }
    for (; *at == 'l' || *at == 'z'; at++) {
        spec->is_long = true;
    }
    return at;
}

size_t hv_format_v(char *buffer, size_t size, const char *format, va_list arguments)
{
    struct sink sink = {buffer, size, 0};
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            put(&sink, *at);
            continue;
        }
        struct spec spec;
        at = read_spec(at + 1, &spec);
        if (*at == 'd') {
            int64_t v = spec.is_long ? va_arg(arguments, int64_t) : va_arg(arguments, int);
            put_number(&sink, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, v < 0, &spec);
        } else if (*at == 'u' || *at == 'x') {
            uint64_t v = spec.is_long ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned);
            put_number(&sink, v, *at == 'u' ? 10 : 16, false, &spec);
        } else if (*at == 'p') {
            put_number(&sink, (uintptr_t)va_arg(arguments, void *), 16, false, &spec);
        } else if (*at == 's') {
            put_string(&sink, va_arg(arguments, const char *), &spec);
        } else if (*at == 'c') {
            put(&sink, (char)va_arg(arguments, int));
        } else if (*at == '%') {
            put(&sink, '%');
        } else {
            break;
        }
    }
    if (size > 0) {
        buffer[sink.length] = '\0';
    }
    return sink.length;
}

size_t hv_format(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t length = hv_format_v(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}
