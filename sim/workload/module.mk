# Workloads: parameters in, programs for the modelled guest's tasks out.
SIM_SRC += $(wildcard sim/workload/*.c)

SIM_WORKLOAD_TEST := $(B)/tests/sim/workload_test
TEST_PROGRAMS += $(SIM_WORKLOAD_TEST)
$(SIM_WORKLOAD_TEST): $(call objects,asan,tests/sim/workload_test.c host/node.c host/scenario.c \
                        host/value.c $(SIM_ENGINE) $(wildcard sim/guest/*.c sim/workload/*.c)) \
                      $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lyaml
