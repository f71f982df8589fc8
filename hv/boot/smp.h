/*
 * smp.h - starts the other pCPUs. Boot CPU only.
 */
#ifndef HV_BOOT_SMP_H
#define HV_BOOT_SMP_H

/* Brings up every enabled pCPU of hv_boot_info, at most HV_PCPU_MAX; sets hv_pcpu_count. Each ends
 * in hv_pcpu_main(). */
void hv_smp_start(void);

/* What a pCPU does once it is set up; never returns. hv/boot/main.c. */
_Noreturn void hv_pcpu_main(void);

#endif
