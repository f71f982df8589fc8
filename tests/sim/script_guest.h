/*
 * script_guest.h - a guest model for the engine's own tests: each vCPU repeats a short script.
 *
 * The workload's name selects the script; see script_guest.c. Also makes manifests to run.
 */
#ifndef TESTS_SIM_SCRIPT_GUEST_H
#define TESTS_SIM_SCRIPT_GUEST_H

#include "sim/run.h"

#define SCRIPT_VM_MAX 128u

struct script_bundle {
    struct abi_manifest head;
    struct abi_manifest_vm vm[SCRIPT_VM_MAX];
};

/* A bundle for a machine of `pcpus` (one socket, one thread a core) without VMs. */
void script_bundle_init(struct script_bundle *bundle, const char *model, uint32_t pcpus,
                        uint32_t threads_per_core);

/* Adds a VM that may run anywhere, with that preset's policy; returns its record. */
struct abi_manifest_vm *script_bundle_add(struct script_bundle *bundle, const char *workload,
                                          uint32_t vcpus, enum cede_preset preset);

/* Makes the checksums; returns the bundle's size. */
size_t script_bundle_seal(struct script_bundle *bundle);

#endif
