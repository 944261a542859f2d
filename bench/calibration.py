# SPDX-License-Identifier: MIT
"""Judges planted models, whose answer is known, and prints who is right how often.

    bench/calibration                    a fresh battery: worlds and maps that the golden one does not have
    bench/calibration --battery DIR      the .npz files of a folder instead
    bench/calibration --thirteen         every one of the 13 worlds: true state, five images, planted faults
    bench/calibration --save DIR         writes the battery, for PLUMB_GOLDEN
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import calibration_cases as cases

WORLDS = ["rock-paper-scissors", "pendulum+c", "mass-spring+c", "double-pendulum+c", "two-body+c", "md-4"]
THIRTEEN = ["mass-spring", "mass-spring+c", "pendulum", "pendulum+c", "double-pendulum", "double-pendulum+c", "two-body",
            "two-body+c", "matching-pennies", "rock-paper-scissors", "room-circle", "md-4", "md-16"]
SYMPLECTIC_BAR = 0.99  # the default of --require symplectic
ROWS = ["SyMetric, reference", "SyMetric, converged", "kappa", "symplectic"]


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode: sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def truth_of(plumb, world, seed, folder):
    path = folder / f"{world}.npz"
    run([plumb, "simulate", world, "--out", path, "--count", "100", "--steps", "60", "--seed", str(seed)])
    with np.load(path) as arrays:
        truth = arrays["canonical"].astype(np.float32)
    path.unlink()
    return truth


def fresh(options, folder):
    """(name, latent, truth, expected, kappa) of every case there is."""
    worlds = options.worlds.split(",") if options.worlds else THIRTEEN if options.thirteen else WORLDS
    for number, world in enumerate(worlds):
        truth = truth_of(options.plumb, world, options.seed, folder)
        names = cases.thirteen(world) if options.thirteen else cases.names()
        for at, name in enumerate(names):
            made = cases.make(name, truth, [options.seed, number, at], world)
            if made is not None: yield f"{world}.{name}", made[0], truth, made[2], made[1]


def stored(folder):
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as z:
            yield path.stem, z["latent"], z["truth"], int(z["expected"]), float(z["kappa_true"])


def judge(options, path):
    """The verdict of each row (None: not determined), and the record of plumb's own."""
    reference = json.loads(run([options.plumb, "measure", path, "--mode", "reference", "--batches", "3", "--published",
                                "--json", "--threads", "1"])) if options.reference else None
    extra = ["--symplectic"] if options.symplectic else []
    extra += ["--estimator", options.estimator]
    own = json.loads(run([options.plumb, "measure", path, "--json", "--threads", "1", *extra]))
    r2 = own["symplectic"]
    return {
        "SyMetric, reference": int(reference["symetric"] > 0.5) if reference else None,
        "SyMetric, converged": int(own["symetric"] > 0.5),
        "kappa": own["canonical"],
        "symplectic": None if r2 is None or not options.symplectic else int(r2 > SYMPLECTIC_BAR),
    }, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=os.environ.get("PLUMB", "build/release/bin/plumb"))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--worlds", help="some worlds only, by name, commas between")
    parser.add_argument("--battery")
    parser.add_argument("--thirteen", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--estimator", default="network")
    parser.add_argument("--symplectic", action="store_true", help="symplectic of every case, some seconds each")
    parser.add_argument("--no-reference", dest="reference", action="store_false", help="leave the slowest row out")
    options = parser.parse_args()
    if options.save: Path(options.save).mkdir(parents=True, exist_ok=True)

    counts = {row: {"refused": 0, "passed": 0, "null": 0} for row in ROWS}
    total, near, covered, seconds = {1: 0, 0: 0}, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source = stored(options.battery) if options.battery else fresh(options, folder)
        for name, latent, truth, expected, kappa in source:
            path = (Path(options.save) if options.save else folder) / f"{name}.npz"
            np.savez(path, latent=latent, truth=truth, expected=expected, kappa_true=kappa)
            verdicts, own = judge(options, path)
            if not options.save: path.unlink()
            wrong = [row for row in ROWS if verdicts[row] is not None and verdicts[row] != expected]
            low, high = own["kappa_ci"] or (0, 1)
            said = {1: "right", 0: "wrong", None: "null"}[verdicts["kappa"]]
            print(f"{name},{expected},{kappa:.4f},{own['kappa']:.4f},{low:.4f},{high:.4f},{own['r2_state']:.4f},"
                  f"{own['symplectic']},{said},{' & '.join(wrong)}", flush=True)
            total[expected] += 1
            near += abs(own["kappa"] - kappa) <= 0.05
            covered += low - 1e-4 <= kappa <= high + 1e-4
            for row in ROWS:
                key = "null" if verdicts[row] is None else "refused" if verdicts[row] < expected else \
                    "passed" if verdicts[row] > expected else None
                if key: counts[row][key] += 1
    print(f"\n| measure | right models refused, of {total[1]} | wrong models passed, of {total[0]} | not determined |")
    print("|---|---|---|---|")
    for row in ROWS:
        c = counts[row]
        if c["null"] < total[0] + total[1]: print(f"| {row} | {c['refused']} | {c['passed']} | {c['null']} |")
    print(f"\nkappa within 0.05 of the true one in {near} of {total[0] + total[1]}, its interval covers it in {covered}")


if __name__ == "__main__":
    main()
