# The modelled guest kernel; the workloads that run on it are in sim/workload.
SIM_SRC += $(wildcard sim/guest/*.c)
