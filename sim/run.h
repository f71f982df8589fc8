/*
 * run.h - the simulator's public face: a manifest in, a result out.
 *
 * No globals: any number of simulations may run at once, one per thread. The same manifest and
 * seed give the same result, bit for bit, whatever the compiler, thread or machine. Callbacks are
 * called from inside sim_run(), in its thread.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "abi/exit.h"
#include "abi/manifest.h"
#include "abi/trace.h"
#include "cede/core.h"
#include "cede/stats.h"
#include "sim/model.h"

enum sim_lost {
#define X(NAME, name, doc) SIM_LOST_##NAME,
#include "sim/lost.def"
#undef X
    SIM_LOST_COUNT
};

enum sim_status {
    SIM_OK,
    SIM_BAD_MANIFEST, /* malformed, or it asks for what the simulator hasn't: see error */
    SIM_BAD_MODEL,    /* no such machine model */
    SIM_BAD_WORKLOAD, /* no such workload, or a bad parameter of one */
    SIM_NO_MEMORY,
    SIM_VIOLATION, /* an oracle stopped the run: see violation */
    SIM_STOPPED,   /* progress() said so */
    SIM_STATUS_COUNT
};

/* What an operator does during the run. */
enum sim_command_kind {
    SIM_COMMAND_PAUSE,
    SIM_COMMAND_RESUME,
    SIM_COMMAND_POLICY, /* key and value: enum cede_policy_key */
    SIM_COMMAND_PRESET  /* value: enum cede_preset */
};

struct sim_command {
    uint64_t at_ns;
    uint32_t kind; /* enum sim_command_kind */
    uint32_t vm;   /* index */
    uint32_t key;
    uint64_t value;
};

/* All may be zero: then the manifest's values, no sinks, one interval a simulated second. */
struct sim_options {
    uint64_t seed;        /* 0: the manifest's */
    uint64_t duration_ns; /* 0: the manifest's; without either, until all VMs are done */
    uint64_t interval_ns; /* results are also given per interval of this length */
    uint64_t warmup_ns;   /* VMs' metrics, classes and counts start after this; vCPUs' don't */
    uint32_t trace_count; /* records in each pCPU's ring; 0: no trace, or 4096 with a trace sink */
    uint32_t stop_vm;     /* 1 + index of the VM whose end ends the run; 0: when all are done */
    uint32_t no_oracle;   /* 1: skip the checks (they cost a few percent) */
    const struct sim_command *command; /* by at_ns, not decreasing */
    uint32_t command_count;
    uint32_t fault;       /* enum sim_fault, to prove that the oracles see it; 0: none */
    void *context;        /* passed to the callbacks */
    /* Records of the core's trace, per pCPU in order; lost: overwritten before these. */
    void (*trace)(void *context, uint32_t pcpu, const struct abi_trace_record *records,
                  uint32_t count, uint64_t lost);
    /* Each event given to the core, and the digest of what it returned (abi/digest.h). */
    void (*event)(void *context, uint64_t number, const struct cede_event *event,
                  enum cede_status status, uint64_t digest);
    /* About every 10 ms of simulated time; false stops the run. end_ns 0: unknown. */
    bool (*progress)(void *context, uint64_t now_ns, uint64_t end_ns, uint64_t steps);
};

struct sim_vcpu_result {
    struct cede_vcpu_stats stats; /* the core's own account */
    uint64_t lost_ns[SIM_LOST_COUNT];
    uint64_t exits[ABI_EXIT_COUNT];
    uint64_t exit_ns[ABI_EXIT_COUNT];
    uint64_t exit_max_ns[ABI_EXIT_COUNT];
    uint64_t posted; /* interrupts that reached the guest without an exit */
};

