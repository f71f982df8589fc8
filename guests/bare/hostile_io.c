/*
 * hostile_io.c - reads and writes random ports in all widths, one by one and as strings, into
 * memory that is there, that isn't, and that ends within the string.
 *
 * Left out are writes that rightly end or garble the run: power, reset, A20, the console, QEMU's
 * configuration DMA; and on plain QEMU wide reads of the console and PCI configuration.
 */
#include "guests/bare/acpi.h"
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

#define UNMAPPED (UINT64_C(1) << 45) /* start.S maps 4 GiB */
#define MAPPED   (UINT64_C(1) << 32)

enum io_form { IO_IN, IO_OUT, IO_STRING_IN, IO_STRING_OUT, IO_FORMS };

struct access {
    enum io_form form;
    unsigned width; /* bytes */
    uint16_t port;
    uint32_t value;
    uint64_t address, count;
    bool backwards;
};

struct range {
    uint16_t first, last;
};

static const struct range forbidden[] = {
    {0x60, 0x64}, {0x92, 0x92}, {0xb2, 0xb3}, {0x3f8, 0x3ff}, {0x510, 0x51f}, {0x600, 0x64f},
};

static uint16_t power_port;
static bool plain;
static uint8_t buffer[8192] __attribute__((aligned(4096)));

static bool prepare(uint64_t *random)
{
    (void)random;
    power_port = acpi_power_port();
    plain = hostile_plain();
    return true;
}

static bool touches(const struct access *access, unsigned first, unsigned last)
{
    return access->port <= last && access->port + access->width > first;
}

static bool is_forbidden(const struct access *access)
{
    for (unsigned i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        if (touches(access, forbidden[i].first, forbidden[i].last)) {
            return true;
        }
    }
    if (touches(access, 0xcf9, 0xcf9) || touches(access, power_port, power_port + 7u)) {
        return true;
    }
    return plain && touches(access, 0xcf8, 0xcff);
}

/* Reads are free, but for wide ones of the console. */
static bool may_access(const struct access *access)
{
    if (access->form == IO_OUT || access->form == IO_STRING_OUT) {
        return !is_forbidden(access);
    }
    return !plain || access->width == 1 || !touches(access, 0x3f8, 0x3ff);
}

static uint16_t choose_port(uint64_t *random)
{
    uint64_t port = random_next(random) >> 20;
    switch (random_below(random, 4)) {
    case 0:
        return (uint16_t)(port & 0xff);
    case 1:
        return (uint16_t)(port & 0xfff);
    default:
        return (uint16_t)port;
    }
}

static uint64_t choose_address(uint64_t *random)
{
    switch (random_below(random, 6)) {
    case 0:
        return UNMAPPED + random_below(random, 4096);
    case 1:
        return MAPPED - random_below(random, 16); /* ends within the string */
    default:
        return (uint64_t)buffer + random_below(random, 4096 + 256);
    }
}

/* The count is the instruction's to change; a fault in the middle leaves it anywhere. */
static void string_in(uint64_t address, uint64_t count, unsigned width, uint16_t port)
{
    if (width == 1) {
        __asm__ volatile("rep insb" : "+D"(address), "+c"(count) : "d"(port) : "memory");
    } else if (width == 2) {
        __asm__ volatile("rep insw" : "+D"(address), "+c"(count) : "d"(port) : "memory");
    } else {
        __asm__ volatile("rep insl" : "+D"(address), "+c"(count) : "d"(port) : "memory");
    }
}

static void string_out(uint64_t address, uint64_t count, unsigned width, uint16_t port)
{
    if (width == 1) {
        __asm__ volatile("rep outsb" : "+S"(address), "+c"(count) : "d"(port) : "memory");
    } else if (width == 2) {
        __asm__ volatile("rep outsw" : "+S"(address), "+c"(count) : "d"(port) : "memory");
    } else {
        __asm__ volatile("rep outsl" : "+S"(address), "+c"(count) : "d"(port) : "memory");
    }
}

static void string_io(const struct access *a)
{
    if (a->backwards) {
        __asm__ volatile("std");
    }
    if (a->form == IO_STRING_IN) {
        string_in(a->address, a->count, a->width, a->port);
    } else {
        string_out(a->address, a->count, a->width, a->port);
    }
    __asm__ volatile("cld");
}

static void single_io(const struct access *a)
{
    bool in = a->form == IO_IN;
    switch (a->width) {
    case 1:
        in ? (void)cpu_in8(a->port) : cpu_out8(a->port, (uint8_t)a->value);
        break;
    case 2:
        in ? (void)cpu_in16(a->port) : cpu_out16(a->port, (uint16_t)a->value);
        break;
    default:
        in ? (void)cpu_in32(a->port) : cpu_out32(a->port, a->value);
        break;
    }
}

static void access_port(void *argument)
{
    const struct access *access = argument;
    if (access->form == IO_IN || access->form == IO_OUT) {
        single_io(access);
    } else {
        string_io(access);
    }
}

static void step(uint64_t *random)
{
    struct access access;
    do {
        access = (struct access){.form = (enum io_form)random_below(random, IO_FORMS),
                                 .width = 1u << random_below(random, 3),
                                 .port = choose_port(random)};
    } while (!may_access(&access));
    access.value = (uint32_t)random_next(random);
    access.address = choose_address(random);
    access.count = random_below(random, 17);
    access.backwards = random_below(random, 8) == 0;
    hostile_try(access_port, &access);
}

const struct hostile hostile_io = {.name = "io", .prepare = prepare, .step = step};
