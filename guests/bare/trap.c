/*
 * trap.c - see trap.h. Owns the interrupt table and the task state segments' contents.
 */
#include "guests/bare/trap.h"
#include "guests/bare/apic.h"
#include "guests/bare/bare.h"
#include "guests/bare/console.h"
#include "guests/bare/cpu.h"

struct gate {
    uint16_t offset_low, selector;
    uint8_t stack, type;
    uint16_t offset_middle;
    uint32_t offset_high, zero;
};

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

extern const char trap_entries[]; /* traps.S */
extern const char trap_resume[];
int trap_call(void (*body)(void *), void *argument, uint64_t *saved_rsp);
void trap_handle(struct trap_frame *frame);

extern uint64_t gdt[]; /* start.S */

static struct gate table[256];
static void (*handlers[256])(struct trap_frame *frame);

#define GATE_INTERRUPT   0x8e
#define TSS_WORDS        13
#define TSS_AVAILABLE    UINT64_C(0x0000890000000000)
#define STATUS_EXCEPTION 100

static void set_gate(unsigned vector)
{
    uint64_t entry = (uint64_t)trap_entries + vector * 16;
    bool fatal = vector == VECTOR_NMI || vector == 8 || vector == 18;
    table[vector] = (struct gate){.offset_low = (uint16_t)entry,
                                  .offset_middle = (uint16_t)(entry >> 16),
                                  .offset_high = (uint32_t)(entry >> 32),
                                  .selector = BARE_CODE64,
                                  .stack = fatal ? 2 : 1,
                                  .type = GATE_INTERRUPT};
}

void trap_load_table(void)
{
    struct table_pointer pointer = {.limit = sizeof table - 1, .base = (uint64_t)table};
    __asm__ volatile("lidt %0" ::"m"(pointer));
}

/* The task state segment only names the interrupt stacks (APM volume 2, 12.2.5): 64-bit fields
 * from offset 4 on, IST1 at 0x24. Kept as words of 8 bytes shifted by four. */
static void load_task_state(struct cpu *cpu, uint32_t apic_id)
{
    uint8_t *tss = (uint8_t *)cpu->tss;
    uint64_t block = (uint64_t)cpu;
    __builtin_memcpy(tss + 0x24, &(uint64_t){block + BARE_TRAP_STACK_TOP}, 8);
    __builtin_memcpy(tss + 0x2c, &(uint64_t){block + BARE_NMI_STACK_TOP}, 8);
    __builtin_memcpy(tss + 0x66, &(uint16_t){TSS_WORDS * 8}, 2); /* no I/O permission map */
    uint64_t base = (uint64_t)tss;
    uint64_t *descriptor = &gdt[BARE_TSS / 8 + apic_id * 2];
    descriptor[0] =
        TSS_AVAILABLE | (TSS_WORDS * 8 - 1) | (base & 0xffffff) << 16 | (base >> 24 & 0xff) << 56;
    descriptor[1] = base >> 32;
    __asm__ volatile("ltr %w0" ::"r"((uint16_t)(BARE_TSS + apic_id * 16)));
}

void trap_init(uint32_t apic_id)
{
    for (unsigned vector = 0; vector < 256; vector++) {
        set_gate(vector); /* the same bytes from every CPU */
    }
    load_task_state(cpu_of(apic_id), apic_id);
    trap_load_table();
}

void trap_set_handler(unsigned vector, void (*handler)(struct trap_frame *frame))
{
    handlers[vector] = handler;
}

int trap_catch(void (*body)(void *), void *argument)
{
    struct cpu *cpu = cpu_this();
    int result = trap_call(body, argument, &cpu->recovery_rsp);
    cpu->recovery_rsp = 0;
    return result;
}

static _Noreturn void unexpected(const struct trap_frame *frame)
{
    print("exception ");
    print_u64(frame->vector);
    print(" error ");
    print_hex(frame->error_code);
    print(" at ");
    print_hex(frame->rip);
    print(" address ");
    print_hex(cpu_this()->fault_address);
    print("\n");
    bare_end(STATUS_EXCEPTION + (int)frame->vector);
}

static void handle_exception(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();
    if (frame->vector == VECTOR_PAGE_FAULT) {
        __asm__ volatile("mov %%cr2, %0" : "=r"(cpu->fault_address));
    }
    if (cpu->recovery_rsp == 0) {
        unexpected(frame);
    }
    frame->rip = (uint64_t)trap_resume;
    frame->cs = BARE_CODE64;
    frame->ss = BARE_DATA;
    frame->rflags = 2;
    frame->rsp = cpu->recovery_rsp;
    frame->rax = frame->vector + 1;
}

void trap_handle(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();
    cpu->interrupts[frame->vector]++;
    if (frame->vector >= 32) {
        apic_end_of_interrupt();
    } else if (frame->vector != VECTOR_NMI) {
        handle_exception(frame);
        return;
    }
    if (handlers[frame->vector] != NULL) {
        handlers[frame->vector](frame);
    }
}
