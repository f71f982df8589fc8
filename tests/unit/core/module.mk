# Unit tests of the core: one program per file here, all on bench.c, under the sanitizers.

CORE_TEST_DIR := tests/unit/core
CORE_TEST_NAMES := fair halt host misuse storm yield

CORE_TEST_PROGRAMS := $(CORE_TEST_NAMES:%=$(B)/tests/core-%)

$(CORE_TEST_PROGRAMS): $(B)/tests/core-%: $(B)/asan/$(CORE_TEST_DIR)/%.o \
                       $(B)/asan/$(CORE_TEST_DIR)/bench.o $(B)/asan/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_asan) -no-pie -o $@ $^

TEST_PROGRAMS += $(CORE_TEST_PROGRAMS)
