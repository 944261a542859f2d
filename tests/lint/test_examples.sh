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

# The package from the sources, with the library of this build and what a sanitizer wants first.
export PYTHONPATH=$PLUMB_SOURCE/python PLUMB_LIBRARY=$PLUMB_BUILD/lib/libplumb.so PYTHONDONTWRITEBYTECODE=1
python() {
    case $PLUMB_SANITIZE in
    *address*) LD_PRELOAD=$("$PLUMB_CC" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 "$PLUMB_PYTHON" "$@" ;;
    *) "$PLUMB_PYTHON" "$@" ;;
    esac
}
run_c() {
    local flags=
    [ -z "$PLUMB_SANITIZE" ] || flags=-fsanitize=$PLUMB_SANITIZE
    # shellcheck disable=SC2086
    "$PLUMB_CC" -std=c17 -Wall -Wextra -pedantic -Werror $flags "$1" -o "$dir/example" \
        -I "$PLUMB_SOURCE/include" -L "$PLUMB_BUILD/lib" -lplumb -Wl,-rpath,"$PLUMB_BUILD/lib" ||
        fail "$1 does not compile"
    "$dir/example" "$2" >"$dir/out" 2>&1 || fail "$1: $(cat "$dir/out")"
    if "$dir/example" missing.npz >/dev/null 2>&1; then fail "$1: a missing file is no failure"; fi
}
# Its cells one after the other; what the last line of one shows is printed.
run_notebook() {
    (cd "$dir" && python - "$PLUMB_SOURCE/examples/$1") <<'PY' >"$dir/out" 2>&1 || fail "$1: $(cat "$dir/out")"
import ast, json, sys
names = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    assert cell["cell_type"] != "code" or not cell["outputs"], "outputs are kept in the notebook"
    if cell["cell_type"] != "code":
        continue
    body = ast.parse("".join(cell["source"])).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        print(value)
        if hasattr(value, "_repr_html_"):
            assert "<svg" in value._repr_html_(), "no figure"
PY
}
for example in [0-9]*; do
    words='passes as canonical'
    case $example in
    01_*) python "$example" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")" ;;
    02_*) run_c "$example" latents/good.npz ;;
    03_*) words='mass-spring+c, batch 4' && run_c "$example" mass-spring+c ;;
    04_*)
        if ! "$PLUMB_PYTHON" -c 'import torch' 2>/dev/null; then
            echo "PyTorch is not here (Debian: python3-torch): $example was not run"
            continue
        elif [ -n "$PLUMB_SANITIZE" ]; then
            echo "PyTorch and a sanitizer do not go together: $example was not run"
            continue
        fi
        python "$example" "$dir/torch.html" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")"
        [ -s "$dir/torch.html" ] || fail "$example leaves no page"
        ;;
    05_*) words='report.html' && OUT=$dir sh "$example" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")" ;;
    06_*) words='5 trajectories' && python "$example" >"$dir/out" 2>&1 || fail "$example: $(cat "$dir/out")" ;;
    07_*) run_notebook "$example" ;;
    *) fail "$example: nobody knows how to run it" ;;
    esac
    grep -q "$words" "$dir/out" || fail "$example prints $(cat "$dir/out")"
done
[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
