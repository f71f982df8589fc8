/*
 * hostile_mmio.c - odd instructions on device memory: APIC, IO-APIC, HPET, and addresses where
 * nothing is. All kinds of operands, prefixes that mean nothing, read-modify-write, strings, SSE
 * and x87; whoever emulates them has to decode them first.
 *
 * Each operation is assembled from a table of encodings with RDI (and RSI) on the device. Left
 * out: the interrupt command register, unmasked IO-APIC entries, and forms that load control or
 * stack registers from the device.
 */
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"
#include "guests/bare/window.h"

#define IO_APIC 0xfec00000u
#define HPET    0xfed00000u
#define NOP     0x90

/* An instruction whose operand is [RDI]; `fixed` when the ModRM reg field belongs to the opcode. */
struct encoding {
    uint8_t length, bytes[3];
    uint8_t modrm; /* 0: none (string instructions) */
    bool fixed;
};

#define RM_RDI 7
#define MOVES  10u
static const struct encoding encodings[] = {
    /* plain moves; MOVES of them */
    {1, {0x88}, RM_RDI, false},
    {1, {0x89}, RM_RDI, false},
    {1, {0x8a}, RM_RDI, false},
    {1, {0x8b}, RM_RDI, false},
    {1, {0xc6}, RM_RDI, true},
    {1, {0xc7}, RM_RDI, true},
    {2, {0x0f, 0xb6}, RM_RDI, false},
    {2, {0x0f, 0xb7}, RM_RDI, false},
    {2, {0x0f, 0xbe}, RM_RDI, false},
    {2, {0x0f, 0xbf}, RM_RDI, false},
    /* other moves, exchanges, arithmetic, bits */
    {1, {0x63}, RM_RDI, false},
    {2, {0x0f, 0xc3}, RM_RDI, false},
    {3, {0x0f, 0x38, 0xf0}, RM_RDI, false},
    {3, {0x0f, 0x38, 0xf1}, RM_RDI, false},
    {1, {0x86}, RM_RDI, false},
    {1, {0x87}, RM_RDI, false},
    {1, {0x00}, RM_RDI, false},
    {1, {0x01}, RM_RDI, false},
    {1, {0x03}, RM_RDI, false},
    {1, {0x09}, RM_RDI, false},
    {1, {0x0b}, RM_RDI, false},
    {1, {0x11}, RM_RDI, false},
    {1, {0x21}, RM_RDI, false},
    {1, {0x23}, RM_RDI, false},
    {1, {0x29}, RM_RDI, false},
    {1, {0x31}, RM_RDI, false},
    {1, {0x33}, RM_RDI, false},
    {1, {0x38}, RM_RDI, false},
    {1, {0x39}, RM_RDI, false},
    {1, {0x3b}, RM_RDI, false},
    {1, {0x84}, RM_RDI, false},
    {1, {0x85}, RM_RDI, false},
    {1, {0x80}, RM_RDI, false},
    {1, {0x81}, RM_RDI, false},
    {1, {0x83}, RM_RDI, false},
    {1, {0xf6}, 0x10 | RM_RDI, true},
    {1, {0xf7}, 0x18 | RM_RDI, true},
    {1, {0xf7}, 0x20 | RM_RDI, true},
    {1, {0xfe}, RM_RDI, true},
    {1, {0xff}, 0x08 | RM_RDI, true},
    {1, {0xff}, 0x30 | RM_RDI, true},
    {1, {0x8f}, RM_RDI, true},
    {1, {0xd1}, 0x20 | RM_RDI, true},
    {1, {0xc1}, 0x28 | RM_RDI, true},
    {2, {0x0f, 0xaf}, RM_RDI, false},
    {2, {0x0f, 0x44}, RM_RDI, false},
    {2, {0x0f, 0xb1}, RM_RDI, false},
    {2, {0x0f, 0xb0}, RM_RDI, false},
    {2, {0x0f, 0xc1}, RM_RDI, false},
    {2, {0x0f, 0xc7}, 0x08 | RM_RDI, true},
    {2, {0x0f, 0xa3}, RM_RDI, false},
    {2, {0x0f, 0xba}, 0x28 | RM_RDI, true},
    {2, {0x0f, 0x90}, RM_RDI, true},
    {2, {0x0f, 0xbc}, RM_RDI, false},
    {2, {0x0f, 0x01}, RM_RDI, true},
    {2, {0x0f, 0x01}, 0x08 | RM_RDI, true},
    {2, {0x0f, 0x0d}, RM_RDI, true},
    {2, {0x0f, 0xae}, 0x38 | RM_RDI, true},
    /* SSE and x87 */
    {2, {0x0f, 0x10}, RM_RDI, false},
    {2, {0x0f, 0x11}, RM_RDI, false},
    {2, {0x0f, 0x28}, RM_RDI, false},
    {2, {0x0f, 0x29}, RM_RDI, false},
    {2, {0x0f, 0x6f}, RM_RDI, false},
    {2, {0x0f, 0x7f}, RM_RDI, false},
    {2, {0x0f, 0xe7}, RM_RDI, false},
    {2, {0x0f, 0x58}, RM_RDI, false},
    {2, {0x0f, 0xae}, 0x18 | RM_RDI, true},
    {1, {0xd9}, RM_RDI, true},
    {1, {0xd9}, 0x18 | RM_RDI, true},
    {1, {0xdd}, RM_RDI, true},
    {1, {0xdf}, 0x38 | RM_RDI, true},
    /* movs, cmps, stos, lods, scas */
    {1, {0xa4}, 0, true},
    {1, {0xa5}, 0, true},
    {1, {0xa6}, 0, true},
    {1, {0xaa}, 0, true},
    {1, {0xab}, 0, true},
    {1, {0xac}, 0, true},
    {1, {0xad}, 0, true},
    {1, {0xae}, 0, true},
};

