# SPDX-License-Identifier: MIT
# The examples run, as they are printed.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
cd "$PLUMB_SOURCE/examples" || exit 1
for example in [0-9]*; do
    argument=latents/good.npz words='passes as canonical'
    case $example in 03_*) argument=mass-spring+c words='mass-spring+c, batch 4' ;; esac
    case $example in
    *.py) "$PLUMB_PYTHON" "$example" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")" ;;
    *.c)
        flags=
        [ -z "$PLUMB_SANITIZE" ] || flags=-fsanitize=$PLUMB_SANITIZE
        # shellcheck disable=SC2086
        "$PLUMB_CC" -std=c17 -Wall -Wextra -pedantic -Werror $flags "$example" -o "$dir/example" \
            -I "$PLUMB_SOURCE/include" -L "$PLUMB_BUILD/lib" -lplumb -Wl,-rpath,"$PLUMB_BUILD/lib" ||
            fail "$example does not compile"
        "$dir/example" "$argument" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")"
        if "$dir/example" missing.npz >/dev/null 2>&1; then fail "$example: a missing file is no failure"; fi
        ;;
    *) fail "$example: nobody knows how to run it" ;;
    esac
    grep -q "$words" "$dir/out" || fail "$example prints $(cat "$dir/out")"
done
[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
