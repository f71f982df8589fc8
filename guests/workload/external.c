/*
 * external.c - see external.h.
 */
#include "guests/workload/external.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void external_argument(struct external_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = -1;
    if (command->count < EXTERNAL_ARGUMENTS_MAX - 1) {
        length = vsnprintf(command->text[command->count++], EXTERNAL_TEXT_MAX, format, arguments);
    }
    va_end(arguments);
    if (length < 0 || length >= EXTERNAL_TEXT_MAX) {
        fprintf(stderr, "an argument is too long, or there are too many\n");
        exit(2);
    }
}

static void start_child(const struct external_command *command, int output)
{
    char *argv[EXTERNAL_ARGUMENTS_MAX + 1] = {NULL};
    for (unsigned i = 0; i < command->count; i++) {
        argv[i] = (char *)command->text[i]; /* execv() takes no const, and changes nothing */
    }
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void read_all(int fd, char *output, size_t size)
{
    char dropped[512];
    size_t used = 0;
    for (;;) {
        bool room = used + 1 < size;
        ssize_t got =
            room ? read(fd, output + used, size - 1 - used) : read(fd, dropped, sizeof dropped);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        used += room && got > 0 ? (size_t)got : 0;
    }
    output[used] = '\0';
}

int external_run(const struct external_command *command, char *output, size_t size)
{
    int ends[2];
    output[0] = '\0';
    if (pipe(ends) != 0) {
        return 127;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        start_child(command, ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        read_all(ends[0], output, size);
    }
    close(ends[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return 127;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_interval(const struct external *external, const struct interval *interval,
                           double operations)
{
    double rate = operations * 1e9 / (double)interval->length_ns;
    workload_print(external->name, interval, external->metric, rate, "");
}

/* Runs until the interval is over; false: a run failed. */
static bool run_interval(const struct external *external, uint64_t interval_ns, uint64_t start_ns,
                         double *operations)
{
    *operations = 0;
    for (uint64_t past_ns = 0; past_ns < interval_ns; past_ns = workload_clock_ns() - start_ns) {
        double done = 0;
        if (!external->once(interval_ns - past_ns, &done)) {
            return false;
        }
        *operations += done;
    }
    return true;
}

int external_main(const struct external *external, int argc, char **argv)
{
    static struct run run;
    workload_take_words(argc, argv);
    workload_common_params(&run);
    external->prepare(&run);
    workload_reject_unknown();

    const uint64_t start_ns = workload_clock_ns();
    struct interval interval = {.end_ns = start_ns};
    double sum = 0;
    while (interval.end_ns - start_ns < run.duration_ns) {
        double operations;
        const uint64_t begin_ns = interval.end_ns;
        if (!run_interval(external, run.interval_ns, begin_ns, &operations)) {
            return 1;
        }
        interval.number++;
        interval.end_ns = workload_clock_ns();
        interval.length_ns = interval.end_ns - begin_ns;
        sum += operations;
        print_interval(external, &interval, operations);
    }
    struct interval whole = {.end_ns = interval.end_ns, .length_ns = interval.end_ns - start_ns};
    print_interval(external, &whole, sum);
    return 0;
}
