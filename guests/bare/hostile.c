/*
 * hostile.c - runs one kind of hostile guest; see hostile.h.
 *
 * Parameters: cede.kind=, cede.seed= (1), cede.operations= (10000), cede.outside= (1),
 * cede.plain= (0), cede.moves= (0).
 * Prints the seed first, progress each tenth, and a result line; whoever finds the guest stopped
 * knows from these where. Status 1: the machine did something it must not. 2: bad parameters.
 */
#include "guests/bare/hostile.h"
#include "guests/bare/acpi.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/trap.h"

#define STATUS_BAD_PARAMETER 2

static const struct hostile *const kinds[] = {
    &hostile_msr,    &hostile_pages, &hostile_io,    &hostile_hypercall, &hostile_mmio,
    &hostile_tables, &hostile_code,  &hostile_storm, &hostile_registers, &hostile_sipi,
    &hostile_triple, &hostile_pause, &hostile_halt,
};

static uint64_t faults[32];

int hostile_try(void (*body)(void *), void *argument)
{
    int result = trap_catch(body, argument);
    if (result > 0) {
        faults[(unsigned)(result - 1) % 32]++;
    }
    return result;
}

bool hostile_outside(void)
{
    return param_u64("outside", 1) != 0;
}

bool hostile_plain(void)
{
    return param_u64("plain", 0) != 0;
}

bool hostile_moves_only(void)
{
    return param_u64("moves", 0) != 0;
}

uint64_t hostile_hole(uint64_t *random)
{
    static const unsigned shifts[] = {33, 36, 39, 40, 43, 45, 47, 51};
    uint64_t page = random_next(random) & ~UINT64_C(0xfff);
    switch (random_below(random, 4)) {
    case 0:
        return ram_end() + page % (UINT64_C(0xfe000000) - ram_end());
    case 1:
        return hostile_plain() ? UINT64_C(0xfe000000) + page % UINT64_C(0xc00000)
                               : UINT64_C(0xfe000000) + page % UINT64_C(0x2000000);
    case 2:
        return (UINT64_C(1) << shifts[random_below(random, 8)]) + page % (UINT64_C(1) << 30);
    default:
        return (page & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 46;
    }
}

unsigned hostile_start_others(void (*job)(void *))
{
    static uint32_t ids[BARE_CPUS_MAX];
    uint32_t count = acpi_cpus(ids, BARE_CPUS_MAX);
    unsigned started = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] != cpu_this()->apic_id && ids[i] < BARE_CPUS_MAX) {
            started += smp_start(ids[i], job, NULL) ? 1 : 0;
        }
    }
    return started;
}

static const struct hostile *find_kind(void)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (param_is("kind", kinds[i]->name)) {
            return kinds[i];
        }
    }
    print("cede.kind= one of:");
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        print(" ");
        print(kinds[i]->name);
    }
    print("\n");
    return NULL;
}

static void say_progress(const struct hostile *kind, uint64_t done, uint64_t seed)
{
    print("hostile ");
    print(kind->name);
    print(" seed=");
    print_u64(seed);
    print(": ");
    print_u64(done);
    print(" operations\n");
}

static void say_result(const struct hostile *kind, uint64_t operations, uint64_t seed)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < 32; i++) {
        sum += faults[i];
    }
    result_begin("hostile", "operations", operations);
    result_text("kind", kind->name);
    result_member("seed", seed);
    result_member("faults", sum);
    result_member("invalid_opcode", faults[6]);
    result_member("general_protection", faults[13]);
    result_member("page_fault", faults[14]);
    result_end();
}

int bare_main(void)
{
    const struct hostile *kind = find_kind();
    if (kind == NULL) {
        return STATUS_BAD_PARAMETER;
    }
    bare_await_start();
    uint64_t seed = param_u64("seed", 1);
    uint64_t operations = param_u64("operations", 10000);
    uint64_t random = seed * 2 + 1; /* never 0, as the generator wants */
    for (unsigned i = 0; i < 16; i++) {
        random_next(&random); /* small seeds start alike */
    }
    say_progress(kind, 0, seed);
    if (kind->prepare != NULL && !kind->prepare(&random)) {
        return 1;
    }
    for (uint64_t i = 0; i < operations; i++) {
        if (i != 0 && operations >= 10 && i % (operations / 10) == 0) {
            say_progress(kind, i, seed);
        }
        kind->step(&random);
    }
    bool right = kind->finish == NULL || kind->finish();
    say_result(kind, operations, seed);
    return right ? 0 : 1;
}
