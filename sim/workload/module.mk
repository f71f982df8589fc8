# Workloads: parameters in, programs for the modelled guest's tasks out.
SIM_SRC += $(wildcard sim/workload/*.c)

SIM_WORKLOAD_TEST := $(B)/tests/sim/workload_test
TEST_PROGRAMS += $(SIM_WORKLOAD_TEST)
$(SIM_WORKLOAD_TEST): $(call objects,asan,tests/sim/workload_test.c host/node.c host/scenario.c \
                        host/value.c $(SIM_ENGINE) $(wildcard sim/guest/*.c sim/workload/*.c)) \
                      $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^ -lyaml

SIM_GUEST_DIGESTS := tests/sim/guest_digests.c host/node.c host/scenario.c host/value.c $(SIM_SRC)
TEST_SCRIPTS += tests/sim/guest_compilers.sh
TEST_NEEDS += $(B)/tests/sim/guest-digests-gcc $(B)/tests/sim/guest-digests-clang

$(B)/tests/sim/guest-digests-gcc: $(call objects,host,$(SIM_GUEST_DIGESTS)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^ -lyaml

$(B)/tests/sim/guest-digests-clang: $(call objects,clang0,$(SIM_GUEST_DIGESTS)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CLANG) -no-pie -o $@ $^ -lyaml
