# Cede's one Makefile. Each folder's fragment (module.mk) adds its sources, programs and tests;
# mk/profiles.mk says how things are compiled. `make help` lists the targets.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

include mk/profiles.mk

# What the fragments add to:
ALL           :=  # built by `make all`
TEST_PROGRAMS :=  # executables that print TAP, built and run by `make test`
TEST_SCRIPTS  :=  # scripts that print TAP, run by `make test` after the programs
TEST_NEEDS    :=  # files that the test scripts need built
LINT          :=  # phony targets that `make lint` runs

include $(sort $(wildcard */module.mk))
include mk/install.mk

.PHONY: all test lint clean help setup
all: $(ALL)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | column -t -s "$$(printf '\t')"

setup: ## install what is missing, through apt-get
	@tools/setup

lint: $(LINT) ## the gates: symbols, data, includes, headers, stack, layering, documents

demo: setup ## the main job: two Debian VMs under off and under cede, what changed
	@$(MAKE) --no-print-directory demo-run

.PHONY: demo demo-needs demo-run
demo-needs: $(B)/cede $(HV_BIN) guest-image
demo-run: demo-needs
	@tools/demo

test: setup ## all tests; the last line is `N passed, N failed`
	@$(MAKE) --no-print-directory test-run

.PHONY: test-run
test-run: $(TEST_PROGRAMS) $(TEST_NEEDS)
	@tools/run-tests $(TEST_PROGRAMS) $(TEST_SCRIPTS)

clean: ## remove everything built
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
