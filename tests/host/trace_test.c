/*
 * trace_test.c - traces: order over rings, text, Perfetto JSON that parses, why; damaged files.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cede/effect.h"
#include "cede/trace.h"
#include "host/trace.h"
#include "tests/tap.h"

#define PATH "build/tests/host/test.trace"

static char error[HOST_ERROR_SIZE];

static struct abi_trace_record record(uint64_t ns, uint16_t kind, uint16_t reason, uint32_t pcpu,
                                      uint32_t vcpu, uint32_t other, uint64_t arg)
{
    return (struct abi_trace_record){ns, arg, pcpu, vcpu, other, kind, reason};
}

/* Two VMs of two vCPUs on two pCPUs: a yields to b; c is woken by d. */
static void write_trace(void)
{
    static const char *const text = "host: {pcpus: 2}\nvms:\n  - {name: web, count: 2, vcpus: 2}\n";
    struct host_scenario scenario;
    struct abi_trace_record zero[] = {
        record(1000, CEDE_TRACE_RUN, CEDE_REASON_START, 0, 0, CEDE_ID_NONE, 9000),
        record(5000, CEDE_TRACE_SPIN, CEDE_REASON_NONE, 0, 0, 1, 0),
        record(5000, CEDE_TRACE_YIELD, CEDE_REASON_YIELD_PULL, 0, 0, 1, 2),
        record(5000, CEDE_TRACE_PREEMPT, CEDE_REASON_YIELD_PULL, 0, 0, CEDE_ID_NONE, 1),
        record(5000, CEDE_TRACE_RUN, CEDE_REASON_YIELD_PULL, 0, 1, 0, 9000),
    };
    struct abi_trace_record one[] = {
        record(500, CEDE_TRACE_RUN, CEDE_REASON_START, 1, 3, CEDE_ID_NONE, CEDE_NEVER_NS),
        record(4000, CEDE_TRACE_WAKE, CEDE_REASON_WAKE, 1, 2, CEDE_ID_NONE, 0),
        record(4000, CEDE_TRACE_INTERRUPT, CEDE_REASON_INTERRUPT, 1, 2, 3, 3),
        record(6000, CEDE_TRACE_RUN, CEDE_REASON_HALT, 1, 2, 3, 9000),
        record(8000, CEDE_TRACE_IDLE, CEDE_REASON_NONE, 1, CEDE_ID_NONE, 2, 0),
    };
    FILE *file = fopen(PATH, "wb");
    bool fine = host_scenario_parse(&scenario, "t", text, strlen(text), NULL, 0, error) &&
                file != NULL && host_trace_begin(file, &scenario, "sim") &&
                host_trace_chunk(file, 0, zero, 5, 0) && host_trace_chunk(file, 1, one, 5, 7);
    TAP(fine && fclose(file) == 0, "a trace is written");
    host_scenario_free(&scenario);
}

static char *captured(const struct host_trace *trace, int what, uint32_t vcpu, uint64_t at_ns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (what == 0) {
        host_trace_text(file, trace, 0, UINT64_MAX);
    } else if (what == 1) {
        host_trace_perfetto(file, trace, 0, UINT64_MAX);
    } else {
        host_trace_why(file, trace, vcpu, at_ns);
    }
    fclose(file);
    return text;
}

static void count_events(const char *text)
{
    json_t *json = json_loads(text, 0, NULL), *event;
    size_t i, slices = 0, begins = 0, ends = 0;
    json_array_foreach(json_object_get(json, "traceEvents"), i, event) {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        slices += strcmp(phase, "X") == 0;
        begins += strcmp(phase, "s") == 0;
        ends += strcmp(phase, "f") == 0;
    }
    printf("# %zu slices, %zu arrows begin, %zu end\n", slices, begins, ends);
    TAP(json != NULL && slices >= 7 && begins == 2 && ends == 2,
        "Perfetto JSON parses; slices, and arrows from yielder and waker");
    json_decref(json);
}

static void test_reading(void)
{
    struct host_trace trace;
    uint32_t vcpu = 0;
    if (!TAP(host_trace_read(&trace, PATH, error), "and read back")) {
        printf("# %s\n", error);
        return;
    }
    bool ordered = trace.count == 10 && trace.lost == 7;
    for (size_t i = 1; i < trace.count; i++) {
        ordered = ordered && trace.record[i - 1].now_ns <= trace.record[i].now_ns;
    }
    TAP(ordered, "all records, by time over both rings; what was lost is told");
    TAP(host_trace_find_vcpu(&trace, "web-2/1", &vcpu) && vcpu == 3 &&
            !host_trace_find_vcpu(&trace, "web-2/2", &vcpu) &&
            !host_trace_find_vcpu(&trace, "web", &vcpu),
        "vCPUs by name");
    char *text = captured(&trace, 0, 0, 0);
    TAP(strstr(text, "web-1/0") != NULL && strstr(text, "(yield_pull)") != NULL, "text");
    free(text);
    text = captured(&trace, 1, 0, 0);
    count_events(text);
    free(text);
    text = captured(&trace, 2, 1, 5500);
    TAP(strstr(text, "web-1/0 gave way to it, by pull") != NULL, "why: a sibling's yield");
    free(text);
    text = captured(&trace, 2, 2, 7000);
    TAP(strstr(text, "web-2/0 got an interrupt from web-2/1") != NULL, "why: a sibling's wake-up");
    free(text);
    text = captured(&trace, 2, 0, 5500);
    TAP(strstr(text, "web-1/0 lost pCPU 0") != NULL && strstr(text, "web-1/1 got pCPU 0") != NULL,
        "why: it waits, and for whom");
    free(text);
    host_trace_free(&trace);
}

static void test_damage(void)
{
    static uint8_t bytes[4096], copy[4096];
    FILE *file = fopen(PATH, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint64_t state = 5;
    bool survived = true;
    for (unsigned i = 0; i < 2000; i++) {
        struct host_trace trace;
        memcpy(copy, bytes, size);
        for (unsigned k = 0; k < 3; k++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            copy[(state >> 20) % size] ^= (uint8_t)(1u << (state >> 61));
        }
        file = fopen(PATH, "wb");
        fwrite(copy, 1, i % 3 == 0 ? (state >> 33) % size : size, file);
        fclose(file);
        if (host_trace_read(&trace, PATH, error)) {
            free(captured(&trace, 0, 0, 0));
            free(captured(&trace, 1, 0, 0));
            free(captured(&trace, 2, 1, 5500));
            host_trace_free(&trace);
        } else {
            survived = survived && error[0] != '\0';
        }
    }
    TAP(survived, "2000 damaged traces: refused, or read without harm");
}

int main(void)
{
    write_trace();
    test_reading();
    test_damage();
    remove(PATH);
    return tap_done();
}
