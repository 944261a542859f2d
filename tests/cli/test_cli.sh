# SPDX-License-Identifier: MIT
# The manners every command shares: exit codes, one line on stderr, nothing but results on stdout.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE ARGUMENTS...: runs plumb, keeps $dir/out and $dir/err.
expect() {
    local want=$1 got=0
    shift
    "$PLUMB" "$@" >"$dir/out" 2>"$dir/err" </dev/null || got=$?
    [ $got = "$want" ] || fail "plumb $*: exit $got, wanted $want: $(head -c 300 "$dir/err")"
}
says() { grep -qF -- "$1" "$dir/err" || fail "stderr lacks \"$1\": $(cat "$dir/err")"; }
shows() { grep -qF -- "$1" "$dir/out" || fail "stdout lacks \"$1\": $(cat "$dir/out")"; }
one_line() {
    [ "$(wc -l <"$dir/err")" = 1 ] || fail "not one line on stderr: $(cat "$dir/err")"
    [ ! -s "$dir/out" ] || fail "something on stdout: $(cat "$dir/out")"
}

expect 2
says usage
[ ! -s "$dir/out" ] || fail "plumb alone writes to stdout"
expect 0 --help
shows measure
commands=$(sed -n 's/^  \([a-z]*\)  *[^ ].*/\1/p' "$dir/out")
[ "$(echo "$commands" | wc -w)" -ge 4 ] || fail "the overview names too few commands: $commands"
expect 0 --version
shows plumb
expect 0 --manual
shows ".TH PLUMB 1"

# Completion: commands, options, the choices of an option; else file names.
expect 0 --completion
complete_words() {
    bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plumb; echo "${COMPREPLY[*]}"' "$dir/complete" "$@"
}
cp "$dir/out" "$dir/complete"
[ "$(complete_words plumb mea)" = measure ] || fail "completion of a command"
[ "$(complete_words plumb measure --max-o)" = --max-order ] || fail "completion of an option"
[ "$(complete_words plumb measure --mode re)" = reference ] || fail "completion of a choice"
[ -z "$(complete_words plumb measure x)" ] || fail "completion of a file name"

expect 2 mesure
one_line
says "did you mean plumb measure?"
expect 2 entirely-unknown
one_line
says "plumb --help"

for command in $commands; do
    expect 0 "$command" --help
    shows "usage: plumb $command"
    shows "example:"
    shows "  plumb $command"
    [ ! -s "$dir/err" ] || fail "plumb $command --help writes to stderr"
    expect 2 "$command" --no-such-option
    one_line
    says "plumb $command: there is no option --no-such-option"
    expect 2 "$command" --jsno
    one_line
    says "did you mean --json?"
    expect 2 "$command" -9
    one_line
    # Help that cannot be delivered is a failure too.
    code=0
    "$PLUMB" "$command" --help >/dev/full 2>"$dir/err" || code=$?
    [ $code = 1 ] || fail "plumb $command --help >/dev/full: exit $code"
done

for command in measure forecast; do
    expect 1 "$command" "$dir/missing.npz"
    one_line
    says "plumb $command: "
    says "missing.npz"
done
expect 2 measure --max-order five x.npz
one_line
says "five"
expect 2 measure --max-order
one_line
expect 2 measure --mode refrence x.npz
one_line
says "did you mean reference?"
expect 2 doctor surplus
one_line

# Results that cannot be written are a failure, and a whole one.
for arguments in "doctor" "doctor --json" "demo" "demo --json"; do
    code=0
    # shellcheck disable=SC2086
    "$PLUMB" $arguments >/dev/full 2>"$dir/err" || code=$?
    [ $code = 1 ] || fail "plumb $arguments >/dev/full: exit $code, wanted 1"
    [ "$(wc -l <"$dir/err")" = 1 ] || fail "plumb $arguments >/dev/full: $(cat "$dir/err")"
done
code=0
"$PLUMB" doctor >&- 2>"$dir/err" || code=$?
[ $code = 1 ] || fail "plumb doctor with stdout closed: exit $code, wanted 1"

[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
