/*
 * tick.h - the slow tick that stands behind every one-shot timer and IPI. Boot CPU only.
 */
#ifndef HV_IRQ_TICK_H
#define HV_IRQ_TICK_H

/* Starts it, once all pCPUs run. */
void hv_tick_start(void);

/* From the interrupt handler: passes it on to the other pCPUs. */
void hv_tick_pass_on(void);

#endif
