# Bare guests: freestanding, each a bzImage of its own.

BARE_COMMON := $(addprefix guests/bare/,header.S start.S traps.S boot.c console.c trap.c apic.c \
                 acpi.c library.c)
BARE_GUESTS := hello smp exitbench hostile

BARE_PARTS_exitbench := guests/bare/clock.c
BARE_PARTS_hostile   := $(addprefix guests/bare/,clock.c window.c hostile_msr.c hostile_registers.c hostile_pages.c \
                          hostile_io.c hostile_calls.c hostile_mmio.c hostile_tables.c \
                          hostile_code.c hostile_irq.c hostile_end.c)

define bare_rule
$(GUESTS)/bare/$(1).elf: guests/bare/image.lds \
                         $(call objects,hv,$(BARE_COMMON) guests/bare/$(1).c $(BARE_PARTS_$(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack \
	    -Wl,--no-warn-rwx-segments -T $$< -o $$@ $$(filter %.o,$$^)
$(GUESTS)/bare/$(1): $(GUESTS)/bare/$(1).elf
	$$(Q)objcopy -O binary -j .setup $$< $$@.setup
	$$(Q)objcopy -O binary -j .text -j .rodata -j .data $$< $$@.body
	$$(Q)cat $$@.setup $$@.body >$$@ && rm $$@.setup $$@.body
endef
$(foreach g,$(BARE_GUESTS),$(eval $(call bare_rule,$(g))))

BARE_IMAGES := $(addprefix $(GUESTS)/bare/,$(BARE_GUESTS))
ALL         += $(BARE_IMAGES)

TEST_SCRIPTS += guests/bare/test-bare guests/bare/test-on-cede
TEST_NEEDS   += $(BARE_IMAGES)

# Beside a Linux VM, on the hypervisor itself.
$(B)/tests/guests/hostile: $(call objects,host,guests/bare/test_hostile.c \
                             guests/workload/external.c guests/workload/common.c guests/workload/params.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -pthread -o $@ $^ -ljansson

TEST_PROGRAMS += $(B)/tests/guests/hostile
TEST_NEEDS    += $(B)/cede $(B)/hv/cede-hv.bin $(GUESTS)/vmlinuz $(GUESTS)/initramfs.cpio
