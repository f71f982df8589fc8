# The command's library: scenarios to manifests.

HOST_SRC := host/node.c host/scenario.c host/value.c

HOST_SCENARIO_TEST := $(B)/tests/host/scenario_test
TEST_PROGRAMS += $(HOST_SCENARIO_TEST)
$(HOST_SCENARIO_TEST): $(call objects,asan,tests/host/scenario_test.c $(HOST_SRC))
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lyaml
