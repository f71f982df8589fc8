# Compilation profiles. Every object lives at $(B)/<profile>/<source path>.o, so one source can
# be built several ways side by side.
#
#   release   the core as it ships: freestanding x86-64; linked by hypervisor AND simulator
#   hv        the hypervisor: freestanding x86-64, no red zone, no vector registers
#   host      simulator, host library, command, tests, bench
#   asan      core + host code under the address and undefined-behaviour sanitizers
#   check     the core with cede_check_all() after each event (debug builds, property tests)
#   aarch64, riscv64   the core only, with clang, to keep it portable

B     := build
CC    := gcc
CLANG := clang

WARN := -Wall -Wextra -Wconversion -Wshadow -Wundef -Wvla -Wswitch-enum -Wmissing-prototypes
BASE := -std=c11 -g -fno-common -ffile-prefix-map=$(CURDIR)=. -Iinclude -I. $(WARN)
FREE := $(BASE) -O2 -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables \
        -mgeneral-regs-only
HOST := $(BASE) -D_GNU_SOURCE -fno-pie

CFLAGS_release := $(FREE) -mno-red-zone -fno-pic
CFLAGS_hv      := $(FREE) -mno-red-zone -fno-pic
CFLAGS_host    := $(HOST) -O2
CFLAGS_asan    := $(HOST) -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_check   := $(HOST) -O1 -DCEDE_CHECK_EACH_EVENT
CFLAGS_aarch64 := $(FREE) --target=aarch64-none-elf
CFLAGS_riscv64 := $(filter-out -mgeneral-regs-only,$(FREE)) --target=riscv64-none-elf -march=rv64imac -mabi=lp64

CC_release = $(CC)
CC_hv      = $(CC)
CC_host    = $(CC)
CC_asan    = $(CC)
CC_check   = $(CC)
CC_aarch64 = $(CLANG)
CC_riscv64 = $(CLANG)

# $(call objects,profile,sources): the objects of those sources in that profile
objects = $(patsubst %,$(B)/$(1)/%.o,$(basename $(2)))

define profile_rules
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(CFLAGS_$(1)) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(CFLAGS_$(1)) -D__ASSEMBLY__ -MMD -MP -c -o $$@ $$<
endef

PROFILES := release hv host asan check aarch64 riscv64
$(foreach p,$(PROFILES),$(eval $(call profile_rules,$(p))))
