/*
 * scenario.h - a scenario file, checked and compiled to the manifest that hypervisor and simulator
 * take (abi/manifest.h). docs/reference/scenario.md describes the language.
 *
 * Owns the arrays of struct host_scenario. No locks: one scenario, one owner.
 */
#ifndef HOST_SCENARIO_H
#define HOST_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/manifest.h"
#include "host/node.h"

#define HOST_PATH_SIZE 512u

/* What a VM needs besides its record: files that `cede run` puts into the bundle. */
struct host_scenario_vm {
    char kernel[HOST_PATH_SIZE]; /* "": the default */
    char initrd[HOST_PATH_SIZE];
};

struct host_scenario {
    struct abi_manifest head;
    struct abi_manifest_vm *vm; /* head.vm_count; VMs with `count` are one record each */
    struct host_scenario_vm *extra;
};

/*
 * Reads a scenario and applies `set_count` settings (path=value) first. False: error (of
 * HOST_ERROR_SIZE) names file, line, column, key, what was found and what was expected.
 */
bool host_scenario_load(struct host_scenario *scenario, const char *path, const char *const *set,
                        size_t set_count, char *error);

/* The same from bytes; `path` is for messages. */
bool host_scenario_parse(struct host_scenario *scenario, const char *path, const char *bytes,
                         size_t size, const char *const *set, size_t set_count, char *error);

void host_scenario_free(struct host_scenario *scenario);

/*
 * The manifest's bytes without blobs, checksums made: what sim_run() takes. NULL without memory;
 * the caller frees it.
 */
void *host_scenario_manifest(const struct host_scenario *scenario, size_t *size);

/* Fills in what each bundle's header says of itself: magic, version, sizes; not the checksums. */
void host_scenario_seal(struct abi_manifest *head);

/* IEEE CRC-32. */
uint32_t host_crc32(const void *bytes, size_t size);

#endif
