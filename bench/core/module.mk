# Instruction counts of the core's transitions: `make bench-core`.

BENCH_CORE := $(B)/bench/core-transitions
$(BENCH_CORE): $(B)/host/bench/core/transitions.o $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^

.PHONY: bench-core
bench-core: $(BENCH_CORE) ## instructions of each transition of the core at 8..4096 vCPUs
	@bench/core/run $(BENCH_CORE) $(B)/bench-core.json
