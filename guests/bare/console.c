/*
 * console.c - see console.h. Owns the serial port at 0x3f8 (8250, no interrupts).
 */
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"

#define PORT            0x3f8
#define LINE_CONTROL    (PORT + 3)
#define LINE_STATUS     (PORT + 5)
#define STATUS_RECEIVED 0x01u
#define STATUS_ROOM     0x20u

void console_init(void)
{
    cpu_out8(PORT + 1, 0);     /* no interrupts */
    cpu_out8(LINE_CONTROL, 3); /* 8 bits, no parity, one stop bit */
    cpu_out8(PORT + 2, 7);     /* FIFOs on and empty */
    cpu_out8(PORT + 4, 3);     /* DTR, RTS */
}

static void print_byte(char c)
{
    /* Bounded: a port that never gets room loses text rather than the guest. */
    for (int i = 0; i < 100000 && (cpu_in8(LINE_STATUS) & STATUS_ROOM) == 0; i++) {
    }
    cpu_out8(PORT, (uint8_t)c);
}

void print(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            print_byte('\r');
        }
        print_byte(*text);
    }
}

void print_u64(uint64_t value)
{
    char digits[21];
    int at = 20;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(digits + at);
}

void print_hex(uint64_t value)
{
    print("0x");
    int shift = 60;
    while (shift > 0 && value >> shift == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        print_byte("0123456789abcdef"[value >> shift & 15]);
    }
}

int console_read(void)
{
    return (cpu_in8(LINE_STATUS) & STATUS_RECEIVED) != 0 ? cpu_in8(PORT) : -1;
}

void result_begin(const char *workload, const char *metric, uint64_t value)
{
    print("CEDE-RESULT {\"workload\":\"");
    print(workload);
    print("\",\"interval\":0,\"metric\":\"");
    print(metric);
    print("\"");
    result_member("value", value);
}

void result_member(const char *key, uint64_t value)
{
    print(",\"");
    print(key);
    print("\":");
    print_u64(value);
}

void result_text(const char *key, const char *text)
{
    print(",\"");
    print(key);
    print("\":\"");
    print(text);
    print("\"");
}

void result_end(void)
{
    print("}\n");
}
