/*
 * record.c - the log of events and decisions, for replay on a workstation; and what a panic shows.
 *
 * The log is kept if the manifest asks for it: events from the first on, until the memory for it
 * is full (a replay needs no gap, and a prefix is as good a test). Written under the core's lock,
 * read when all VMs have ended.
 */
#include "cede/digest.h"
#include "cede/trace.h"
#include "hv/console/console.h"
#include "hv/lib/string.h"
#include "hv/log.h"
#include "hv/mm/pages.h"
#include "hv/shell/shell.h"
#include "hv/shell/state.h"

#define LOG_EVENTS 200000u

static struct cede_event *events;
static uint64_t *digests;
static uint64_t count;

void hv_record_init(void)
{
    if ((shell.manifest->flags & ABI_MANIFEST_EVENT_LOG) != 0) {
        events = hv_pages_alloc(LOG_EVENTS * sizeof(events[0]), 4096, "the event log");
        digests = hv_pages_alloc(LOG_EVENTS * sizeof(digests[0]), 4096, "the decision log");
    }
}

void hv_record_event(const struct cede_event *event, enum cede_status status,
                     const struct cede_effects *effects)
{
    if (events != NULL && count < LOG_EVENTS) {
        events[count] = *event;
        digests[count] = cede_digest_decision(status, effects);
        count++;
    }
}

static void send_rows(uint8_t kind, const void *rows, uint32_t size)
{
    enum { BATCH = 48 };
    uint8_t buffer[8 + BATCH * sizeof(struct cede_event)];
    for (uint64_t first = 0; first < count; first += BATCH) {
        uint64_t rest = count - first < BATCH ? count - first : BATCH;
        memcpy(buffer, &first, 8);
        memcpy(buffer + 8, (const uint8_t *)rows + first * size, rest * size);
        hv_channel_send(kind, UINT16_MAX, buffer, (uint32_t)(8 + rest * size));
    }
}

void hv_record_send(void)
{
    if (events != NULL) {
        send_rows(ABI_FRAME_EVENTS, events, sizeof(events[0]));
        send_rows(ABI_FRAME_DECISIONS, digests, sizeof(digests[0]));
    }
}

void hv_trace_send(uint32_t pcpu)
{
    enum { BATCH = 64 };
    static struct {
        struct abi_trace_chunk chunk;
        struct abi_trace_record record[BATCH];
    } out; /* boot CPU only */
    for (;;) {
        out.chunk.pcpu = pcpu;
        out.chunk.lost = 0;
        shell_lock();
        out.chunk.count = cede_trace_read(shell.core, (struct cede_pcpu_id){pcpu}, out.record,
                                          BATCH, &out.chunk.lost);
        shell_unlock();
        if (out.chunk.count == 0) {
            return;
        }
        hv_channel_send(ABI_FRAME_TRACE, UINT16_MAX, &out,
                        (uint32_t)(sizeof(out.chunk) + out.chunk.count * sizeof(out.record[0])));
    }
}

/* The last decisions on every pCPU, as text, without the lock: nothing else runs any more. */
void hv_panic_dump(void)
{
    if (shell.core == NULL) {
        return;
    }
    for (uint32_t i = 0; i < hv_pcpu_count; i++) {
        static struct abi_trace_record record[16];
        uint64_t lost = 0;
        uint32_t got = 0;
        uint32_t more;
        while ((more = cede_trace_read(shell.core, (struct cede_pcpu_id){i}, record, 16, &lost)) ==
               16) {
            got += more;
        }
        hv_panic_line("pCPU %u: turn %u, vCPU %d, %u trace records; the last:", i,
                      hv_pcpu(i)->turn,
                      hv_pcpu(i)->current != NULL ? (int)hv_pcpu(i)->current->id.value : -1,
                      got + more);
        for (uint32_t r = 0; r < more; r++) {
            hv_panic_line("  %lu %s pcpu %d vcpu %d other %d arg %lx %s", record[r].now_ns,
                          cede_trace_name(record[r].kind), (int)record[r].pcpu,
                          (int)record[r].vcpu, (int)record[r].other, record[r].arg,
                          cede_reason_name(record[r].reason));
        }
    }
}
