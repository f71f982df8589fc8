/*
 * idt.c - GDT, TSS and IDT, and the one C function that all vectors reach.
 *
 * Owns the IDT (constant after hv_idt_init()). Interrupts have no IST entry, on purpose: QEMU's
 * TCG may take one at the host instruction after VMRUN, where TR still holds the guest's task
 * state, so that an IST would be read from the guest's. Without IST and without a change of
 * privilege the CPU takes the interrupt on the current stack and never looks at TR. Exceptions in
 * the host are faults of ours and end in a panic, on IST 1; NMI and machine check on IST 2.
 * No locks: interrupts only set flags of their own pCPU.
 */
#include "hv/irq/idt.h"

#include "hv/arch/x86/cpu.h"
#include "hv/irq/apic.h"
#include "hv/irq/tick.h"
#include "hv/log.h"
#include "hv/pcpu.h"

struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector, error;
    uint64_t rip, cs, rflags, rsp, ss;
};

struct idt_entry {
    uint16_t offset_0;
    uint16_t selector;
    uint8_t ist;
    uint8_t type;
    uint16_t offset_1;
    uint32_t offset_2;
    uint32_t reserved;
};

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

extern uint8_t hv_vectors[];
extern uint8_t hv_after_vmrun[]; /* hv/arch/x86/svm/switch.S */
void hv_trap(struct trap_frame *frame);

static struct idt_entry idt[256];

void hv_idt_init(void)
{
    for (unsigned v = 0; v < 256; v++) {
        uint64_t entry = (uint64_t)(uintptr_t)hv_vectors + v * 16;
        idt[v] = (struct idt_entry){
            .offset_0 = (uint16_t)entry,
            .selector = 8,
            .ist = v == 2 || v == 18 ? 2 : v < 32 ? 1 : 0,
            .type = 0x8e,
            .offset_1 = (uint16_t)(entry >> 16),
            .offset_2 = (uint32_t)(entry >> 32),
        };
    }
}

void hv_tables_load(void)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    uint64_t block = (uint64_t)(uintptr_t)pcpu;
    uint64_t tss = (uint64_t)(uintptr_t)&pcpu->tss;

    pcpu->tss.ist[0] = block + HV_PCPU_EXCEPTION_TOP;
    pcpu->tss.ist[1] = block + HV_PCPU_NMI_TOP;
    pcpu->tss.io_map = sizeof(pcpu->tss);
    pcpu->gdt[1] = 0x00af9b000000ffff;
    pcpu->gdt[2] = 0x00cf93000000ffff;
    pcpu->gdt[4] = (sizeof(pcpu->tss) - 1) | (tss & 0xffffff) << 16 | UINT64_C(0x89) << 40 |
                   (tss >> 24 & 0xff) << 56;
    pcpu->gdt[5] = tss >> 32;

    struct table_pointer gdtr = {sizeof(pcpu->gdt) - 1, (uint64_t)(uintptr_t)pcpu->gdt};
    struct table_pointer idtr = {sizeof(idt) - 1, (uint64_t)(uintptr_t)idt};
    __asm__ volatile("lgdt %0" : : "m"(gdtr));
    __asm__ volatile("pushq $8; leaq 1f(%%rip), %%rax; pushq %%rax; lretq; 1:" : : : "rax", "memory");
    __asm__ volatile("movl %0, %%ds; movl %0, %%es; movl %0, %%ss" : : "r"(16));
    __asm__ volatile("ltr %w0" : : "r"(32));
    __asm__ volatile("lidt %0" : : "m"(idtr));
}

static _Noreturn void unexpected(const struct trap_frame *frame)
{
    hv_panic("exception %lu (error %lx) at %lx, rsp %lx, cr2 %lx, rflags %lx, cs %lx; rax %lx "
             "rbx %lx rcx %lx rdx %lx rsi %lx rdi %lx%s",
             frame->vector, frame->error, frame->rip, frame->rsp, cpu_read_cr2(), frame->rflags,
             frame->cs, frame->rax, frame->rbx, frame->rcx, frame->rdx, frame->rsi, frame->rdi,
             frame->rip == (uint64_t)(uintptr_t)hv_after_vmrun
                 ? " (right after VMRUN: emulator fault, see CAVEATS.md)"
                 : "");
}

/*
 * An interrupt without a vector: the emulator was told of one, finds none when it looks, and raises
 * #GP for vector -1, with an error code that no CPU can give. Nothing was lost; the interrupted code
 * goes on.
 */
void hv_trap(struct trap_frame *frame)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    if (frame->vector == 13 && hv_is_vectorless(frame->error)) {
        pcpu->vectorless_interrupts++;
        return;
    }
    if (frame->vector < 32) {
        unexpected(frame);
    }
    if (frame->rip == (uint64_t)(uintptr_t)hv_after_vmrun) {
        pcpu->after_vmrun_interrupts++;
    }
    if (frame->vector == HV_VECTOR_STOP) {
        for (;;) {
            __asm__ volatile("cli; hlt");
        }
    }
    if (frame->vector == HV_VECTOR_TIMER || frame->vector == HV_VECTOR_TICK) {
        pcpu->ticks++;
    }
    if (frame->vector != HV_VECTOR_SPURIOUS) {
        hv_apic_end();
    }
    if (frame->vector == HV_VECTOR_TICK) {
        hv_tick_pass_on();
    }
}
