# Workloads: parameters in, programs for the modelled guest's tasks out.
SIM_SRC += $(wildcard sim/workload/*.c)
