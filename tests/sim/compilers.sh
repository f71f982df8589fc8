#!/usr/bin/env bash
# The simulator's results don't depend on the compiler: the same lines from gcc -O2, clang -O0 and a
# second run.
set -u
B=${B:-build}
gcc_lines=$("$B/tests/sim/digests-gcc")
clang_lines=$("$B/tests/sim/digests-clang")
again=$("$B/tests/sim/digests-gcc")
n=0
check() { # check CONDITION-STATUS DESCRIPTION
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
[ "$(wc -l <<<"$gcc_lines")" -ge 20 ]; check $? "there are lines to compare"
[ "$(awk '$3 != 0' <<<"$gcc_lines" | wc -l)" -eq 0 ]; check $? "no run ended in a violation"
[ "$(awk '{print $4}' <<<"$gcc_lines" | sort -u | wc -l)" -ge 15 ]; check $? "the digests differ between scenarios"
[ "$gcc_lines" = "$again" ]; check $? "the same process again: the same lines"
[ "$gcc_lines" = "$clang_lines" ]; check $? "clang -O0: the same lines as gcc -O2"
if [ "$gcc_lines" != "$clang_lines" ]; then diff <(echo "$gcc_lines") <(echo "$clang_lines") | head -20 | sed 's/^/# /'; fi
echo "1..$n"
