# Measurements; none of them gates.

include $(sort $(wildcard bench/*/module.mk))
