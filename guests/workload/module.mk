# The workload programs: plain Linux programs, static, so that they run in the guest and here.

WORKLOAD_COMMON := guests/workload/common.c guests/workload/params.c
WORKLOAD_LATENCY := guests/workload/latency.c guests/workload/histogram.c
WORKLOAD_EXTERNAL := guests/workload/external.c

GUEST_WORKLOADS := tlbstorm filecopy lockstorm cpu timerlat pingpong hackbench stress-ng

WORKLOAD_PARTS_timerlat  := $(WORKLOAD_LATENCY)
WORKLOAD_PARTS_pingpong  := $(WORKLOAD_LATENCY)
WORKLOAD_PARTS_hackbench := $(WORKLOAD_EXTERNAL)
WORKLOAD_PARTS_stress-ng := $(WORKLOAD_EXTERNAL)

define workload_rule
$(GUESTS)/workload/$(1): $(call objects,host,guests/workload/$(1).c $(WORKLOAD_COMMON) \
                           $(WORKLOAD_PARTS_$(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -static -no-pie -s -pthread -o $$@ $$^
endef
$(foreach w,$(GUEST_WORKLOADS),$(eval $(call workload_rule,$(w))))

$(B)/tests/guests/workloads: $(call objects,host,guests/workload/test_workloads.c \
                               guests/workload/histogram.c $(WORKLOAD_EXTERNAL) $(WORKLOAD_COMMON))
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -pthread -o $@ $^ -ljansson

TEST_PROGRAMS += $(B)/tests/guests/workloads
TEST_NEEDS    += $(addprefix $(GUESTS)/workload/,$(GUEST_WORKLOADS))
