#!/usr/bin/env bash
# The command's promises: exit statuses, messages with places, the same results again, JSON that holds
# what it should, and an installation that works from where it is put.
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
refuses() { # refuses TEXT ARGUMENTS...: status 2, and the text in its message
    local text=$1
    shift
    "$cede" "$@" >"$folder/out" 2>&1
    [ $? -eq 2 ] && grep -qF -- "$text" "$folder/out"
    check $? "cede $*: refused with \"$text\""
}

refuses 'no command "smi"; did you mean "sim"?' smi
refuses 'no-such.yaml: can'\''t be opened' sim no-such.yaml
refuses 'did you mean "cede"' sim scenarios/demo.yaml --policy ceed
refuses '--set: no key "vcpu" in a VM; did you mean "vcpus"?' sim scenarios/demo.yaml --set vms.web.vcpu=4
refuses 'no machine model "skylark"' sim scenarios/demo.yaml --set host.model=skylark
refuses 'no workload "tlbstrom"' sim scenarios/demo.yaml --set vms.web.workload.name=tlbstrom
refuses 'no VM "db"' sim scenarios/demo.yaml --set host.dedicated.db=0
refuses '--accel hvf: expected' run scenarios/demo.yaml --accel hvf
refuses 'expected path=value' run scenarios/demo.yaml --set nonsense
refuses '--on: expected sim or hv' compare scenarios/demo.yaml --on moon
refuses 'MPI' compare scenarios/demo.yaml --mpi
printf 'name: x\nhost: {pcpus: 2}\nvms:\n  - name: a\n    vcpsu: 2\n' >"$folder/typo.yaml"
refuses 'typo.yaml:5:12: no key "vcpsu" in a VM; did you mean "vcpus"?' sim "$folder/typo.yaml"
refuses 'LICENSE:6:75' check LICENSE
"$cede" check scenarios/demo.yaml >"$folder/out" 2>&1 && grep -q 'web-2 .*4 vCPUs' "$folder/out"
check $? "cede check says what is in a scenario"
printf 'CEDEMAN1 and then nothing' >"$folder/cut"
refuses 'too short for a bundle' check "$folder/cut"
refuses 'not a trace' trace scenarios/demo.yaml
refuses 'not an event log' replay scenarios/demo.yaml

"$cede" sim scenarios/demo.yaml --duration 300ms --quiet --json "$folder/a.json" >"$folder/out" 2>&1 &&
    "$cede" sim scenarios/demo.yaml --duration 300ms --quiet --json "$folder/b.json" &&
    cmp "$folder/a.json" "$folder/b.json" >>"$folder/out" 2>&1
check $? "the same simulation twice: the same bytes"
"$cede" compare scenarios/demo.yaml --set duration=100ms --policies off,cede --runs 3 --threads 1 \
    --quiet --json "$folder/one.json" >"$folder/out" 2>&1 &&
    "$cede" compare scenarios/demo.yaml --set duration=100ms --policies off,cede --runs 3 --threads 3 \
        --quiet --json "$folder/three.json" >>"$folder/out" 2>&1 &&
    cmp "$folder/one.json" "$folder/three.json" >>"$folder/out" 2>&1
check $? "a comparison by one thread and by three: the same bytes"
"$cede" sim scenarios/demo.yaml --duration 100ms --quiet --trace "$folder/t.trc" >"$folder/out" 2>&1 &&
    "$cede" report "$folder/a.json" "$folder/one.json" --trace "$folder/t.trc" -o "$folder/r.html" \
        >>"$folder/out" 2>&1 && [ "$(grep -c '<svg' "$folder/r.html")" -ge 6 ] &&
    ! grep -qiE '<script|https?://' "$folder/r.html" && grep -q '</html>' "$folder/r.html"
check $? "a report of runs, a comparison and a trace is one page, with nothing from elsewhere"
refuses 'expected JSON of cede run' report tests/cli/other.json -o "$folder/r.html"
"$cede" compare scenarios/demo.yaml --set duration=100ms --policies cede,cede --runs 4 --quiet \
    >"$folder/out" 2>&1 && [ "$(grep -c 'no difference shown' "$folder/out")" -eq 2 ]
check $? "a policy compared with itself: no difference shown"
for key in attempted succeeded failed received guest_user guest_kernel spin hypervisor poll steal \
    blocked p50 p99 p999; do
    grep -q "\"$key\":" "$folder/a.json" || echo "missing: $key" >>"$folder/out"
done
! grep -q missing "$folder/out"
check $? "JSON holds time, yields and latencies by their names"

if make --no-print-directory install DESTDIR="$folder/root" PREFIX=/opt/cede >"$folder/out" 2>&1; then
    at=$folder/root/opt/cede
    "$at/bin/cede" sim "$at/share/cede/scenarios/demo.yaml" --duration 50ms --quiet >"$folder/out" 2>&1
    check $? "an installed command runs an installed scenario"
    missing=0
    for c in $("$cede" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do
        [ -s "$at/share/man/man1/cede-$c.1" ] || missing=1
    done
    check $missing "each command has its manual page"
    printf '#include "cede/core.h"\n_Noreturn void cede_panic(const char *what) { (void)what; __builtin_trap(); }\nint main(void) { struct cede_config c = {1, 1, 1, 1, 0, 0}; return cede_size(&c) == 0; }\n' >"$folder/t.c"
    gcc -no-pie -I"$at/include" -o "$folder/t" "$folder/t.c" -L"$at/lib" -lcede >"$folder/out" 2>&1 &&
        "$folder/t"
    check $? "a program builds against the installed headers and library"
else
    check 1 "make install"
fi
echo "1..$n"
