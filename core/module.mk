# The core: libcede.a in each profile that links or only compiles it.

CORE_SRC := core/account.c core/base/histogram.c core/cap.c core/check.c core/core.c \
            core/halt.c core/interrupt.c core/names.c core/place.c core/policy.c core/role.c \
            core/runqueue.c core/sets.c core/stats.c core/steal.c core/switch.c core/timer.c \
            core/trace.c core/tree.c core/vcpu.c core/vm.c core/yield.c

CORE_PROFILES := release asan check aarch64 riscv64

define core_library
$(B)/$(1)/libcede.a: $(call objects,$(1),$(CORE_SRC))
	$$(Q)rm -f $$@ && ar rcsD $$@ $$^
endef
$(foreach p,$(CORE_PROFILES),$(eval $(call core_library,$(p))))

ALL += $(foreach p,$(CORE_PROFILES),$(B)/$(p)/libcede.a)
include tests/unit/core/module.mk
