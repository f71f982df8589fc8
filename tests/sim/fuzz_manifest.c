/*
 * fuzz_manifest.c - libFuzzer target: any bytes as a scenario bundle.
 *
 * The first byte says whether checksums and sizes are made right, so that the fuzzer gets past
 * them. Whatever passes the check must have every string ended and every count in range.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void make_plausible(uint8_t *bytes, size_t size)
{
    struct abi_manifest *head = (struct abi_manifest *)(void *)bytes;
    if (size < sizeof *head) {
        return;
    }
    head->magic = ABI_MANIFEST_MAGIC;
    head->version = ABI_MANIFEST_VERSION;
    head->header_size = sizeof *head;
    head->vm_size = sizeof(struct abi_manifest_vm);
    head->blob_size = sizeof(struct abi_manifest_blob);
    head->policy_count = CEDE_POLICY_COUNT;
    head->vm_count = (uint32_t)((size - sizeof *head) / sizeof(struct abi_manifest_vm));
    head->blob_count = 0;
    head->crc32 = crc32_of(bytes + sizeof *head, head->vm_count * sizeof(struct abi_manifest_vm));
    head->header_crc32 = 0;
    head->header_crc32 = crc32_of(bytes, sizeof *head);
}

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

static void verify(const struct abi_manifest *head)
{
    const struct abi_manifest_vm *vm = sim_manifest_vms(head);
    must(head->pcpu_count >= 1 && head->pcpu_count <= ABI_MANIFEST_PCPU_MAX);
    must(strlen(head->name) < sizeof head->name && strlen(head->model) < sizeof head->model);
    for (uint32_t i = 0; i < head->vm_count; i++) {
        must(strlen(vm[i].params) < sizeof vm[i].params);
        must(vm[i].vcpu_count >= 1 && vm[i].vcpu_count <= CEDE_VM_VCPU_COUNT_MAX);
        must(vm[i].weight >= 1);
    }
}

/* A valid bundle of two VMs, changed at the places that the input names: offset, offset, byte. */
static size_t patched(uint8_t *bytes, const uint8_t *data, size_t size)
{
    struct abi_manifest *head = (struct abi_manifest *)(void *)bytes;
    struct abi_manifest_vm *vm = (struct abi_manifest_vm *)(void *)(head + 1);
    size_t total = sizeof *head + 2 * sizeof *vm;
    memset(bytes, 0, total);
    head->pcpu_count = 4;
    head->sockets = head->llcs_per_socket = head->threads_per_core = 1;
    head->cores_per_llc = 4;
    for (uint32_t i = 0; i < 2; i++) {
        vm[i].vcpu_count = 4;
        vm[i].weight = 1024;
        vm[i].affinity[0] = 15;
    }
    for (size_t i = 0; i + 3 <= size; i += 3) {
        bytes[(data[i] | (size_t)data[i + 1] << 8) % total] = data[i + 2];
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[200];
    if (size < 1) {
        return 0;
    }
    size_t total = sizeof(struct abi_manifest) + 2 * sizeof(struct abi_manifest_vm);
    bool patch = (data[0] & 2) != 0;
    uint8_t *bytes = malloc(patch ? total : size); /* exact: reading past it is seen */
    if (patch) {
        size = patched(bytes, data + 1, size - 1);
    } else {
        memcpy(bytes, data + 1, --size);
    }
    if ((data[0] & 1) != 0) {
        make_plausible(bytes, size);
    }
    if (sim_manifest_check(bytes, size, text, sizeof text) == NULL) {
        verify((const struct abi_manifest *)(const void *)bytes);
    }
    free(bytes);
    return 0;
}
