# The simulator: engine, machine models, shell, oracles; and what sim/guest and sim/workload add.

SIM_ENGINE := sim/engine/account.c sim/engine/build.c sim/engine/guest_calls.c \
              sim/engine/manifest.c sim/engine/pcpu.c sim/engine/queue.c sim/engine/random.c \
              sim/engine/replay.c sim/engine/result.c sim/engine/run.c sim/engine/step.c \
              sim/arch/arch.c sim/arch/arm.c sim/arch/emulator.c sim/arch/other.c sim/arch/x86.c \
              sim/oracle/fairness.c sim/oracle/oracle.c sim/shell/effect.c sim/shell/event.c sim/shell/interrupt.c \
              sim/shell/panic.c sim/shell/start.c
SIM_SRC := $(SIM_ENGINE)
-include sim/guest/module.mk sim/workload/module.mk

# For programs that run scenarios; those that bring their own guests link SIM_ENGINE only.
SIM_LIB := $(B)/host/libsim.a
$(SIM_LIB): $(call objects,host,$(SIM_SRC))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcsD $@ $^

SIM_QUEUE_TEST := $(B)/tests/sim/queue_test
TEST_PROGRAMS += $(SIM_QUEUE_TEST)
$(SIM_QUEUE_TEST): $(call objects,host,tests/sim/queue_test.c sim/engine/queue.c sim/engine/random.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^

SIM_FUZZ := $(B)/tests/sim/fuzz_manifest
TEST_SCRIPTS += tests/sim/fuzz.sh
TEST_NEEDS += $(SIM_FUZZ)
$(SIM_FUZZ): tests/sim/fuzz_manifest.c sim/engine/manifest.c abi/manifest.h
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(HOST) -O1 -no-pie -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c,$^)


# Programs with scripted guests: the machine's own tests, the compilers' test, the growth bench.
SIM_SCRIPTED := $(SIM_ENGINE) tests/sim/script_guest.c
SIM_MACHINE_TEST := $(B)/tests/sim/machine_test
SIM_DIGESTS := $(B)/tests/sim/digests-gcc $(B)/tests/sim/digests-clang
SIM_GROWTH := $(B)/bench/sim/growth

CC_clang0 := $(CLANG)
CFLAGS_clang0 = $(HOST) -O0
$(eval $(call profile_rules,clang0))

TEST_PROGRAMS += $(SIM_MACHINE_TEST)
TEST_SCRIPTS += tests/sim/compilers.sh
TEST_NEEDS += $(SIM_DIGESTS)

$(SIM_MACHINE_TEST): $(call objects,asan,tests/sim/machine_test.c $(SIM_SCRIPTED)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -fsanitize=address,undefined -o $@ $^

$(B)/tests/sim/digests-gcc: $(call objects,host,tests/sim/digests.c $(SIM_SCRIPTED)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^

$(B)/tests/sim/digests-clang: $(call objects,clang0,tests/sim/digests.c $(SIM_SCRIPTED)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CLANG) -no-pie -o $@ $^

$(SIM_GROWTH): $(call objects,host,bench/sim/growth.c $(SIM_SCRIPTED)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^

.PHONY: bench-sim
bench-sim: $(SIM_GROWTH) ## simulator speed and its growth from 8 to 4096 vCPUs
	$(Q)$(SIM_GROWTH) $(B)/bench-sim.json


# Each situation's symptom and its cure, with the modelled guests.
SIM_SITUATIONS := $(B)/tests/sim/situations_test
TEST_PROGRAMS += $(SIM_SITUATIONS)
$(SIM_SITUATIONS): $(call objects,host,tests/sim/situations_test.c host/node.c host/scenario.c host/value.c $(SIM_SRC)) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^ -lyaml
