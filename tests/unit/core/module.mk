# Unit tests of the core: one program per file here, all on bench.c, under the sanitizers.

CORE_TEST_DIR := tests/unit/core
CORE_TEST_NAMES := fair halt host limits misuse storm yield

CORE_TEST_PROGRAMS := $(CORE_TEST_NAMES:%=$(B)/tests/core-%)

$(CORE_TEST_PROGRAMS): $(B)/tests/core-%: $(B)/asan/$(CORE_TEST_DIR)/%.o \
                       $(B)/asan/$(CORE_TEST_DIR)/bench.o $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_asan) -no-pie -o $@ $^

TEST_PROGRAMS += $(CORE_TEST_PROGRAMS)

# Fuzzing: tests/fuzz/core_events.c, alone and under libFuzzer (longer: `make fuzz-core`).
FUZZ_CORE := $(B)/tests/fuzz-core
FUZZ_CORE_LLVM := $(B)/tests/fuzz-core-libfuzzer

$(FUZZ_CORE): $(B)/asan/tests/fuzz/core_events.o $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_asan) -no-pie -o $@ $^

# Without the runtime there is no program, and the test says SKIP.
$(FUZZ_CORE_LLVM).stamp: tests/fuzz/core_events.c $(CORE_SRC) $(wildcard core/*.h include/cede/*.h)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BASE) -O1 -DFUZZER -fsanitize=fuzzer,address,undefined -o $(FUZZ_CORE_LLVM) \
	    tests/fuzz/core_events.c $(CORE_SRC) 2>$@ || rm -f $(FUZZ_CORE_LLVM)
	$(Q)touch $@

.PHONY: fuzz-core
fuzz-core: $(FUZZ_CORE_LLVM).stamp ## libFuzzer on the core until it finds something or is stopped
	$(FUZZ_CORE_LLVM) -max_len=4096 -artifact_prefix=$(B)/tests/

TEST_SCRIPTS += tests/fuzz/run-core tests/golden/run
TEST_NEEDS += $(FUZZ_CORE) $(FUZZ_CORE_LLVM).stamp

.PHONY: mutants
mutants: ## seeded faults in the core, and which test catches each
	@tests/mutants/run

# Properties: tests/prop/core_model.c, a naive model beside the core.
PROP_CORE := $(B)/tests/prop-core
$(PROP_CORE): $(B)/asan/tests/prop/core_model.o $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_asan) -no-pie -o $@ $^

TEST_PROGRAMS += $(PROP_CORE)
