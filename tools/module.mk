# The gates of `make lint`, one script each in tools/lint; tests/lint/run shows that each can fail.

LINT_GATES := symbols data includes headers stack words docs reference
LINT += $(LINT_GATES:%=lint-%)
.PHONY: $(LINT_GATES:%=lint-%)
lint-symbols lint-data: lint-%: $(B)/release/libcede.a
	$(Q)tools/lint/$* $<
lint-includes lint-words: lint-%:
	$(Q)tools/lint/$* .
lint-headers lint-stack lint-reference: lint-%:
	$(Q)tools/lint/$*
lint-docs: $(B)/cede
	$(Q)tools/lint/docs

TEST_SCRIPTS += tests/lint/run
TEST_NEEDS   += $(B)/release/libcede.a $(B)/cede

.PHONY: validity
validity: demo-needs ## both worlds on the same scenarios; tens of minutes
	@tests/conform/validity

.PHONY: reference
reference: ## docs/reference from the lists that the code uses
	@tools/make-reference
