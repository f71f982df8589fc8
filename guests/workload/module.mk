# The workload programs: plain Linux programs, static, so that they run in the guest and here. They
# are linked into one, which each name links to.

GUEST_WORKLOADS := tlbstorm filecopy lockstorm cpu timerlat pingpong hackbench stress-ng

WORKLOAD_COMMON   := guests/workload/common.c guests/workload/params.c
WORKLOAD_EXTERNAL := guests/workload/external.c
WORKLOAD_SHARED   := $(WORKLOAD_COMMON) $(WORKLOAD_EXTERNAL) guests/workload/latency.c \
                     guests/workload/histogram.c guests/workload/all.c

# Each program's object with its main() renamed: stress-ng.o gives stress_ng_main().
$(GUESTS)/workload/%.o: $(B)/host/guests/workload/%.o
	@mkdir -p $(@D)
	$(Q)objcopy --redefine-sym main=$(subst -,_,$*)_main $< $@

$(GUESTS)/workload/all: $(call objects,host,$(WORKLOAD_SHARED)) \
                        $(GUEST_WORKLOADS:%=$(GUESTS)/workload/%.o)
	$(Q)$(CC) -static -no-pie -s -pthread -o $@ $^

WORKLOAD_LINKS := $(addprefix $(GUESTS)/workload/,$(GUEST_WORKLOADS))
$(WORKLOAD_LINKS): $(GUESTS)/workload/all
	$(Q)ln -sf all $@

$(B)/tests/guests/workloads: $(call objects,host,guests/workload/test_workloads.c \
                               guests/workload/histogram.c $(WORKLOAD_EXTERNAL) $(WORKLOAD_COMMON))
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -pthread -o $@ $^ -ljansson

TEST_PROGRAMS += $(B)/tests/guests/workloads
TEST_NEEDS    += $(WORKLOAD_LINKS)
