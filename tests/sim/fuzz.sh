#!/usr/bin/env bash
# The manifest reader against 20,000 mutated bundles, from a fixed seed (libFuzzer).
set -u
B=${B:-build}
runs=${FUZZ_RUNS:-20000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$B/tests/sim/fuzz_manifest" -runs="$runs" -seed=1 -max_len=200 -len_control=0 \
    -artifact_prefix="$B/tests/sim/" >"$log" 2>&1 && grep -q "Done $runs runs" "$log"; then
    echo "ok 1 - $runs mutated bundles: each refused, or in range in all its parts"
else
    echo "not ok 1 - the manifest reader fell over"
    tail -n 30 "$log" | sed 's/^/# /'
fi
echo "1..1"
