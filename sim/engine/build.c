/*
 * build.c - makes a machine from a manifest, and frees it. Owns all of a simulation's memory but
 * its result's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/manifest.h"
#include "sim/engine/machine.h"

static enum sim_status fail(struct sim_result *result, enum sim_status status, const char *text)
{
    result->status = status;
    snprintf(result->error, sizeof result->error, "%s", text);
    return status;
}

static void lay_out_slots(struct sim_machine *m)
{
    m->slot_pcpu = 0;
    m->slot_arrival = m->slot_pcpu + m->pcpu_count;
    m->slot_post = m->slot_arrival + m->pcpu_count;
    m->slot_timer = m->slot_post + m->pcpu_count;
    m->slot_refill = m->slot_timer + m->vcpu_count;
    m->slot_stop = m->slot_refill + m->vm_count;
    m->slot_global = m->slot_stop + m->vm_count;
    m->slot_outside = m->slot_global + SIM_GLOBAL_COUNT;
    m->outside_free = SIM_NONE;
}

static void lay_out_pcpus(struct sim_machine *m, const struct abi_manifest *head)
{
    uint32_t per_core = head->threads_per_core;
    uint32_t per_llc = per_core * head->cores_per_llc;
    uint32_t per_socket = per_llc * head->llcs_per_socket;
    m->core_count = m->pcpu_count / per_core;
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        m->pcpu[i] = (struct sim_pcpu){.id = i,
                                       .vcpu = SIM_NONE,
                                       .last_vcpu = SIM_NONE,
                                       .expired = SIM_NONE,
                                       .core = i / per_core,
                                       .llc = i / per_llc,
                                       .socket = i / per_socket,
                                       .role = head->role[i],
                                       .role_vm = head->role_vm[i],
                                       .until_ns = CEDE_NEVER_NS};
        if (head->role[i] == CEDE_ROLE_OFFLINE) {
            m->pcpu[i].state = SIM_PCPU_OFF;
        }
    }
}

static void lay_out_vcpus(struct sim_machine *m)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->vm_count; i++) {
        struct sim_vm *vm = &m->vm[i];
        vm->machine = m;
        vm->id = i;
        vm->record = &m->records[i];
        vm->first = next;
        vm->count = m->records[i].vcpu_count;
        vm->features = m->arch->pv ? m->records[i].guest_features : 0;
        vm->dedicated = (m->records[i].flags & ABI_VM_DEDICATED) != 0;
        for (uint32_t k = 0; k < vm->count; k++, next++) {
            struct sim_vcpu *v = &m->vcpu[next];
            v->id = next;
            v->index = k;
            v->vm = i;
            v->pcpu = v->last_pcpu = v->spinner = v->next_expired = v->timer_pcpu = SIM_NONE;
            v->place = SIM_PLACE_OFF;
        }
    }
}

static bool allocate(struct sim_machine *m, const struct abi_manifest *head)
{
    m->pcpu = calloc(m->pcpu_count, sizeof *m->pcpu);
    m->vcpu = calloc(m->vcpu_count, sizeof *m->vcpu);
    m->vm = calloc(m->vm_count, sizeof *m->vm);
    m->cores = calloc(m->pcpu_count, sizeof *m->cores);
    m->records = calloc(m->vm_count, sizeof *m->records);
    if (m->pcpu == NULL || m->vcpu == NULL || m->vm == NULL || m->cores == NULL ||
        m->records == NULL) {
        return false;
    }
    memcpy(m->records, sim_manifest_vms(head), m->vm_count * sizeof *m->records);
    lay_out_slots(m);
    lay_out_pcpus(m, head);
    lay_out_vcpus(m);
    for (uint32_t i = 0; i < m->vm_count; i++) {
        m->vm[i].spinners = calloc(m->vm[i].count, sizeof *m->vm[i].spinners);
        m->vm[i].metric = calloc(SIM_METRIC_MAX, sizeof *m->vm[i].metric);
        m->vm[i].previous = calloc(SIM_METRIC_MAX, sizeof *m->vm[i].previous);
        if (m->vm[i].spinners == NULL || m->vm[i].metric == NULL || m->vm[i].previous == NULL) {
            return false;
        }
    }
    return sim_queue_init(&m->queue, m->slot_outside);
}

static uint32_t largest_vm(const struct sim_machine *m)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < m->vm_count; i++) {
        most = m->vm[i].count > most ? m->vm[i].count : most;
    }
    return most;
}

static bool make_core(struct sim_machine *m)
{
    m->config = (struct cede_config){
        .pcpu_count = m->pcpu_count,
        .vm_count = m->vm_count,
        .vcpu_count = m->vcpu_count,
        .vm_vcpu_count = largest_vm(m),
        .trace_count = m->options.trace_count,
        .seed = (uint32_t)m->seed,
    };
    size_t size = cede_size(&m->config);
    m->core_memory = size == 0 ? NULL : aligned_alloc(CEDE_ALIGN, (size + 63) & ~(size_t)63);
    return m->core_memory != NULL &&
           cede_init(m->core_memory, size, &m->config, &m->core) == CEDE_OK;
}

static enum sim_status make_guests(struct sim_machine *m, struct sim_result *result)
{
    char text[200];
    for (uint32_t i = 0; i < m->vm_count; i++) {
        struct sim_vm *vm = &m->vm[i];
        struct sim_guest_config config = {
            .vm = vm,
            .name = vm->record->name,
            .workload = vm->record->workload,
            .params = vm->record->params,
            .seed = m->seed,
            .vcpu_count = vm->count,
            .features = vm->features,
            .spin_is_wfe = m->arch->spin == SIM_ARCH_SPIN_TRAP && !m->arch->pv,
            .dedicated = vm->dedicated,
            .guest_irq_ns = 300, /* assumed: entry, return and bookkeeping of an interrupt */
        };
        text[0] = '\0';
        vm->guest = sim_guest_create(&config, &vm->ops, text, sizeof text);
        if (vm->guest == NULL) {
            char error[sizeof result->error];
            snprintf(error, sizeof error, "VM %s: %s", vm->record->name, text);
            return fail(result, SIM_BAD_WORKLOAD, error);
        }
    }
    return SIM_OK;
}

