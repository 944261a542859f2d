# SPDX-License-Identifier: MIT
# Each public header compiles alone, as C17 and as C++17, without a warning; and plumb.h takes in
# all the others.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
include=${PLUMB_INCLUDE:-$PLUMB_SOURCE/include}
warn="-Wall -Wextra -pedantic -pedantic-errors -Werror"
case $("$PLUMB_CC" --version) in *clang*) cxx=clang++ ;; *) cxx=g++ ;; esac
command -v $cxx >/dev/null || cxx=c++
command -v $cxx >/dev/null || fail "no C++ compiler"

count=0
for header in "$include"/plumb/*.h; do
    name=plumb/$(basename "$header")
    count=$((count + 1))
    # Twice, so that a missing guard shows.
    printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$name" "$name" >"$dir/alone.c"
    cp "$dir/alone.c" "$dir/alone.cpp"
    # shellcheck disable=SC2086
    "$PLUMB_CC" -std=c17 $warn -Wstrict-prototypes -I "$include" -c "$dir/alone.c" -o "$dir/alone.o" ||
        fail "$name alone as C17"
    # shellcheck disable=SC2086
    $cxx -std=c++17 $warn -I "$include" -c "$dir/alone.cpp" -o "$dir/alone.o" || fail "$name alone as C++17"
    grep -q 'extern "C"' "$header" || [ "$name" = plumb/plumb.h ] || fail "$name has no extern \"C\""
    [ "$name" = plumb/plumb.h ] || grep -q "#include \"$name\"" "$include/plumb/plumb.h" ||
        fail "plumb.h does not take in $name"
done
[ $count -ge 7 ] || fail "only $count headers found in $include"
[ $failures = 0 ] && echo "$count headers, all is well"
exit $((failures > 0))
