/*
 * log.c - the first serial port: lines for people, and panics. One lock, innermost of all; a panic
 * goes through without it.
 */
#include "hv/log.h"

#include "cede/types.h"
#include "hv/arch/x86/cpu.h"
#include "hv/irq/apic.h"
#include "hv/lib/format.h"
#include "hv/lock.h"
#include "hv/pcpu.h"
#include "hv/time/clock.h"

#define COM1 0x3f8u
#define DEBUG_EXIT 0xf4u

static struct hv_lock log_lock;
static uint32_t panicking;

static void put_char(char c)
{
    for (unsigned tries = 0; tries < 100000 && (cpu_in8(COM1 + 5) & 0x20) == 0; tries++) {
        cpu_pause();
    }
    cpu_out8(COM1, (uint8_t)c);
}

static void put_line(const char *text)
{
    for (; *text != '\0'; text++) {
        put_char(*text);
    }
    put_char('\r');
    put_char('\n');
}

static void put_format(const char *prefix, const char *format, va_list arguments)
{
    char line[400];
    uint64_t us = hv_now_ns() / 1000;
    size_t at = hv_format(line, sizeof(line), "[%5lu.%06lu] %u %s", us / 1000000, us % 1000000,
                          hv_this_pcpu()->index, prefix);
    hv_format_v(line + at, sizeof(line) - at, format, arguments);
    put_line(line);
}

void hv_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hv_lock(&log_lock);
    put_format("", format, arguments);
    hv_unlock(&log_lock);
    va_end(arguments);
}

_Noreturn void hv_machine_exit(enum hv_exit status)
{
    cpu_out32(DEBUG_EXIT, (uint32_t)status);
    cpu_out16(0x604, 0x2000); /* QEMU's ACPI power-off, where there is no debug-exit device */
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

_Noreturn void hv_panic(const char *format, ...)
{
    va_list arguments;
    if (__atomic_exchange_n(&panicking, 1, __ATOMIC_SEQ_CST) != 0) {
        for (;;) {
            __asm__ volatile("cli; hlt");
        }
    }
    va_start(arguments, format);
    put_format("PANIC: ", format, arguments);
    va_end(arguments);
    hv_apic_send_others(HV_VECTOR_STOP);
    hv_panic_dump();
    hv_machine_exit(HV_EXIT_PANIC);
}

void hv_panic_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_format("", format, arguments);
    va_end(arguments);
}

_Noreturn void cede_panic(const char *what)
{
    hv_panic("core: %s", what);
}
