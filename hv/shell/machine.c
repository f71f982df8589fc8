/*
 * machine.c - from the bundle to VMs that run, and what happens when they end.
 *
 * Owns hv_vms. Announces pCPUs, VMs and vCPUs to the core; starts, stops and restarts VMs; boot
 * CPU's housekeeping.
 */
#include "abi/manifest_check.h"
#include "cede/stats.h"
#include "hv/arch/x86/svm/svm.h"
#include "hv/console/console.h"
#include "hv/irq/apic.h"
#include "hv/lib/format.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/mm/map.h"
#include "hv/mm/pages.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"
#include "hv/time/clock.h"
#include "hv/vcpu/vcpu.h"

#define VMS_MAX 64u
#define TRACE_RECORDS 4096u
#define HOUSEKEEP_NS UINT64_C(1000000)
#define LARGE UINT64_C(0x200000)

struct hv_vm *hv_vms[VMS_MAX];
uint32_t hv_vm_count;

static struct cede_event management(enum cede_event_kind kind)
{
    return (struct cede_event){
        .kind = kind, .pcpu = CEDE_PCPU_NONE, .vcpu = CEDE_VCPU_NONE, .vm = CEDE_VM_NONE};
}

/* ---- making ---- */

static void make_core(uint32_t vcpu_count)
{
    struct cede_config config = {
        .pcpu_count = hv_pcpu_count,
        .vm_count = hv_vm_count,
        .vcpu_count = vcpu_count,
        .vm_vcpu_count = HV_VM_VCPU_MAX,
        .trace_count = TRACE_RECORDS,
        .seed = shell.manifest->seed,
    };
    size_t size = cede_size(&config);
    void *memory = hv_pages_alloc(size, 4096, "the core");
    enum cede_status status = cede_init(memory, size, &config, &shell.core);
    if (status != CEDE_OK) {
        hv_panic("the core can't be made: %s", cede_status_name(status));
    }
}

static void announce_pcpu(uint32_t index)
{
    const struct abi_manifest *m = shell.manifest;
    struct cede_event event = management(CEDE_EVENT_PCPU_ADD);
    uint32_t threads = m->threads_per_core;
    event.pcpu.value = index;
    event.pcpu_add.role = index < m->pcpu_count ? m->role[index] : CEDE_ROLE_SHARED;
    event.pcpu_add.role_vm = event.pcpu_add.role == CEDE_ROLE_DEDICATED
                                 ? (struct cede_vm_id){m->role_vm[index]}
                                 : CEDE_VM_NONE;
    event.pcpu_add.core = index / threads;
    event.pcpu_add.llc = index / threads / m->cores_per_llc;
    event.pcpu_add.socket = index / threads / m->cores_per_llc / m->llcs_per_socket;
    shell_must(&event, NULL, NULL);
}

static void announce_policy(const struct hv_vm *vm)
{
    for (uint32_t key = 0; key < CEDE_POLICY_COUNT; key++) {
        struct cede_event event = management(CEDE_EVENT_VM_POLICY);
        event.vm.value = vm->index;
        event.vm_policy.key = key;
        event.vm_policy.value = vm->config->policy[key];
        shell_must(&event, NULL, NULL);
    }
}

static void announce_vm(const struct hv_vm *vm)
{
    struct cede_event event = management(CEDE_EVENT_VM_ADD);
    event.vm.value = vm->index;
    event.vm_add.weight = vm->config->weight;
    event.vm_add.preset = vm->config->preset;
    shell_must(&event, NULL, NULL);
    announce_policy(vm);
    if (vm->config->quota_ns != 0) {
        event = management(CEDE_EVENT_VM_CAP);
        event.vm.value = vm->index;
        event.vm_cap.quota_ns = vm->config->quota_ns;
        event.vm_cap.period_ns = vm->config->period_ns;
        shell_must(&event, NULL, NULL);
    }
}

