/*
 * manifest_check.c - see manifest_check.h. No state, no locks.
 */
#include "abi/manifest_check.h"

uint32_t abi_crc32(uint32_t crc, const void *bytes, size_t size)
{
    /* a nibble at a time: the 16 remainders of x^32 + ... (0xedb88320 reflected) */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

const struct abi_manifest_vm *abi_manifest_vms(const struct abi_manifest *manifest)
{
    return (const struct abi_manifest_vm *)(const void *)(manifest + 1);
}

const struct abi_manifest_blob *abi_manifest_blobs(const struct abi_manifest *manifest)
{
    return (const struct abi_manifest_blob *)(const void *)(abi_manifest_vms(manifest) +
                                                            manifest->vm_count);
}

const uint8_t *abi_manifest_blob_bytes(const struct abi_manifest *manifest, uint32_t blob)
{
    return (const uint8_t *)manifest + abi_manifest_blobs(manifest)[blob].offset;
}

static int ends(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0') {
            return 1;
        }
    }
    return 0;
}

static uint32_t header_crc(const struct abi_manifest *manifest)
{
    static const uint8_t zero[4];
    const uint8_t *bytes = (const uint8_t *)manifest;
    size_t at = offsetof(struct abi_manifest, header_crc32);
    uint32_t crc = abi_crc32(0, bytes, at);
    crc = abi_crc32(crc, zero, sizeof(zero));
    return abi_crc32(crc, bytes + at + 4, sizeof(*manifest) - at - 4);
}

static const char *check_header(const struct abi_manifest *m, size_t size, uint32_t policy_count)
{
    if (m->magic != ABI_MANIFEST_MAGIC) {
        return "not a bundle: its magic is wrong";
    }
    if (m->version != ABI_MANIFEST_VERSION) {
        return "bundle of another version";
    }
    if (m->header_size != sizeof(*m) || m->vm_size != sizeof(struct abi_manifest_vm) ||
        m->blob_size != sizeof(struct abi_manifest_blob)) {
        return "bundle with records of another size";
    }
    if (m->total_size > size) {
        return "bundle is cut short";
    }
    if (m->header_crc32 != header_crc(m)) {
        return "bundle is damaged: its header's checksum is wrong";
    }
    if (m->policy_count != policy_count || policy_count > ABI_MANIFEST_POLICY_MAX) {
        return "bundle made for another set of policy keys";
    }
    if (m->vm_count == 0 || m->vm_count > ABI_MANIFEST_VM_MAX) {
        return "number of VMs is out of range";
    }
    if (m->blob_count > ABI_MANIFEST_BLOB_MAX) {
        return "too many blobs";
    }
    if (m->pcpu_count == 0 || m->pcpu_count > ABI_MANIFEST_PCPU_MAX) {
        return "number of pCPUs is out of range";
    }
    uint64_t threads = (uint64_t)m->sockets * m->llcs_per_socket;
    if (m->sockets > m->pcpu_count || m->llcs_per_socket > m->pcpu_count ||
        m->cores_per_llc > m->pcpu_count || m->threads_per_core > m->pcpu_count ||
        threads * m->cores_per_llc * m->threads_per_core != m->pcpu_count) {
        return "topology doesn't multiply to the number of pCPUs";
    }
    if (!ends(m->name, sizeof(m->name)) || !ends(m->model, sizeof(m->model))) {
        return "a name in the header has no end";
    }
    return NULL;
}

static const char *check_roles(const struct abi_manifest *m)
{
    for (uint32_t i = 0; i < m->pcpu_count; i++) {
        if (m->role[i] > 3) {
            return "a pCPU's role is out of range";
        }
        if (m->role[i] == 1 ? m->role_vm[i] >= m->vm_count : m->role_vm[i] != UINT16_MAX) {
            return "a dedicated pCPU names no VM, or another pCPU names one";
        }
    }
    return NULL;
}

static const char *check_vm(const struct abi_manifest *m, const struct abi_manifest_vm *vm)
{
    if (!ends(vm->name, sizeof(vm->name)) || !ends(vm->cmdline, sizeof(vm->cmdline)) ||
        !ends(vm->workload, sizeof(vm->workload)) || !ends(vm->params, sizeof(vm->params))) {
        return "a VM's text has no end";
    }
    if (vm->vcpu_count == 0 || vm->vcpu_count > 4096) {
        return "a VM's number of vCPUs is out of range";
    }
    if (vm->weight == 0 || vm->weight > 1048576) {
        return "a VM's weight is out of range";
    }
    if (vm->pin >= ABI_PIN_COUNT || vm->flags > 7 || vm->preset > 4) {
        return "a VM's pin, flags or preset is out of range";
    }
    if (vm->quota_ns != 0 && (vm->quota_ns < 1000000 || vm->period_ns < 1000000 ||
                              vm->period_ns > 1000000000)) {
        return "a VM's cap is out of range";
    }
    if ((vm->kernel != ABI_BLOB_NONE && vm->kernel >= m->blob_count) ||
        (vm->initrd != ABI_BLOB_NONE && vm->initrd >= m->blob_count)) {
        return "a VM names a blob that isn't there";
    }
    return NULL;
}

static const char *check_blob(const struct abi_manifest *m, const struct abi_manifest_blob *blob,
                              uint64_t records_end)
{
    if (blob->kind >= ABI_BLOB_KIND_COUNT || blob->offset % 4096 != 0 ||
        blob->offset < records_end || blob->offset > m->total_size ||
        blob->size > m->total_size - blob->offset) {
        return "a blob lies outside the bundle";
    }
    if (abi_crc32(0, (const uint8_t *)m + blob->offset, (size_t)blob->size) != blob->crc32) {
        return "a blob is damaged: its checksum is wrong";
    }
    return NULL;
}

const char *abi_manifest_check(const void *bundle, size_t size, uint32_t policy_count)
{
    const struct abi_manifest *m = bundle;
    if (size < sizeof(*m)) {
        return "too short for a bundle";
    }
    const char *why = check_header(m, size, policy_count);
    if (why == NULL) {
        why = check_roles(m);
    }
    if (why != NULL) {
        return why;
    }
    uint64_t records = (uint64_t)m->vm_count * sizeof(struct abi_manifest_vm) +
                       (uint64_t)m->blob_count * sizeof(struct abi_manifest_blob);
    if (sizeof(*m) + records > m->total_size) {
        return "bundle is cut short in its records";
    }
    if (abi_crc32(0, m + 1, (size_t)records) != m->crc32) {
        return "bundle is damaged: its records' checksum is wrong";
    }
    for (uint32_t i = 0; i < m->vm_count && why == NULL; i++) {
        why = check_vm(m, abi_manifest_vms(m) + i);
    }
    for (uint32_t i = 0; i < m->blob_count && why == NULL; i++) {
        why = check_blob(m, abi_manifest_blobs(m) + i, sizeof(*m) + records);
    }
    return why;
}
