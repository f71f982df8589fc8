/*
 * channel.h - the command's end of the channel to the hypervisor (abi/channel.h).
 *
 * Takes bytes as they come, gives whole frames. Bytes that belong to no frame are skipped and
 * counted. Owns one frame's buffer. No locks.
 */
#ifndef HOST_CHANNEL_H
#define HOST_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/channel.h"

struct host_channel {
    uint8_t bytes[sizeof(struct abi_frame) + ABI_FRAME_LENGTH_MAX];
    size_t count;
    uint64_t skipped;
    void *context;
    void (*frame)(void *context, const struct abi_frame *frame, const uint8_t *payload);
};

void host_channel_feed(struct host_channel *channel, const uint8_t *bytes, size_t count);

/* A frame's bytes for the hypervisor into `out` (header and payload); their count. length bounded. */
size_t host_channel_make(uint8_t *out, enum abi_frame_kind kind, uint16_t vm, const void *payload,
                         uint16_t length);

#endif
