#!/usr/bin/env bash
# Conformance: the events of a boot on the hypervisor, and of a run in the simulator, replay through
# the core on this machine to the same decisions; a changed log doesn't.
set -u
B=${B:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0
check() { # check STATUS DESCRIPTION
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$folder/out" | tail -n 30
    fi
}
"$B/cede" sim scenarios/demo.yaml --duration 500ms --quiet --log "$folder/sim.log" >"$folder/out" 2>&1 &&
    "$B/cede" replay "$folder/sim.log" >"$folder/out" 2>&1
check $? "a log of the simulator replays to the same decisions"
printf '\x01' | dd of="$folder/sim.log" bs=1 seek=$((88 + 72 * 5000 + 64)) conv=notrunc 2>/dev/null
"$B/cede" replay "$folder/sim.log" >"$folder/out" 2>&1
[ $? -eq 1 ] && grep -q 'decision 5000 differs' "$folder/out"
check $? "a changed digest is found at its place"
head -c 1000 "$folder/sim.log" >"$folder/short.log"
"$B/cede" replay "$folder/short.log" >"$folder/out" 2>&1
[ $? -eq 2 ]
check $? "a log cut short is refused"
"$B/cede" run scenarios/demo.yaml --set vms.workload.seconds=2 --quiet --timeout 400 \
    --log "$folder/hv.log" >"$folder/out" 2>&1
check $? "two Linux VMs of four vCPUs on two pCPUs finish"
"$B/cede" replay "$folder/hv.log" >"$folder/out" 2>&1
check $? "the log of that boot replays to the same decisions"
echo "1..$n"
