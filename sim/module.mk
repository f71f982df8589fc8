# The simulator: engine, machine models, shell, oracles; and what sim/guest and sim/workload add.

SIM_SRC := $(wildcard sim/engine/*.c sim/arch/*.c sim/shell/*.c sim/oracle/*.c)
-include sim/guest/module.mk sim/workload/module.mk

SIM_LIB := $(B)/host/libsim.a
$(SIM_LIB): $(call objects,host,$(SIM_SRC))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcsD $@ $^
