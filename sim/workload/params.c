/*
 * params.c - a workload's key=value words. See workload.h. Owns nothing.
 */
#include "sim/workload/workload.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void workload_fail(struct workload_words *words, const char *format, ...)
{
    if (words->error[0] != '\0') {
        return; /* the first one counts */
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->error, words->error_size, format, arguments);
    va_end(arguments);
}

bool workload_words_read(struct workload_words *words, const char *params, char *error,
                         size_t error_size)
{
    memset(words, 0, sizeof *words);
    words->error = error;
    words->error_size = error_size;
    error[0] = '\0';
    if (strlen(params) >= sizeof words->text) {
        workload_fail(words, "the parameters are longer than %u bytes", WORKLOAD_TEXT - 1);
        return false;
    }
    strcpy(words->text, params);
    char *rest = NULL;
    for (char *word = strtok_r(words->text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        char *sign = strchr(word, '=');
        if (sign == NULL || sign == word || words->count == WORKLOAD_WORDS) {
            workload_fail(words, "parameter \"%s\": expected key=value, at most %u of them", word,
                          WORKLOAD_WORDS);
            return false;
        }
        *sign = '\0';
        words->key[words->count] = word;
        words->value[words->count] = sign + 1;
        words->count++;
    }
    return true;
}

/* The last one given counts, as on a kernel's command line. */
const char *workload_text(struct workload_words *words, const char *key, const char *standard)
{
    for (uint32_t i = 0; i < words->count; i++) {
        if (strcmp(words->key[i], key) == 0) {
            words->asked[i] = true;
            standard = words->value[i];
        }
    }
    return standard;
}

uint64_t workload_number(struct workload_words *words, const char *key, uint64_t standard,
                         uint64_t low, uint64_t high)
{
    const char *text = workload_text(words, key, NULL);
    if (text == NULL) {
        return standard;
    }
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end != '\0' || value < low || value > high) {
        workload_fail(words, "parameter %s=%s: expected a number from %llu to %llu", key, text,
                      (unsigned long long)low, (unsigned long long)high);
        return standard;
    }
    return value;
}

/* Decimal digits are read one by one: no rounding that could differ between machines. */
uint64_t workload_seconds(struct workload_words *words, const char *key, uint64_t standard_ns)
{
    const char *text = workload_text(words, key, NULL);
    if (text == NULL) {
        return standard_ns;
    }
    uint64_t ns = 0, unit_ns = 1000000000;
    const char *at = text;
    for (; isdigit((unsigned char)*at) && ns < UINT64_C(1000000) * 1000000000; at++) {
        ns = ns * 10 + (uint64_t)(*at - '0') * 1000000000;
    }
    if (at != text && *at == '.') {
        for (at++; isdigit((unsigned char)*at) && unit_ns > 1; at++) {
            unit_ns /= 10;
            ns += (uint64_t)(*at - '0') * unit_ns;
        }
    }
    if (at == text || *at != '\0') {
        workload_fail(words, "parameter %s=%s: expected seconds, at most 1000000", key, text);
        return standard_ns;
    }
    return ns;
}

uint32_t workload_choice(struct workload_words *words, const char *key,
                         const char *const *choices, uint32_t standard)
{
    const char *text = workload_text(words, key, choices[standard]);
    char list[128] = "";
    for (uint32_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            return i;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", choices[i]);
    }
    workload_fail(words, "parameter %s=%s: expected one of%s", key, text, list);
    return standard;
}

bool workload_words_end(struct workload_words *words)
{
    for (uint32_t i = 0; i < words->count; i++) {
        if (!words->asked[i]) {
            workload_fail(words, "parameter %s: this workload has none of that name",
                          words->key[i]);
        }
    }
    return words->error[0] == '\0';
}
