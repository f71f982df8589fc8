/*
 * run.c - see run.h: bundle, QEMU, frames, synchronised start, end.
 */
#include "host/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/bundle.h"
#include "host/control.h"
#include "host/log.h"
#include "host/qemu.h"
#include "host/trace.h"

#define LIVE_MS 500
#define GRACE_S 10.0

struct session {
    const struct host_scenario *scenario;
    const struct host_run_options *options;
    struct host_observed seen;
    struct host_channel channel;
    struct host_qemu qemu;
    char folder[64], bundle[96], log[96], errors[96];
    double start_s, live_s, stop_s; /* monotonic; stop_s 0: nobody asked */
    uint32_t attach; /* VM's number, or UINT32_MAX */
    bool timed_out;
    struct host_log events;
    struct host_control control;
    FILE *trace;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void send_frame(struct session *s, enum abi_frame_kind kind, uint16_t vm, const char *text)
{
    uint8_t frame[sizeof(struct abi_frame) + 512];
    size_t length = strlen(text) < 512 ? strlen(text) : 512;
    size_t size = host_channel_make(frame, kind, vm, text, (uint16_t)length);
    for (size_t at = 0; at < size && s->qemu.running;) {
        ssize_t sent = write(s->qemu.to, frame + at, size - at);
        if (sent > 0) {
            at += (size_t)sent;
        } else if (errno != EAGAIN || now_s() - s->start_s > s->options->timeout_s) {
            return;
        } else {
            usleep(1000);
        }
    }
}

static void show_line(void *context, uint32_t vm, const char *text)
{
    struct session *s = context;
    if (s->options->stream) {
        printf("%s| %s\n", s->scenario->vm[vm].name, text);
        fflush(stdout);
    }
}

static void show_reply(void *context, bool refused, const char *text)
{
    struct session *s = context;
    if (strcmp(text, "stats sent") == 0 || strcmp(text, "trace sent") == 0) {
        return; /* asked for by the command itself */
    }
    host_control_answer(&s->control, refused, text);
    if (s->control.client < 0 && (refused || s->options->stream)) {
        fprintf(stderr, "cede: hypervisor: %s\n", text);
    }
}

/* Frames for files: event log, trace. A trace file is chunks as they came (abi/channel.h). */
static void take_raw(void *context, const struct abi_frame *frame, const uint8_t *payload)
{
    struct session *s = context;
    uint64_t first;
    if (frame->kind == ABI_FRAME_TRACE && s->trace != NULL) {
        fwrite(payload, 1, frame->length, s->trace);
    }
    if (frame->length < sizeof first || s->options->log_path == NULL) {
        return;
    }
    memcpy(&first, payload, sizeof first);
    payload += sizeof first;
    if (frame->kind == ABI_FRAME_EVENTS) {
        host_log_events(&s->events, first, payload, (frame->length - sizeof first) / 64);
    } else if (frame->kind == ABI_FRAME_DECISIONS) {
        host_log_digests(&s->events, first, payload, (frame->length - sizeof first) / 8);
    }
}

/* All guests are ready (or gone): they start together. */
static void start_ready(struct session *s)
{
    bool together = (s->scenario->head.flags & ABI_MANIFEST_SYNC_START) != 0;
    bool all = true;
    for (uint32_t i = 0; i < s->scenario->head.vm_count; i++) {
        const struct host_seen_vm *vm = &s->seen.vm[i];
        all = all && (vm->ready || host_seen_ended(vm));
    }
    for (uint32_t i = 0; i < s->scenario->head.vm_count; i++) {
        struct host_seen_vm *vm = &s->seen.vm[i];
        if (vm->ready && !vm->started && (all || !together)) {
            vm->started = true;
            vm->started_ns = s->seen.now_ns;
            send_frame(s, ABI_FRAME_INPUT, (uint16_t)i, "CEDE-START\n");
        }
    }
}

static void ask_to_stop(struct session *s)
{
    s->stop_s = now_s();
    for (uint32_t i = 0; i < s->scenario->head.vm_count; i++) {
        char command[64];
        snprintf(command, sizeof command, "stop %s", s->scenario->vm[i].name);
        send_frame(s, ABI_FRAME_COMMAND, UINT16_MAX, command);
    }
}

static void watch_time(struct session *s)
{
    double now = now_s();
    int interrupted = s->options->interrupted != NULL ? *s->options->interrupted : 0;
    if (interrupted > 0 && s->stop_s <= 0) {
        ask_to_stop(s);
    }
    if (interrupted > 1 || (s->stop_s > 0 && now - s->stop_s > GRACE_S)) {
        host_qemu_kill(&s->qemu);
    }
    if (now - s->start_s > s->options->timeout_s) {
        s->timed_out = true;
        host_qemu_kill(&s->qemu);
    }
    if (now - s->live_s > LIVE_MS / 1000.0 && s->seen.said_hello) {
        s->live_s = now;
        if (s->trace != NULL) {
            send_frame(s, ABI_FRAME_COMMAND, UINT16_MAX, "trace"); /* before rings overflow */
        }
        if (s->options->live != NULL) {
            send_frame(s, ABI_FRAME_COMMAND, UINT16_MAX, "stats");
            s->options->live(s->options->context, &s->seen);
        }
    }
}

static void forward_input(struct session *s)
{
    char text[256];
    ssize_t got = read(0, text, sizeof text - 1);
    if (got > 0 && s->options->key != NULL) {
        for (ssize_t i = 0; i < got; i++) {
            const char *command = s->options->key(s->options->context, text[i]);
            if (command != NULL) {
                send_frame(s, ABI_FRAME_COMMAND, UINT16_MAX, command);
            }
        }
    } else if (got > 0) {
        text[got] = '\0';
        send_frame(s, ABI_FRAME_INPUT, (uint16_t)s->attach, text);
    } else {
        s->attach = UINT32_MAX;
    }
}

/* Reads until the pipe is empty for now; false at its end. */
static bool read_channel(struct session *s)
{
    uint8_t bytes[16384];
    ssize_t got = read(s->qemu.from, bytes, sizeof bytes);
    if (got > 0) {
        host_channel_feed(&s->channel, bytes, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static void follow(struct session *s)
{
    bool open = true;
    while (s->qemu.running && open) {
        bool input = s->attach != UINT32_MAX || s->options->key != NULL;
        struct pollfd wait[3] = {{.fd = s->qemu.from, .events = POLLIN},
                                 {.fd = input ? 0 : -1, .events = POLLIN},
                                 {.fd = host_control_fd(&s->control), .events = POLLIN}};
        int ready = poll(wait, 3, 100);
        if (ready > 0 && (wait[0].revents & (POLLIN | POLLHUP)) != 0) {
            open = read_channel(s);
        }
        if (ready > 0 && (wait[1].revents & POLLIN) != 0) {
            forward_input(s);
        }
        if (ready > 0 && (wait[2].revents & (POLLIN | POLLHUP)) != 0 &&
            host_control_read(&s->control)) {
            send_frame(s, ABI_FRAME_COMMAND, UINT16_MAX, s->control.line);
        }
        start_ready(s);
        watch_time(s);
    }
    for (unsigned tries = 0; !host_qemu_ended(&s->qemu) && tries < 500; tries++) {
        usleep(10000); /* the pipe is closed: it is about to end */
    }
    host_qemu_kill(&s->qemu);
}

static void print_file(const char *path, const char *what)
{
    char line[512];
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        fprintf(stderr, "%s: %s", what, line);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/*
 * Faults that are known to be the emulator's (CAVEATS.md), by their signature: the machine is reset
 * although nothing in the hypervisor resets it or stays silent in a fault of its own, or the
 * hypervisor panics of an exception at the instruction after VMRUN.
 */
static const char *emulator_fault(const struct session *s)
{
    bool after_vmrun = false;
    char line[512];
    FILE *file = fopen(s->log, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        after_vmrun = after_vmrun || strstr(line, "(right after VMRUN") != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (s->qemu.exit_status == 0) {
        return "emulator fault: the machine was reset while guests ran";
    }
    return after_vmrun ? "emulator fault: an exception right after VMRUN" : NULL;
}

/* What the exit status of QEMU, and with it of the hypervisor, means. */
static void judge(struct session *s, struct host_outcome *outcome)
{
    const char *why = NULL;
    char text[128];
    if (s->timed_out) {
        snprintf(text, sizeof text, "not finished after %.0f s", s->options->timeout_s);
        why = text;
    } else if (s->stop_s > 0) {
        why = "stopped by Ctrl-C";
    } else if (emulator_fault(s) != NULL) {
        why = emulator_fault(s);
    } else if (s->qemu.exit_status == HOST_QEMU_PANIC) {
        why = "the hypervisor panicked";
    } else if (s->qemu.exit_status != HOST_QEMU_DONE && s->qemu.exit_status != HOST_QEMU_FAILED) {
        snprintf(text, sizeof text, "QEMU ended with status %d before the hypervisor did",
                 s->qemu.exit_status);
        why = text;
    }
    if (why != NULL) {
        outcome->fine = false;
        snprintf(outcome->trouble, sizeof outcome->trouble, "%s", why);
    }
    if (s->timed_out || (why != NULL && s->stop_s <= 0)) {
        print_file(s->log, "hypervisor");
        print_file(s->errors, "qemu");
    }
}

static void write_log(struct session *s, struct host_outcome *outcome)
{
    struct abi_log *head = &s->events.head;
    uint32_t most = 64; /* what the hypervisor gives its core at least: HV_VM_VCPU_MAX */
    char error[HOST_ERROR_SIZE];
    for (uint32_t i = 0; i < s->scenario->head.vm_count; i++) {
        most = s->scenario->vm[i].vcpu_count > most ? s->scenario->vm[i].vcpu_count : most;
    }
    head->pcpu_count = s->seen.hello.pcpu_count;
    head->vm_count = s->seen.hello.vm_count;
    head->vcpu_count = s->seen.hello.vcpu_count;
    head->vm_vcpu_count = most;
    head->seed = s->scenario->head.seed;
    memcpy(head->core_hash, s->seen.hello.core_hash, sizeof head->core_hash);
    snprintf(head->world, sizeof head->world, "hv");
    if (!host_log_write(&s->events, s->options->log_path, error)) {
        outcome->fine = false;
        snprintf(outcome->trouble, sizeof outcome->trouble, "%.250s", error);
    }
}

static uint64_t memory_needed(const struct host_scenario *scenario)
{
    uint64_t bytes = UINT64_C(320) << 20; /* the hypervisor, and twice the bundle */
    for (uint32_t i = 0; i < scenario->head.vm_count; i++) {
        bytes += scenario->vm[i].memory_bytes + (UINT64_C(4) << 20) +
                 scenario->vm[i].vcpu_count * (UINT64_C(128) << 10);
    }
    return bytes;
}

static bool prepare(struct session *s, char *error)
{
    char kernel[600], initrd[600];
    const char *folder = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%.40s/cede-XXXXXX", folder != NULL ? folder : "/tmp");
    if (mkdtemp(s->folder) == NULL) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", s->folder, strerror(errno));
        return false;
    }
    snprintf(s->bundle, sizeof s->bundle, "%s/bundle", s->folder);
    snprintf(s->log, sizeof s->log, "%s/log", s->folder);
    snprintf(s->errors, sizeof s->errors, "%s/errors", s->folder);
    const char *default_kernel = s->options->kernel != NULL
                                     ? s->options->kernel
                                     : host_own_file("guests/vmlinuz", kernel, sizeof kernel);
    const char *default_initrd =
        s->options->initrd != NULL
            ? s->options->initrd
            : host_own_file("guests/initramfs.cpio", initrd, sizeof initrd);
    for (uint32_t i = 0; i < s->scenario->head.vm_count; i++) {
        if (s->scenario->extra[i].kernel[0] == '\0' && default_kernel == NULL) {
            snprintf(error, HOST_ERROR_SIZE,
                     "no guest kernel: run `make guest-image`, or name one with kernel:");
            return false;
        }
    }
    return host_bundle_write(s->scenario, s->bundle, default_kernel, default_initrd, error);
}

static bool launch(struct session *s, char *error)
{
    char hypervisor[600];
    struct host_qemu_options options = {
        .qemu = s->options->qemu,
        .hypervisor = s->options->hypervisor != NULL
                          ? s->options->hypervisor
                          : host_own_file("hv/cede-hv.bin", hypervisor, sizeof hypervisor),
        .bundle = s->bundle,
        .log = s->log,
        .errors = s->errors,
        .accel = s->options->accel != NULL ? s->options->accel : "tcg",
        .pcpu_count = s->scenario->head.pcpu_count,
        .memory_bytes = memory_needed(s->scenario),
    };
    if (options.hypervisor == NULL) {
        snprintf(error, HOST_ERROR_SIZE, "no hypervisor image beside this program: run `make`");
        return false;
    }
    return host_qemu_start(&s->qemu, &options, error);
}

static void clean_up(struct session *s)
{
    host_qemu_kill(&s->qemu);
    unlink(s->bundle);
    unlink(s->log);
    unlink(s->errors);
    rmdir(s->folder);
    if (s->trace != NULL) {
        fclose(s->trace);
    }
    host_log_free(&s->events);
    host_control_close(&s->control);
    host_observed_fini(&s->seen);
}

static uint32_t number_of(const struct host_scenario *scenario, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < scenario->head.vm_count; i++) {
        if (strcmp(scenario->vm[i].name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

bool host_run(const struct host_scenario *scenario, const struct host_run_options *wanted,
              struct host_outcome *outcome, char *error)
{
    struct host_run_options options = *wanted;
    struct session *s = calloc(1, sizeof *s);
    options.timeout_s = options.timeout_s > 0 ? options.timeout_s : 600;
    memset(outcome, 0, sizeof *outcome);
    if (s == NULL || !host_observed_init(&s->seen, scenario)) {
        free(s);
        snprintf(error, HOST_ERROR_SIZE, "no memory");
        return false;
    }
    s->scenario = scenario;
    s->options = &options;
    s->attach = number_of(scenario, options.attach);
    s->seen.context = s;
    s->seen.line = show_line;
    s->seen.reply = show_reply;
    s->seen.raw = take_raw;
    s->channel.context = &s->seen;
    s->channel.frame = host_observed_frame;
    s->start_s = now_s();
    s->control = (struct host_control){.listener = -1, .client = -1};
    bool fine = options.trace_path == NULL ||
                ((s->trace = fopen(options.trace_path, "wb")) != NULL &&
                 host_trace_begin(s->trace, scenario, "hv"));
    if (!fine) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", options.trace_path, strerror(errno));
    }
    fine = fine && (options.control_path == NULL ||
                    host_control_open(&s->control, options.control_path, error));
    fine = fine && prepare(s, error) && launch(s, error);
    if (fine) {
        follow(s);
        fine = host_outcome_of(outcome, &s->seen);
        snprintf(outcome->accel, sizeof outcome->accel, "%s",
                 options.accel != NULL ? options.accel : "tcg");
        judge(s, outcome);
        if (options.log_path != NULL && s->seen.ended) {
            write_log(s, outcome);
        }
    }
    clean_up(s);
    free(s);
    return fine;
}
