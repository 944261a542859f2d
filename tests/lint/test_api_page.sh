# SPDX-License-Identifier: MIT
# docs/api.md is what the headers say, and every function of theirs is on it.
set -u
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
"$PLUMB_PYTHON" "$PLUMB_SOURCE/scripts/api-page" --check || fail "docs/api.md"
for name in $(cat "$PLUMB_SOURCE"/include/plumb/*.h | tr '\n' ' ' | grep -oE 'PLUMB_API[^;{]*\(' | grep -oE 'plumb_[a-z0-9_]+\(' | tr -d '(' | sort -u); do
    grep -q "$name(" "$PLUMB_SOURCE/docs/api.md" || fail "$name is not in docs/api.md"
done
[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
