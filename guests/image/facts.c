/*
 * facts.c - see facts.h. Reads procfs and the kernel's log; owns nothing; one thread, no lock.
 */
#include "guests/image/facts.h"

#include <cpuid.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

/*
 * A line of the kernel's log that appears when, and only when, it uses the feature. Steal time
 * and PV EOI leave no line at the usual log level: their bits in `offered` have to do.
 */
struct feature {
    const char *name;
    const char *log_line;
};

static const struct feature features[] = {
    {"kvm", "Hypervisor detected: KVM"},
    {"kvmclock", "kvm-clock: Using msrs"},
    {"pv_spinlocks", "kvm-guest: PV spinlocks enabled"},
    {"pv_tlb_flush", "KVM setup pv remote TLB flush"},
    {"pv_ipi", "kvm-guest: setup PV IPIs"},
    {"pv_sched_yield", "kvm-guest: setup PV sched yield"},
};

#define KVM_LEAF_SIGNATURE 0x40000000u /* EBX, ECX, EDX: "KVMKVMKVM" */
#define KVM_LEAF_FEATURES  0x40000001u /* EAX: the feature bits */

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void facts_read_cpu_time(struct facts_cpu_time *time)
{
    memset(time, 0, sizeof *time);
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL) {
        return;
    }
    uint64_t *t = time->ticks;
    int got = fscanf(file,
                     "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                     " %" SCNu64 " %" SCNu64,
                     &t[FACTS_USER], &t[FACTS_NICE], &t[FACTS_SYSTEM], &t[FACTS_IDLE],
                     &t[FACTS_IOWAIT], &t[FACTS_IRQ], &t[FACTS_SOFTIRQ], &t[FACTS_STEAL]);
    if (got != FACTS_FIELDS) {
        memset(time, 0, sizeof *time);
    }
    fclose(file);
}

static double seconds_between(const struct facts_cpu_time *before,
                              const struct facts_cpu_time *after, enum facts_cpu_field field)
{
    uint64_t ticks = after->ticks[field] - before->ticks[field];
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void facts_print_cpu_time(const struct facts_cpu_time *before)
{
    struct facts_cpu_time after;
    facts_read_cpu_time(&after);
    printf(
        "CEDE-RESULT {\"workload\":\"guest\",\"metric\":\"cpu_time_s\",\"user\":%.2f,"
        "\"system\":%.2f,\"irq\":%.2f,\"idle\":%.2f,\"steal\":%.2f,\"cpus\":%ld,"
        "\"clock_ns\":%" PRIu64 "}\n",
        seconds_between(before, &after, FACTS_USER) + seconds_between(before, &after, FACTS_NICE),
        seconds_between(before, &after, FACTS_SYSTEM),
        seconds_between(before, &after, FACTS_IRQ) + seconds_between(before, &after, FACTS_SOFTIRQ),
        seconds_between(before, &after, FACTS_IDLE) + seconds_between(before, &after, FACTS_IOWAIT),
        seconds_between(before, &after, FACTS_STEAL), sysconf(_SC_NPROCESSORS_ONLN), clock_ns());
}

/* The feature bits that the hypervisor offers, 0 without a KVM signature. */
static uint32_t offered_features(void)
{
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
    __cpuid(1, eax, ebx, ecx, edx);
    if ((ecx & 1u << 31) == 0) {
        return 0;
    }
    char signature[13] = {0};
    __cpuid(KVM_LEAF_SIGNATURE, eax, ebx, ecx, edx);
    memcpy(signature, &ebx, 4);
    memcpy(signature + 4, &ecx, 4);
    memcpy(signature + 8, &edx, 4);
    if (strcmp(signature, "KVMKVMKVM") != 0) {
        return 0;
    }
    __cpuid(KVM_LEAF_FEATURES, eax, ebx, ecx, edx);
    return eax;
}

/* The kernel's log as one string the caller frees, or NULL. */
static char *read_kernel_log(void)
{
    enum { READ_ALL = 3, SIZE_BUFFER = 10 };
    int size = klogctl(SIZE_BUFFER, NULL, 0);
    if (size <= 0) {
        return NULL;
    }
    char *log = calloc(1, (size_t)size + 1);
    if (log != NULL && klogctl(READ_ALL, log, size) < 0) {
        free(log);
        return NULL;
    }
    return log;
}

void facts_print_paravirtual(void)
{
    char *log = read_kernel_log();
    printf("CEDE-RESULT {\"workload\":\"guest\",\"metric\":\"paravirtual\",\"offered\":\"0x%08x\"",
           offered_features());
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        bool found = log != NULL && strstr(log, features[i].log_line) != NULL;
        printf(",\"%s\":%s", features[i].name, found ? "true" : "false");
    }
    printf(",\"clock_ns\":%" PRIu64 "}\n", clock_ns());
    free(log);
}
