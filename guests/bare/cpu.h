/*
 * cpu.h - single instructions as functions. No state.
 */
#ifndef GUESTS_BARE_CPU_H
#define GUESTS_BARE_CPU_H

#include <stdint.h>

struct cpuid_result {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid_result cpu_id(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_result r;
    __asm__ volatile("cpuid"
                     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                     : "a"(leaf), "c"(subleaf)
                     : "memory");
    return r;
}

static inline uint64_t cpu_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline uint64_t cpu_read_msr(uint32_t msr)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return (uint64_t)high << 32 | low;
}

static inline void cpu_write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline uint8_t cpu_in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint16_t cpu_in16(uint16_t port)
{
    uint16_t value;
    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint32_t cpu_in32(uint16_t port)
{
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline void cpu_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void cpu_out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void cpu_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

static inline void cpu_interrupts_on(void)
{
    __asm__ volatile("sti" ::: "memory");
}

static inline void cpu_interrupts_off(void)
{
    __asm__ volatile("cli" ::: "memory");
}

/* Interrupts on and halt as one step: none can slip in between (APM volume 3, STI). */
static inline void cpu_wait_for_interrupt(void)
{
    __asm__ volatile("sti; hlt; cli" ::: "memory");
}

static inline void cpu_invalidate_page(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" ::"r"(address) : "memory");
}

#endif
