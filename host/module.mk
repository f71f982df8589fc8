# The command's library: scenarios to manifests and bundles, the channel, outcomes.

HOST_SRC := host/bundle.c host/channel.c host/control.c host/html.c host/log.c host/names.c host/node.c host/observe.c host/outcome.c \
            host/qemu.c host/report.c host/report_timeline.c host/run.c host/scenario.c host/statistics.c host/trace.c \
            host/trace_perfetto.c host/trace_why.c host/value.c

HOST_SCENARIO_TEST := $(B)/tests/host/scenario_test
TEST_PROGRAMS += $(HOST_SCENARIO_TEST)
$(HOST_SCENARIO_TEST): $(call objects,asan,tests/host/scenario_test.c host/node.c host/scenario.c host/value.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lyaml

HOST_STATISTICS_TEST := $(B)/tests/host/statistics_test
TEST_PROGRAMS += $(HOST_STATISTICS_TEST)
$(HOST_STATISTICS_TEST): $(call objects,asan,tests/host/statistics_test.c host/channel.c host/statistics.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lm

HOST_TRACE_TEST := $(B)/tests/host/trace_test
TEST_PROGRAMS += $(HOST_TRACE_TEST)
$(HOST_TRACE_TEST): $(call objects,asan,tests/host/trace_test.c host/trace.c host/trace_perfetto.c \
    host/trace_why.c host/node.c host/scenario.c host/value.c) $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lyaml -ljansson
