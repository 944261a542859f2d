#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long predictions last, in frames and in Lyapunov times, for systems ordered by Lyapunov time: the models of the zoo, and the
double pendulum at three energies. Writes one JSON line per row.

    studies/chaos.py build/release/bin/plumb > studies/chaos.jsonl
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MODELS = ["hgn++-mass-spring", "hgn++-pendulum", "bodies-two-body", "bodies-pendulum+c", "bodies-double-pendulum"]
KEYS = ["world", "vpt", "vpt_forward", "vpt_backward", "vpt_lyapunov", "vpt_mean_frame", "vpt_last_frame", "vpt_above_still", "lyapunov",
        "lyapunov_ci", "kappa", "kappa_score", "canonical", "verdict", "r2_heldout"]


def call(plumb, *arguments):
    done = subprocess.run([plumb, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if "--json" in arguments else None


def print_row(name, result):
    row = {"name": name, **{key: result.get(key) for key in KEYS}}
    row["symetric"] = result["pr"]["symetric"]
    row["frames"] = result["forecast"]["forward"]["length"]
    print(json.dumps(row), flush=True)


def split_by_energy(plumb, folder, parts=3, each=10, steps=600):
    """Videos of the double pendulum, ordered by energy, in files of `each`."""
    call(plumb, "simulate", "double-pendulum", "--count", parts * each, "--steps", steps, "--seed", 77, "--out", folder / "all.npz")
    with np.load(folder / "all.npz") as arrays:
        fields = {name: arrays[name] for name in arrays.files}
    order = np.argsort(fields["energy"][:, 0])
    for part in range(parts):
        chosen = np.sort(order[part * each:(part + 1) * each])
        energy = fields["energy"][chosen, 0]
        path = folder / f"{part}.npz"
        np.savez(path, **{name: x[chosen] if np.shape(x)[:1] == (parts * each,) else x for name, x in fields.items()})
        yield path, energy.min(), energy.max()


def main(plumb):
    for model in MODELS:
        print_row(model, call(plumb, "evaluate", model, "--protocol", "paper", "--method", "pr", "--json"))
    with tempfile.TemporaryDirectory() as folder:
        for path, low, high in split_by_energy(plumb, Path(folder)):
            result = call(plumb, "evaluate", "bodies-double-pendulum", "--data", path, "--count", 10, "--steps", 500, "--measured",
                          10, "--method", "pr", "--json")
            print_row(f"bodies-double-pendulum, energy {low:.2f} to {high:.2f}", result)


if __name__ == "__main__":
    main(sys.argv[1])