/* The pCPUs of its VM's mask that a vCPU may use: all, or by ABI_PIN_EACH one of them. */
static void affinity_of(const struct hv_vcpu *vcpu, uint64_t *mask)
{
    const struct abi_manifest_vm *config = vcpu->vm->config;
    uint32_t count = 0;
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        count += config->affinity[i / 64] >> (i % 64) & 1;
    }
    *mask = count != 0 ? config->affinity[0] : UINT64_MAX;
    if (config->pin != ABI_PIN_EACH || count == 0) {
        return;
    }
    uint32_t wanted = vcpu->index % count;
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        if ((config->affinity[0] >> i & 1) != 0 && wanted-- == 0) {
            *mask = UINT64_C(1) << i;
        }
    }
}

static void announce_vcpu(const struct hv_vcpu *vcpu)
{
    struct cede_event event = management(CEDE_EVENT_VCPU_ADD);
    event.vm.value = vcpu->vm->index;
    event.vcpu = vcpu->id;
    event.vcpu_add.index = vcpu->index;
    shell_must(&event, NULL, NULL);
    event = management(CEDE_EVENT_VCPU_AFFINITY);
    event.vcpu = vcpu->id;
    affinity_of(vcpu, &event.vcpu_affinity.mask);
    shell_must(&event, NULL, NULL);
}

struct hv_vm *hv_vm_create(const struct abi_manifest_vm *config, uint32_t index,
                           uint32_t first_vcpu_id)
{
    struct hv_vm *vm = hv_pages_alloc(sizeof(*vm), 4096, "a VM");
    vm->config = config;
    vm->index = index;
    vm->vcpu_count = config->vcpu_count;
    vm->memory_size = (config->memory_bytes + LARGE - 1) & ~(LARGE - 1);
    vm->memory = hv_pages_try(vm->memory_size, LARGE);
    if (vm->memory == NULL) {
        hv_panic("out of memory: %lu MiB for VM %s, %lu MiB are free", vm->memory_size >> 20,
                 config->name, hv_pages_free_bytes() >> 20);
    }
    vm->nested_root = hv_map_nested((uint64_t)(uintptr_t)vm->memory, vm->memory_size);
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        struct hv_vcpu *vcpu = hv_pages_alloc(sizeof(*vcpu), 64, "a vCPU");
        vcpu->vm = vm;
        vcpu->index = i;
        vcpu->id.value = first_vcpu_id + i;
        vcpu->timer_ns = CEDE_NEVER_NS;
        vm->vcpu[i] = vcpu;
        arch_vcpu_init(&vcpu->arch, vcpu->id.value, vm->nested_root);
        shell.vcpus[vcpu->id.value] = vcpu;
    }
    return vm;
}

static uint32_t count_vcpus(void)
{
    const struct abi_manifest_vm *configs = abi_manifest_vms(shell.manifest);
    uint32_t count = 0;
    for (uint32_t i = 0; i < shell.manifest->vm_count; i++) {
        if (configs[i].vcpu_count > HV_VM_VCPU_MAX) {
            hv_panic("VM %s has %u vCPUs; %u are the most", configs[i].name,
                     configs[i].vcpu_count, HV_VM_VCPU_MAX);
        }
        count += configs[i].vcpu_count;
    }
    return count;
}

static void make_vms(void)
{
    const struct abi_manifest_vm *configs = abi_manifest_vms(shell.manifest);
    uint32_t first = 0;
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        hv_vms[i] = hv_vm_create(&configs[i], i, first);
        first += configs[i].vcpu_count;
    }
}

