/*
 * test_workloads.c - the workload programs, run here for a moment: their lines parse, say what
 * they should, and bad parameters are refused. Also the histogram against plain counting.
 */
#include "guests/workload/external.h"
#include "guests/workload/histogram.h"
#include "tests/tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "CEDE-RESULT "

struct sample {
    const char *program;
    const char *word; /* one parameter of its own */
    const char *metric;
};

static const struct sample samples[] = {
    {"cpu", "block_steps=1000", "blocks_s"},
    {"tlbstorm", "free=munmap", "records_s"},
    {"tlbstorm", "free=both", "records_s"},
    {"filecopy", "files=1", "blocks_s"},
    {"filecopy", "files=2", "blocks_s"},
    {"lockstorm", "lock=files", "calls_s"},
    {"lockstorm", "lock=signals", "calls_s"},
    {"timerlat", "period_us=500", "late_p99_ns"},
    {"pingpong", "by=futex", "round_trips_s"},
    {"pingpong", "by=pipe", "round_trips_s"},
    {"hackbench", "loops=20", "messages_s"},
    {"stress-ng", "stressor=getrandom", "bogus_operations_s"},
};

static int run_sample(const char *program, const char *word, char *output, size_t size)
{
    struct external_command command = {.count = 0};
    external_argument(&command, "build/guests/workload/%s", program);
    external_argument(&command, "threads=2");
    external_argument(&command, "seconds=0.2");
    external_argument(&command, "interval=0.1");
    external_argument(&command, "%s", word);
    return external_run(&command, output, size);
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text != NULL ? text : "";
}

/* A right line: all members there, a time measured, a positive value. */
static bool line_is_right(const json_t *line, const struct sample *sample)
{
    return strcmp(text_of(line, "workload"), sample->program) == 0 &&
           strcmp(text_of(line, "metric"), sample->metric) == 0 &&
           json_is_integer(json_object_get(line, "interval")) &&
           json_number_value(json_object_get(line, "interval_s")) > 0 &&
           json_number_value(json_object_get(line, "value")) > 0 &&
           json_integer_value(json_object_get(line, "clock_ns")) > 0;
}

/* Counts interval lines and lines for the whole run; false when one is malformed. */
static bool check_lines(char *output, const struct sample *sample, unsigned *intervals,
                        unsigned *wholes)
{
    bool right = true;
    for (char *text; (text = strsep(&output, "\n")) != NULL;) {
        if (*text == '\0') {
            continue;
        }
        bool marked = strncmp(text, PREFIX, strlen(PREFIX)) == 0;
        json_t *line = marked ? json_loads(text + strlen(PREFIX), 0, NULL) : NULL;
        bool whole = json_integer_value(json_object_get(line, "interval")) == 0;
        *(whole ? wholes : intervals) += 1;
        if (!line_is_right(line, sample)) {
            printf("# %s\n", text);
            right = false;
        }
        json_decref(line);
    }
    return right;
}

static void test_sample(const struct sample *sample)
{
    char output[16384], name[128];
    unsigned intervals = 0, wholes = 0;
    int status = run_sample(sample->program, sample->word, output, sizeof output);
    if (status != 0) {
        printf("# %s\n", output);
    }
    snprintf(name, sizeof name, "%s %s: status 0", sample->program, sample->word);
    TAP(status == 0, name);
    snprintf(name, sizeof name, "%s %s: each line is right", sample->program, sample->word);
    TAP(check_lines(output, sample, &intervals, &wholes), name);
    snprintf(name, sizeof name, "%s %s: interval lines, then one for the whole", sample->program,
             sample->word);
    TAP(intervals >= 1 && intervals <= 2 && wholes == 1, name);
}

static void test_refusals(void)
{
    char output[4096];
    TAP(run_sample("cpu", "threads=none", output, sizeof output) == 2, "not a number: refused");
    TAP(run_sample("cpu", "threads=1000", output, sizeof output) == 2, "out of range: refused");
    TAP(run_sample("cpu", "sekonds=1", output, sizeof output) == 2, "unknown key: refused");
    TAP(run_sample("tlbstorm", "free=maybe", output, sizeof output) == 2, "bad choice: refused");
    TAP(strstr(output, "munmap") != NULL, "and the choices are named");
    TAP(run_sample("filecopy", "dir=/nowhere", output, sizeof output) == 1, "no directory: fails");
}

/* Each value from 1 to 1000 once, and the largest. */
static void test_histogram(void)
{
    static struct histogram histogram;
    static struct histogram_sum sum;
    enum { COUNT = 1000 };
    for (uint64_t value = 1; value <= COUNT; value++) {
        histogram_add(&histogram, value);
    }
    histogram_add(&histogram, UINT64_MAX);
    histogram_collect(&sum, &histogram);
    TAP(histogram_count(&sum) == COUNT + 1, "histogram: counts all values");
    uint64_t median = histogram_permille(&sum, 500);
    TAP(median >= 500 && median <= 500 + 500 / 8, "histogram: median to an eighth");
    TAP(histogram_permille(&sum, 1000) == UINT64_MAX, "histogram: the largest value there is");
    histogram_subtract(&sum, &sum);
    TAP(histogram_permille(&sum, 990) == 0, "histogram: empty gives 0");
}

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        test_sample(&samples[i]);
    }
    test_refusals();
    test_histogram();
    return tap_done();
}
