/*
 * vm.h - a virtual machine and its vCPUs, as the hypervisor sees them.
 *
 * Who owns what: members under "its pCPU" are touched only by the pCPU on which the vCPU is
 * current (or by nobody, while it is off its CPU under the core's lock); "atomic" ones by anybody;
 * "device lock" ones under vm->lock. Everything else is constant after hv_vm_create().
 */
#ifndef HV_VM_VM_H
#define HV_VM_VM_H

#include "abi/exit.h"
#include "abi/manifest.h"
#include "cede/types.h"
#include "hv/arch/x86/svm/vcpu.h"
#include "hv/dev/ioapic.h"
#include "hv/dev/lapic.h"
#include "hv/dev/uart.h"
#include "hv/lock.h"

#include <stdbool.h>
#include <stdint.h>

#define HV_VM_VCPU_MAX 64u

struct hv_vm;

/* What the guest asked for through the KVM interface. Its pCPU's, but for the record's bytes. */
struct hv_pv {
    uint64_t system_time_msr;
    uint64_t steal_msr;
    uint64_t eoi_msr;
    uint64_t poll_control;
    bool eoi_offered;
};

/* Where guest time goes between two events of the core, and exits by reason. Its pCPU's. */
struct hv_account {
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t spin_ns;
    uint64_t exits[ABI_EXIT_COUNT];
    uint64_t exit_ns[ABI_EXIT_COUNT];
};

/* The software's pause-loop filter, with the gap and window of the hardware's. Its pCPU's. */
struct hv_spin {
    uint64_t first_ns; /* when this sequence of PAUSEs began */
    uint64_t last_ns;
    uint32_t count;
};

enum hv_start { HV_START_NONE, HV_START_INIT, HV_START_SIPI };

struct hv_vcpu {
    struct arch_vcpu arch;
    struct hv_vm *vm;
    uint32_t index;
    struct cede_vcpu_id id;

    struct hv_lapic lapic;
    struct hv_pv pv;
    struct hv_account account;
    struct hv_spin spin;

    uint32_t online;      /* core's lock: started in the core */
    uint32_t in_guest;    /* atomic: in guest mode at this instant */
    uint32_t start;       /* device lock; read anywhere: enum hv_start wanted by a sibling */
    uint32_t start_vector; /* with it */
    uint32_t stop_wanted;   /* device lock: had INIT while on; the boot CPU stops it */
    uint32_t wait_for_sipi; /* device lock: had INIT, is off */
    uint32_t flush_tlb;   /* atomic: before the next entry */
    uint64_t timer_ns;    /* core's lock: placed for that instant; CEDE_NEVER_NS: not placed */
    uint32_t timer_pcpu;  /* core's lock: where */
    struct hv_vcpu *timer_link; /* core's lock: next in that pCPU's list */
    struct hv_vcpu *yield_to; /* its pCPU: asked for by a hypercall that isn't finished yet */
    uint32_t yield_cause;     /* with it */
    int injecting;        /* its pCPU: vector offered to the CPU at the last entry, or -1 */
};

enum hv_vm_state {
    HV_VM_RUNNING,
    HV_VM_DONE,     /* powered off by itself */
    HV_VM_STOPPED,  /* by command */
    HV_VM_KILLED,   /* broke a rule */
    HV_VM_RESETTING /* restarts as soon as its vCPUs are off */
};

struct hv_vm {
    const struct abi_manifest_vm *config;
    uint32_t index;
    uint8_t *memory;
    uint64_t memory_size;
    uint64_t nested_root;
    uint32_t vcpu_count;
    struct hv_vcpu *vcpu[HV_VM_VCPU_MAX];
    uint32_t state; /* atomic: enum hv_vm_state */
    bool paused;    /* boot CPU */
    char why[112];  /* what ended it */

    struct hv_lock lock; /* the device lock */
    struct hv_ioapic ioapic;
    struct hv_uart uart;
    uint8_t cmos_index;
    uint16_t pm_status, pm_enable;
    uint64_t pit_latch_ns; /* when channel 2 was started */
    uint16_t pit_count;
    uint8_t pit_bytes, port61;
};

/* Guest-physical memory: a pointer to `size` bytes at gpa, or NULL if they aren't all RAM. O(1). */
static inline void *hv_vm_memory(const struct hv_vm *vm, uint64_t gpa, uint64_t size)
{
    if (gpa >= vm->memory_size || size > vm->memory_size - gpa) {
        return NULL;
    }
    return vm->memory + gpa;
}

/* Whether that bit of the KVM feature leaf is shown to the VM. */
static inline bool hv_vm_shows(const struct hv_vm *vm, unsigned bit)
{
    return (vm->config->guest_features >> bit & 1) != 0;
}

/* Makes a VM of its manifest record: memory, vCPUs, devices, loaded kernel. Boot CPU. Panics when
 * memory runs out; a kernel that can't be loaded ends the VM (state KILLED). */
struct hv_vm *hv_vm_create(const struct abi_manifest_vm *config, uint32_t index,
                           uint32_t first_vcpu_id);

/* Fills guest memory and vCPU 0's registers from the kernel and initrd. Why not, or NULL. */
const char *hv_linux_load(struct hv_vm *vm, const uint8_t *kernel, uint64_t kernel_size,
                          const uint8_t *initrd, uint64_t initrd_size);

/* Writes RSDP, XSDT, MADT, FADT, DSDT and FACS at 0xe0000. */
void hv_acpi_write(struct hv_vm *vm);

/* Ends a VM: DONE, KILLED with a reason, or RESETTING. Any pCPU; the shell stops its vCPUs. */
void hv_vm_end(struct hv_vm *vm, enum hv_vm_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
