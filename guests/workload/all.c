/*
 * all.c - the workload programs as one, which does what the name says by which it is called: eight
 * static programs in the image would be eight times the C library.
 *
 * Each program's main() is renamed to <name>_main when it's linked (module.mk).
 */
#include <stdio.h>
#include <string.h>

int cpu_main(int argc, char **argv);
int filecopy_main(int argc, char **argv);
int hackbench_main(int argc, char **argv);
int lockstorm_main(int argc, char **argv);
int pingpong_main(int argc, char **argv);
int stress_ng_main(int argc, char **argv);
int timerlat_main(int argc, char **argv);
int tlbstorm_main(int argc, char **argv);

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} programs[] = {
    {"cpu", cpu_main},
    {"filecopy", filecopy_main},
    {"hackbench", hackbench_main},
    {"lockstorm", lockstorm_main},
    {"pingpong", pingpong_main},
    {"stress-ng", stress_ng_main},
    {"timerlat", timerlat_main},
    {"tlbstorm", tlbstorm_main},
};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (strcmp(programs[i].name, name) == 0) {
            return programs[i].main(argc, argv);
        }
    }
    fprintf(stderr, "%s: call me by a workload's name:", name);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        fprintf(stderr, " %s", programs[i].name);
    }
    fputc('\n', stderr);
    return 2;
}
