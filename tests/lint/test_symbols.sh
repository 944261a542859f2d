# SPDX-License-Identifier: MIT
# Both libraries show plumb_* and nothing else, and both show the same.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
shared=$PLUMB_BUILD/lib/libplumb.so
static=$PLUMB_BUILD/lib/libplumb.a
names() { awk 'NF >= 3 { sub(/@.*/, "", $3); print $3 }' | sort -u; }
# What a sanitizer adds for itself is not ours to hide.
strangers() { grep -v '^plumb_' "$1" | grep -vE '^(__asan|__ubsan|__tsan|__odr_asan|asan\.|__sanitizer)'; }

nm -D --defined-only "$shared" | names >"$dir/shared" || fail "nm $shared"
nm -g --defined-only "$static" | names >"$dir/static" || fail "nm $static"
for kind in shared static; do
    [ "$(grep -c '^plumb_' "$dir/$kind")" -ge 20 ] || fail "the $kind library shows too few plumb_*"
    if strangers "$dir/$kind"; then fail "the $kind library shows the names above"; fi
done
diff <(grep '^plumb_' "$dir/shared") <(grep '^plumb_' "$dir/static") || fail "the libraries differ"

# Every function that a public header declares is there.
grep -hoE 'plumb_[a-z0-9_]+\(' "$PLUMB_SOURCE"/include/plumb/*.h | tr -d '(' | sort -u >"$dir/declared"
while read -r name; do
    grep -qE "^PLUMB_API[^;]*\b$name\(" <(cat "$PLUMB_SOURCE"/include/plumb/*.h | tr '\n' ' ' | sed 's/PLUMB_API/\nPLUMB_API/g') || continue
    grep -qx "$name" "$dir/shared" || fail "$name is declared and not in the library"
done <"$dir/declared"

# Is the check awake? A stranger planted in a list must be seen.
printf 'plumb_x\nstranger\n' >"$dir/planted"
strangers "$dir/planted" >/dev/null || fail "a planted stranger was not seen"

[ $failures = 0 ] && echo "$(grep -c '^plumb_' "$dir/shared") names, all is well"
exit $((failures > 0))