static enum sim_status unknown_model(struct sim_result *result, const char *name)
{
    char error[sizeof result->error];
    int used = snprintf(error, sizeof error, "no machine model \"%.31s\"; there are:", name);
    for (uint32_t i = 0; sim_arch_at(i) != NULL && used < (int)sizeof error; i++) {
        used += snprintf(error + used, sizeof error - (size_t)used, " %s", sim_arch_at(i)->name);
    }
    return fail(result, SIM_BAD_MODEL, error);
}

static uint64_t vcpus_of(const struct abi_manifest *head)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < head->vm_count; i++) {
        count += sim_manifest_vms(head)[i].vcpu_count;
    }
    return count;
}

enum sim_status sim_build(struct sim_machine *m, const void *manifest, size_t size,
                          const struct sim_options *options, struct sim_result *result)
{
    const struct abi_manifest *head = manifest;
    char text[200];
    memset(m, 0, sizeof *m);
    m->result = result;
    m->options = *options;
    if (m->options.trace != NULL && m->options.trace_count == 0) {
        m->options.trace_count = 4096;
    }
    if (sim_manifest_check(manifest, size, text, sizeof text) != NULL) {
        return fail(result, SIM_BAD_MANIFEST, text);
    }
    m->arch = sim_arch_find(head->model);
    if (m->arch == NULL) {
        return unknown_model(result, head->model);
    }
    m->seed = options->seed != 0 ? options->seed : head->seed;
    m->pcpu_count = head->pcpu_count;
    m->vm_count = head->vm_count;
    m->vcpu_count = (uint32_t)vcpus_of(head);
    m->end_ns = options->duration_ns != 0 ? options->duration_ns : head->duration_ns;
    m->interval_ns = options->interval_ns != 0 ? options->interval_ns : 1000000000;
    if (!allocate(m, head) || !make_core(m)) {
        snprintf(text, sizeof text, "no memory: about %llu MB are needed",
                 (unsigned long long)(sim_memory_bytes(manifest, size) >> 20) + 1);
        return fail(result, SIM_NO_MEMORY, text);
    }
    enum sim_status status = make_guests(m, result);
    if (status == SIM_OK && !sim_shell_start(m, head)) {
        status = SIM_VIOLATION;
    }
    return status;
}

void sim_build_free(struct sim_machine *m)
{
    for (uint32_t i = 0; m->vm != NULL && i < m->vm_count; i++) {
        if (m->vm[i].guest != NULL) {
            m->vm[i].ops->destroy(m->vm[i].guest);
        }
        free(m->vm[i].spinners);
        free(m->vm[i].metric);
        free(m->vm[i].baseline);
        free(m->vm[i].previous);
        free(m->vm[i].interval);
    }
    free(m->pcpu);
    free(m->vcpu);
    free(m->vm);
    free(m->cores);
    free(m->records);
    free(m->outside);
    free(m->deferred);
    free(m->core_memory);
    sim_queue_fini(&m->queue);
}

uint64_t sim_memory_bytes(const void *manifest, size_t size)
{
    const struct abi_manifest *head = manifest;
    char text[200];
    if (sim_manifest_check(manifest, size, text, sizeof text) != NULL) {
        return 0;
    }
    struct cede_config config = {.pcpu_count = head->pcpu_count, .vm_count = head->vm_count,
                                 .vcpu_count = (uint32_t)vcpus_of(head)};
    for (uint32_t i = 0; i < head->vm_count; i++) {
        uint32_t count = sim_manifest_vms(head)[i].vcpu_count;
        config.vm_vcpu_count = count > config.vm_vcpu_count ? count : config.vm_vcpu_count;
    }
    uint64_t vcpu_bytes = sizeof(struct sim_vcpu) + sizeof(struct sim_vcpu_result) + 64;
    return cede_size(&config) + config.vcpu_count * vcpu_bytes +
           config.pcpu_count * (sizeof(struct sim_pcpu) + 128) +
           config.vm_count * (sizeof(struct sim_vm) + sizeof(struct sim_vm_result) +
                              sizeof(struct abi_manifest_vm) + 8192);
}
