/*
 * channel.c - the framed channel to the command, on the second serial port (abi/channel.h).
 *
 * Owns the channel lock, taken last but for the log's: a frame goes out whole. The boot CPU alone
 * reads. VMs' consoles, statistics, traces and logs go out; commands and console input come in.
 */
#include "abi/channel.h"
#include "cede/stats.h"
#include "cede/trace.h"
#include "hv/arch/x86/cpu.h"
#include "hv/console/console.h"
#include "hv/lib/format.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"
#include "hv/time/clock.h"

#define COM2 0x2f8u

extern const uint8_t hv_core_hash[32]; /* made by hv/module.mk from libcede.a */

static struct hv_lock channel_lock;
static uint8_t input[sizeof(struct abi_frame) + ABI_FRAME_LENGTH_MAX];
static uint32_t input_length;

static void put_bytes(const void *bytes, uint32_t count)
{
    const uint8_t *at = bytes;
    uint32_t burst = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* the transmitter's FIFO takes 16 bytes when it says that it is empty */
        if (burst == 0) {
            for (unsigned tries = 0; tries < 1000000 && (cpu_in8(COM2 + 5) & 0x20) == 0; tries++) {
                cpu_pause();
            }
            burst = 16;
        }
        burst--;
        cpu_out8(COM2, at[i]);
    }
}

void hv_channel_send(uint8_t kind, uint16_t vm, const void *bytes, uint32_t count)
{
    struct abi_frame frame = {ABI_FRAME_MAGIC, kind, 0, vm, (uint16_t)count, hv_now_ns()};
    hv_lock(&channel_lock);
    put_bytes(&frame, sizeof(frame));
    put_bytes(bytes, count);
    hv_unlock(&channel_lock);
}

void hv_console_put(struct hv_vm *vm, const char *bytes, uint32_t count)
{
    hv_channel_send(ABI_FRAME_CONSOLE, (uint16_t)vm->index, bytes, count);
}

void hv_channel_hello(void)
{
    struct abi_hello hello = {1, hv_pcpu_count, hv_vm_count, shell.vcpu_count, {0}};
    cpu_out8(COM2 + 1, 0);    /* no interrupts: the boot CPU polls */
    cpu_out8(COM2 + 3, 0x83); /* divisor */
    cpu_out8(COM2, 1);
    cpu_out8(COM2 + 1, 0);
    cpu_out8(COM2 + 3, 3);
    cpu_out8(COM2 + 2, 7); /* FIFOs */
    memcpy(hello.core_hash, hv_core_hash, sizeof(hello.core_hash));
    hv_channel_send(ABI_FRAME_HELLO, UINT16_MAX, &hello, sizeof(hello));
}

static enum abi_vm_run_state run_state(const struct hv_vm *vm)
{
    switch ((enum hv_vm_state)vm->state) {
    case HV_VM_DONE:
        return ABI_VM_STATE_DONE;
    case HV_VM_STOPPED:
        return ABI_VM_STATE_STOPPED;
    case HV_VM_KILLED:
        return ABI_VM_STATE_KILLED;
    case HV_VM_RESETTING:
        return ABI_VM_STATE_STARTING;
    case HV_VM_RUNNING:
        break;
    }
    return vm->paused ? ABI_VM_STATE_PAUSED : ABI_VM_STATE_RUNNING;
}

void hv_channel_vm_state(struct hv_vm *vm)
{
    struct abi_vm_state state = {.state = run_state(vm), .since_ns = hv_now_ns()};
    memcpy(state.text, vm->why, sizeof(state.text));
    hv_channel_send(ABI_FRAME_VM_STATE, (uint16_t)vm->index, &state, sizeof(state));
}

/* ---- statistics ---- */

_Static_assert(CEDE_TIME_COUNT <= ABI_TIME_CLASSES, "time classes fit");
_Static_assert(CEDE_COUNTER_COUNT <= ABI_COUNTERS, "counters fit");
_Static_assert(ABI_EXIT_COUNT <= ABI_EXIT_REASONS, "exit reasons fit");
_Static_assert(CEDE_HISTOGRAM_BUCKETS == ABI_HISTOGRAM_BUCKETS, "histograms fit");

