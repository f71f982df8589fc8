# Tests that belong to no other folder's fragment.
TEST_SCRIPTS += tests/spin/run

.PHONY: spin
spin: ## the SPIN model of halt, wake, kick, preempt and yield
	@tests/spin/run
