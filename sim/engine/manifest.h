/*
 * manifest.h - where the parts of a checked scenario bundle are.
 */
#ifndef SIM_ENGINE_MANIFEST_H
#define SIM_ENGINE_MANIFEST_H

#include "sim/run.h"

/* The VM records: right behind the header. */
static inline const struct abi_manifest_vm *sim_manifest_vms(const struct abi_manifest *head)
{
    return (const struct abi_manifest_vm *)(const void *)(head + 1);
}

#endif
