/*
 * cmd_check.c - `cede check FILE`: says whether a scenario or a bundle is sound, and what is in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/manifest_check.h"
#include "cede/policy.h"
#include "cli/cli.h"
#include "host/node.h"
#include "host/scenario.h"

static void print(const char *path, const struct abi_manifest *head,
                  const struct abi_manifest_vm *vm)
{
    printf("%s: %s, %u pCPUs, %u VMs\n", path, head->name, head->pcpu_count, head->vm_count);
    for (uint32_t i = 0; i < head->vm_count; i++) {
        printf("  %-20s %3u vCPUs %6llu MiB, weight %u, policy %s, %s\n", vm[i].name,
               vm[i].vcpu_count, (unsigned long long)(vm[i].memory_bytes >> 20), vm[i].weight,
               cede_preset_name((enum cede_preset)vm[i].preset),
               vm[i].workload[0] != '\0' ? vm[i].workload : "no workload");
    }
}

static int check_scenario(const char *path)
{
    struct host_scenario scenario;
    char error[HOST_ERROR_SIZE];
    if (!host_scenario_load(&scenario, path, NULL, 0, error)) {
        fprintf(stderr, "cede check: %s\n", error);
        return CLI_BAD_INPUT;
    }
    print(path, &scenario.head, scenario.vm);
    host_scenario_free(&scenario);
    return CLI_DONE;
}

static int check_bundle(const char *path, FILE *file)
{
    int status = CLI_BAD_INPUT;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint64_t *bytes = size > 0 ? malloc((size_t)size + 8) : NULL;
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "cede check: %s: can't be read\n", path);
    } else {
        const char *why = abi_manifest_check(bytes, (size_t)size, CEDE_POLICY_COUNT);
        if (why != NULL) {
            fprintf(stderr, "cede check: %s: %s\n", path, why);
        } else {
            const struct abi_manifest *head = (const void *)bytes;
            print(path, head, abi_manifest_vms(head));
            status = CLI_DONE;
        }
    }
    free(bytes);
    return status;
}

int cmd_check(int count, char **argument)
{
    uint64_t magic = 0;
    if (count != 2 || strcmp(argument[1], "--help") == 0) {
        fputs("usage: cede check FILE\n\n"
              "FILE is a scenario or a bundle. Exit status 0: sound; 2: not, and why.\n", stderr);
        return count == 2 ? CLI_DONE : CLI_BAD_INPUT;
    }
    FILE *file = fopen(argument[1], "rb");
    if (file == NULL) {
        fprintf(stderr, "cede check: %s: no such file, or no permission\n", argument[1]);
        return CLI_BAD_INPUT;
    }
    bool is_bundle = fread(&magic, sizeof magic, 1, file) == 1 && magic == ABI_MANIFEST_MAGIC;
    int status = is_bundle ? check_bundle(argument[1], file) : check_scenario(argument[1]);
    fclose(file);
    return status;
}
