/*
 * manifest.c - checks a scenario's bytes before the simulator believes any of them.
 *
 * Trusts nothing: every count, size, string end and checksum is checked. Owns nothing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/engine/manifest.h"

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

static const char *say(char *text, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(text, size, format, list);
    va_end(list);
    return text;
}

static bool ends(const char *string, size_t size)
{
    return memchr(string, '\0', size) != NULL;
}

static const char *check_sizes(const struct abi_manifest *head, size_t size, char *text,
                               size_t text_size)
{
    if (head->magic != ABI_MANIFEST_MAGIC) {
        return say(text, text_size, "not a scenario bundle: wrong magic number");
    }
    if (head->version != ABI_MANIFEST_VERSION || head->header_size != sizeof *head ||
        head->vm_size != sizeof(struct abi_manifest_vm) ||
        head->blob_size != sizeof(struct abi_manifest_blob) ||
        head->policy_count != CEDE_POLICY_COUNT) {
        return say(text, text_size, "the bundle is of another version than this program's");
    }
    if (head->vm_count < 1 || head->vm_count > ABI_MANIFEST_VM_MAX ||
        head->blob_count > ABI_MANIFEST_BLOB_MAX) {
        return say(text, text_size, "the bundle has %u VMs and %u blobs: at most %u and %u",
                   head->vm_count, head->blob_count, ABI_MANIFEST_VM_MAX, ABI_MANIFEST_BLOB_MAX);
    }
    size_t records = (size_t)head->vm_count * sizeof(struct abi_manifest_vm) +
                     (size_t)head->blob_count * sizeof(struct abi_manifest_blob);
    if (size < sizeof *head + records) {
        return say(text, text_size, "the bundle is cut short: %zu bytes, %zu needed", size,
                   sizeof *head + records);
    }
    struct abi_manifest copy = *head;
    copy.header_crc32 = 0;
    if (crc32_of((const uint8_t *)&copy, sizeof copy) != head->header_crc32 ||
        crc32_of((const uint8_t *)head + sizeof *head, records) != head->crc32) {
        return say(text, text_size, "the bundle is damaged: a checksum doesn't fit");
    }
    return NULL;
}

static const char *check_machine(const struct abi_manifest *head, char *text, size_t text_size)
{
    uint64_t product = (uint64_t)head->sockets * head->llcs_per_socket;
    bool sane = head->sockets <= ABI_MANIFEST_PCPU_MAX && head->cores_per_llc > 0 &&
                head->llcs_per_socket <= ABI_MANIFEST_PCPU_MAX && head->threads_per_core > 0 &&
                head->cores_per_llc <= ABI_MANIFEST_PCPU_MAX &&
                head->threads_per_core <= ABI_MANIFEST_PCPU_MAX;
    if (!sane || product == 0 ||
        product * head->cores_per_llc * head->threads_per_core != head->pcpu_count ||
        head->pcpu_count > ABI_MANIFEST_PCPU_MAX) {
        return say(text, text_size, "%u pCPUs aren't %u sockets x %u LLCs x %u cores x %u threads",
                   head->pcpu_count, head->sockets, head->llcs_per_socket, head->cores_per_llc,
                   head->threads_per_core);
    }
    if (!ends(head->name, sizeof head->name) || !ends(head->model, sizeof head->model)) {
        return say(text, text_size, "a name in the bundle has no end");
    }
    for (uint32_t i = 0; i < head->pcpu_count; i++) {
        if (head->role[i] >= CEDE_ROLE_COUNT ||
            (head->role[i] == CEDE_ROLE_DEDICATED && head->role_vm[i] >= head->vm_count)) {
            return say(text, text_size, "pCPU %u has no valid role", i);
        }
    }
    return NULL;
}

/* Whether a pCPU of the mask exists, and none outside of the machine is named. */
static bool affinity_fits(const struct abi_manifest *head, const struct abi_manifest_vm *vm)
{
    bool any = false;
    for (uint32_t i = 0; i < ABI_MANIFEST_PCPU_MAX; i++) {
        if ((vm->affinity[i / 64] >> (i % 64) & 1) != 0) {
            if (i >= head->pcpu_count) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

static const char *check_vm(const struct abi_manifest *head, const struct abi_manifest_vm *vm,
                            char *text, size_t text_size)
{
    if (!ends(vm->name, sizeof vm->name) || !ends(vm->cmdline, sizeof vm->cmdline) ||
        !ends(vm->workload, sizeof vm->workload) || !ends(vm->params, sizeof vm->params)) {
        return say(text, text_size, "a string of a VM has no end");
    }
    if (vm->vcpu_count < 1 || vm->vcpu_count > CEDE_VM_VCPU_COUNT_MAX) {
        return say(text, text_size, "VM %s has %u vCPUs: 1 to %u", vm->name, vm->vcpu_count,
                   CEDE_VM_VCPU_COUNT_MAX);
    }
    if (vm->pin >= ABI_PIN_COUNT || vm->preset >= CEDE_PRESET_COUNT) {
        return say(text, text_size, "VM %s: no such pinning or preset", vm->name);
    }
    if (vm->weight < 1 || vm->weight > 1048576) {
        return say(text, text_size, "VM %s: weight %u: 1 to 1048576", vm->name, vm->weight);
    }
    if (vm->quota_ns != 0 && (vm->quota_ns < 1000000 || vm->period_ns < 1000000 ||
                              vm->period_ns > 1000000000)) {
        return say(text, text_size, "VM %s: a quota of at least 1 ms in a period of 1 ms to 1 s",
                   vm->name);
    }
    if (!affinity_fits(head, vm)) {
        return say(text, text_size, "VM %s: its pCPUs aren't pCPUs of this machine", vm->name);
    }
    return NULL;
}

const char *sim_manifest_check(const void *manifest, size_t size, char *text, size_t text_size)
{
    const struct abi_manifest *head = manifest;
    const char *wrong;
    if (manifest == NULL || size < sizeof *head) {
        return say(text, text_size, "the bundle is cut short: %zu bytes", size);
    }
    wrong = check_sizes(head, size, text, text_size);
    if (wrong == NULL) {
        wrong = check_machine(head, text, text_size);
    }
    const struct abi_manifest_vm *vm = sim_manifest_vms(head);
    uint64_t vcpus = 0;
    for (uint32_t i = 0; wrong == NULL && i < head->vm_count; i++) {
        wrong = check_vm(head, &vm[i], text, text_size);
        vcpus += wrong == NULL ? vm[i].vcpu_count : 0;
    }
    if (wrong == NULL && vcpus > CEDE_VCPU_COUNT_MAX) {
        wrong = say(text, text_size, "%llu vCPUs over all VMs: at most %u",
                    (unsigned long long)vcpus, CEDE_VCPU_COUNT_MAX);
    }
    return wrong;
}
