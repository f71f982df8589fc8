/*
 * walk.h - reading guest memory by guest-virtual address, through the guest's page tables.
 */
#ifndef HV_VCPU_WALK_H
#define HV_VCPU_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct hv_vcpu;

/* The guest-physical address of a guest-virtual one, in the mode the vCPU is in; false: not
 * mapped. Bounded by the number of levels, whatever the tables say. */
bool hv_walk(const struct hv_vcpu *vcpu, uint64_t address, uint64_t *gpa);

/* Up to `count` bytes at CS:RIP; returns how many could be read. */
unsigned hv_walk_fetch(const struct hv_vcpu *vcpu, uint8_t *bytes, unsigned count);

#endif
