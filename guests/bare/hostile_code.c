/*
 * hostile_code.c - instructions that exit, placed across the end of a page whose successor is
 * there, isn't, may not be executed, is the same page, or is a device; while another CPU, if there
 * is one, keeps changing one of their bytes.
 *
 * Whoever fetches the instruction's bytes to emulate it finds them gone, cut, or different from
 * those that caused the exit.
 */
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"
#include "guests/bare/window.h"

#define PAGE 4096u

/* Two-byte instructions that differ in their second byte: the other CPU changes one to another.
 * rdmsr of RCX = 0x1b, cpuid of EAX = 1, rdtsc, an undefined one. */
static const uint8_t second_bytes[] = {0x32, 0xa2, 0x31, 0x0b};

struct instruction {
    uint8_t length, bytes[10];
};

static const struct instruction instructions[] = {
    {2, {0x0f, 0xa2}},                                                  /* cpuid */
    {2, {0x0f, 0x32}},                                                  /* rdmsr */
    {2, {0x0f, 0x31}},                                                  /* rdtsc */
    {3, {0x0f, 0x01, 0xd9}},                                            /* vmmcall */
    {3, {0x0f, 0x01, 0xc1}},                                            /* vmcall */
    {3, {0x0f, 0x01, 0xd8}},                                            /* vmrun */
    {3, {0x0f, 0x01, 0xdd}},                                            /* clgi */
    {3, {0x0f, 0x01, 0xf9}},                                            /* rdtscp */
    {3, {0x0f, 0x01, 0xd0}},                                            /* xgetbv */
    {3, {0x0f, 0x01, 0xd1}},                                            /* xsetbv */
    {2, {0xf3, 0x90}},                                                  /* pause */
    {1, {0xec}},                                                        /* in al, dx */
    {1, {0xee}},                                                        /* out dx, al */
    {2, {0xe4, 0x80}},                                                  /* in al, 0x80 */
    {3, {0x0f, 0x20, 0xc0}},                                            /* mov rax, cr0 */
    {3, {0x0f, 0x20, 0xe0}},                                            /* mov rax, cr4 */
    {4, {0x44, 0x0f, 0x20, 0xc0}},                                      /* mov rax, cr8 */
    {3, {0x0f, 0x23, 0xc0}},                                            /* mov dr0, rax */
    {2, {0x0f, 0x08}},                                                  /* invd */
    {2, {0x0f, 0x09}},                                                  /* wbinvd */
    {3, {0x0f, 0x01, 0x3f}},                                            /* invlpg [rdi] */
    {2, {0x8b, 0x07}},                                                  /* mov eax, [rdi] */
    {2, {0x89, 0x07}},                                                  /* mov [rdi], eax */
    {6, {0xc7, 0x07, 0, 0, 0, 0}},                                      /* mov dword [rdi], 0 */
    {9, {0xa1, 0x80, 0x00, 0xe0, 0xfe, 0, 0, 0, 0}},                    /* mov eax, [APIC TPR] */
    {10, {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x0f, 0xa2}}, /* prefixes, cpuid */
    {2, {0x0f, 0x0b}},                                                  /* undefined */
    {3, {0x0f, 0xae, 0x07}},                                            /* fxsave [rdi] */
    {3, {0x0f, 0xc7, 0xf0}},                                            /* rdrand eax */
};

static uint8_t pages[2][PAGE] __attribute__((aligned(4096)));
static uint8_t target[PAGE] __attribute__((aligned(4096)));
static uint8_t *volatile changing; /* the byte that the other CPU changes; NULL: none */
static unsigned device;            /* what RDI points to: 0 memory, 1 the APIC */

static void change_bytes(void *argument)
{
    (void)argument;
    for (unsigned i = 0;; i++) {
        uint8_t *byte = changing;
        if (byte != NULL) {
            *byte = second_bytes[i % sizeof second_bytes];
        }
        cpu_pause();
    }
}

static bool prepare(uint64_t *random)
{
    (void)random;
    window_init();
    hostile_start_others(change_bytes); /* all of them at the same byte: the merrier */
    return true;
}

/* The entry of the page behind the instruction's first. */
static uint64_t choose_successor(uint64_t *random)
{
    const uint64_t ram = (uint64_t)pages[1] | PTE_PRESENT | PTE_WRITABLE;
    switch (random_below(random, hostile_outside() && !hostile_plain() ? 10 : 8)) {
    case 0:
        return 0;
    case 1:
        return ram | PTE_NO_EXECUTE;
    case 2:
        return (uint64_t)pages[0] | PTE_PRESENT | PTE_WRITABLE;
    case 8:
        return APIC_BASE | PTE_PRESENT | PTE_WRITABLE;
    case 9:
        return (hostile_hole(random) & ((UINT64_C(1) << 52) - 1)) | PTE_PRESENT | PTE_WRITABLE;
    default:
        return ram;
    }
}

static void fill_with_returns(void)
{
    __builtin_memset(pages, 0xc3, sizeof pages); /* wherever a cut instruction goes on: ret */
}

static void put_byte(uint64_t offset, uint8_t byte)
{
    pages[offset / PAGE][offset % PAGE] = byte;
}

/* Runs the code: EAX = 1, ECX = APIC_BASE's MSR, EDX = a port that does nothing. */
static void run(void *argument)
{
    uint64_t rax = 1, rcx = 0x1b, rdx = 0x80;
    uint64_t rdi = device == 0 ? (uint64_t)target : APIC_BASE + APIC_TPR;
    __asm__ volatile("call *%%rsi"
                     : "+a"(rax), "+c"(rcx), "+d"(rdx), "+S"(argument), "+D"(rdi)
                     :
                     : "rbx", "r8", "memory", "cc");
}

static void step(uint64_t *random)
{
    const struct instruction *instruction =
        &instructions[random_below(random, sizeof instructions / sizeof instructions[0])];
    changing = NULL;
    fill_with_returns();
    uint64_t start = PAGE - random_below(random, instruction->length + 1u);
    for (unsigned i = 0; i < instruction->length; i++) {
        put_byte(start + i, instruction->bytes[i]);
    }
    if (instruction->length == 2 && instruction->bytes[0] == 0x0f) {
        changing = &pages[(start + 1) / PAGE][(start + 1) % PAGE];
    }
    device = apic_is_x2() ? 0 : (unsigned)random_below(random, 2);
    window_map(1, choose_successor(random));
    uint64_t first = window_map(0, (uint64_t)pages[0] | PTE_PRESENT | PTE_WRITABLE);
    hostile_try(run, (void *)(first + start));
}

static bool finish(void)
{
    changing = NULL;
    return true;
}

const struct hostile hostile_code = {
    .name = "code", .prepare = prepare, .step = step, .finish = finish};
