/*
 * console.h - the channel to the command (abi/channel.h) on the second serial port.
 */
#ifndef HV_CONSOLE_CONSOLE_H
#define HV_CONSOLE_CONSOLE_H

#include "abi/channel.h"

#include <stdint.h>

struct hv_vm;

/* Bytes that a VM's serial port sent. Any pCPU; takes the channel lock. */
void hv_console_put(struct hv_vm *vm, const char *bytes, uint32_t count);

/* One frame; at most ABI_FRAME_LENGTH_MAX bytes. vm: its index, or UINT16_MAX. */
void hv_channel_send(uint8_t kind, uint16_t vm, const void *bytes, uint32_t count);

/* Sets up the port and says who we are. Boot CPU, once, before VMs start. */
void hv_channel_hello(void);

/* Tells that a VM's state changed. Any pCPU. */
void hv_channel_vm_state(struct hv_vm *vm);

/* A VCPU frame for every vCPU, a PCPU frame for every pCPU. Boot CPU. */
void hv_channel_stats(void);

/* Last words: statistics, trace and log if asked for, and the end. Boot CPU. */
void hv_channel_end(uint32_t status);

/* Looks for frames from the command, carries them out. Boot CPU, from its loop. */
void hv_channel_poll(void);

/* Carries out one command line and answers it. hv/console/command.c. */
void hv_command(const uint8_t *line, uint32_t length);

#endif
