/*
 * cmd_top.c - `cede top SCENARIO`: runs it on the hypervisor and shows, while it runs, what each VM
 * and vCPU does; keys change policies. Plain lines where there is no terminal.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/names.h"
#include "host/run.h"

#define SET_MAX 64u

static const char *const help =
    "usage: cede top SCENARIO.yaml [--policy P] [--set PATH=VALUE] [--pcpus N] [--accel NAME]\n\n"
    "Keys: 1-9 choose a VM; o off, 7 and 9 with shift held as & and (: kvm-2017, kvm-2019,\n"
    "m kvm-mainline, c cede: its policy; p pause or resume; q quit.\n";

static volatile int interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted++;
}

struct top {
    const struct host_scenario *scenario;
    struct abi_vcpu_stats *before; /* as of the last picture, all vCPUs in order */
    uint32_t vcpu_count, chosen;
    uint32_t preset[ABI_MANIFEST_VM_MAX];
    bool terminal, paused[ABI_MANIFEST_VM_MAX];
    char command[80];
};

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"offline", "runnable", "running",  "polling",
                                        "blocked", "paused",   "throttled"};
    return state < sizeof names / sizeof names[0] ? names[state] : "?";
}

static uint64_t since(const uint64_t *now, const uint64_t *before, uint32_t which)
{
    return now[which] - before[which];
}

static double percent(const struct abi_vcpu_stats *now, const struct abi_vcpu_stats *before,
                      enum cede_time_class class)
{
    uint64_t all_ns = 0;
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        all_ns += since(now->time_ns, before->time_ns, i);
    }
    return all_ns == 0 ? 0
                       : 100 * (double)since(now->time_ns, before->time_ns, class) / (double)all_ns;
}

static void show_vcpu(const struct abi_vcpu_stats *now, const struct abi_vcpu_stats *before)
{
    printf("   %3u %-9s %4u  %5.1f %5.1f %5.1f %5.1f %5.1f %5.1f %5.1f  %8llu %8llu %8llu\n",
           now->index, state_name(now->state), now->pcpu, percent(now, before, CEDE_TIME_GUEST_USER),
           percent(now, before, CEDE_TIME_GUEST_KERNEL), percent(now, before, CEDE_TIME_SPIN),
           percent(now, before, CEDE_TIME_HYPERVISOR), percent(now, before, CEDE_TIME_POLL),
           percent(now, before, CEDE_TIME_STEAL), percent(now, before, CEDE_TIME_BLOCKED),
           (unsigned long long)since(now->count, before->count, CEDE_COUNT_YIELDS_SUCCEEDED),
           (unsigned long long)since(now->count, before->count, CEDE_COUNT_YIELDS_RECEIVED),
           (unsigned long long)since(now->count, before->count, CEDE_COUNT_SPIN_EXITS));
}

static void show(void *context, const struct host_observed *seen)
{
    struct top *top = context;
    uint32_t number = 0;
    if (top->terminal) {
        printf("\033[H\033[J");
    }
    printf("cede top: %.1f s, %u pCPUs   (1-9 VM, o & ( m c policy, p pause, q quit)\n",
           (double)seen->now_ns / 1e9, top->scenario->head.pcpu_count);
    for (uint32_t i = 0; i < top->scenario->head.vm_count; i++) {
        const struct host_seen_vm *vm = &seen->vm[i];
        const char *state = host_vm_state_name(vm->state);
        printf("%s%u %-12s %-9s policy %s\n", i == top->chosen ? "*" : " ", i + 1,
               vm->record->name, state != NULL ? state : "?", host_preset_name(top->preset[i]));
        printf("       state     pcpu   user  kern  spin   hyp  poll steal  blkd  yields-out in "
               "spin-exits\n");
        for (uint32_t k = 0; k < vm->record->vcpu_count; k++, number++) {
            show_vcpu(&vm->vcpu[k], &top->before[number]);
            top->before[number] = vm->vcpu[k];
        }
    }
    fflush(stdout);
}

