/*
 * bundle.h - a scenario's bundle for the hypervisor: manifest records and blobs in one file.
 */
#ifndef HOST_BUNDLE_H
#define HOST_BUNDLE_H

#include "host/scenario.h"

/*
 * Writes the bundle to `path`. VMs without kernel: or initrd: get the default ones (NULL: none). The
 * same file is stored once. Each VM's command line becomes "console=ttyS0", the scenario's cmdline,
 * and its workload's words as cede.KEY=VALUE. False: error names the file that can't be read.
 */
bool host_bundle_write(const struct host_scenario *scenario, const char *path,
                       const char *default_kernel, const char *default_initrd, char *error);

#endif
