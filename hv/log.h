/*
 * log.h - text for people on the first serial port, and the end of everything.
 */
#ifndef HV_LOG_H
#define HV_LOG_H

/* One line; the newline is added. Any pCPU, any time; takes the log lock. */
void hv_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints, stops every pCPU, ends the machine with exit status HV_EXIT_PANIC. */
_Noreturn void hv_panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What is known of the moment, written by the shell: the core trace of every pCPU. */
void hv_panic_dump(void);

/* A line of that dump: no lock. */
void hv_panic_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What QEMU's isa-debug-exit device turns into (value << 1 | 1) as the process's exit status. */
enum hv_exit { HV_EXIT_DONE = 16, HV_EXIT_FAILED = 17, HV_EXIT_PANIC = 18 };

/* Ends the machine: debug-exit device, then ACPI-less fall-backs. */
_Noreturn void hv_machine_exit(enum hv_exit status);

#endif
