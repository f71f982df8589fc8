#!/usr/bin/env bash
# `cede tables`: rows in text and JSON, repeatable, refusals; and verdicts that can fail: a testbed
# whose effect is switched off is not *same*.
set -u
B=${B:-build}
cede=$B/cede
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0
check() { # check STATUS DESCRIPTION
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$folder/out" | tail -n 20
    fi
}
run() { "$cede" tables --quiet --seeds 2 "$@" >"$folder/out" 2>&1; }

run --only T6.512 --json "$folder/a.json"
check $? "a row runs"
grep -q '^T6.512 .* same ' "$folder/out" && grep -q '^1 same, 0 direction, 0 wrong, 0 failed; 2 seeds' "$folder/out"
check $? "its verdict and the sum"
run --only T6.512 --json "$folder/b.json"
cmp -s "$folder/a.json" "$folder/b.json"
check $? "again: the same JSON, byte by byte"
python3 - "$folder/a.json" >"$folder/out" 2>&1 <<'CHECK'
import json, sys
rows = json.load(open(sys.argv[1]))
row = rows[0]
for key in ("id", "workload", "published_ratio", "sim_ratio", "lo", "hi", "verdict"):
    assert key in row, key
assert row["lo"] <= row["sim_ratio"] <= row["hi"]
assert abs(row["published_ratio"] - 1.1) < 1e-6
CHECK
check $? "the JSON has every member, and the ratio is inside its interval"
mkdir "$folder/tables" && sed 's/wire_us: 16/wire_us: 1/' scenarios/tables/T6.yaml >"$folder/tables/T6.yaml"
run --only T6.512 --folder "$folder/tables" --published
grep -q '^T6.512 .* direction ' "$folder/out"
check $? "a testbed where the effect can't show isn't called the same"
sed 's/netserver/netsurfer/' scenarios/tables/T6.yaml >"$folder/tables/T6.yaml"
run --only T6.512 --folder "$folder/tables" --published
[ $? -eq 1 ] && grep -q 'no workload "netsurfer"' "$folder/out"
check $? "a run that fails is said, with status 1"
run --only T9
[ $? -eq 2 ]; check $? "no such row: status 2"
"$cede" tables --seeds 1 >"$folder/out" 2>&1
[ $? -eq 2 ]; check $? "one seed has no interval: status 2"
echo "1..$n"
