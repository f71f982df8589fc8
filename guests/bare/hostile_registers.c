/*
 * hostile_registers.c - random bits in control and debug registers, and the instructions that only
 * a hypervisor or firmware may use.
 *
 * Checks: CR8 reads back what was written; a CPU that doesn't show AMD-V has none of its
 * instructions (they'd reach the host's memory by physical address). Left out: bits without which
 * this code can't go on (paging, PAE, long mode), and those that forbid it its own pages (SMEP,
 * SMAP: the one-to-one map is user pages). After each operation the registers are as before.
 *
 * QEMU 7.2 and 10.0 answer a reserved bit in CR4 with an SVM exit of code -1 instead of #GP, even
 * where no hypervisor is, and take all of CR8's upper bits: with cede.plain=1 these are left out.
 */
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/hostile.h"

#define CR0_FREE       UINT64_C(0x6005002e) /* CD NW AM WP NE TS EM MP */
#define CR4_KEPT       UINT64_C(0x00301020) /* SMAP SMEP LA57 PAE */
#define CR4_DEFINED    UINT64_C(0x000007ff) /* those that every CPU of 64 bits has */
#define DR7_ARMED      UINT64_C(0x000020ff) /* enabled breakpoints and general detect */
#define INVALID_OPCODE 7                    /* hostile_try()'s result: 1 + vector 6 */

static uint64_t old_cr0, old_cr4;
static bool has_svm;
static bool wrong;

static bool prepare(uint64_t *random)
{
    (void)random;
    __asm__ volatile("mov %%cr0, %0; mov %%cr4, %1" : "=r"(old_cr0), "=r"(old_cr4));
    has_svm = (cpu_id(0x80000001u, 0).ecx & 4) != 0;
    return true;
}

static void write_cr0(void *value)
{
    __asm__ volatile("mov %0, %%cr0" ::"r"(value) : "memory");
}

static void write_cr4(void *value)
{
    __asm__ volatile("mov %0, %%cr4" ::"r"(value) : "memory");
}

static void write_cr8(void *value)
{
    __asm__ volatile("mov %0, %%cr8" ::"r"(value) : "memory");
}

static void write_debug(void *value)
{
    uint64_t v = (uint64_t)value;
    switch (v >> 61) {
    case 0:
        __asm__ volatile("mov %0, %%dr0; mov %%dr0, %0" : "+r"(v));
        break;
    case 1:
        __asm__ volatile("mov %0, %%dr3; mov %%dr3, %0" : "+r"(v));
        break;
    case 2:
        __asm__ volatile("mov %0, %%dr6; mov %%dr6, %0" : "+r"(v));
        break;
    case 3:
        __asm__ volatile("mov %0, %%dr7" ::"r"(v));
        break;
    default:
        v &= UINT32_MAX & ~DR7_ARMED;
        __asm__ volatile("mov %0, %%dr7; mov %%dr7, %0" : "+r"(v));
        break;
    }
}

static void write_xcr(void *value)
{
    __asm__ volatile("xsetbv" ::"a"((uint32_t)(uint64_t)value), "d"(0), "c"(0) : "memory");
}

/* An instruction of AMD-V with RAX as its address; VMMCALL isn't among them, guests have it. */
struct privileged {
    unsigned which;
    uint64_t address;
};

static void run_privileged(void *argument)
{
    const struct privileged *p = argument;
    switch (p->which) {
    case 0:
        __asm__ volatile("vmrun %%rax" ::"a"(p->address) : "memory");
        break;
    case 1:
        __asm__ volatile("vmload %%rax" ::"a"(p->address) : "memory");
        break;
    case 2:
        __asm__ volatile("vmsave %%rax" ::"a"(p->address) : "memory");
        break;
    case 3:
        __asm__ volatile("stgi" ::: "memory");
        break;
    case 4:
        __asm__ volatile("clgi" ::: "memory");
        break;
    case 5:
        __asm__ volatile("invlpga %%rax, %%ecx" ::"a"(p->address), "c"(1) : "memory");
        break;
    default:
        __asm__ volatile("skinit %%eax" ::"a"((uint32_t)p->address & ~0xffffu) : "memory");
        break;
    }
}

/* Instructions of firmware and of performance tools. */
static void run_odd(void *which)
{
    uint32_t low, high;
    switch ((uint64_t)which) {
    case 0:
        __asm__ volatile("rsm" ::: "memory");
        break;
    case 1:
        __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(0));
        break;
    case 2:
        __asm__ volatile("monitor" ::"a"(0), "c"(0), "d"(0));
        break;
    case 3:
        __asm__ volatile("wbinvd" ::: "memory");
        break;
    case 4:
        __asm__ volatile("rdtscp" : "=a"(low), "=d"(high)::"rcx");
        break;
    default:
        __asm__ volatile(".byte 0x0f, 0x01, 0xfd" ::: "rax", "rdx", "memory"); /* rdpru */
        break;
    }
}

static void complain(const char *text, uint64_t value)
{
    if (!wrong) {
        print(text);
        print_u64(value);
        print("\n");
    }
    wrong = true;
}

static void try_cr8(uint64_t value)
{
    uint64_t got = value;
    if (hostile_try(write_cr8, (void *)value) == 0) {
        cpu_id(0, 0); /* an exit, which must keep it */
        __asm__ volatile("mov %%cr8, %0" : "=r"(got));
    }
    if (got != value && value < 16) { /* above, it should have been #GP; QEMU cuts it off */
        complain("CR8 doesn't hold what was written: ", value);
    }
    write_cr8(NULL);
}

static void try_privileged(uint64_t *random)
{
    struct privileged p = {.which = (unsigned)random_below(random, 7)};
    p.address = random_next(random) & 0xfffff000u;
    if (!has_svm && hostile_try(run_privileged, &p) != INVALID_OPCODE) {
        complain("an instruction of AMD-V worked without AMD-V: ", p.which);
    }
}

static void step(uint64_t *random)
{
    uint64_t bits = random_next(random) & random_next(random); /* a few at a time */
    switch (random_below(random, 7)) {
    case 0:
        hostile_try(write_cr0, (void *)(old_cr0 ^ (bits & CR0_FREE)));
        write_cr0((void *)old_cr0);
        break;
    case 1:
        bits &= hostile_plain() ? CR4_DEFINED & ~CR4_KEPT : ~CR4_KEPT;
        hostile_try(write_cr4, (void *)(old_cr4 ^ bits));
        write_cr4((void *)old_cr4);
        break;
    case 2:
        try_cr8(random_below(random, hostile_plain() ? 16 : 20));
        break;
    case 3:
        hostile_try(write_debug, (void *)random_next(random));
        break;
    case 4:
        hostile_try(write_xcr, (void *)bits);
        break;
    case 5:
        try_privileged(random);
        break;
    default:
        hostile_try(run_odd, (void *)random_below(random, 6));
        break;
    }
}

static bool finish(void)
{
    return !wrong;
}

const struct hostile hostile_registers = {
    .name = "registers", .prepare = prepare, .step = step, .finish = finish};
