/*
 * value.c - see value.h.
 */
#include "host/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_scalar(const struct host_document *document, const struct host_node *node,
                      const char *expected, char *error)
{
    return node->kind == HOST_NODE_SCALAR ||
           host_error_at(document, node, error, "%s: found a %s, expected %s", node->key,
                         node->kind == HOST_NODE_MAP ? "map" : "list", expected);
}

/* Digits, maybe with a fraction, then a unit: the value in units' scale. */
static bool number_with_unit(const char *text, const char *const *units, const uint64_t *scales,
                             size_t count, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    errno = 0;
    unsigned long long whole = strtoull(text, &end, 10);
    uint64_t fraction = 0, places = 1;
    if (errno != 0) {
        return false;
    }
    if (*end == '.') {
        for (end++; isdigit((unsigned char)*end) && places < 1000000000; end++, places *= 10) {
            fraction = fraction * 10 + (uint64_t)(*end - '0');
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(end, units[i]) == 0 && whole <= UINT64_MAX / 4 / scales[i]) {
            *value = whole * scales[i] + fraction * scales[i] / places;
            return true;
        }
    }
    return false;
}

bool host_value_count(const struct host_document *document, const struct host_node *node,
                      uint64_t min, uint64_t max, uint64_t *value, char *error)
{
    static const char *const units[] = {""};
    static const uint64_t scales[] = {1};
    if (!is_scalar(document, node, "a number", error)) {
        return false;
    }
    if (strchr(node->text, '.') != NULL ||
        !number_with_unit(node->text, units, scales, 1, value) || *value < min || *value > max) {
        return host_error_at(document, node, error,
                             "%s: found \"%.60s\", expected a number from %llu to %llu", node->key,
                             node->text, (unsigned long long)min, (unsigned long long)max);
    }
    return true;
}

bool host_value_size(const struct host_document *document, const struct host_node *node,
                     uint64_t *value, char *error)
{
    static const char *const units[] = {"", "K", "M", "G"};
    static const uint64_t scales[] = {1, 1 << 10, 1 << 20, 1 << 30};
    return is_scalar(document, node, "a size", error) &&
           (number_with_unit(node->text, units, scales, 4, value) ||
            host_error_at(document, node, error,
                          "%s: found \"%.60s\", expected a size such as 192M or 1G", node->key,
                          node->text));
}

bool host_value_duration_ns(const struct host_document *document, const struct host_node *node,
                            uint64_t *value, char *error)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "m"};
    static const uint64_t scales[] = {1, 1000, 1000000, 1000000000, 60000000000};
    if (!is_scalar(document, node, "a duration", error)) {
        return false;
    }
    if (strcmp(node->text, "0") == 0) {
        *value = 0;
        return true;
    }
    return number_with_unit(node->text, units, scales, 5, value) ||
           host_error_at(document, node, error,
                         "%s: found \"%.60s\", expected a duration such as 10s, 20ms or 500us",
                         node->key, node->text);
}

bool host_value_switch(const struct host_document *document, const struct host_node *node,
                       bool *value, char *error)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", "0", "1"};
    if (!is_scalar(document, node, "true or false", error)) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(node->text, words[i]) == 0) {
            *value = i % 2 == 1;
            return true;
        }
    }
    return host_error_at(document, node, error, "%s: found \"%.60s\", expected true or false",
                         node->key, node->text);
}

/* "3" or "3-7": false if it's neither, or out of range. */
static bool range_bits(const char **text, uint32_t count, uint64_t *mask)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    unsigned long first = strtoul(*text, &end, 10), last = first;
    if (*end == '-') {
        if (!isdigit((unsigned char)end[1])) {
            return false;
        }
        last = strtoul(end + 1, &end, 10);
    }
    if (first > last || last >= count) {
        return false;
    }
    for (unsigned long i = first; i <= last; i++) {
        mask[i / 64] |= UINT64_C(1) << (i % 64);
    }
    *text = end;
    return true;
}

static bool text_pcpus(const struct host_document *document, const struct host_node *node,
                       uint32_t count, uint64_t *mask, char *error)
{
    const char *text = node->text;
    bool fine = node->kind == HOST_NODE_SCALAR;
    while (fine) {
        fine = range_bits(&text, count, mask);
        if (fine && *text == '\0') {
            return true;
        }
        fine = fine && *text++ == ',';
    }
    return host_error_at(document, node, error,
                         "found \"%.60s\", expected pCPUs from 0 to %u, such as 0-3,6", node->text,
                         count - 1);
}

bool host_value_pcpus(const struct host_document *document, const struct host_node *node,
                      uint32_t count, uint64_t *mask, char *error)
{
    if (node->kind != HOST_NODE_LIST) {
        return text_pcpus(document, node, count, mask, error);
    }
    for (const struct host_node *child = node->first; child != NULL; child = child->next) {
        if (!text_pcpus(document, child, count, mask, error)) {
            return false;
        }
    }
    return true;
}

bool host_value_name(const struct host_document *document, const struct host_node *node,
                     const char *what, const char *const *names, size_t count, size_t *index,
                     char *error)
{
    if (!is_scalar(document, node, "a name", error)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(node->text, names[i]) == 0) {
            *index = i;
            return true;
        }
    }
    const char *near = host_nearest(node->text, names, count);
    if (near != NULL) {
        return host_error_at(document, node, error, "no %s \"%.60s\"; did you mean \"%s\"?", what,
                             node->text, near);
    }
    char all[200];
    int used = 0;
    for (size_t i = 0; i < count && used < (int)sizeof all; i++) {
        used += snprintf(all + used, sizeof all - (size_t)used, "%s%s", i == 0 ? "" : ", ",
                         names[i]);
    }
    return host_error_at(document, node, error, "no %s \"%.60s\"; expected one of: %s", what,
                         node->text, all);
}

bool host_value_text(const struct host_document *document, const struct host_node *node,
                     char *text, size_t size, char *error)
{
    if (!is_scalar(document, node, "text", error)) {
        return false;
    }
    if (strlen(node->text) >= size) {
        return host_error_at(document, node, error, "%s: %zu characters, at most %zu", node->key,
                             strlen(node->text), size - 1);
    }
    snprintf(text, size, "%s", node->text);
    return true;
}
