/*
 * manifest.h - the wire format of a scenario, as the hypervisor and the simulator take it.
 *
 * `host/` compiles a scenario (YAML) into one bundle: this header, the VM records, the blob
 * records, then the blobs (kernels, initial RAM disks). The hypervisor gets the bundle as its
 * boot module; the simulator gets the same bytes in memory, without blobs. Little-endian, naturally
 * aligned, no padding. Whoever reads one trusts nothing and checks
 * every count, offset, string end and checksum before use.
 */
#ifndef ABI_MANIFEST_H
#define ABI_MANIFEST_H

#include <stdint.h>

#define ABI_MANIFEST_MAGIC UINT64_C(0x314e414d45444543) /* "CEDEMAN1" */
#define ABI_MANIFEST_VERSION 1u
#define ABI_MANIFEST_VM_MAX 1024u
#define ABI_MANIFEST_BLOB_MAX 64u
#define ABI_MANIFEST_PCPU_MAX 1024u
#define ABI_MANIFEST_POLICY_MAX 64u
#define ABI_MANIFEST_NAME_SIZE 32u
#define ABI_BLOB_NONE UINT32_MAX

/* How the vCPUs of a VM are placed on the pCPUs of its affinity mask. */
enum abi_pin {
    ABI_PIN_NONE, /* any vCPU on any pCPU of the mask */
    ABI_PIN_EACH, /* vCPU i on the (i modulo count)-th pCPU of the mask only */
    ABI_PIN_COUNT
};

enum abi_manifest_flag {
    ABI_MANIFEST_EVENT_LOG = 1u << 0, /* record every event of the core, for replay */
    ABI_MANIFEST_TRACE = 1u << 1,     /* keep the core's trace and send it at the end */
    ABI_MANIFEST_SYNC_START = 1u << 2 /* workloads wait until all VMs are ready */
};

enum abi_vm_flag {
    ABI_VM_DEDICATED = 1u << 0, /* its pCPUs are its own: keeps HLT, MWAIT and PAUSE */
    ABI_VM_XAPIC = 1u << 1,     /* started in xAPIC mode; else x2APIC */
    ABI_VM_PAUSED = 1u << 2     /* starts paused */
};

/*
 * Guest features: bits of the KVM leaf 0x40000001 EAX where it has one (bit 3 clocksource2, 5 steal
 * time, 6 PV EOI, 7 PV unhalt, 9 PV TLB flush, 11 PV send IPI, 12 poll control, 13 PV sched yield,
 * 24 clock stable). 0: no hypervisor leaf at all.
 */
#define ABI_GUEST_FEATURES_ALL                                                                     \
    (1u << 3 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 24)

struct abi_manifest {
    uint64_t magic;
    uint32_t version;
    uint32_t header_size; /* of this struct */
    uint64_t total_size;  /* of the bundle */
    uint32_t crc32;       /* IEEE, over everything from the VM records to the end of the blob records */
    uint32_t header_crc32; /* IEEE, over this struct with header_crc32 = 0 */
    uint32_t vm_count;
    uint32_t vm_size; /* of one VM record */
    uint32_t blob_count;
    uint32_t blob_size; /* of one blob record */
    uint32_t flags;     /* enum abi_manifest_flag */
    uint32_t seed;
    uint64_t duration_ns; /* stop after this time; 0: when every VM is done */
    uint32_t pcpu_count;
    uint32_t sockets; /* pcpu_count = sockets * llcs a socket * cores an LLC * threads a core */
    uint32_t llcs_per_socket;
    uint32_t cores_per_llc;
    uint32_t threads_per_core;
    uint32_t policy_count; /* CEDE_POLICY_COUNT of the writer; must equal the reader's */
    char name[ABI_MANIFEST_NAME_SIZE];
    char model[ABI_MANIFEST_NAME_SIZE]; /* machine model, for the simulator: "qemu-tcg", ... */
    uint8_t role[ABI_MANIFEST_PCPU_MAX]; /* enum cede_pcpu_role of each pCPU */
    uint16_t role_vm[ABI_MANIFEST_PCPU_MAX]; /* VM index of a dedicated one; UINT16_MAX else */
};

struct abi_manifest_vm {
    char name[ABI_MANIFEST_NAME_SIZE];
    uint32_t vcpu_count;
    uint32_t flags; /* enum abi_vm_flag */
    uint64_t memory_bytes;
    uint32_t weight;
    uint32_t pin; /* enum abi_pin */
    uint64_t quota_ns; /* 0: no cap */
    uint64_t period_ns;
    uint32_t guest_features;
    uint32_t kernel; /* index of a blob, or ABI_BLOB_NONE (simulator) */
    uint32_t initrd; /* likewise */
    uint32_t preset; /* enum cede_preset, from which policy[] starts; for reports */
    uint64_t affinity[ABI_MANIFEST_PCPU_MAX / 64];
    uint64_t policy[ABI_MANIFEST_POLICY_MAX]; /* by enum cede_policy_key; policy_count are used */
    char cmdline[512];                        /* kernel command line, workload words included */
    char workload[ABI_MANIFEST_NAME_SIZE];    /* "tlbstorm", ...; "" for none */
    char params[256];                         /* "threads=4 seconds=10": key=value words */
};

enum abi_blob_kind { ABI_BLOB_KERNEL, ABI_BLOB_INITRD, ABI_BLOB_KIND_COUNT };

struct abi_manifest_blob {
    uint64_t offset; /* from the bundle's start; 4096-aligned */
    uint64_t size;
    uint32_t crc32;
    uint32_t kind;
};

_Static_assert(sizeof(struct abi_manifest) % 8 == 0, "records behind the header are aligned");
_Static_assert(sizeof(struct abi_manifest_vm) % 8 == 0, "records are aligned");
_Static_assert(sizeof(struct abi_manifest_blob) == 24, "blob records are 24 bytes");

#endif
