/*
 * uart.c - the guest's serial port. See uart.h.
 */
#include "hv/dev/uart.h"

#include "hv/console/console.h"
#include "hv/lib/string.h"
#include "hv/vm/vm.h"

#define UART_IRQ 4u

enum { IER_RX = 1, IER_TX = 2 };
enum { LSR_DATA = 0x01, LSR_TX_EMPTY = 0x60 };

void hv_uart_reset(struct hv_vm *vm)
{
    memset(&vm->uart, 0, sizeof(vm->uart));
    vm->uart.divisor = 1;
}

static bool has_input(const struct hv_uart *uart)
{
    return uart->input_head != uart->input_tail;
}

static uint8_t interrupt_id(const struct hv_uart *uart)
{
    uint8_t fifo = (uart->fcr & 1) != 0 ? 0xc0 : 0;
    if ((uart->ier & IER_RX) != 0 && has_input(uart)) {
        return fifo | 0x04;
    }
    if ((uart->ier & IER_TX) != 0 && uart->tx_pending) {
        return fifo | 0x02;
    }
    return fifo | 0x01;
}

static void update_line(struct hv_vm *vm)
{
    hv_ioapic_set_line(vm, UART_IRQ, (interrupt_id(&vm->uart) & 1) == 0);
}

static void flush(struct hv_vm *vm)
{
    hv_console_put(vm, vm->uart.line, vm->uart.line_length);
    vm->uart.line_length = 0;
}

static void transmit(struct hv_vm *vm, uint8_t byte)
{
    struct hv_uart *uart = &vm->uart;
    uart->line[uart->line_length++] = (char)byte;
    if (byte == '\n' || uart->line_length == HV_UART_LINE) {
        flush(vm);
    }
    uart->tx_pending = true;
}

static uint8_t read_register(struct hv_vm *vm, unsigned reg)
{
    struct hv_uart *uart = &vm->uart;
    bool latch = (uart->lcr & 0x80) != 0;
    uint8_t value;
    switch (reg) {
    case 0:
        if (latch) {
            return (uint8_t)uart->divisor;
        }
        return has_input(uart) ? uart->input[uart->input_tail++ % HV_UART_INPUT] : 0;
    case 1:
        return latch ? (uint8_t)(uart->divisor >> 8) : uart->ier;
    case 2:
        value = interrupt_id(uart);
        if ((value & 0x0f) == 0x02) {
            uart->tx_pending = false;
        }
        return value;
    case 3:
        return uart->lcr;
    case 4:
        return uart->mcr;
    case 5:
        return LSR_TX_EMPTY | (has_input(uart) ? LSR_DATA : 0);
    case 6:
        /* loop-back: the modem outputs come back as inputs */
        return (uart->mcr & 0x10) != 0 ? (uint8_t)((uart->mcr & 0x0c) << 4 | (uart->mcr & 2) << 3 |
                                                   (uart->mcr & 1) << 5)
                                       : 0xb0;
    default:
        return uart->scratch;
    }
}

static void write_register(struct hv_vm *vm, unsigned reg, uint8_t value)
{
    struct hv_uart *uart = &vm->uart;
    bool latch = (uart->lcr & 0x80) != 0;
    switch (reg) {
    case 0:
        if (latch) {
            uart->divisor = (uint16_t)((uart->divisor & 0xff00) | value);
        } else if ((uart->mcr & 0x10) == 0) {
            transmit(vm, value);
        }
        break;
    case 1:
        if (latch) {
            uart->divisor = (uint16_t)((uart->divisor & 0xff) | value << 8);
        } else {
            /* switching the interrupt on while the transmitter is empty raises it */
            uart->tx_pending = uart->tx_pending || (value & ~uart->ier & IER_TX) != 0;
            uart->ier = value & 0x0f;
        }
        break;
    case 2:
        uart->fcr = value;
        if ((value & 2) != 0) {
            uart->input_tail = uart->input_head;
        }
        break;
    case 3:
        uart->lcr = value;
        break;
    case 4:
        uart->mcr = value & 0x1f;
        break;
    case 7:
        uart->scratch = value;
        break;
    default:
        break;
    }
}

uint8_t hv_uart_read(struct hv_vm *vm, unsigned reg)
{
    hv_lock(&vm->lock);
    uint8_t value = read_register(vm, reg);
    if (reg != 5) {
        update_line(vm);
    }
    hv_unlock(&vm->lock);
    return value;
}

void hv_uart_write(struct hv_vm *vm, unsigned reg, uint8_t value)
{
    hv_lock(&vm->lock);
    write_register(vm, reg, value);
    update_line(vm);
    hv_unlock(&vm->lock);
}

uint32_t hv_uart_input(struct hv_vm *vm, const uint8_t *bytes, uint32_t count)
{
    struct hv_uart *uart = &vm->uart;
    uint32_t taken = 0;
    hv_lock(&vm->lock);
    while (taken < count && uart->input_head - uart->input_tail < HV_UART_INPUT) {
        uart->input[uart->input_head++ % HV_UART_INPUT] = bytes[taken++];
    }
    update_line(vm);
    hv_unlock(&vm->lock);
    return taken;
}
