/*
 * main.c - the order in which the hypervisor comes up. Boot CPU; the others join in hv_pcpu_main().
 */
#include "hv/arch/x86/cpu.h"
#include "hv/arch/x86/svm/svm.h"
#include "hv/boot/boot.h"
#include "hv/boot/smp.h"
#include "hv/irq/apic.h"
#include "hv/irq/idt.h"
#include "hv/irq/tick.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/mm/map.h"
#include "hv/mm/pages.h"
#include "hv/pcpu.h"
#include "hv/shell/shell.h"
#include "hv/time/clock.h"

void hv_main(uint32_t magic, uint32_t address);

static uint32_t ready; /* core and VMs are there: the other pCPUs may begin */

void hv_main(uint32_t magic, uint32_t address)
{
    memset(hv_this_pcpu(), 0, sizeof(struct hv_pcpu));
    hv_idt_init();
    hv_tables_load();
    hv_multiboot_read(magic, address);
    hv_clock_init();
    hv_acpi_read();
    hv_pages_init();
    hv_map_init();
    hv_this_pcpu()->apic_id = hv_apic_init();
    hv_smp_start();
    hv_map_seal();
    hv_log("cede: %u pCPUs, TSC %lu kHz, %lu MiB free", hv_pcpu_count, hv_tsc_khz(),
           hv_pages_free_bytes() >> 20);
    hv_shell_init(hv_boot_info.module.start,
                  hv_boot_info.module.end - hv_boot_info.module.start);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    hv_tick_start();
    hv_pcpu_main();
}

_Noreturn void hv_pcpu_main(void)
{
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == 0) {
        cpu_pause();
    }
    hv_svm_enable();
    hv_shell_run();
}
