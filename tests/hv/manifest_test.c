/*
 * manifest_test.c - bundles that are damaged: every one is refused, or says the same as before.
 *
 * A valid bundle of two VMs and one blob is cut, and changed byte by byte; then its checksums are
 * made right again over random damage, so that the checks behind them are reached too.
 */
#include "abi/manifest_check.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { POLICIES = 20, BLOB = 100 };

struct bundle {
    struct abi_manifest head;
    struct abi_manifest_vm vm[2];
    struct abi_manifest_blob blob[1];
    uint8_t rest[2 * 4096 + 256];
};

static struct bundle *bundle; /* 8-byte aligned, exactly as large as it says: overruns are seen */
static size_t size;

static void seal(struct abi_manifest *m, size_t records)
{
    m->crc32 = abi_crc32(0, m + 1, records);
    m->header_crc32 = 0;
    m->header_crc32 = abi_crc32(0, m, sizeof(*m));
}

static const size_t record_bytes =
    2 * sizeof(struct abi_manifest_vm) + sizeof(struct abi_manifest_blob);

static void make(void)
{
    size_t offset = (sizeof(struct abi_manifest) + record_bytes + 4095) / 4096 * 4096;
    size = offset + BLOB;
    bundle = aligned_alloc(8, (size + 7) / 8 * 8);
    memset(bundle, 0, size);
    bundle->head = (struct abi_manifest){.magic = ABI_MANIFEST_MAGIC,
                                         .version = ABI_MANIFEST_VERSION,
                                         .header_size = sizeof(struct abi_manifest),
                                         .total_size = size,
                                         .vm_count = 2,
                                         .vm_size = sizeof(struct abi_manifest_vm),
                                         .blob_count = 1,
                                         .blob_size = sizeof(struct abi_manifest_blob),
                                         .pcpu_count = 2,
                                         .sockets = 1,
                                         .llcs_per_socket = 1,
                                         .cores_per_llc = 2,
                                         .threads_per_core = 1,
                                         .policy_count = POLICIES,
                                         .name = "test",
                                         .model = "qemu-tcg"};
    memset(bundle->head.role_vm, 0xff, sizeof(bundle->head.role_vm));
    for (unsigned i = 0; i < 2; i++) {
        bundle->vm[i] = (struct abi_manifest_vm){.name = "vm",
                                                 .vcpu_count = 4,
                                                 .memory_bytes = 1 << 28,
                                                 .weight = 1024,
                                                 .kernel = 0,
                                                 .initrd = ABI_BLOB_NONE};
    }
    bundle->blob[0] = (struct abi_manifest_blob){.offset = offset, .size = BLOB};
    memset((uint8_t *)bundle + offset, 7, BLOB);
    bundle->blob[0].crc32 = abi_crc32(0, (uint8_t *)bundle + offset, BLOB);
    seal(&bundle->head, record_bytes);
}

static void test_cut(void)
{
    unsigned accepted = 0;
    for (size_t length = 0; length < size; length += 7) {
        uint64_t *copy = malloc(length / 8 * 8 + 8);
        memcpy(copy, bundle, length);
        accepted += abi_manifest_check(copy, length, POLICIES) == NULL;
        free(copy);
    }
    TAP(accepted == 0, "no bundle that is cut short is accepted");
}

static void test_bytes(void)
{
    unsigned accepted = 0;
    size_t covered = sizeof(struct abi_manifest) + record_bytes;
    for (size_t at = 0; at < size; at++) {
        if (at == covered) {
            at = bundle->blob[0].offset; /* the gap up to the blob isn't part of anything */
        }
        uint8_t *byte = (uint8_t *)bundle + at;
        *byte ^= 0x10;
        accepted += abi_manifest_check(bundle, size, POLICIES) == NULL;
        *byte ^= 0x10;
    }
    TAP(accepted == 0, "no bundle with a changed byte is accepted");
}

/* What a reader may rely on after a check. */
static bool is_sound(const struct abi_manifest *m)
{
    const struct abi_manifest_vm *vm = abi_manifest_vms(m);
    bool sound = m->total_size <= size && m->vm_count >= 1 && m->pcpu_count >= 1;
    for (uint32_t i = 0; sound && i < m->vm_count; i++) {
        sound = memchr(vm[i].name, 0, sizeof(vm[i].name)) != NULL &&
                memchr(vm[i].cmdline, 0, sizeof(vm[i].cmdline)) != NULL &&
                vm[i].vcpu_count >= 1 && vm[i].weight >= 1 &&
                (vm[i].kernel == ABI_BLOB_NONE || vm[i].kernel < m->blob_count);
    }
    return sound;
}

static void test_random(void)
{
    struct bundle *saved = malloc(size);
    unsigned unsound = 0, refused = 0;
    memcpy(saved, bundle, size);
    srand(1); /* the seed */
    for (unsigned i = 0; i < 200000; i++) {
        for (unsigned hits = 1 + (unsigned)rand() % 4; hits > 0; hits--) {
            size_t at = (size_t)rand() % (sizeof(struct abi_manifest) + record_bytes);
            at = rand() % 2 != 0 ? at % 120 : at; /* the counts and sizes more often */
            ((uint8_t *)bundle)[at] = (uint8_t)(rand() % 3 == 0 ? 0xff : rand());
        }
        seal(&bundle->head, record_bytes);
        const char *why = abi_manifest_check(bundle, size, POLICIES);
        refused += why != NULL;
        unsound += why == NULL && !is_sound(&bundle->head);
        memcpy(bundle, saved, size);
    }
    free(saved);
    TAP(refused > 50000 && unsound == 0, "damage under right checksums is refused or harmless");
}

int main(void)
{
    make();
    TAP(abi_manifest_check(bundle, size, POLICIES) == NULL, "the whole bundle is accepted");
    TAP(abi_manifest_check(bundle, size, POLICIES + 1) != NULL, "another set of keys is refused");
    test_cut();
    test_bytes();
    test_random();
    free(bundle);
    return tap_done();
}
