#!/bin/sh
# SPDX-License-Identifier: MIT
# 5. Train a model, judge it, look at it: a world, a run directory, a page.
#
#     sh examples/05_train_and_judge.sh          # seconds, and a bad model: the tiny preset
#     PRESET=cpu STEPS=2000 sh examples/05_train_and_judge.sh    # minutes, and a good one
set -eu
plumb=${PLUMB:-plumb}
out=${OUT:-$(mktemp -d)}

"$plumb" train hgn++ --world mass-spring --preset "${PRESET:-tiny}" --steps "${STEPS:-60}" --out "$out/run"
"$plumb" evaluate "$out/run" --count 4 --steps "${FRAMES:-100}" --measured 20
"$plumb" rollout "$out/run" --steps 70 --count 4 --out "$out/latents.npz" # arrays for whoever wants them
"$plumb" report "$out/run" --out "$out/report.html"
