/*
 * cmd_run.c - `cede run SCENARIO`: runs it on the hypervisor under QEMU; consoles streamed, summary
 * at the end.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/qemu.h"
#include "host/run.h"

#define SET_MAX 64u

static const char *const help =
    "usage: cede run SCENARIO.yaml [options]\n\n"
    "  --policy NAME     off, kvm-2017, kvm-2019, kvm-mainline, cede\n"
    "  --set PATH=VALUE  change the scenario: vms.web.policy.yield=off, vms.count=2\n"
    "  --pcpus N         another number of pCPUs than the scenario's\n"
    "  --accel NAME      tcg (standard), tcg-single, virtual (time counted in instructions), kvm\n"
    "  --timeout S       give up after so many seconds (600)\n"
    "  --attach VM       standard input goes to that VM's console\n"
    "  --control SOCKET  listen there for `cede ctl`\n"
    "  --log FILE        every event and decision of the core, for `cede replay`\n"
    "  --trace FILE      the core's trace, for `cede trace`\n"
    "  --json FILE       all results; - for standard output\n"
    "  --quiet           no consoles\n";

static volatile int interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted++;
}

struct request {
    const char *path, *json;
    const char *set[SET_MAX];
    size_t set_count;
    char policy[64], pcpus[64];
    struct host_run_options run;
};

static int take_option(struct request *request, int option)
{
    switch (option) {
    case 'p':
        snprintf(request->policy, sizeof request->policy, "policy=%s", optarg);
        request->set[request->set_count++] = request->policy;
        return 0;
    case 'n':
        snprintf(request->pcpus, sizeof request->pcpus, "host.pcpus=%s", optarg);
        request->set[request->set_count++] = request->pcpus;
        return 0;
    case 's':
        request->set[request->set_count++] = optarg;
        return 0;
    case 'a':
        request->run.accel = optarg;
        return 0;
    case 't':
        request->run.timeout_s = atof(optarg);
        return 0;
    case 'l':
        request->run.log_path = optarg;
        request->set[request->set_count++] = "event_log=true";
        return 0;
    case 'C':
        request->run.control_path = optarg;
        return 0;
    case 'T':
        request->run.trace_path = optarg;
        request->set[request->set_count++] = "trace=true";
        return 0;
    case 'c':
        request->run.attach = optarg;
        return 0;
    case 'j':
        request->json = optarg;
        return 0;
    case 'q':
        request->run.stream = false;
        return 0;
    case 'h':
        fputs(help, stdout);
        return -1;
    default:
        return -1 - CLI_BAD_INPUT;
    }
}

/* 0: go on; else minus (exit status + 1). */
static int parse(struct request *request, int count, char **argument)
{
    static const struct option options[] = {
        {"policy", required_argument, NULL, 'p'},  {"set", required_argument, NULL, 's'},
        {"pcpus", required_argument, NULL, 'n'},   {"accel", required_argument, NULL, 'a'},
        {"timeout", required_argument, NULL, 't'}, {"attach", required_argument, NULL, 'c'},
        {"control", required_argument, NULL, 'C'}, {"log", required_argument, NULL, 'l'},
        {"trace", required_argument, NULL, 'T'},
        {"json", required_argument, NULL, 'j'},    {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int option, taken;
    memset(request, 0, sizeof *request);
    request->run.stream = true;
    optind = 1;
    while ((option = getopt_long(count, argument, "qh", options, NULL)) != -1) {
        if (request->set_count == SET_MAX) {
            fprintf(stderr, "cede run: at most %u settings\n", SET_MAX);
            return -1 - CLI_BAD_INPUT;
        }
        if ((taken = take_option(request, option)) != 0) {
            return taken;
        }
    }
    const char *accel = request->run.accel;
    if (accel != NULL && !host_accel_known(accel)) {
        fprintf(stderr, "cede run: --accel %s: expected one of " HOST_ACCEL_NAMES "\n", accel);
        return -1 - CLI_BAD_INPUT;
    }
    if (optind + 1 != count) {
        fputs(help, stderr);
        return -1 - CLI_BAD_INPUT;
    }
    request->path = argument[optind];
    return 0;
}

static int report(const struct request *request, const struct host_outcome *outcome)
{
    bool to_stdout = request->json != NULL && strcmp(request->json, "-") == 0;
    host_outcome_print(to_stdout ? stderr : stdout, outcome);
    if (request->json != NULL && !host_json_write(request->json, host_outcome_json(outcome))) {
        fprintf(stderr, "cede run: can't write %s\n", request->json);
        return CLI_FAILED;
    }
    if (!outcome->fine) {
        fprintf(stderr, "cede run: %s\n", outcome->trouble);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

int cmd_run(int count, char **argument)
{
    struct request request;
    struct host_scenario scenario;
    struct host_outcome outcome;
    char error[HOST_ERROR_SIZE];
    int parsed = parse(&request, count, argument);
    if (parsed != 0) {
        return -parsed - 1;
    }
    if (!host_scenario_load(&scenario, request.path, request.set, request.set_count, error)) {
        fprintf(stderr, "cede run: %s\n", error);
        return CLI_BAD_INPUT;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    request.run.interrupted = &interrupted;
    if (request.json != NULL && strcmp(request.json, "-") == 0) {
        request.run.stream = false;
    }
    int status = CLI_FAILED;
    if (host_run(&scenario, &request.run, &outcome, error)) {
        status = report(&request, &outcome);
        host_outcome_free(&outcome);
    } else {
        fprintf(stderr, "cede run: %s\n", error);
    }
    host_scenario_free(&scenario);
    return status;
}
