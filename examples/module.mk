# The example port: on the core as it ships (freestanding, position-dependent).
EMBED := $(B)/tests/embed

$(EMBED): $(call objects,host,examples/embed/embed.c examples/embed/main.c) $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_host) -no-pie -pthread -o $@ $^

TEST_PROGRAMS += $(EMBED)