/* Those behind HARMLESS_PREFIXES change what an instruction does. */
static const uint8_t prefixes[] = {0x66, 0x2e, 0x36, 0x64, 0x65, 0xf2, 0xf3, 0xf0};
#define HARMLESS_PREFIXES 5u

struct attempt {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi;
};

static uint8_t code[64] __attribute__((aligned(4096)));
static uint8_t scratch[4096] __attribute__((aligned(4096)));

/* Registers RSP and RBP are never operands: the way back goes through them. */
static uint8_t choose_register(uint64_t *random)
{
    static const uint8_t safe[] = {0, 1, 2, 3, 6};
    return safe[random_below(random, sizeof safe)];
}

static unsigned emit_prefixes(uint64_t *random, uint8_t *at)
{
    unsigned used = 0;
    while (used < 6 && random_below(random, 3) == 0) {
        uint64_t limit = hostile_moves_only() ? HARMLESS_PREFIXES : sizeof prefixes;
        at[used++] = prefixes[random_below(random, limit)];
    }
    if (random_below(random, 2) == 0) {
        at[used++] = (uint8_t)(0x40 | (random_below(random, 2) << 3)); /* REX, REX.W */
    }
    return used;
}

/* Writes the instruction, then enough NOPs for any immediate and displacement it may have, then
 * the way back: RSP from RBP, return. */
