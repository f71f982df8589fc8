/*
 * main.c - `cede SUBCOMMAND ...`: finds the subcommand.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "host/node.h"

struct command {
    const char *name;
    int (*run)(int count, char **argument);
    const char *summary;
};

static const struct command commands[] = {
    {"compare", cmd_compare, "which policy, and how sure"},
    {"run", cmd_run, "run a scenario on the hypervisor, in QEMU"},
    {"ctl", cmd_ctl, "command a hypervisor that cede run --control started"},
    {"check", cmd_check, "is this scenario or bundle sound?"},
    {"replay", cmd_replay, "give a recorded event log to the core: the same decisions?"},
    {"report", cmd_report, "results as one HTML page"},
    {"sim", cmd_sim, "run a scenario in the simulator"},
    {"top", cmd_top, "run a scenario on the hypervisor, and watch it"},
    {"trace", cmd_trace, "read a trace: text, Perfetto, why"},
    {"tables", cmd_tables, "the published tables beside what the simulator gets"},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void usage(FILE *file)
{
    fprintf(file, "usage: cede COMMAND ...\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(file, "\n`cede COMMAND --help` tells more.\n");
}

int main(int count, char **argument)
{
    const char *names[COMMAND_COUNT];
    if (count < 2) {
        usage(stderr);
        return CLI_BAD_INPUT;
    }
    if (strcmp(argument[1], "--help") == 0 || strcmp(argument[1], "help") == 0) {
        usage(stdout);
        return CLI_DONE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (strcmp(argument[1], commands[i].name) == 0) {
            return commands[i].run(count - 1, argument + 1);
        }
    }
    const char *near = host_nearest(argument[1], names, COMMAND_COUNT);
    fprintf(stderr, "cede: no command \"%s\"%s%s%s\n", argument[1],
            near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
            near != NULL ? "\"?" : "");
    return CLI_BAD_INPUT;
}