static void send_vcpu(const struct hv_vcpu *vcpu)
{
    static struct cede_vcpu_stats stats; /* boot CPU only */
    static struct abi_vcpu_stats out;
    shell_lock();
    uint64_t now_ns = hv_now_ns() > shell.last_ns ? hv_now_ns() : shell.last_ns;
    shell.last_ns = now_ns;
    cede_vcpu_stats(shell.core, now_ns, vcpu->id, &stats);
    shell_unlock();
    memset(&out, 0, sizeof(out));
    out.index = vcpu->index;
    out.state = stats.state;
    out.pcpu = stats.pcpu.value;
    out.time_count = CEDE_TIME_COUNT;
    out.counter_count = CEDE_COUNTER_COUNT;
    out.exit_count = ABI_EXIT_COUNT;
    out.added_ns = stats.added_ns;
    memcpy(out.time_ns, stats.time_ns, sizeof(stats.time_ns));
    memcpy(out.count, stats.count, sizeof(stats.count));
    memcpy(out.exits, vcpu->account.exits, sizeof(vcpu->account.exits));
    memcpy(out.exit_ns, vcpu->account.exit_ns, sizeof(vcpu->account.exit_ns));
    out.wake_max_ns = stats.wake_latency.max_ns;
    out.wake_sum_ns = stats.wake_latency.sum_ns;
    out.wake_count = stats.wake_latency.count;
    memcpy(out.wake_bucket, stats.wake_latency.bucket, sizeof(out.wake_bucket));
    hv_channel_send(ABI_FRAME_VCPU, (uint16_t)vcpu->vm->index, &out, sizeof(out));
}

static void send_pcpu(uint32_t index)
{
    struct cede_pcpu_stats stats;
    const struct hv_pcpu *pcpu = hv_pcpu(index);
    struct abi_pcpu_stats out = {.pcpu = index, .time_count = CEDE_PCPU_TIME_COUNT};
    shell_lock();
    cede_pcpu_stats(shell.core, shell.last_ns, (struct cede_pcpu_id){index}, &stats);
    shell_unlock();
    memcpy(out.time_ns, stats.time_ns, sizeof(stats.time_ns));
    out.switches = stats.switches;
    out.kicks = stats.kicks;
    out.kicks_resent = pcpu->kicks_resent;
    out.lock_hold_max_ns = pcpu->lock_hold_max_ns;
    out.lock_hold_sum_ns = pcpu->lock_hold_sum_ns;
    out.lock_count = pcpu->lock_count;
    hv_channel_send(ABI_FRAME_PCPU, UINT16_MAX, &out, sizeof(out));
}

void hv_channel_stats(void)
{
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        for (uint32_t v = 0; v < hv_vms[i]->vcpu_count; v++) {
            send_vcpu(hv_vms[i]->vcpu[v]);
        }
    }
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        send_pcpu(i);
    }
}

void hv_channel_end(uint32_t status)
{
    hv_channel_stats();
    if ((shell.manifest->flags & ABI_MANIFEST_TRACE) != 0) {
        for (uint32_t i = 0; i < hv_pcpu_count; i++) {
            hv_trace_send(i);
        }
    }
    hv_record_send();
    hv_channel_send(ABI_FRAME_END, UINT16_MAX, &status, sizeof(status));
}

/* ---- input ---- */

static void handle_frame(const struct abi_frame *frame, const uint8_t *bytes)
{
    if (frame->kind == ABI_FRAME_INPUT && frame->vm < hv_vm_count) {
        hv_uart_input(hv_vms[frame->vm], bytes, frame->length);
    } else if (frame->kind == ABI_FRAME_COMMAND) {
        hv_command(bytes, frame->length);
    }
}

/* Drops bytes until the buffer begins with a magic, or may still come to. */
static void resynchronise(void)
{
    uint32_t at = 0;
    while (at + 1 < input_length &&
           (input[at] != (ABI_FRAME_MAGIC & 0xff) || input[at + 1] != ABI_FRAME_MAGIC >> 8)) {
        at++;
    }
    if (at > 0) {
        memmove(input, input + at, input_length - at);
        input_length -= at;
    }
}

static void take_frames(void)
{
    for (;;) {
        struct abi_frame frame;
        resynchronise();
        if (input_length < sizeof(frame)) {
            return;
        }
        memcpy(&frame, input, sizeof(frame));
        if (frame.length > ABI_FRAME_LENGTH_MAX) {
            input[0] = 0; /* not a frame: go on behind this magic */
            continue;
        }
        uint32_t whole = (uint32_t)sizeof(frame) + frame.length;
        if (input_length < whole) {
            return;
        }
        handle_frame(&frame, input + sizeof(frame));
        memmove(input, input + whole, input_length - whole);
        input_length -= whole;
    }
}

void hv_channel_poll(void)
{
    uint32_t before = input_length;
    while (input_length < sizeof(input) && (cpu_in8(COM2 + 5) & 1) != 0) {
        input[input_length++] = cpu_in8(COM2);
    }
    if (input_length != before) {
        take_frames();
    }
}
