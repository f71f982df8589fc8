# The command itself. Its sources' lists of other folders are read when all fragments are.

CLI_SRC := abi/manifest_check.c cli/main.c cli/cmd_check.c cli/cmd_compare.c cli/cmd_ctl.c cli/cmd_replay.c cli/cmd_report.c cli/cmd_run.c cli/cmd_sim.c cli/cmd_tables.c cli/cmd_top.c cli/cmd_trace.c cli/compare.c cli/simulate.c cli/tables.c
CEDE := $(B)/cede
ALL += $(CEDE)

# Folders that come later in the alphabet add to HOST_SRC and SIM_SRC.
.SECONDEXPANSION:
$(CEDE): $$(call objects,host,$$(CLI_SRC) $$(HOST_SRC) $$(SIM_SRC)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^ -lyaml -ljansson -lpthread -lm

.PHONY: tables
tables: $(CEDE) ## the published tables beside what the simulator gets; build/tables.json
	$(CEDE) tables --json $(B)/tables.json

TEST_SCRIPTS += tests/cli/command.sh tests/cli/tables.sh tests/conform/replay.sh
TEST_NEEDS   += $(CEDE) $(B)/hv/cede-hv.bin $(B)/guests/vmlinuz $(B)/guests/initramfs.cpio
