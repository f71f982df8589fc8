/*
 * channel.c - see channel.h.
 */
#include "host/channel.h"

#include <string.h>

static void drop(struct host_channel *channel, size_t count)
{
    memmove(channel->bytes, channel->bytes + count, channel->count - count);
    channel->count -= count;
}

/* Goes to the next place where a frame may begin. */
static void synchronise(struct host_channel *channel)
{
    const uint8_t low = ABI_FRAME_MAGIC & 0xff, high = ABI_FRAME_MAGIC >> 8;
    size_t at = 0;
    while (at < channel->count &&
           !(channel->bytes[at] == low &&
             (at + 1 == channel->count || channel->bytes[at + 1] == high))) {
        at++;
    }
    channel->skipped += at;
    drop(channel, at);
}

static bool take_frame(struct host_channel *channel)
{
    struct abi_frame frame;
    synchronise(channel);
    if (channel->count < sizeof frame) {
        return false;
    }
    memcpy(&frame, channel->bytes, sizeof frame);
    if (frame.length > ABI_FRAME_LENGTH_MAX) {
        channel->skipped += 2;
        drop(channel, 2); /* no frame after all */
        return true;
    }
    if (channel->count < sizeof frame + frame.length) {
        return false;
    }
    channel->frame(channel->context, &frame, channel->bytes + sizeof frame);
    drop(channel, sizeof frame + frame.length);
    return true;
}

void host_channel_feed(struct host_channel *channel, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        size_t room = sizeof channel->bytes - channel->count;
        size_t part = count < room ? count : room;
        memcpy(channel->bytes + channel->count, bytes, part);
        channel->count += part;
        bytes += part;
        count -= part;
        while (take_frame(channel)) {
        }
    }
}

size_t host_channel_make(uint8_t *out, enum abi_frame_kind kind, uint16_t vm, const void *payload,
                         uint16_t length)
{
    struct abi_frame frame = {ABI_FRAME_MAGIC, (uint8_t)kind, 0, vm, length, 0};
    memcpy(out, &frame, sizeof frame);
    memcpy(out + sizeof frame, payload, length);
    return sizeof frame + length;
}
