/*
 * boot.c - from start.S to bare_main() and out again; parameters; other CPUs. See bare.h.
 *
 * Owns the CPUs' blocks. The first CPU alone touches parameters and console; an application
 * processor runs what it was given and then halts.
 */
#include "guests/bare/acpi.h"
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"
#include "guests/bare/trap.h"

/* Offsets in the boot parameters (Documentation/arch/x86/zero-page.rst). */
#define PARAMETERS_RSDP       0x070
#define PARAMETERS_E820_COUNT 0x1e8
#define PARAMETERS_CMDLINE    0x228
#define PARAMETERS_E820       0x2d0
#define E820_ENTRY            20
#define E820_RAM              1
#define PIC_FIRST_MASK        0x21
#define PIC_SECOND_MASK       0xa1
#define CMDLINE_MAX           2048
#define RAM_UNKNOWN           (UINT64_C(64) << 20)
#define START_TIMEOUT_CYCLES  (UINT64_C(20) * 1000 * 1000 * 1000)

extern const char trampoline_begin[], trampoline_end[]; /* start.S */

/* start.S finds a CPU's block by its APIC id. */
uint8_t cpu_blocks[BARE_CPUS_MAX][BARE_CPU_BLOCK] __attribute__((aligned(BARE_CPU_BLOCK)));

static char command_line[CMDLINE_MAX];
static uint64_t ram_end_address = RAM_UNKNOWN;
static uint64_t rsdp_address;
static uint64_t parameters_address;

struct cpu *cpu_of(uint32_t apic_id)
{
    return (struct cpu *)(void *)cpu_blocks[apic_id];
}

uint64_t ram_end(void)
{
    return ram_end_address;
}

uint64_t boot_rsdp(void)
{
    return rsdp_address;
}

uint64_t boot_parameters_address(void)
{
    return parameters_address;
}

static uint64_t read_parameter(const struct boot_parameters *parameters, unsigned offset,
                               unsigned size)
{
    uint64_t value = 0;
    __builtin_memcpy(&value, (const uint8_t *)parameters + offset, size);
    return value;
}

static void read_memory_map(const struct boot_parameters *parameters)
{
    uint64_t count = read_parameter(parameters, PARAMETERS_E820_COUNT, 1);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = PARAMETERS_E820 + i * E820_ENTRY;
        uint64_t end = read_parameter(parameters, at, 8) + read_parameter(parameters, at + 8, 8);
        bool ram = read_parameter(parameters, at + 16, 4) == E820_RAM;
        if (ram && end <= UINT32_MAX && (end > ram_end_address || ram_end_address == RAM_UNKNOWN)) {
            ram_end_address = end;
        }
    }
}

/* All that is needed of the boot parameters is copied: they are someone else's memory. */
static void read_parameters(const struct boot_parameters *parameters)
{
    const char *text = (const char *)read_parameter(parameters, PARAMETERS_CMDLINE, 4);
    for (unsigned i = 0; text != NULL && i < CMDLINE_MAX - 1 && text[i] != '\0'; i++) {
        command_line[i] = text[i];
    }
    parameters_address = (uint64_t)parameters;
    rsdp_address = read_parameter(parameters, PARAMETERS_RSDP, 8);
    read_memory_map(parameters);
}

/* The text behind "cede.<key>=" in the command line; the last one counts. */
static const char *param_text(const char *key)
{
    const char *found = NULL;
    for (const char *at = command_line; *at != '\0'; at++) {
        if ((at != command_line && at[-1] != ' ') || __builtin_strncmp(at, "cede.", 5) != 0) {
            continue;
        }
        const char *word = at + 5;
        const char *expected = key;
        while (*expected != '\0' && *word == *expected) {
            word++;
            expected++;
        }
        if (*expected == '\0' && *word == '=') {
            found = word + 1;
        }
    }
    return found;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 255;
}

uint64_t param_u64(const char *key, uint64_t standard)
{
    const char *text = param_text(key);
    if (text == NULL) {
        return standard;
    }
    unsigned base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
    uint64_t value = 0;
    for (text += base == 16 ? 2 : 0; (unsigned)digit_value(*text) < base; text++) {
        value = value * base + (unsigned)digit_value(*text);
    }
    return value;
}

bool param_is(const char *key, const char *text)
{
    const char *given = param_text(key);
    if (given == NULL) {
        return false;
    }
    while (*text != '\0' && *given == *text) {
        given++;
        text++;
    }
    return *text == '\0' && (*given == '\0' || *given == ' ');
}

static _Noreturn void halt_for_ever(void)
{
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

void bare_end(int status)
{
    print("CEDE-GUEST done status=");
    print_u64((uint64_t)status);
    print("\n");
    acpi_power_off();
    halt_for_ever(); /* until the power is gone */
}

void bare_await_start(void)
{
    static const char start[] = "CEDE-START";
    unsigned matched = 0;
    print("CEDE-GUEST ready\n");
    while (param_u64("autostart", 0) == 0 && matched < sizeof start - 1) {
        int byte = console_read();
        if (byte < 0) {
            cpu_pause();
        } else {
            matched = byte == start[matched] ? matched + 1 : byte == start[0];
        }
    }
}

static _Noreturn void enter_application_processor(uint32_t apic_id)
{
    struct cpu *cpu = cpu_of(apic_id);
    trap_init(apic_id);
    apic_init();
    __atomic_store_n(&cpu->running, 1, __ATOMIC_RELEASE);
    if (cpu->job != NULL) {
        cpu->job(cpu->argument);
    }
    halt_for_ever();
}

void bare_enter(const struct boot_parameters *parameters, uint32_t apic_id)
{
    cpu_of(apic_id)->apic_id = apic_id;
    if (parameters == NULL) {
        enter_application_processor(apic_id);
    }
    read_parameters(parameters);
    console_init();
    cpu_out8(PIC_FIRST_MASK, 0xff); /* firmware leaves them on, at vectors of exceptions */
    cpu_out8(PIC_SECOND_MASK, 0xff);
    trap_init(apic_id);
    apic_init();
    cpu_of(apic_id)->running = 1;
    acpi_init();
    bare_end(bare_main());
}

static void wait_cycles(uint64_t cycles)
{
    for (uint64_t start = cpu_tsc(); cpu_tsc() - start < cycles;) {
        cpu_pause();
    }
}

/* INIT, then two start-up interrupts, as the multiprocessor specification (B.4) wants it. */
bool smp_start(uint32_t apic_id, void (*job)(void *), void *argument)
{
    struct cpu *cpu = cpu_of(apic_id);
    cpu->job = job;
    cpu->argument = argument;
    __atomic_store_n(&cpu->running, 0, __ATOMIC_RELEASE);
    __builtin_memcpy((void *)BARE_TRAMPOLINE, trampoline_begin,
                     (size_t)(trampoline_end - trampoline_begin));
    apic_send(apic_id, APIC_INIT);
    wait_cycles(1000000);
    for (unsigned i = 0; i < 2; i++) {
        apic_send(apic_id, APIC_STARTUP | BARE_TRAMPOLINE >> 12);
        wait_cycles(200000);
    }
    uint64_t start = cpu_tsc();
    while (__atomic_load_n(&cpu->running, __ATOMIC_ACQUIRE) == 0) {
        if (cpu_tsc() - start > START_TIMEOUT_CYCLES) {
            return false;
        }
        cpu_pause();
    }
    return true;
}
