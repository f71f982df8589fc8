/*
 * init.c - process 1 of a Linux guest under test.
 *
 * Mounts what programs expect, reads its orders from the kernel's command line, waits for the
 * start that all VMs share, runs one workload, reports where the guest's time went, powers off.
 *
 * Owns the console's dialogue (guests/README.md lists every line):
 *   guest -> host  CEDE-GUEST ready          the guest is up and waits
 *   host -> guest  CEDE-START                start (not awaited with cede.autostart=1)
 *   guest -> host  CEDE-RESULT {...}         by the workload, then by facts.c
 *   guest -> host  CEDE-GUEST done status=N  the last word before power-off
 *
 * Relies on: devtmpfs, procfs, sysfs and tmpfs in the kernel, and /cede/<workload> in the image.
 * One thread, no lock. A failure here is printed and ends in a power-off with a status that is
 * not 0: a guest that just hangs would tell nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guests/image/facts.h"

#define WORDS_MAX 128
#define PREFIX    "cede."

struct orders {
    const char *workload; /* NULL: nothing to run */
    bool autostart;
    bool keep; /* with cede.keep=1: a shell instead of power-off, for people */
    int word_count;
    char *words[WORDS_MAX]; /* key=value, without the prefix, for the workload */
    char text[4096];
};

static void mount_one(const char *type, const char *where, const char *options)
{
    mkdir(where, 0755);
    if (mount(type, where, type, 0, options) != 0 && errno != EBUSY) {
        printf("CEDE-GUEST error mount %s: %s\n", where, strerror(errno));
    }
}

static void mount_all(void)
{
    mount_one("devtmpfs", "/dev", NULL);
    mount_one("proc", "/proc", NULL);
    mount_one("sysfs", "/sys", NULL);
    mount_one("tmpfs", "/tmp", "mode=1777");
    mkdir("/dev/shm", 0755);
    mount_one("tmpfs", "/dev/shm", "mode=1777");
}

/* The kernel opens /dev/console for process 1 only if the node was there; it is there now. */
static void open_console(void)
{
    int fd = open("/dev/console", O_RDWR);
    if (fd < 0) {
        return;
    }
    for (int target = 0; target <= 2; target++) {
        if (fd != target) {
            dup2(fd, target);
        }
    }
    if (fd > 2) {
        close(fd);
    }
    struct termios settings;
    if (tcgetattr(0, &settings) == 0) {
        settings.c_lflag &= (tcflag_t) ~(ECHO | ECHONL); /* CEDE-START isn't sent back */
        tcsetattr(0, TCSANOW, &settings);
    }
}

static void take_word(struct orders *orders, char *word)
{
    if (strncmp(word, PREFIX, strlen(PREFIX)) != 0) {
        return;
    }
    word += strlen(PREFIX);
    if (strncmp(word, "workload=", 9) == 0) {
        orders->workload = word + 9;
    } else if (strncmp(word, "autostart=", 10) == 0) {
        orders->autostart = strcmp(word + 10, "0") != 0;
    } else if (strncmp(word, "keep=", 5) == 0) {
        orders->keep = strcmp(word + 5, "0") != 0;
    } else if (orders->word_count < WORDS_MAX - 2) {
        orders->words[orders->word_count++] = word;
    }
}

static void read_orders(struct orders *orders)
{
    int fd = open("/proc/cmdline", O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, orders->text, sizeof orders->text - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (length < 0) {
        printf("CEDE-GUEST error no /proc/cmdline\n");
        return;
    }
    orders->text[length] = '\0';
    char *rest = orders->text;
    for (char *word; (word = strsep(&rest, " \t\n")) != NULL;) {
        take_word(orders, word);
    }
}

/* Blocks until the host's line; a console that ends counts as a start, or nothing would run. */
static void await_start(void)
{
    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strstr(line, "CEDE-START") != NULL) {
            return;
        }
    }
    printf("CEDE-GUEST error the console ended before CEDE-START\n");
}

static int run_program(char *const argv[])
{
    pid_t child = fork();
    if (child < 0) {
        printf("CEDE-GUEST error fork: %s\n", strerror(errno));
        return 125;
    }
    if (child == 0) {
        execv(argv[0], argv);
        printf("CEDE-GUEST error cannot run %s: %s\n", argv[0], strerror(errno));
        fflush(stdout);
        _exit(127);
    }
    int status = 0;
    for (pid_t ended; (ended = wait(&status)) != child;) {
        if (ended < 0 && errno != EINTR) {
            return 125;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_workload(struct orders *orders)
{
    if (orders->workload == NULL) {
        return 0;
    }
    if (strcmp(orders->workload, "shell") == 0) {
        char *shell[] = {"/bin/busybox", "sh", NULL};
        return run_program(shell);
    }
    char path[256];
    snprintf(path, sizeof path, "/cede/%s", orders->workload);
    char *argv[WORDS_MAX + 1] = {path};
    memcpy(argv + 1, orders->words, sizeof orders->words[0] * (size_t)orders->word_count);
    return run_program(argv);
}

static void power_off(void)
{
    fflush(stdout);
    tcdrain(1); /* else the last lines die in the serial port's buffer */
    sync();
    reboot(RB_POWER_OFF);
}

int main(void)
{
    static struct orders orders;
    open_console();
    setvbuf(stdout, NULL, _IOLBF, 0);
    mount_all();
    open_console();
    setenv("PATH", "/bin:/usr/bin:/sbin:/cede", 1);
    read_orders(&orders);

    printf("CEDE-GUEST ready\n");
    if (!orders.autostart) {
        await_start();
    }
    struct facts_cpu_time before;
    facts_read_cpu_time(&before);
    int status = run_workload(&orders);
    facts_print_cpu_time(&before);
    facts_print_paravirtual();
    printf("CEDE-GUEST done status=%d\n", status);
    if (orders.keep) {
        char *shell[] = {"/bin/busybox", "sh", NULL};
        run_program(shell);
    }
    power_off();
    return 1;
}
