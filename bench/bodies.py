# SPDX-License-Identifier: MIT
"""Runs plumb and the trial in JAX in turn on one core and compares; bench/bodies starts it."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = {"points": "training step, two-body: 2 points, batch 64, 30 frames each way",
        "box": "training step, md-4: 4 points in a box, batch 24, 30 frames each way",
        "chain": "training step, double-pendulum: 2 links, batch 32, 25 frames each way",
        "perception": "objects in 1000 frames of two-body"}
TARGET = 5.0


def run(command, row, seconds):
    core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    done = subprocess.run(core + command + [row, str(seconds)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])["cpu"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    args = parser.parse_args()
    commands = {"plumb": [str(ROOT / "build/release/bench/bench-bodies")],
                "jax": [sys.executable, str(ROOT / "bench/bodies_jax.py")]}
    print("| what | plumb ms | JAX ms | times faster |\n|---|---|---|---|", flush=True)
    least = 1e9
    for row, text in ROWS.items():
        best = {name: min(run(command, row, args.seconds) for _ in range(args.repeats)) for name, command in commands.items()}
        ratio = best["jax"] / best["plumb"]
        least = min(least, ratio)
        print(f"| {text} | {1e3 * best['plumb']:.3g} | {1e3 * best['jax']:.3g} | {ratio:.1f} |", flush=True)
    print(f"\nLeast: {least:.1f} times faster; the target is {TARGET:g}.")


if __name__ == "__main__":
    main()
