/*
 * bundle.c - see bundle.h. Blobs are held in memory while the file is written.
 */
#include "host/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cede/policy.h"

#define BLOB_MAX (UINT64_C(2) << 30)

struct blob {
    const char *path;
    uint8_t *bytes;
    uint64_t size;
    uint32_t kind;
};

struct bundle {
    struct blob blob[ABI_MANIFEST_BLOB_MAX];
    uint32_t count;
    char *error;
};

static bool read_blob(struct bundle *bundle, struct blob *blob)
{
    FILE *file = fopen(blob->path, "rb");
    if (file == NULL) {
        snprintf(bundle->error, HOST_ERROR_SIZE, "%s: %s", blob->path, strerror(errno));
        return false;
    }
    uint64_t room = 1 << 20;
    blob->bytes = malloc(room);
    while (blob->bytes != NULL) {
        size_t got = fread(blob->bytes + blob->size, 1, room - blob->size, file);
        blob->size += got;
        if (blob->size < room || room > BLOB_MAX) {
            break;
        }
        room *= 2;
        uint8_t *more = realloc(blob->bytes, room);
        if (more == NULL) {
            free(blob->bytes);
        }
        blob->bytes = more;
    }
    bool fine = blob->bytes != NULL && ferror(file) == 0 && room <= BLOB_MAX && blob->size > 0;
    fclose(file);
    if (!fine) {
        snprintf(bundle->error, HOST_ERROR_SIZE, "%s: empty, too large, or can't be read",
                 blob->path);
    }
    return fine;
}

/* The number of that file's blob, read if it isn't there yet. */
static bool blob_of(struct bundle *bundle, const char *path, uint32_t kind, uint32_t *number)
{
    *number = ABI_BLOB_NONE;
    if (path == NULL || path[0] == '\0') {
        return true;
    }
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (strcmp(bundle->blob[i].path, path) == 0 && bundle->blob[i].kind == kind) {
            *number = i;
            return true;
        }
    }
    if (bundle->count == ABI_MANIFEST_BLOB_MAX) {
        snprintf(bundle->error, HOST_ERROR_SIZE, "more than %u kernels and initrds",
                 ABI_MANIFEST_BLOB_MAX);
        return false;
    }
    *number = bundle->count;
    bundle->blob[bundle->count] = (struct blob){.path = path, .kind = kind};
    return read_blob(bundle, &bundle->blob[bundle->count++]);
}

static bool add_words(char *line, size_t size, const char *format, const char *a, const char *b)
{
    size_t used = strlen(line);
    int more = snprintf(line + used, size - used, format, a, b);
    return more >= 0 && used + (size_t)more < size;
}

static bool compose_cmdline(struct abi_manifest_vm *vm, char *error)
{
    char line[sizeof vm->cmdline] = "console=ttyS0 quiet";
    char params[sizeof vm->params];
    bool fits = true;
    if (vm->cmdline[0] != '\0') {
        fits = add_words(line, sizeof line, " %s%s", vm->cmdline, "");
    }
    if (vm->workload[0] != '\0') {
        fits = fits && add_words(line, sizeof line, " cede.workload=%s%s", vm->workload, "");
    }
    memcpy(params, vm->params, sizeof params);
    char *rest = NULL;
    for (char *word = strtok_r(params, " ", &rest); word != NULL && fits;
         word = strtok_r(NULL, " ", &rest)) {
        fits = add_words(line, sizeof line, " cede.%s%s", word, "");
    }
    memcpy(vm->cmdline, line, sizeof line);
    if (!fits) {
        snprintf(error, HOST_ERROR_SIZE, "VM %s: its command line exceeds %zu characters",
                 vm->name, sizeof line - 1);
    }
    return fits;
}

static uint64_t aligned(uint64_t offset)
{
    return (offset + 4095) & ~UINT64_C(4095);
}

static bool write_padded(FILE *file, const void *bytes, uint64_t size, uint64_t *at, uint64_t to)
{
    static const uint8_t zero[4096];
    while (*at < to) {
        uint64_t gap = to - *at < sizeof zero ? to - *at : sizeof zero;
        if (fwrite(zero, 1, gap, file) != gap) {
            return false;
        }
        *at += gap;
    }
    *at += size;
    return fwrite(bytes, 1, size, file) == size;
}

static bool write_all(const struct bundle *bundle, struct abi_manifest head,
                      const struct abi_manifest_vm *vm, const char *path)
{
    struct abi_manifest_blob records[ABI_MANIFEST_BLOB_MAX] = {0};
    size_t vm_bytes = head.vm_count * sizeof *vm;
    size_t blob_bytes = bundle->count * sizeof records[0];
    uint64_t offset = aligned(sizeof head + vm_bytes + blob_bytes);
    for (uint32_t i = 0; i < bundle->count; i++) {
        const struct blob *blob = &bundle->blob[i];
        records[i] = (struct abi_manifest_blob){offset, blob->size,
                                                host_crc32(blob->bytes, blob->size), blob->kind};
        offset = aligned(offset + blob->size);
    }
    uint8_t *all = malloc(vm_bytes + blob_bytes);
    FILE *file = all == NULL ? NULL : fopen(path, "wb");
    if (file == NULL) {
        free(all);
        return false;
    }
    memcpy(all, vm, vm_bytes);
    memcpy(all + vm_bytes, records, blob_bytes);
    const struct abi_manifest_blob *last = bundle->count > 0 ? &records[bundle->count - 1] : NULL;
    head.total_size = last != NULL ? last->offset + last->size : sizeof head + vm_bytes;
    head.blob_count = bundle->count;
    head.crc32 = host_crc32(all, vm_bytes + blob_bytes);
    head.header_crc32 = 0;
    head.header_crc32 = host_crc32(&head, sizeof head);
    uint64_t at = 0;
    bool fine = write_padded(file, &head, sizeof head, &at, 0) &&
                write_padded(file, all, vm_bytes + blob_bytes, &at, sizeof head);
    for (uint32_t i = 0; i < bundle->count && fine; i++) {
        fine = write_padded(file, bundle->blob[i].bytes, bundle->blob[i].size, &at,
                            records[i].offset);
    }
    free(all);
    return fclose(file) == 0 && fine;
}

bool host_bundle_write(const struct host_scenario *scenario, const char *path,
                       const char *default_kernel, const char *default_initrd, char *error)
{
    struct bundle bundle = {.error = error};
    struct abi_manifest head = scenario->head;
    struct abi_manifest_vm *vm = malloc(head.vm_count * sizeof *vm);
    bool fine = vm != NULL;
    for (uint32_t i = 0; i < head.vm_count && fine; i++) {
        const struct host_scenario_vm *extra = &scenario->extra[i];
        bool own = extra->kernel[0] != '\0';
        vm[i] = scenario->vm[i];
        fine = blob_of(&bundle, own ? extra->kernel : default_kernel, ABI_BLOB_KERNEL,
                       &vm[i].kernel) &&
               blob_of(&bundle,
                       extra->initrd[0] != '\0' || own ? extra->initrd : default_initrd,
                       ABI_BLOB_INITRD, &vm[i].initrd) &&
               compose_cmdline(&vm[i], error);
    }
    host_scenario_seal(&head);
    if (fine && !write_all(&bundle, head, vm, path)) {
        snprintf(error, HOST_ERROR_SIZE, "%s: can't be written", path);
        fine = false;
    }
    for (uint32_t i = 0; i < bundle.count; i++) {
        free(bundle.blob[i].bytes);
    }
    free(vm);
    return fine;
}