static void emit(uint64_t *random, struct attempt *attempt)
{
    uint64_t count = hostile_moves_only() ? MOVES : sizeof encodings / sizeof encodings[0];
    const struct encoding *encoding = &encodings[random_below(random, count)];
    __builtin_memset(code, NOP, sizeof code);
    unsigned used = emit_prefixes(random, code);
    for (unsigned i = 0; i < encoding->length; i++) {
        code[used++] = encoding->bytes[i];
    }
    if (encoding->modrm != 0) {
        uint8_t modrm = encoding->modrm;
        if (!encoding->fixed) {
            modrm = (uint8_t)(choose_register(random) << 3 | RM_RDI);
        }
        static const uint8_t modes[] = {0x00, 0x40, 0x80};
        uint64_t mode = random_below(random, 3);
        code[used++] = modrm | modes[mode];
        /* The displacement is made of NOPs, too: 0x90 as a signed byte, or four of them. */
        attempt->rdi -= mode == 1   ? (uint64_t)(int64_t)(int8_t)NOP
                        : mode == 2 ? (uint64_t)(int64_t)(int32_t)0x90909090
                                    : 0;
    }
    static const uint8_t way_back[] = {0xfc, 0x48, 0x89, 0xec, 0xc3}; /* cld; mov rsp, rbp; ret */
    __builtin_memcpy(code + sizeof code - sizeof way_back, way_back, sizeof way_back);
}

/* The code returns with RSP from RBP, wherever its own push or pop has left it. */
static void run_code(void *argument)
{
    struct attempt *a = argument;
    register uint64_t target __asm__("r8") = (uint64_t)code;
    __asm__ volatile("push %%rbp\n\t"
                     "lea -8(%%rsp), %%rbp\n\t"
                     "call *%%r8\n\t"
                     "pop %%rbp"
                     : "+a"(a->rax), "+b"(a->rbx), "+c"(a->rcx), "+d"(a->rdx), "+S"(a->rsi),
                       "+D"(a->rdi), "+r"(target)
                     :
                     : "memory", "cc");
}

/* An IO-APIC entry, masked, whatever else it is. */
static void write_io_apic(uint64_t *random)
{
    volatile uint32_t *index = (volatile uint32_t *)(uintptr_t)IO_APIC;
    volatile uint32_t *data = (volatile uint32_t *)(uintptr_t)(IO_APIC + 0x10);
    *index = (uint32_t)random_below(random, 0x100);
    *data = (uint32_t)random_next(random) | APIC_MASKED;
}

/* The interrupt command register; on plain QEMU also the first register, see hostile_plain(). */
static bool is_command_register(uint64_t address)
{
    const uint64_t longest = 64; /* seven times eight bytes of a string */
    uint64_t offset = address - APIC_BASE;
    bool command = offset + longest > APIC_ICR && offset < APIC_ICR_HIGH;
    return offset < 0x1000 && (command || (offset < 0x10 && hostile_plain()));
}

static uint64_t choose_target(uint64_t *random)
{
    uint64_t offset = random_below(random, 4) == 0 ? random_below(random, 0xe00)
                                                   : random_below(random, 0xe0) * 16;
    uint64_t apic = random_below(random, hostile_outside() ? 4 : 3);
    switch (apic) {
    case 0:
        return APIC_BASE + offset;
    case 1:
        return IO_APIC + 0x40 + offset % 0xc00; /* beyond index and data: write_io_apic() */
    case 2:
        return HPET + offset;
    default:
        return hostile_hole(random) + offset;
    }
}

static bool prepare(uint64_t *random)
{
    (void)random;
    __asm__ volatile(
        "fninit"); /* else the first x87 load of nonsense leaves an exception pending */
    window_init();
    return true;
}

static void step(uint64_t *random)
{
    uint64_t target = choose_target(random);
    if (is_command_register(target) || random_below(random, 16) == 0) {
        write_io_apic(random);
        return;
    }
    uint64_t page = target & ~UINT64_C(0xfff) & ((UINT64_C(1) << 52) - 1);
    uint64_t window = window_map(0, page | PTE_PRESENT | PTE_WRITABLE);
    struct attempt attempt = {.rax = random_next(random),
                              .rbx = random_next(random),
                              .rcx = random_below(random, 8),
                              .rdx = random_next(random),
                              .rdi = window + (target & 0xfff)};
    attempt.rsi = random_below(random, 2) == 0 ? attempt.rdi : (uint64_t)scratch + 2048;
    emit(random, &attempt);
    hostile_try(run_code, &attempt);
}

const struct hostile hostile_mmio = {.name = "mmio", .prepare = prepare, .step = step};