struct sim_vm_result {
    char name[ABI_MANIFEST_NAME_SIZE];
    char workload[ABI_MANIFEST_NAME_SIZE];
    uint32_t vcpu_count;
    uint32_t first_vcpu; /* its vCPUs are first_vcpu.. in the core's numbering, and here */
    uint32_t done;       /* 1: its workload finished; its status: */
    int32_t status;
    uint64_t done_ns;
    uint32_t metric_count;
    struct sim_metric metric[SIM_METRIC_MAX];  /* over the whole run, less the warm-up */
    double *interval; /* interval_count rows of SIM_METRIC_MAX: the increase of COUNT metrics in
                         each interval; for others their value at its end */
    uint64_t lost_ns[SIM_LOST_COUNT]; /* sums over its vCPUs */
    uint64_t time_ns[CEDE_TIME_COUNT];
    uint64_t count[CEDE_COUNTER_COUNT];
    uint64_t exits[ABI_EXIT_COUNT];
    uint64_t exit_ns[ABI_EXIT_COUNT];
    uint64_t exit_max_ns[ABI_EXIT_COUNT];
    struct cede_histogram wake_latency;
};

struct sim_violation {
    char oracle[32]; /* "lost-wakeup", "idle-while-runnable", "fairness", "cap", "time", ... */
    char text[256];
    uint64_t now_ns;
    uint64_t event_number; /* the core event after which it was seen */
};

struct sim_result {
    enum sim_status status;
    char error[256]; /* a sentence, for every status but SIM_OK */
    char model[ABI_MANIFEST_NAME_SIZE];
    uint64_t seed;
    uint64_t simulated_ns;
    uint64_t interval_ns;
    uint32_t interval_count;
    uint32_t pcpu_count, vm_count, vcpu_count;
    uint64_t steps;       /* events of the simulator's queue */
    uint64_t core_events; /* given to the core */
    uint64_t digest;      /* of all decisions of the core, in order */
    uint64_t core_refusals; /* events the core refused: each is a defect of one of the two */
    struct sim_violation violation;
    struct sim_vm_result *vm;         /* vm_count */
    struct sim_vcpu_result *vcpu;     /* vcpu_count */
    struct cede_pcpu_stats *pcpu;     /* pcpu_count */
};

/*
 * Runs the scenario. The bytes are checked before use (see sim_manifest_check). On any status the
 * result is filled as far as known, and must be freed. O(events * log(pCPUs + vCPUs)).
 */
enum sim_status sim_run(const void *manifest, size_t size, const struct sim_options *options,
                        struct sim_result *result);
void sim_result_free(struct sim_result *result);

/* What sim_run() would allocate for it, in bytes, less what the guests' workloads need. 0: bad. */
uint64_t sim_memory_bytes(const void *manifest, size_t size);

/* NULL if the bytes are a good manifest for the simulator, else a sentence, also in `text`. */
const char *sim_manifest_check(const void *manifest, size_t size, char *text, size_t text_size);

/* Machine models ("qemu-tcg", "skylake-2s", ...): name and one line about it; NULL past the end. */
const char *sim_machine_name(uint32_t index);
const char *sim_machine_doc(uint32_t index);

/*
 * Gives a recorded log to a fresh core: true if each decision has the digest recorded with it;
 * else *first is the number of the first that differs. Events come through `next`, which returns
 * false at the end.
 */
struct sim_replay {
    struct cede_config config;
    void *context;
    bool (*next)(void *context, struct cede_event *event, uint64_t *digest);
};
bool sim_replay(const struct sim_replay *replay, uint64_t *first, uint64_t *count);

const char *sim_lost_name(uint32_t lost);
const char *sim_status_name(enum sim_status status);

/* Seeded faults: each breaks the shell in one way that one oracle must see. */
enum sim_fault {
    SIM_FAULT_NONE,
    SIM_FAULT_LOSE_KICK,      /* one kick of an idle pCPU never arrives */
    SIM_FAULT_LOSE_INTERRUPT, /* one interrupt of a blocked vCPU is never told to the core */
    SIM_FAULT_WRONG_RUN,      /* runs another vCPU of the same VM than the core said */
    SIM_FAULT_LOSE_IPI,       /* one IPI between vCPUs vanishes */
    SIM_FAULT_LEAK_TIME,      /* a microsecond of a vCPU's time is charged to nobody */
    SIM_FAULT_IGNORE_CAP,     /* the core isn't told of a VM's cap */
    SIM_FAULT_STARVE,         /* one VM's slice ends come late, twenty-fold */
    SIM_FAULT_COUNT
};

#endif
