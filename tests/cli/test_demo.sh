# SPDX-License-Identifier: MIT
# The demo gives the three known verdicts, and fails when one of them is not.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

cd "$dir" || exit 1
"$PLUMB" demo --out "$dir/demo.json" >"$dir/out" 2>"$dir/err" || fail "exit $?: $(cat "$dir/err")"
[ "$(grep -c 'Verdict: learnt' "$dir/out")" = 2 ] || fail "not the good sample and the trained model pass"
[ "$(grep -c 'Verdict: not learnt' "$dir/out")" = 2 ] || fail "not two models are caught"
[ "$(grep -c 'Why: ' "$dir/out")" = 4 ] || fail "not four reasons"
"$PLUMB_PYTHON" - "$dir/demo.json" <<'PY' || fail "demo.json"
import json, sys
models = {m["name"]: m for m in json.load(open(sys.argv[1]))["models"]}
good, bad, cheat = models["good"], models["bad"], models["cheat"]
assert good["symetric"] == 1 and good["r2"] > 0.99 and good["sym"] < 1e-6 and good["order"] == 2, good
assert bad["symetric"] == 0 and bad["r2"] > 0.9 and bad["sym"] > 0.05 and not bad["degenerate"], bad
assert cheat["symetric"] == 0 and cheat["r2"] > 0.9 and cheat["degenerate"], cheat
PY
"$PLUMB" demo --json >"$dir/json" || fail "--json exits $?"
"$PLUMB_PYTHON" -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["models"]) == 3' "$dir/json" ||
    fail "--json is not one object of three models"

# It ends by naming the page, which is there; --json makes none unless it is asked for.
[ "$(tail -n 1 "$dir/out")" = "Look at them in a browser: plumb-demo.html" ] || fail "the last line is $(tail -n 1 "$dir/out")"
[ "$(grep -c 'class="verdict' plumb-demo.html)" = 4 ] || fail "the page has not the verdicts of three samples and a trained model"
[ "$(grep -c 'class="verdict yes' plumb-demo.html)" = 2 ] || fail "the page does not pass the good sample and the trained model"
mkdir "$dir/quiet" && (cd "$dir/quiet" && "$PLUMB" demo --json >/dev/null && [ -z "$(ls)" ]) || fail "--json leaves a page"
# Without the trained model, which takes its time.
mkdir -p "$dir/plain/examples" && cp -r "$PLUMB_SOURCE/examples/latents" "$dir/plain/examples"
PLUMB_SHARE=$dir/plain "$PLUMB" demo --report "$dir/other.html" | grep -q "$dir/other.html" && [ -s "$dir/other.html" ] || fail "--report"
code=0
PLUMB_SHARE=$dir/plain "$PLUMB" demo --report "$dir/no/where.html" >/dev/null 2>"$dir/err" || code=$?
[ $code = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] || fail "a page that cannot be written exits $code: $(cat "$dir/err")"
# With a trained model installed it is part of the page.
mkdir -p "$dir/zoo/examples" "$dir/zoo/zoo"
cp -r "$PLUMB_SOURCE/examples/latents" "$dir/zoo/examples"
"$PLUMB" train hgn++ --world mass-spring --preset tiny --steps 5 --out "$dir/zoo/zoo/hgn++-mass-spring" >/dev/null 2>&1 || fail "train"
PLUMB_SHARE=$dir/zoo "$PLUMB" demo --report "$dir/zoo.html" >"$dir/met" || fail "with a zoo: exit $?"
[ "$(grep -c 'Verdict: learnt' "$dir/met")" = 1 ] || fail "a model of five updates learnt the physics"
grep -q 'VPT' "$dir/met" || fail "the trained model is not judged"
grep -q 'hgn++-mass-spring' "$dir/zoo.html" || fail "the trained model is not on the page"

# Elsewhere by PLUMB_SHARE; with the good one in the bad one's place the demo must notice.
mkdir -p "$dir/share/examples/latents"
cp "$PLUMB_SOURCE"/examples/latents/*.npz "$dir/share/examples/latents"
PLUMB_SHARE=$dir/share "$PLUMB" demo >/dev/null || fail "PLUMB_SHARE: exit $?"
cp "$PLUMB_SOURCE/examples/latents/good.npz" "$dir/share/examples/latents/bad.npz"
code=0
PLUMB_SHARE=$dir/share "$PLUMB" demo >/dev/null 2>"$dir/err" || code=$?
[ $code = 1 ] || fail "a wrong verdict exits $code"
grep -q 'not the known' "$dir/err" || fail "a wrong verdict is not said: $(cat "$dir/err")"
code=0
PLUMB_SHARE=$dir/nowhere "$PLUMB" demo >"$dir/out" 2>"$dir/err" || code=$?
[ $code = 1 ] || fail "missing samples exit $code"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "missing samples: $(cat "$dir/err")"

# The samples are what their recipe makes; libm may differ in a last bit.
"$PLUMB_PYTHON" "$PLUMB_SOURCE/examples/make_latents.py" "$dir/made" || fail "make_latents.py"
"$PLUMB_PYTHON" - "$PLUMB_SOURCE/examples/latents" "$dir/made" <<'PY' || fail "the samples differ from their recipe"
import sys
import numpy as np
for name in ("good", "bad", "cheat"):
    shipped, made = (np.load(f"{d}/{name}.npz") for d in sys.argv[1:3])
    for key in ("latent", "truth"):
        np.testing.assert_allclose(shipped[key], made[key], rtol=1e-5, atol=1e-6)
PY

[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
