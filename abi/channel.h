/*
 * channel.h - framing of the channel between the hypervisor and the command (second serial port).
 *
 * Both directions carry frames: a header, then `length` bytes. A reader that sees no magic skips
 * bytes until it does, and counts them. Text for people (log, panic) goes to the first serial port
 * and never here. Little-endian, no padding.
 */
#ifndef ABI_CHANNEL_H
#define ABI_CHANNEL_H

#include <stdint.h>

#define ABI_FRAME_MAGIC 0xCEDEu
#define ABI_FRAME_LENGTH_MAX 4096u

enum abi_frame_kind {
    /* from the hypervisor */
    ABI_FRAME_HELLO = 1,    /* struct abi_hello */
    ABI_FRAME_CONSOLE = 2,  /* vm: bytes that the VM's serial port sent */
    ABI_FRAME_VM_STATE = 3, /* vm: struct abi_vm_state */
    ABI_FRAME_VCPU = 4,     /* vm: struct abi_vcpu_stats, one a vCPU, answer to `stats` */
    ABI_FRAME_PCPU = 5,     /* struct abi_pcpu_stats, answer to `stats` */
    ABI_FRAME_TRACE = 6,    /* struct abi_trace_chunk, then records (abi/trace.h) */
    ABI_FRAME_EVENTS = 7,   /* u64 index of the first, then struct cede_event[] */
    ABI_FRAME_DECISIONS = 8, /* u64 index of the first, then u64 digests, one an event */
    ABI_FRAME_REPLY = 9,    /* u32 0 done, else 1 refused; then a line of text */
    ABI_FRAME_END = 10,     /* all VMs are done: u32 exit status */
    /* to the hypervisor */
    ABI_FRAME_COMMAND = 64, /* a line of text: "set web yield pull"; answered by one REPLY */
    ABI_FRAME_INPUT = 65    /* vm: bytes for the VM's serial port */
};

struct abi_frame {
    uint16_t magic;
    uint8_t kind; /* enum abi_frame_kind */
    uint8_t pad;
    uint16_t vm; /* UINT16_MAX: none */
    uint16_t length;
    uint64_t now_ns; /* the hypervisor's clock when the frame was made */
};

struct abi_hello {
    uint32_t version; /* 1 */
    uint32_t pcpu_count;
    uint32_t vm_count;
    uint32_t vcpu_count;
    uint8_t core_hash[32]; /* SHA-256 of the libcede.a that is linked in */
};

enum abi_vm_run_state {
    ABI_VM_STATE_STARTING,
    ABI_VM_STATE_READY,   /* printed CEDE-GUEST ready */
    ABI_VM_STATE_RUNNING, /* its workload was started */
    ABI_VM_STATE_PAUSED,
    ABI_VM_STATE_DONE,    /* powered off by itself */
    ABI_VM_STATE_STOPPED, /* by command */
    ABI_VM_STATE_KILLED,  /* broke a rule; text says which */
    ABI_VM_STATE_COUNT
};

struct abi_vm_state {
    uint32_t state;
    uint32_t status;  /* what CEDE-GUEST done said, else 0 */
    uint64_t since_ns;
    char text[112];
};

#define ABI_TIME_CLASSES 16u
#define ABI_COUNTERS 48u
#define ABI_EXIT_REASONS 32u
#define ABI_HISTOGRAM_BUCKETS 128u

struct abi_vcpu_stats {
    uint32_t index; /* within its VM */
    uint32_t state; /* enum cede_vcpu_state */
    uint32_t pcpu;
    uint32_t time_count;    /* used of time_ns[]: by enum cede_time_class */
    uint32_t counter_count; /* used of count[]: by enum cede_counter */
    uint32_t exit_count;    /* used of exits[] and exit_ns[]: abi/exit.def */
    uint64_t added_ns;
    uint64_t time_ns[ABI_TIME_CLASSES];
    uint64_t count[ABI_COUNTERS];
    uint64_t exits[ABI_EXIT_REASONS];
    uint64_t exit_ns[ABI_EXIT_REASONS];
    uint64_t wake_max_ns;
    uint64_t wake_sum_ns;
    uint64_t wake_count;
    uint32_t wake_bucket[ABI_HISTOGRAM_BUCKETS]; /* include/cede/stats.h */
};

struct abi_pcpu_stats {
    uint32_t pcpu;
    uint32_t time_count;
    uint64_t time_ns[ABI_TIME_CLASSES];
    uint64_t switches;
    uint64_t kicks;
    uint64_t kicks_resent; /* not acknowledged in time; see CAVEATS.md on the emulator */
    uint64_t lock_hold_max_ns; /* of the core's lock, by this pCPU */
    uint64_t lock_hold_sum_ns;
    uint64_t lock_count;
};

struct abi_trace_chunk {
    uint32_t pcpu;
    uint32_t count;
    uint64_t lost;
};

_Static_assert(sizeof(struct abi_frame) == 16, "a frame's header is 16 bytes");

#endif
