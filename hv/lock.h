/*
 * lock.h - ticket spinlocks. Taken with interrupts off (the hypervisor always runs so), held
 * briefly, never across a VM entry. Order: core lock, then a VM's device lock, then log lock.
 */
#ifndef HV_LOCK_H
#define HV_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hv_lock {
    uint32_t next;
    uint32_t owner;
};

static inline void hv_lock(struct hv_lock *lock)
{
    uint32_t mine = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&lock->owner, __ATOMIC_ACQUIRE) != mine) {
        __builtin_ia32_pause();
    }
}

static inline void hv_unlock(struct hv_lock *lock)
{
    __atomic_store_n(&lock->owner, lock->owner + 1, __ATOMIC_RELEASE);
}

#endif
