# The gates of `make lint`, one script each in tools/lint; tests/lint/run shows that each can fail.

LINT_GATES := symbols data includes headers stack words docs
LINT += $(LINT_GATES:%=lint-%)
.PHONY: $(LINT_GATES:%=lint-%)
lint-symbols lint-data: lint-%: $(B)/release/libcede.a
	$(Q)tools/lint/$* $<
lint-includes lint-words: lint-%:
	$(Q)tools/lint/$* .
lint-headers lint-stack: lint-%:
	$(Q)tools/lint/$*
lint-docs: $(B)/cede
	$(Q)tools/lint/docs

TEST_SCRIPTS += tests/lint/run
TEST_NEEDS   += $(B)/release/libcede.a $(B)/cede
<<<<<<< HEAD
=======

# The model of halt, wake, kick, preempt, yield and poll
TEST_SCRIPTS += tests/spin/run
.PHONY: spin
spin: ## the SPIN model of wake-ups, and the variants that must fail
	@tests/spin/run

.PHONY: validity
validity: demo-needs ## both worlds on the same scenarios; tens of minutes
	@tests/conform/validity
>>>>>>> 60d42f6 (Results: both worlds on the same scenarios, the hypervisor, the soak; make validity)
