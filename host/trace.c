/*
 * trace.c - reading and writing trace files; text. See trace.h. A file is untrusted: names are ended,
 * counts checked, ids only looked up.
 */
#include "host/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cede/effect.h"
#include "cede/trace.h"

#define RECORDS_MAX (UINT64_C(1) << 27)

bool host_trace_begin(FILE *file, const struct host_scenario *scenario, const char *world)
{
    struct abi_trace_file head = {.magic = ABI_TRACE_FILE_MAGIC,
                                  .pcpu_count = scenario->head.pcpu_count,
                                  .vm_count = scenario->head.vm_count};
    snprintf(head.world, sizeof head.world, "%s", world);
    for (uint32_t i = 0; i < head.vm_count; i++) {
        head.vcpu_count += scenario->vm[i].vcpu_count;
    }
    bool fine = fwrite(&head, sizeof head, 1, file) == 1;
    uint32_t first = 0;
    for (uint32_t i = 0; i < head.vm_count && fine; i++) {
        struct abi_trace_vm vm = {.first_vcpu = first, .vcpu_count = scenario->vm[i].vcpu_count};
        memcpy(vm.name, scenario->vm[i].name, sizeof vm.name);
        first += vm.vcpu_count;
        fine = fwrite(&vm, sizeof vm, 1, file) == 1;
    }
    return fine;
}

bool host_trace_chunk(FILE *file, uint32_t pcpu, const struct abi_trace_record *record,
                      uint32_t count, uint64_t lost)
{
    struct abi_trace_file_chunk chunk = {pcpu, count, lost};
    return fwrite(&chunk, sizeof chunk, 1, file) == 1 &&
           fwrite(record, sizeof *record, count, file) == count;
}

static const char *read_names(struct host_trace *trace, FILE *file)
{
    uint64_t vcpus = 0;
    if (fread(&trace->head, sizeof trace->head, 1, file) != 1 ||
        trace->head.magic != ABI_TRACE_FILE_MAGIC) {
        return "not a trace";
    }
    if (trace->head.vm_count > ABI_MANIFEST_VM_MAX ||
        trace->head.pcpu_count > ABI_MANIFEST_PCPU_MAX) {
        return "its counts are out of range";
    }
    trace->vm = calloc(trace->head.vm_count + 1, sizeof *trace->vm);
    if (trace->vm == NULL ||
        fread(trace->vm, sizeof *trace->vm, trace->head.vm_count, file) != trace->head.vm_count) {
        return "cut short";
    }
    for (uint32_t i = 0; i < trace->head.vm_count; i++) {
        trace->vm[i].name[sizeof trace->vm[i].name - 1] = '\0';
        if (trace->vm[i].first_vcpu != vcpus) {
            return "its VMs' vCPUs don't follow each other";
        }
        vcpus += trace->vm[i].vcpu_count;
    }
    return vcpus == trace->head.vcpu_count ? NULL : "its counts don't fit";
}

static const char *read_chunks(struct host_trace *trace, FILE *file)
{
    struct abi_trace_file_chunk chunk;
    size_t size = 0;
    while (fread(&chunk, sizeof chunk, 1, file) == 1) {
        if (chunk.count > RECORDS_MAX || trace->count + chunk.count > RECORDS_MAX) {
            return "too long, or damaged";
        }
        if (trace->count + chunk.count > size) {
            size = 2 * (trace->count + chunk.count);
            void *record = realloc(trace->record, size * sizeof *trace->record);
            if (record == NULL) {
                return "no memory";
            }
            trace->record = record;
        }
        if (fread(trace->record + trace->count, sizeof *trace->record, chunk.count, file) !=
            chunk.count) {
            return "cut short";
        }
        trace->count += chunk.count;
        trace->lost += chunk.lost;
    }
    return NULL;
}

/* Merge sort by time, stable. `scratch` as large as the records. */
static void sort_records(struct abi_trace_record *record, struct abi_trace_record *scratch,
                         size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = at + width < count ? at + width : count;
            size_t end = at + 2 * width < count ? at + 2 * width : count;
            size_t a = at, b = middle;
            for (size_t to = at; to < end; to++) {
                bool left = a < middle &&
                            (b >= end || record[a].now_ns <= record[b].now_ns);
                scratch[to] = record[left ? a++ : b++];
            }
        }
        memcpy(record, scratch, count * sizeof *record);
    }
}

