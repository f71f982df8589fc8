/*
 * uart.h - the guest's serial port: a 16550A at 0x3f8, IRQ 4. Data sheet: National PC16550D.
 *
 * Under the VM's device lock. Output goes to hv_console_put(); input comes by hv_uart_input().
 */
#ifndef HV_DEV_UART_H
#define HV_DEV_UART_H

#include <stdbool.h>
#include <stdint.h>

#define HV_UART_LINE 1024u
#define HV_UART_INPUT 256u

struct hv_vm;

struct hv_uart {
    uint8_t ier, lcr, mcr, scratch, fcr;
    uint16_t divisor;
    bool tx_pending; /* "transmitter empty" hasn't been acknowledged */
    uint8_t input[HV_UART_INPUT];
    uint32_t input_head, input_tail; /* free-running */
    char line[HV_UART_LINE]; /* output not handed on yet */
    uint32_t line_length;
};

void hv_uart_reset(struct hv_vm *vm);
uint8_t hv_uart_read(struct hv_vm *vm, unsigned reg);
void hv_uart_write(struct hv_vm *vm, unsigned reg, uint8_t value);

/* Bytes for the guest; returns how many fitted. Takes the device lock. */
uint32_t hv_uart_input(struct hv_vm *vm, const uint8_t *bytes, uint32_t count);

#endif
