/*
 * cpu.h - single instructions: ports, MSRs, control registers, time stamp. No state.
 */
#ifndef HV_ARCH_X86_CPU_H
#define HV_ARCH_X86_CPU_H

#include <stdint.h>

static inline void cpu_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t cpu_in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void cpu_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint32_t cpu_in32(uint16_t port)
{
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void cpu_out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint64_t cpu_rdmsr(uint32_t msr)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return (uint64_t)high << 32 | low;
}

static inline void cpu_wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static inline uint64_t cpu_rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

struct cpu_id {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct cpu_id cpu_cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpu_id id;
    __asm__ volatile("cpuid"
                     : "=a"(id.eax), "=b"(id.ebx), "=c"(id.ecx), "=d"(id.edx)
                     : "a"(leaf), "c"(subleaf));
    return id;
}

static inline uint64_t cpu_read_cr2(void)
{
    uint64_t value;
    __asm__ volatile("movq %%cr2, %0" : "=r"(value));
    return value;
}

static inline uint64_t cpu_read_cr3(void)
{
    uint64_t value;
    __asm__ volatile("movq %%cr3, %0" : "=r"(value));
    return value;
}

static inline void cpu_write_cr3(uint64_t value)
{
    __asm__ volatile("movq %0, %%cr3" : : "r"(value) : "memory");
}

static inline void cpu_pause(void)
{
    __builtin_ia32_pause();
}

/* Opens the window for pending interrupts, one instruction long. */
static inline void cpu_take_interrupts(void)
{
    __asm__ volatile("sti; nop; nop; cli" : : : "memory");
}

/* Sleeps until an interrupt; none is lost between the caller's last look and the halt. */
static inline void cpu_sleep(void)
{
    __asm__ volatile("sti; hlt; cli" : : : "memory");
}

#endif
