/*
 * statistics_test.c - bootstrap intervals: they hold the truth about as often as they say, and they
 * say "no difference" when there is none. Also the channel's reader against split and damaged bytes.
 */
#include <math.h>
#include <string.h>

#include "host/channel.h"
#include "host/statistics.h"
#include "tests/tap.h"

static uint64_t state = 42;

/* About normal, mean 0, deviation 1: twelve uniforms. */
static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        sum += (double)(state >> 11) / 9007199254740992.0;
    }
    return sum;
}

static void test_coverage(void)
{
    unsigned inside = 0, shown_equal = 0, shown_apart = 0;
    for (unsigned round = 0; round < 400; round++) {
        double a[20], b[20], c[20];
        for (unsigned i = 0; i < 20; i++) {
            a[i] = 100 + 5 * noise();
            b[i] = 100 + 5 * noise();
            c[i] = 110 + 5 * noise();
        }
        struct host_interval mean = host_mean(a, 20);
        struct host_interval equal = host_ratio(a, 20, b, 20), apart = host_ratio(c, 20, b, 20);
        inside += !host_shown(&mean, 100);
        shown_equal += host_shown(&equal, 1);
        shown_apart += host_shown(&apart, 1);
    }
    printf("# of 400: mean inside %u, equal shown apart %u, apart shown %u\n", inside, shown_equal,
           shown_apart);
    TAP(inside > 350, "the interval of a mean holds it in most of 400 rounds");
    TAP(shown_equal < 50, "two equal policies are rarely shown to differ");
    TAP(shown_apart > 390, "10 %% apart at 5 %% noise is shown");
    double one[1] = {5};
    struct host_interval single = host_mean(one, 1);
    TAP(single.value > 4.99 && isinf(single.lo) && !host_shown(&single, 100),
        "one run shows nothing");
    double pair[2] = {1, 2};
    struct host_interval again = host_mean(pair, 2), same = host_mean(pair, 2);
    TAP(memcmp(&again, &same, sizeof again) == 0, "the same values give the same interval");
}

struct sink {
    unsigned frames;
    size_t bytes;
    uint8_t last;
};

static void take(void *context, const struct abi_frame *frame, const uint8_t *payload)
{
    struct sink *sink = context;
    sink->frames++;
    sink->bytes += frame->length;
    sink->last = frame->length > 0 ? payload[frame->length - 1] : 0;
}

static void test_channel(void)
{
    static uint8_t stream[200000];
    struct sink sink = {0, 0, 0};
    struct host_channel channel = {.context = &sink, .frame = take};
    size_t size = 0;
    uint8_t payload[ABI_FRAME_LENGTH_MAX];
    memset(payload, 0xce, sizeof payload); /* full of half magics */
    for (unsigned i = 0; i < 40; i++) {
        memset(stream + size, 'x', i);
        size += i; /* noise between frames */
        size += host_channel_make(stream + size, ABI_FRAME_CONSOLE, 1, payload,
                                  i == 39 ? ABI_FRAME_LENGTH_MAX : (uint16_t)(i * 50));
    }
    for (size_t at = 0; at < size; at += 7) {
        host_channel_feed(&channel, stream + at, size - at < 7 ? size - at : 7);
    }
    TAP(sink.frames == 40 && sink.last == 0xce, "frames split anywhere, with noise between them");
    TAP(channel.skipped == 39 * 40 / 2, "what was skipped is counted");
    struct abi_frame wrong = {ABI_FRAME_MAGIC, 2, 0, 0, ABI_FRAME_LENGTH_MAX + 1, 0};
    host_channel_feed(&channel, (const uint8_t *)&wrong, sizeof wrong);
    size = host_channel_make(stream, ABI_FRAME_CONSOLE, 0, "z", 1);
    host_channel_feed(&channel, stream, size);
    TAP(sink.frames == 41 && sink.last == 'z', "a frame that is too long is skipped");
}

int main(void)
{
    test_coverage();
    test_channel();
    return tap_done();
}
