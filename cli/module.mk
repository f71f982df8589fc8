# The command itself.

CLI_SRC := cli/main.c cli/cmd_sim.c cli/cmd_tables.c cli/tables.c
CEDE := $(B)/cede
# Folders that come later in the alphabet add to HOST_SRC and SIM_SRC.
.SECONDEXPANSION:
$(CEDE): $$(call objects,host,$$(CLI_SRC) $$(HOST_SRC) $$(SIM_SRC)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^ -lyaml -ljansson -lpthread -lm

ifneq ($(wildcard core/module.mk),)
ifneq ($(wildcard sim/workload/module.mk),)
ALL += $(CEDE)
endif
endif

.PHONY: tables
tables: $(CEDE) ## the published tables beside what the simulator gets; build/tables.json
	$(CEDE) tables --json $(B)/tables.json
