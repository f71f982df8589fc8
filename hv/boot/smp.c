/*
 * smp.c - INIT, SIPI, and the first C function of an application processor.
 *
 * The trampoline is copied to 0x8000; that page is taken away again when all have started.
 */
#include "hv/boot/smp.h"

#include "hv/arch/x86/cpu.h"
#include "hv/boot/boot.h"
#include "hv/irq/apic.h"
#include "hv/irq/idt.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/mm/map.h"
#include "hv/pcpu.h"
#include "hv/time/clock.h"

#define TRAMPOLINE 0x8000u

extern uint8_t hv_trampoline[], hv_trampoline_end[], hv_trampoline_cr3[], hv_trampoline_stack[];
_Noreturn void hv_ap_main(void);

uint32_t hv_pcpu_count = 1;

static void set_variable(const uint8_t *variable, uint64_t value)
{
    memcpy((void *)(uintptr_t)(TRAMPOLINE + (variable - hv_trampoline)), &value, sizeof(value));
}

static bool start_one(uint32_t index, uint32_t apic_id)
{
    struct hv_pcpu *pcpu = hv_pcpu(index);
    pcpu->index = index;
    pcpu->apic_id = apic_id;
    set_variable(hv_trampoline_stack, (uint64_t)(uintptr_t)pcpu + HV_PCPU_BLOCK);
    hv_apic_start(apic_id, TRAMPOLINE >> 12);
    uint64_t end = hv_now_ns() + 2000000000;
    while (__atomic_load_n(&pcpu->online, __ATOMIC_ACQUIRE) == 0) {
        if (hv_now_ns() > end) {
            return false;
        }
        cpu_pause();
    }
    return true;
}

void hv_smp_start(void)
{
    uint32_t self = hv_this_pcpu()->apic_id;
    memcpy((void *)(uintptr_t)TRAMPOLINE, hv_trampoline,
           (size_t)(hv_trampoline_end - hv_trampoline));
    set_variable(hv_trampoline_cr3, hv_map_root());
    for (uint32_t i = 0; i < hv_boot_info.apic_count && hv_pcpu_count < HV_PCPU_MAX; i++) {
        if (hv_boot_info.apic_id[i] == self) {
            continue;
        }
        if (start_one(hv_pcpu_count, hv_boot_info.apic_id[i])) {
            hv_pcpu_count++;
        } else {
            hv_log("pCPU with APIC id %u does not start; going on without it",
                   hv_boot_info.apic_id[i]);
        }
    }
}

_Noreturn void hv_ap_main(void)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    hv_tables_load();
    hv_apic_init();
    __atomic_store_n(&pcpu->online, 1, __ATOMIC_RELEASE);
    hv_pcpu_main();
}