static const char *key(void *context, char c)
{
    static const char keys[] = "o&(mc";
    struct top *top = context;
    const char *name = top->scenario->vm[top->chosen].name;
    const char *at = c != '\0' ? strchr(keys, c) : NULL;
    if (c >= '1' && c <= '9' && (uint32_t)(c - '1') < top->scenario->head.vm_count) {
        top->chosen = (uint32_t)(c - '1');
    } else if (at != NULL) {
        top->preset[top->chosen] = (uint32_t)(at - keys);
        snprintf(top->command, sizeof top->command, "set %s %s", name,
                 host_preset_name(top->preset[top->chosen]));
        return top->command;
    } else if (c == 'p') {
        bool *paused = &top->paused[top->chosen];
        *paused = !*paused;
        snprintf(top->command, sizeof top->command, "%s %s", *paused ? "pause" : "resume", name);
        return top->command;
    } else if (c == 'q') {
        interrupted++;
    }
    return NULL;
}

static int run(const struct host_scenario *scenario, struct host_run_options *options)
{
    struct top *top = calloc(1, sizeof *top);
    struct host_outcome outcome;
    struct termios cooked, raw;
    char error[HOST_ERROR_SIZE] = "no memory";
    bool terminal = isatty(0) && isatty(1);
    for (uint32_t i = 0; top != NULL && i < scenario->head.vm_count; i++) {
        top->vcpu_count += scenario->vm[i].vcpu_count;
        top->preset[i] = scenario->vm[i].preset;
    }
    if (top != NULL) {
        top->scenario = scenario;
        top->terminal = terminal;
        top->before = calloc(top->vcpu_count, sizeof *top->before);
    }
    if (terminal && tcgetattr(0, &cooked) == 0) {
        raw = cooked;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(0, TCSANOW, &raw);
        options->key = key;
    }
    options->context = top;
    options->live = show;
    options->interrupted = &interrupted;
    int status = CLI_FAILED;
    if (top != NULL && top->before != NULL && host_run(scenario, options, &outcome, error)) {
        host_outcome_print(stdout, &outcome);
        status = outcome.fine || interrupted > 0 ? CLI_DONE : CLI_FAILED;
        if (status != CLI_DONE) {
            fprintf(stderr, "cede top: %s\n", outcome.trouble);
        }
        host_outcome_free(&outcome);
    } else {
        fprintf(stderr, "cede top: %s\n", error);
    }
    if (options->key != NULL) {
        tcsetattr(0, TCSANOW, &cooked);
    }
    if (top != NULL) {
        free(top->before);
    }
    free(top);
    return status;
}

int cmd_top(int count, char **argument)
{
    static const struct option list[] = {
        {"policy", required_argument, NULL, 'p'}, {"set", required_argument, NULL, 's'},
        {"pcpus", required_argument, NULL, 'n'},  {"accel", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    const char *set[SET_MAX];
    size_t set_count = 0;
    char policy[64], pcpus[64], error[HOST_ERROR_SIZE];
    struct host_run_options options = {.accel = NULL};
    struct host_scenario scenario;
    int option;
    optind = 1;
    while ((option = getopt_long(count, argument, "h", list, NULL)) != -1) {
        if (option == 'p') {
            snprintf(policy, sizeof policy, "policy=%s", optarg);
            set[set_count++] = policy;
        } else if (option == 'n') {
            snprintf(pcpus, sizeof pcpus, "host.pcpus=%s", optarg);
            set[set_count++] = pcpus;
        } else if (option == 's' && set_count + 2 < SET_MAX) {
            set[set_count++] = optarg;
        } else if (option == 'a') {
            options.accel = optarg;
        } else {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? CLI_DONE : CLI_BAD_INPUT;
        }
    }
    if (optind + 1 != count) {
        fputs(help, stderr);
        return CLI_BAD_INPUT;
    }
    if (!host_scenario_load(&scenario, argument[optind], set, set_count, error)) {
        fprintf(stderr, "cede top: %s\n", error);
        return CLI_BAD_INPUT;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    int status = run(&scenario, &options);
    host_scenario_free(&scenario);
    return status;
}