bool host_trace_read(struct host_trace *trace, const char *path, char *error)
{
    memset(trace, 0, sizeof *trace);
    FILE *file = fopen(path, "rb");
    const char *why = file == NULL ? strerror(errno) : read_names(trace, file);
    if (why == NULL) {
        why = read_chunks(trace, file);
    }
    if (file != NULL) {
        fclose(file);
    }
    struct abi_trace_record *scratch = malloc((trace->count + 1) * sizeof *scratch);
    if (why == NULL && scratch != NULL) {
        sort_records(trace->record, scratch, trace->count);
    } else if (why == NULL) {
        why = "no memory";
    }
    free(scratch);
    if (why != NULL) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", path, why);
        host_trace_free(trace);
    }
    return why == NULL;
}

void host_trace_free(struct host_trace *trace)
{
    free(trace->vm);
    free(trace->record);
    trace->vm = NULL;
    trace->record = NULL;
}

const char *host_trace_vcpu(const struct host_trace *trace, uint32_t vcpu, char *text)
{
    snprintf(text, 48, "-");
    for (uint32_t i = 0; i < trace->head.vm_count; i++) {
        const struct abi_trace_vm *vm = &trace->vm[i];
        if (vcpu >= vm->first_vcpu && vcpu - vm->first_vcpu < vm->vcpu_count) {
            snprintf(text, 48, "%.32s/%u", vm->name, vcpu - vm->first_vcpu);
        }
    }
    return text;
}

bool host_trace_find_vcpu(const struct host_trace *trace, const char *name, uint32_t *vcpu)
{
    const char *slash = strrchr(name, '/');
    char *end;
    if (slash == NULL) {
        return false;
    }
    unsigned long index = strtoul(slash + 1, &end, 10);
    for (uint32_t i = 0; i < trace->head.vm_count && *end == '\0' && end != slash + 1; i++) {
        const struct abi_trace_vm *vm = &trace->vm[i];
        if (strlen(vm->name) == (size_t)(slash - name) &&
            strncmp(vm->name, name, (size_t)(slash - name)) == 0 && index < vm->vcpu_count) {
            *vcpu = vm->first_vcpu + (uint32_t)index;
            return true;
        }
    }
    return false;
}

static void text_line(FILE *file, const struct host_trace *trace,
                      const struct abi_trace_record *r)
{
    char who[48], other[48];
    const char *kind = cede_trace_name(r->kind), *reason = cede_reason_name(r->reason);
    fprintf(file, "%12.6f ", (double)r->now_ns / 1e6);
    if (r->pcpu == CEDE_ID_NONE) {
        fprintf(file, "pCPU   - ");
    } else {
        fprintf(file, "pCPU %3u ", r->pcpu);
    }
    fprintf(file, "%-10s %-14s", kind != NULL ? kind : "?",
            host_trace_vcpu(trace, r->vcpu, who));
    if (r->other != CEDE_ID_NONE && r->kind != CEDE_TRACE_POLICY && r->kind != CEDE_TRACE_REFILL) {
        fprintf(file, " other %s", host_trace_vcpu(trace, r->other, other));
    }
    if (r->reason != CEDE_REASON_NONE) {
        fprintf(file, " (%s)", reason != NULL ? reason : "?");
    }
    if (r->arg == CEDE_NEVER_NS) {
        fprintf(file, " arg never");
    } else if (r->arg != 0) {
        fprintf(file, " arg %" PRIu64, r->arg);
    }
    fputc('\n', file);
}

void host_trace_text(FILE *file, const struct host_trace *trace, uint64_t from_ns, uint64_t to_ns)
{
    fprintf(file, "# ms, %u pCPUs, %zu records, %" PRIu64 " lost\n", trace->head.pcpu_count,
            trace->count, trace->lost);
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->record[i].now_ns >= from_ns && trace->record[i].now_ns < to_ns) {
            text_line(file, trace, &trace->record[i]);
        }
    }
}