void hv_shell_init(uint64_t bundle, uint64_t size)
{
    const void *bytes = (const void *)(uintptr_t)bundle;
    const char *why = size == 0 ? "there is none: give one as the boot module (-initrd)"
                                : abi_manifest_check(bytes, size, CEDE_POLICY_COUNT);
    if (why != NULL) {
        hv_panic("the bundle is refused: %s", why);
    }
    shell.manifest = bytes;
    hv_vm_count = shell.manifest->vm_count;
    if (hv_vm_count > VMS_MAX) {
        hv_panic("the bundle has %u VMs; %u are the most", hv_vm_count, VMS_MAX);
    }
    hv_svm_init();
    shell.vcpu_count = count_vcpus();
    shell.vcpus = hv_pages_alloc(shell.vcpu_count * sizeof(shell.vcpus[0]), 64, "vCPU pointers");
    shell.refill_ns = hv_pages_alloc(hv_vm_count * sizeof(uint64_t), 64, "refill deadlines");
    shell.refill_next_ns = CEDE_NEVER_NS;
    hv_record_init();
    make_core(shell.vcpu_count);
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        hv_pcpu(i)->timers_next_ns = CEDE_NEVER_NS;
        hv_pcpu(i)->until_ns = CEDE_NEVER_NS;
        announce_pcpu(i);
    }
    make_vms();
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        shell.refill_ns[i] = shell.refill_ns[i] == 0 ? CEDE_NEVER_NS : shell.refill_ns[i];
        announce_vm(hv_vms[i]);
        for (uint32_t v = 0; v < hv_vms[i]->vcpu_count; v++) {
            announce_vcpu(hv_vms[i]->vcpu[v]);
        }
    }
    hv_channel_hello();
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        shell_start_vm(hv_vms[i]);
    }
}

/* ---- starting and stopping ---- */

static const uint8_t *blob(uint32_t index, uint64_t *size)
{
    *size = index == ABI_BLOB_NONE ? 0 : abi_manifest_blobs(shell.manifest)[index].size;
    return index == ABI_BLOB_NONE ? NULL : abi_manifest_blob_bytes(shell.manifest, index);
}

static void start_vcpu(struct hv_vcpu *vcpu)
{
    struct cede_event event = management(CEDE_EVENT_VCPU_START);
    event.pcpu.value = hv_this_pcpu()->index;
    event.vcpu = vcpu->id;
    vcpu->online = 1;
    shell_must(&event, NULL, NULL);
}

static void reset_vcpu(struct hv_vcpu *vcpu)
{
    arch_vcpu_reset(&vcpu->arch);
    hv_lapic_reset(vcpu);
    hv_pv_reset(vcpu);
    vcpu->start = HV_START_NONE;
    vcpu->wait_for_sipi = 1;
    vcpu->flush_tlb = 0;
    vcpu->yield_to = NULL;
    vcpu->injecting = -1;
}

void shell_start_vm(struct hv_vm *vm)
{
    uint64_t kernel_size, initrd_size;
    const uint8_t *kernel = blob(vm->config->kernel, &kernel_size);
    const uint8_t *initrd = blob(vm->config->initrd, &initrd_size);
    memset(vm->memory, 0, vm->memory_size);
    hv_ioapic_reset(vm);
    hv_uart_reset(vm);
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        reset_vcpu(vm->vcpu[i]);
    }
    hv_acpi_write(vm);
    const char *why = kernel == NULL ? "the scenario gives no kernel"
                                     : hv_linux_load(vm, kernel, kernel_size, initrd, initrd_size);
    if (why != NULL) {
        hv_vm_end(vm, HV_VM_KILLED, "%s", why);
        return;
    }
    vm->state = HV_VM_RUNNING;
    hv_log("VM %s: %u vCPUs, %lu MiB", vm->config->name, vm->vcpu_count, vm->memory_size >> 20);
    vm->vcpu[0]->wait_for_sipi = 0;
    start_vcpu(vm->vcpu[0]);
}

