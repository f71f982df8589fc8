/*
 * exit.h - exit reasons, shared by the hypervisor's counters, the simulator and their readers.
 */
#ifndef ABI_EXIT_H
#define ABI_EXIT_H

enum abi_exit_reason {
#define X(NAME, name, doc) ABI_EXIT_##NAME,
#include "abi/exit.def"
#undef X
    ABI_EXIT_COUNT
};

#endif
