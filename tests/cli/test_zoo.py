# SPDX-License-Identifier: MIT
"""The trained models that ship with plumb still score what zoo/README.md says; broken ones do not."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from program import Program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLOW = bool(os.environ.get("PLUMB_SANITIZE"))
plumb = Program("evaluate")

with tempfile.TemporaryDirectory() as folder:
    for run in sorted(p for p in (ROOT / "zoo").iterdir() if p.is_dir()):
        copy = pathlib.Path(folder) / run.name
        shutil.copytree(run, copy)
        few = ["--count", 4, "--steps", 300, "--measured", 30, "--method", "pr"] if SLOW else ["--count", 8]
        got = plumb.answer(copy, *few)
        steps = 300 if SLOW else 1000
        plumb.check(got["pr"]["symetric"] == 1 and got["pr"]["r2"] > 0.99, f"{run.name}: {got['pr']}")
        plumb.check(min(got["vpt_forward"], got["vpt_backward"]) >= 0.9 * steps, f"{run.name}: VPT {got['vpt']}")
        plumb.check(got["canonical"] == 1 and got["kappa"] > 0.95, f"{run.name}: kappa {got['kappa']}")
        if not SLOW:
            plumb.check(got["mlp"]["symetric"] == 1, f"{run.name}: network {got['mlp']}")
        results = json.loads((copy / "results.json").read_text())
        plumb.check(results["evaluate"]["vpt"] == got["vpt"] and "train" in results, f"{run.name}: results.json")

        # A byte of the weights is changed: refused, not measured.
        weights = copy / "weights.safetensors"
        data = bytearray(weights.read_bytes())
        data[-5] ^= 64
        weights.write_bytes(data)
        plumb.complaint("weights.safetensors", copy, *few)

sys.exit(1 if plumb.failures else 0)
