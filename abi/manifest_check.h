/*
 * manifest_check.h - whether bytes are a bundle. Shared by hypervisor, simulator and command; a
 * pure function of its bytes, freestanding.
 */
#ifndef ABI_MANIFEST_CHECK_H
#define ABI_MANIFEST_CHECK_H

#include "abi/manifest.h"

#include <stddef.h>

/* IEEE 802.3 CRC-32 of `size` bytes, continued from `crc` (0 to begin). */
uint32_t abi_crc32(uint32_t crc, const void *bytes, size_t size);

/*
 * NULL if `size` bytes at `bundle` (8-byte aligned) are a whole, undamaged bundle in which every
 * count, index, offset and string end is in range; else what is wrong with it. Blobs' checksums
 * are checked too. policy_count: the reader's. O(size).
 */
const char *abi_manifest_check(const void *bundle, size_t size, uint32_t policy_count);

/* Of a bundle that was checked: its VM and blob records, and a blob's bytes. */
const struct abi_manifest_vm *abi_manifest_vms(const struct abi_manifest *manifest);
const struct abi_manifest_blob *abi_manifest_blobs(const struct abi_manifest *manifest);
const uint8_t *abi_manifest_blob_bytes(const struct abi_manifest *manifest, uint32_t blob);

#endif
