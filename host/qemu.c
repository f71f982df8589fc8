/*
 * qemu.c - see qemu.h.
 */
#include "host/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/node.h"

#define ARGUMENTS_MAX 48u

const char *host_own_file(const char *name, char *path, uint32_t size)
{
    char program[512];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    for (size_t i = 0; i < 2; i++) {
        int used = i == 0 ? snprintf(path, size, "%s/%s", program, name)
                          : snprintf(path, size, "%s/../lib/cede/%s", program, name);
        if (used > 0 && (uint32_t)used < size && access(path, R_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

const char *host_qemu_find(void)
{
    static char path[600];
    const char *named = getenv("CEDE_QEMU");
    if (named != NULL && named[0] != '\0') {
        return named;
    }
    return host_own_file("qemu/bin/qemu-system-x86_64", path, sizeof path) != NULL
               ? path
               : "qemu-system-x86_64";
}

struct arguments {
    const char *item[ARGUMENTS_MAX];
    uint32_t count;
    char smp[16], memory[32], serial[600];
};

static void add(struct arguments *list, const char *option, const char *value)
{
    list->item[list->count++] = option;
    if (value != NULL) {
        list->item[list->count++] = value;
    }
    list->item[list->count] = NULL;
}

static void compose(struct arguments *list, const struct host_qemu_options *options)
{
    bool kvm = strcmp(options->accel, "kvm") == 0;
    snprintf(list->smp, sizeof list->smp, "%u", options->pcpu_count);
    snprintf(list->memory, sizeof list->memory, "%lluM",
             (unsigned long long)(options->memory_bytes >> 20) + 1);
    snprintf(list->serial, sizeof list->serial, "file:%s", options->log);
    list->count = 0;
    add(list, options->qemu != NULL ? options->qemu : host_qemu_find(), NULL);
    add(list, "-machine", "q35");
    add(list, "-cpu", kvm ? "host" : "EPYC");
    add(list, "-accel",
        kvm                                       ? "kvm"
        : strcmp(options->accel, "tcg") == 0 ? "tcg,thread=multi"
                                                  : "tcg,thread=single");
    if (strcmp(options->accel, "virtual") == 0) {
        add(list, "-icount", "shift=2,sleep=off"); /* each instruction takes 4 ns */
    }
    add(list, "-smp", list->smp);
    add(list, "-m", list->memory);
    add(list, "-display", "none");
    add(list, "-monitor", "none");
    add(list, "-nodefaults", NULL);
    add(list, "-no-reboot", NULL);
    add(list, "-device", "isa-debug-exit,iobase=0xf4,iosize=4");
    add(list, "-serial", list->serial);
    add(list, "-chardev", "stdio,id=channel,signal=off");
    add(list, "-serial", "chardev:channel");
    add(list, "-kernel", options->hypervisor);
    add(list, "-initrd", options->bundle);
}

bool host_accel_known(const char *name)
{
    return strcmp(name, "tcg") == 0 || strcmp(name, "tcg-single") == 0 ||
           strcmp(name, "virtual") == 0 || strcmp(name, "kvm") == 0;
}

static void become_qemu(const struct arguments *list, int in, int out, const char *errors)
{
    int file = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no machine outlives its command */
    setpgid(0, 0);                    /* Ctrl-C is the command's to handle */
    dup2(in, 0);
    dup2(out, 1);
    if (file >= 0) {
        dup2(file, 2);
    }
    execvp(list->item[0], (char *const *)(uintptr_t)list->item);
    fprintf(stderr, "%s: %s\n", list->item[0], strerror(errno));
    _exit(127);
}

bool host_qemu_start(struct host_qemu *qemu, const struct host_qemu_options *options, char *error)
{
    struct arguments list;
    int in[2], out[2];
    memset(qemu, 0, sizeof *qemu);
    compose(&list, options);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        snprintf(error, HOST_ERROR_SIZE, "no pipe: %s", strerror(errno));
        return false;
    }
    qemu->pid = fork();
    if (qemu->pid == 0) {
        become_qemu(&list, in[0], out[1], options->errors);
    }
    close(in[0]);
    close(out[1]);
    qemu->to = in[1];
    qemu->from = out[0];
    qemu->running = qemu->pid > 0;
    fcntl(qemu->to, F_SETFL, O_NONBLOCK);
    if (!qemu->running) {
        snprintf(error, HOST_ERROR_SIZE, "no process: %s", strerror(errno));
    }
    return qemu->running;
}

static void ended(struct host_qemu *qemu, int status)
{
    qemu->running = false;
    qemu->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(qemu->to);
    close(qemu->from);
}

bool host_qemu_ended(struct host_qemu *qemu)
{
    int status;
    if (qemu->running && waitpid(qemu->pid, &status, WNOHANG) == qemu->pid) {
        ended(qemu, status);
    }
    return !qemu->running;
}

void host_qemu_kill(struct host_qemu *qemu)
{
    int status;
    if (qemu->running) {
        kill(qemu->pid, SIGKILL);
        if (waitpid(qemu->pid, &status, 0) == qemu->pid) {
            ended(qemu, status);
        }
    }
}
