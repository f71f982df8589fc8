#!/usr/bin/env bash
# Runs with modelled guests don't depend on the compiler: the same lines from gcc -O2, from clang -O0,
# and from a second process.
set -u
B=${B:-build}
gcc_lines=$("$B/tests/sim/guest-digests-gcc")
gcc_status=$?
clang_lines=$("$B/tests/sim/guest-digests-clang")
again=$("$B/tests/sim/guest-digests-gcc")
n=0
check() { # check CONDITION-STATUS DESCRIPTION
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
[ "$gcc_status" -eq 0 ]; check $? "every scenario runs, no oracle objects"
[ "$(awk '{print $4}' <<<"$gcc_lines" | sort -u | wc -l)" -eq 16 ]; check $? "sixteen different digests"
[ "$gcc_lines" = "$again" ]; check $? "a second process: the same lines"
[ "$gcc_lines" = "$clang_lines" ]; check $? "clang -O0: the same lines as gcc -O2"
diff <(echo "$gcc_lines") <(echo "$clang_lines") | head -20 | sed 's/^/# /'
echo "1..$n"