void hv_vm_end(struct hv_vm *vm, enum hv_vm_state state, const char *format, ...)
{
    uint32_t running = HV_VM_RUNNING;
    va_list arguments;
    if (!__atomic_compare_exchange_n(&vm->state, &running, (uint32_t)state, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return;
    }
    va_start(arguments, format);
    hv_format_v(vm->why, sizeof(vm->why), format, arguments);
    va_end(arguments);
    hv_log("VM %s: %s: %s", vm->config->name,
           state == HV_VM_DONE      ? "done"
           : state == HV_VM_KILLED  ? "stopped, it broke a rule"
           : state == HV_VM_STOPPED ? "stopped"
                                    : "restarts",
           vm->why);
    hv_channel_vm_state(vm);
}

static bool sample_online(struct cede_event *event, void *context)
{
    struct hv_vcpu *vcpu = context;
    (void)event;
    bool was = vcpu->online != 0;
    vcpu->online = 0;
    return was;
}

/* Takes a vCPU off, wherever it is. If it is the current one here, another's turn comes. */
static void stop_vcpu(struct hv_vcpu *vcpu)
{
    struct hv_pcpu *pcpu = hv_this_pcpu();
    struct cede_event event = management(CEDE_EVENT_VCPU_STOP);
    event.pcpu.value = pcpu->index;
    event.vcpu = vcpu->id;
    if (pcpu->current == vcpu) {
        event.stop.ran = shell_take_ran(vcpu);
        event.stop.mode = CEDE_MODE_KERNEL;
        event.stop.at_boundary = 1;
    }
    shell_must(&event, sample_online, vcpu);
}

void shell_stop_vm(struct hv_vm *vm)
{
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        stop_vcpu(vm->vcpu[i]);
    }
}

/* Whether no pCPU runs it any more. */
static bool is_off(const struct hv_vcpu *vcpu)
{
    struct cede_vcpu_stats stats;
    shell_lock();
    enum cede_status status = cede_vcpu_stats(shell.core, shell.last_ns, vcpu->id, &stats);
    shell_unlock();
    return status == CEDE_OK && stats.state == CEDE_STATE_OFFLINE;
}

static void sipi_now(struct hv_vcpu *target)
{
    arch_vcpu_sipi(&target->arch, (uint8_t)target->start_vector);
    __atomic_store_n(&target->start, HV_START_NONE, __ATOMIC_SEQ_CST);
    target->wait_for_sipi = 0;
    start_vcpu(target);
}

static void start_or_init(struct hv_vcpu *target, enum hv_start start, uint8_t vector)
{
    if (start == HV_START_INIT) {
        if (target->index != 0) { /* the boot CPU's INIT would be a reset; Linux never sends one */
            target->wait_for_sipi = 1;
            __atomic_store_n(&target->start, HV_START_INIT, __ATOMIC_SEQ_CST);
            target->stop_wanted = target->online;
        }
        return;
    }
    if (target->wait_for_sipi == 0) {
        return; /* a start-up IPI without INIT is ignored */
    }
    target->start_vector = vector;
    __atomic_store_n(&target->start, HV_START_SIPI, __ATOMIC_SEQ_CST);
    if (target->online == 0 && is_off(target)) {
        sipi_now(target);
    }
}

/* Under the device lock: siblings and the boot CPU may want to start the same vCPU at once, and
 * the core takes one start. */
void hv_shell_start(struct hv_vcpu *target, enum hv_start start, uint8_t vector)
{
    hv_lock(&target->vm->lock);
    start_or_init(target, start, vector);
    hv_unlock(&target->vm->lock);
}

/* ---- housekeeping ---- */

static void refill_vms(uint64_t now_ns)
{
    uint64_t next_ns = CEDE_NEVER_NS;
    shell.refill_next_ns = CEDE_NEVER_NS;
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        if (shell.refill_ns[i] <= now_ns) {
            struct cede_event event = management(CEDE_EVENT_VM_REFILL);
            event.pcpu.value = hv_this_pcpu()->index;
            event.vm.value = i;
            shell.refill_ns[i] = CEDE_NEVER_NS;
            shell_must(&event, NULL, NULL);
        }
        next_ns = shell.refill_ns[i] < next_ns ? shell.refill_ns[i] : next_ns;
    }
    shell.refill_next_ns = next_ns;
}

