/*
 * vmcb.h - the virtual machine control block: AMD64 APM volume 2, appendix B; exit codes,
 * appendix C; interception bits, 15.9 to 15.13.
 */
#ifndef HV_ARCH_X86_SVM_VMCB_H
#define HV_ARCH_X86_SVM_VMCB_H

#include <stddef.h>
#include <stdint.h>

struct vmcb_segment {
    uint16_t selector;
    uint16_t attributes;
    uint32_t limit;
    uint64_t base;
};

struct vmcb {
    uint32_t intercept_cr;
    uint32_t intercept_dr;
    uint32_t intercept_exceptions;
    uint32_t intercept_1;
    uint32_t intercept_2;
    uint8_t reserved_014[0x3c - 0x14];
    uint16_t pause_filter_threshold;
    uint16_t pause_filter_count;
    uint64_t iopm;
    uint64_t msrpm;
    uint64_t tsc_offset;
    uint32_t asid;
    uint8_t tlb_control;
    uint8_t reserved_05d[3];
    uint32_t int_ctl;
    uint32_t int_vector;
    uint64_t int_shadow;
    uint64_t exit_code;
    uint64_t exit_info_1;
    uint64_t exit_info_2;
    uint64_t exit_int_info;
    uint64_t nested_control;
    uint8_t reserved_098[0xa8 - 0x98];
    uint64_t event_inject;
    uint64_t nested_cr3;
    uint64_t lbr_control;
    uint64_t clean;
    uint64_t next_rip;
    uint8_t fetched_count;
    uint8_t fetched[15];
    uint8_t reserved_0e0[0x400 - 0xe0];

    struct vmcb_segment es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
    uint8_t reserved_4a0[0x4cb - 0x4a0];
    uint8_t cpl;
    uint32_t reserved_4cc;
    uint64_t efer;
    uint8_t reserved_4d8[0x548 - 0x4d8];
    uint64_t cr4, cr3, cr0, dr7, dr6, rflags, rip;
    uint8_t reserved_580[0x5d8 - 0x580];
    uint64_t rsp;
    uint8_t reserved_5e0[0x5f8 - 0x5e0];
    uint64_t rax, star, lstar, cstar, sfmask, kernel_gs_base;
    uint64_t sysenter_cs, sysenter_esp, sysenter_eip, cr2;
    uint8_t reserved_648[0x668 - 0x648];
    uint64_t pat;
    uint8_t reserved_670[0x1000 - 0x670];
} __attribute__((packed, aligned(4096)));

_Static_assert(offsetof(struct vmcb, iopm) == 0x40, "IOPM base");
_Static_assert(offsetof(struct vmcb, int_ctl) == 0x60, "V_INTR");
_Static_assert(offsetof(struct vmcb, event_inject) == 0xa8, "EVENTINJ");
_Static_assert(offsetof(struct vmcb, tr) == 0x490, "TR");
_Static_assert(offsetof(struct vmcb, efer) == 0x4d0, "EFER");
_Static_assert(offsetof(struct vmcb, rip) == 0x578, "RIP");
_Static_assert(offsetof(struct vmcb, rax) == 0x5f8, "RAX");
_Static_assert(offsetof(struct vmcb, cr2) == 0x640, "CR2");
_Static_assert(offsetof(struct vmcb, pat) == 0x668, "PAT");
_Static_assert(sizeof(struct vmcb) == 4096, "a VMCB is a page");

enum vmcb_intercept_1 {
    INTERCEPT_INTR = 1u << 0,
    INTERCEPT_NMI = 1u << 1,
    INTERCEPT_SMI = 1u << 2,
    INTERCEPT_INIT = 1u << 3,
    INTERCEPT_RDPMC = 1u << 15,
    INTERCEPT_CPUID = 1u << 18,
    INTERCEPT_RSM = 1u << 19,
    INTERCEPT_INVD = 1u << 22,
    INTERCEPT_PAUSE = 1u << 23,
    INTERCEPT_HLT = 1u << 24,
    INTERCEPT_INVLPGA = 1u << 26,
    INTERCEPT_IOIO = 1u << 27,
    INTERCEPT_MSR = 1u << 28,
    INTERCEPT_FERR = 1u << 30,
    INTERCEPT_SHUTDOWN = 1u << 31
};

/* VMRUN, VMMCALL, VMLOAD, VMSAVE, STGI, CLGI, SKINIT, WBINVD, MONITOR, MWAIT, XSETBV */
#define INTERCEPT_2_ALL 0x00002e7fu

enum vmcb_int_ctl {
    INT_CTL_V_TPR = 0xf, /* what the guest sees as CR8 */
    INT_CTL_V_IRQ = 1u << 8,
    INT_CTL_PRIO_SHIFT = 16,
    INT_CTL_IGN_TPR = 1u << 20,
    INT_CTL_MASKING = 1u << 24
};

enum vmcb_exit {
    EXIT_CR_FIRST = 0x00,
    EXIT_CR_LAST = 0x1f,
    EXIT_DR_FIRST = 0x20,
    EXIT_DR_LAST = 0x3f,
    EXIT_EXCEPTION_FIRST = 0x40,
    EXIT_EXCEPTION_LAST = 0x5f,
    EXIT_INTR = 0x60,
    EXIT_NMI = 0x61,
    EXIT_SMI = 0x62,
    EXIT_INIT = 0x63,
    EXIT_VINTR = 0x64,
    EXIT_RDPMC = 0x6f,
    EXIT_CPUID = 0x72,
    EXIT_INVD = 0x76,
    EXIT_PAUSE = 0x77,
    EXIT_HLT = 0x78,
    EXIT_IOIO = 0x7b,
    EXIT_MSR = 0x7c,
    EXIT_SHUTDOWN = 0x7f,
    EXIT_VMMCALL = 0x81,
    EXIT_WBINVD = 0x89,
    EXIT_XSETBV = 0x8d,
    EXIT_NPF = 0x400
};

/* EVENTINJ and EXITINTINFO: 15.20, 15.7.2 */
#define EVENT_VALID (1u << 31)
#define EVENT_ERROR_VALID (1u << 11)
#define EVENT_TYPE_SHIFT 8
enum vmcb_event_type { EVENT_INTERRUPT = 0, EVENT_NMI = 2, EVENT_EXCEPTION = 3, EVENT_SOFTWARE = 4 };

#endif
