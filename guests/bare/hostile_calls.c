/*
 * hostile_calls.c - hypercalls of both vendors' instructions with random numbers and arguments.
 */
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

struct call {
    bool vmcall;
    uint64_t number, argument[4];
};

static uint8_t arena[4096] __attribute__((aligned(4096)));

static void do_call(void *argument)
{
    struct call *call = argument;
    uint64_t result = call->number;
    if (call->vmcall) {
        __asm__ volatile("vmcall"
                         : "+a"(result)
                         : "b"(call->argument[0]), "c"(call->argument[1]), "d"(call->argument[2]),
                           "S"(call->argument[3])
                         : "memory");
    } else {
        __asm__ volatile("vmmcall"
                         : "+a"(result)
                         : "b"(call->argument[0]), "c"(call->argument[1]), "d"(call->argument[2]),
                           "S"(call->argument[3])
                         : "memory");
    }
}

/* Addresses of the arena and outside RAM only: clock pairing (9) writes where it's told. */
static uint64_t choose_argument(uint64_t *random)
{
    uint64_t value = random_next(random);
    switch (random_below(random, 5)) {
    case 0:
        return value & 0xff;
    case 1:
        return (uint64_t)arena + (value & 0xfc0);
    case 2:
        return hostile_hole(random) + (value & 0xfff);
    case 3:
        return UINT64_MAX - (value & 0xff);
    default:
        return value | UINT64_C(1) << 45;
    }
}

/* KVM's numbers go up to 12; bit 30 and up are other hypervisors'. */
static uint64_t choose_number(uint64_t *random)
{
    return random_below(random, 4) == 0 ? random_next(random) : random_below(random, 16);
}

/* A call that sends an interrupt (10) mustn't stop the guest: not INIT, not SIPI, not SMI. */
static void make_survivable(struct call *call)
{
    const uint64_t delivery_mode = 0x700;
    if (call->number == 10) {
        call->argument[3] &= ~delivery_mode;
    }
}

static void step(uint64_t *random)
{
    struct call call = {.number = choose_number(random)};
    for (unsigned i = 0; i < 4; i++) {
        call.argument[i] = choose_argument(random);
    }
    call.vmcall = random_below(random, 4) == 0;
    make_survivable(&call);
    hostile_try(do_call, &call);
}

const struct hostile hostile_hypercall = {.name = "hypercall", .step = step};