/* A kick that isn't answered in time is sent again: the emulator may have lost the first. */
static void resend_kicks(uint64_t now_ns)
{
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        struct hv_pcpu *pcpu = hv_pcpu(i);
        uint64_t sent_ns = __atomic_load_n(&pcpu->kick_sent_ns, __ATOMIC_RELAXED);
        if (sent_ns != 0 && now_ns > sent_ns + SHELL_KICK_PATIENCE_NS &&
            __atomic_load_n(&pcpu->kick, __ATOMIC_SEQ_CST) != 0 && i != 0) {
            __atomic_store_n(&pcpu->kick_sent_ns, now_ns, __ATOMIC_RELAXED);
            pcpu->kicks_resent++;
            shell_ipi(i);
        }
    }
}

static void start_waiting(struct hv_vcpu *vcpu)
{
    if (vcpu->stop_wanted != 0) {
        vcpu->stop_wanted = 0;
        stop_vcpu(vcpu);
    }
    if (__atomic_load_n(&vcpu->start, __ATOMIC_SEQ_CST) == HV_START_SIPI && vcpu->online == 0 &&
        is_off(vcpu)) {
        sipi_now(vcpu);
    }
}

static void start_waiting_vcpus(struct hv_vm *vm)
{
    hv_lock(&vm->lock);
    for (uint32_t i = 1; i < vm->vcpu_count; i++) {
        start_waiting(vm->vcpu[i]);
    }
    hv_unlock(&vm->lock);
}

static bool all_off(const struct hv_vm *vm)
{
    for (uint32_t i = 0; i < vm->vcpu_count; i++) {
        if (vm->vcpu[i]->online != 0 || !is_off(vm->vcpu[i])) {
            return false;
        }
    }
    return true;
}

/* What the emulator did that no CPU does, and what was survived of it. */
static void log_oddities(void)
{
    uint64_t after_vmrun = 0, vectorless = 0, resent = 0;
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        after_vmrun += hv_pcpu(i)->after_vmrun_interrupts;
        vectorless += hv_pcpu(i)->vectorless_interrupts;
        resent += hv_pcpu(i)->kicks_resent;
    }
    hv_log("cede: survived %lu interrupts right after VMRUN, %lu without a vector; %lu kicks "
           "sent again", after_vmrun, vectorless, resent);
}

static void end_machine(void)
{
    bool failed = false;
    log_oddities();
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        failed = failed || hv_vms[i]->state == HV_VM_KILLED;
    }
    hv_log("cede: all VMs have ended");
    hv_channel_end(failed ? 1 : 0);
    hv_machine_exit(failed ? HV_EXIT_FAILED : HV_EXIT_DONE);
}

/* The scenario's duration counts from the hypervisor's start, the guests' boot included. */
static void stop_when_over(uint64_t now_ns)
{
    if (shell.manifest->duration_ns == 0 || now_ns < shell.manifest->duration_ns) {
        return;
    }
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        hv_vm_end(hv_vms[i], HV_VM_STOPPED, "the scenario's duration is over");
    }
}

void shell_housekeep(void)
{
    static uint64_t last_ns; /* boot CPU only */
    uint64_t now_ns = hv_now_ns();
    if (__atomic_load_n(&shell.refill_next_ns, __ATOMIC_ACQUIRE) <= now_ns) {
        refill_vms(now_ns);
    }
    if (now_ns < last_ns + HOUSEKEEP_NS) {
        return;
    }
    last_ns = now_ns;
    hv_channel_poll();
    resend_kicks(now_ns);
    stop_when_over(now_ns);
    bool ended = true;
    for (uint32_t i = 0; i < hv_vm_count; i++) {
        struct hv_vm *vm = hv_vms[i];
        uint32_t state = __atomic_load_n(&vm->state, __ATOMIC_ACQUIRE);
        if (state == HV_VM_RUNNING) {
            start_waiting_vcpus(vm);
            ended = false;
        } else if (state == HV_VM_RESETTING) {
            shell_stop_vm(vm);
            ended = false;
            if (all_off(vm)) {
                shell_start_vm(vm);
            }
        }
    }
    if (ended) {
        end_machine();
    }
}
