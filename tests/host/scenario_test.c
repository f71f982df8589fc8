/*
 * scenario_test.c - the scenario language: what it compiles to, and how it refuses.
 */
#include <stdlib.h>
#include <string.h>

#include "cede/event.h"
#include "cede/policy.h"
#include "host/scenario.h"
#include "tests/tap.h"

static char error[HOST_ERROR_SIZE];

static bool load(struct host_scenario *scenario, const char *text, const char *set)
{
    return host_scenario_parse(scenario, "f.yaml", text, strlen(text), &set, set != NULL ? 1 : 0,
                               error);
}

/* The text is refused with a message that holds `expected`. */
static void refuses(const char *text, const char *set, const char *expected)
{
    struct host_scenario scenario;
    bool loaded = load(&scenario, text, set);
    if (!TAP(!loaded && strstr(error, expected) != NULL, expected)) {
        printf("# got: %s\n", loaded ? "no error" : error);
    }
    if (loaded) {
        host_scenario_free(&scenario);
    }
}

#define HOST "host: {pcpus: 4}\n"
#define VMS "vms:\n  - name: web\n    count: 2\n    vcpus: 4\n    workload: {name: tlbstorm, threads: 4, seconds: 8}\n"

static void test_compiles(void)
{
    struct host_scenario s;
    TAP(load(&s, "name: demo\n" VMS "policy: kvm-2019\n" HOST, NULL), "a scenario, keys in any order");
    TAP(s.head.vm_count == 2 && strcmp(s.vm[1].name, "web-2") == 0, "count makes numbered VMs");
    TAP(s.head.pcpu_count == 4 && s.head.cores_per_llc == 4, "topology follows from pcpus");
    TAP(s.vm[0].policy[CEDE_POLICY_YIELD] == CEDE_YIELD_HINT && s.vm[0].preset == CEDE_PRESET_KVM_2019,
        "a preset");
    TAP(strcmp(s.vm[0].params, "threads=4 seconds=8") == 0, "workload parameters are words");
    host_scenario_free(&s);
    TAP(load(&s, HOST VMS, "vms.web.policy.yield=off") &&
            s.vm[1].policy[CEDE_POLICY_YIELD] == CEDE_YIELD_OFF &&
            s.vm[1].policy[CEDE_POLICY_YIELD_CREDIT] == 1,
        "--set of one key keeps the others");
    host_scenario_free(&s);
    TAP(load(&s, HOST VMS, "vms.count=3") && s.head.vm_count == 3, "--set of all VMs");
    host_scenario_free(&s);
    TAP(load(&s, HOST VMS, "policy=off") && s.vm[0].preset == CEDE_PRESET_OFF, "--set policy");
    host_scenario_free(&s);
    TAP(load(&s,
             "host: {sockets: 2, cores: 4, threads: 2, housekeeping: 0-1, dedicated: {rt: 8-11}}\n"
             "vms: [{name: rt, vcpus: 4, pcpus: 8-11, pin: each, guest_features: [steal-time, pv-eoi],"
             " cap: {quota: 20ms}, memory: 1.5G}]\n",
             NULL) &&
            s.head.pcpu_count == 16 && s.head.role[0] == CEDE_ROLE_HOUSEKEEPING &&
            s.head.role[8] == CEDE_ROLE_DEDICATED && s.head.role_vm[8] == 0 &&
            (s.vm[0].flags & ABI_VM_DEDICATED) != 0 && s.vm[0].affinity[0] == 0xf00 &&
            s.vm[0].guest_features == (1u << 5 | 1u << 6) && s.vm[0].quota_ns == 20000000 &&
            s.vm[0].period_ns == 100000000 && s.vm[0].memory_bytes == UINT64_C(3) << 29,
        "topology, roles, pinning, features, cap, sizes");
    size_t size = 0;
    void *manifest = host_scenario_manifest(&s, &size);
    TAP(manifest != NULL && size == sizeof(struct abi_manifest) + sizeof(struct abi_manifest_vm),
        "manifest bytes");
    free(manifest);
    host_scenario_free(&s);
}

static void test_refuses(void)
{
    refuses(HOST VMS "    vpcus: 4\n", NULL, "f.yaml:7:12: no key \"vpcus\" in a VM; did you mean \"vcpus\"?");
    refuses(HOST "policy: kvm-2018\n" VMS, NULL, "did you mean \"kvm-2017\"?");
    refuses(HOST "policy: {yeild: off}\n" VMS, NULL, "no policy key \"yeild\"; did you mean \"yield\"?");
    refuses(HOST "vms: [{name: a, vcpus: 0}]\n", NULL, "found \"0\", expected a number from 1");
    refuses(HOST "vms: [{name: a, memory: 3X}]\n", NULL, "expected a size such as");
    refuses(HOST "duration: 10\n" VMS, NULL, "expected a duration such as");
    refuses(HOST "vms: [{name: a, pcpus: 2-4}]\n", NULL, "expected pCPUs from 0 to 3");
    refuses(HOST "vms: [{name: a}, {name: a}]\n", NULL, "two VMs are named \"a\"");
    refuses("host: {pcpus: 6, cores: 4}\n" VMS, NULL, "aren't 1 sockets");
    refuses(HOST "vms: []\n", NULL, "at least one VM");
    refuses(VMS, NULL, "host: is missing");
    refuses("host: {pcpus: 4, dedicated: {db: 0}}\n" VMS, NULL, "no VM \"db\"");
    refuses("host: [\n", NULL, "f.yaml:2:1:");
    refuses("host: {pcpus: 4, pcpus: 5}\n" VMS, NULL, "stands here twice");
    refuses("host: &a {pcpus: 4}\nvms: *a\n", NULL, "aliases");
    refuses("- 1\n", NULL, "expected keys and values");
    refuses("", NULL, "expected keys and values");
    refuses(HOST VMS, "vms.web.vcpus", "expected path=value");
    refuses(HOST VMS, "vms.web.vcpu=4", "--set: no key \"vcpu\"");
    refuses(HOST "vms: [{name: a, workload: {threads: 4}}]\n", NULL, "workload: name: is missing");
    refuses(HOST "vms: [{name: a, policy: {slice_ns: 5}}]\n", NULL, "expected a number from 100000");
    refuses(HOST "vms: [{name: a, guest_features: [steal]}]\n", NULL, "no guest feature \"steal\"");
}

int main(void)
{
    test_compiles();
    test_refuses();
    return tap_done();
}
