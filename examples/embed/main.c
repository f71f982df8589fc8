/*
 * main.c - starts the port, waits for its end, and checks what it left.
 */
#include "cede/stats.h"
#include "examples/embed/embed.h"
#include "tests/tap.h"

static void start(void)
{
    static _Alignas(CEDE_ALIGN) unsigned char memory[1 << 20];
    struct cede_config config = {.pcpu_count = PCPUS, .vm_count = 1, .vcpu_count = VCPUS,
                                 .vm_vcpu_count = VCPUS, .seed = 1};
    size_t size = cede_size(&config);
    TAP(size > 0 && size <= sizeof(memory), "the memory suffices");
    TAP(cede_init(memory, size, &config, &port.core) == CEDE_OK, "the core starts");
    for (uint32_t i = 0; i < PCPUS; i++) {
        struct pcpu *pcpu = &port.pcpu[i];
        pcpu->id.value = i;
        pcpu->turn.kind = CEDE_EFFECT_IDLE; /* a new pCPU is idle until a kick */
        pthread_cond_init(&pcpu->woken, NULL);
        struct cede_event event = embed_event(CEDE_EVENT_PCPU_ADD, pcpu, CEDE_VCPU_NONE);
        event.pcpu_add.role_vm = CEDE_VM_NONE;
        event.pcpu_add.core = i;
        embed_send(NULL, event);
    }
    struct cede_event vm = embed_event(CEDE_EVENT_VM_ADD, NULL, CEDE_VCPU_NONE);
    vm.vm.value = 0;
    vm.vm_add.weight = 1024;
    vm.vm_add.preset = CEDE_PRESET_CEDE;
    embed_send(NULL, vm);
    atomic_store(&port.pending[0], true); /* the first ball */
    for (uint32_t i = 0; i < VCPUS; i++) {
        struct cede_event add = embed_event(CEDE_EVENT_VCPU_ADD, NULL, (struct cede_vcpu_id){i});
        add.vm.value = 0;
        add.vcpu_add.index = i;
        embed_send(NULL, add);
        embed_send(NULL, embed_event(CEDE_EVENT_VCPU_START, NULL, (struct cede_vcpu_id){i}));
    }
}

static void check_vcpu(uint32_t vcpu, uint64_t now)
{
    struct cede_vcpu_stats stats = {0};
    cede_vcpu_stats(port.core, now, (struct cede_vcpu_id){vcpu}, &stats);
    uint64_t sum_ns = 0;
    printf("# vCPU %u:", vcpu);
    for (uint32_t i = 0; i < CEDE_TIME_COUNT; i++) {
        sum_ns += stats.time_ns[i];
        printf(" %s %llu", cede_time_class_name(i), (unsigned long long)stats.time_ns[i]);
    }
    printf(" ns\n");
    TAP(stats.added_ns > 0 && sum_ns == now - stats.added_ns, "its classes sum to its lifetime");
    TAP(port.rounds[vcpu] == ROUNDS + (vcpu == 0), "it finished its rounds");
}

int main(void)
{
    pthread_t thread[PCPUS];
    start();
    for (int i = 0; i < PCPUS; i++) {
        pthread_create(&thread[i], NULL, embed_pcpu_main, &port.pcpu[i]);
    }
    for (int i = 0; i < PCPUS; i++) {
        pthread_join(thread[i], NULL);
    }
    uint64_t now = embed_now_ns();
    for (uint32_t i = 0; i < VCPUS; i++) {
        check_vcpu(i, now);
    }
    TAP(atomic_load(&port.twice) == 0, "no vCPU ran on two pCPUs at once");
    TAP(cede_check_all(port.core) == NULL, "every invariant holds");
    return tap_done();
}
