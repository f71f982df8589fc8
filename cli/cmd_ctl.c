/*
 * cmd_ctl.c - `cede ctl SOCKET COMMAND...`: commands a hypervisor that `cede run --control` started.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "host/control.h"
#include "host/node.h"

int cmd_ctl(int count, char **argument)
{
    char line[256] = "", answer[512], error[HOST_ERROR_SIZE];
    if (count < 3 || strcmp(argument[1], "--help") == 0) {
        fputs("usage: cede ctl SOCKET COMMAND\n\n"
              "SOCKET is that of `cede run --control SOCKET`. Commands:\n"
              "  list                      VMs and their states\n"
              "  set VM PRESET             another policy: off, kvm-2019, cede, ...\n"
              "  set VM KEY VALUE          one key of it: set web yield pull\n"
              "  pause VM, resume VM, reset VM, stop VM\n", count < 3 ? stderr : stdout);
        return count < 3 ? CLI_BAD_INPUT : CLI_DONE;
    }
    for (int i = 2; i < count; i++) {
        size_t used = strlen(line);
        int more = snprintf(line + used, sizeof line - used, "%s%s", i > 2 ? " " : "", argument[i]);
        if (more < 0 || used + (size_t)more >= sizeof line) {
            fprintf(stderr, "cede ctl: the command is too long\n");
            return CLI_BAD_INPUT;
        }
    }
    if (!host_control_ask(argument[1], line, answer, sizeof answer, error)) {
        fprintf(stderr, "cede ctl: %s\n", error);
        return CLI_BAD_INPUT;
    }
    fputs(answer, stdout);
    return strncmp(answer, "done", 4) == 0 ? CLI_DONE : CLI_FAILED;
}
