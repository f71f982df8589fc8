/*
 * cpu.c - pure computation: a workload that asks nothing of the hypervisor but its share.
 *
 * Each block steps a linear congruential generator many times and compares where it got with the
 * closed form, found in a few steps by squaring. A register or a bit lost in a world switch shows.
 * Parameters: block_steps. Metric: blocks a second.
 */
#include "guests/workload/common.h"

#include <inttypes.h>

/* Knuth's MMIX constants (The Art of Computer Programming, volume 2, 3.3.4). */
#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT  UINT64_C(1442695040888963407)

static uint64_t block_steps;

static uint64_t step_by_step(uint64_t x)
{
    for (uint64_t i = 0; i < block_steps; i++) {
        x = x * MULTIPLIER + INCREMENT;
        __asm__ volatile("" : "+r"(x)); /* the compiler mustn't find the closed form */
    }
    return x;
}

/* x -> a^n x + c (a^n - 1)/(a - 1), by composing the step with itself. */
static uint64_t jump(uint64_t x)
{
    uint64_t a = MULTIPLIER, c = INCREMENT;
    for (uint64_t n = block_steps; n != 0; n >>= 1) {
        if ((n & 1) != 0) {
            x = x * a + c;
        }
        c = c * (a + 1);
        a = a * a;
    }
    return x;
}

static bool prepare(struct run *run)
{
    (void)run;
    block_steps = workload_param("block_steps", 100000, 1, UINT64_C(1) << 40);
    return true;
}

static void work(struct worker *worker)
{
    while (!workload_stopping(worker)) {
        uint64_t start = workload_random(&worker->random_state);
        uint64_t got = step_by_step(start);
        uint64_t expected = jump(start);
        if (got != expected) {
            workload_fail(worker->run,
                          "checksum wrong: from %" PRIx64 " got %" PRIx64 ", expected %" PRIx64,
                          start, got, expected);
            return;
        }
        workload_count(worker, 1);
    }
}

int main(int argc, char **argv)
{
    static const struct workload cpu = {
        .name = "cpu", .metric = "blocks_s", .prepare = prepare, .work = work};
    return workload_main(&cpu, argc, argv);
}
