#!/bin/sh
# SPDX-License-Identifier: MIT
# 5. Train a model on a world, evaluate it, and write a report.
#
#     sh examples/05_train_and_evaluate.sh          # seconds; the preset tiny learns nothing
#     PRESET=cpu STEPS=2000 sh examples/05_train_and_evaluate.sh    # minutes; a good model
set -eu
plumb=${PLUMB:-plumb}
out=${OUT:-$(mktemp -d)}

"$plumb" train hgn++ --world mass-spring --preset "${PRESET:-tiny}" --steps "${STEPS:-60}" --out "$out/run"
"$plumb" evaluate "$out/run" --count 4 --steps "${FRAMES:-100}" --measured 20
"$plumb" rollout "$out/run" --steps 70 --count 4 --out "$out/latents.npz" # latents and predicted frames as arrays
"$plumb" report "$out/run" --out "$out/report.html"
