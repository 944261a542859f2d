# SPDX-License-Identifier: MIT
"""Plants a wave in the first latent and asks kappa. A wave that is short enough looks like noise, and the model passes as right.

The length of each wave is a multiple of `form.resolution`, which kappa states for the same states. Prints, for each multiple, how
many of the models are accepted. Their true kappa is at most 0.85, so none should be; waves so long that it is more are left out.

    bench/resolution --seed 1
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import battery_cases as cases
import battery_systems as systems

SYSTEMS = ["duffing", "pendulum", "henon-heiles", "two-oscillators", "three-oscillators", "kepler"]
COUNTS = [10, 30, 100, 300]
MULTIPLES = [0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 3.0]
SLOPE = 1.2  # the amplitude of a wave, times 2 pi over its length


def measure(plumb, folder, latent, truth):
    path = Path(folder) / "case.npz"
    np.savez(path, latent=latent, truth=truth)
    done = subprocess.run([plumb, "measure", path, "--json", "--threads", "1", "--max-order", "1", "--coordinates-only"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def true_kappa(slope, n):
    """Of a map that multiplies the area of the first pair by `slope` (rows,) and keeps that of the others."""
    return (slope.mean() + n - 1)**2 / (((slope**2).mean() + n - 1) * n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=os.environ.get("PLUMB", "build/release/bin/plumb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.0, help="of all latents, as a share of the amplitude of the wave")
    options = parser.parse_args()
    said = {(n, multiple): [] for n in (1, 2, 3) for multiple in MULTIPLES}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(SYSTEMS):
            for count in COUNTS:
                rng = np.random.default_rng([options.seed, number, count])
                truth = systems.simulate(name, systems.draw(name, rng, count), cases.STEPS)
                draw = cases.Draw(rng, name, truth)
                unit = draw.unit()(draw.rows)
                deviation = unit[:, 0].std()
                states = unit.reshape(truth.shape)
                resolution = measure(options.plumb, folder, states, states)["form"]["resolution"]
                for multiple in MULTIPLES:
                    length = multiple * resolution * deviation
                    wave = SLOPE * length / (2 * np.pi)
                    latent, phase = unit.copy(), 2 * np.pi / length * unit[:, 0] + rng.uniform(0, 2 * np.pi)
                    latent[:, 0] += wave * np.sin(phase)
                    if true_kappa(1 + SLOPE * np.cos(phase), draw.n) > 0.85: continue
                    latent += options.noise * wave * rng.normal(size=latent.shape)
                    record = measure(options.plumb, folder, latent.reshape(states.shape), states)
                    said[draw.n, multiple].append(record["canonical"])
    print("| length over resolution | " + " | ".join(f"{n} pairs: accepted, null, rejected" for n in (1, 2, 3)) + " |")
    print("|---" * 4 + "|")
    for multiple in MULTIPLES:
        cells = (said[n, multiple] for n in (1, 2, 3))
        print(f"| {multiple} | " + " | ".join(f"{c.count(1)}, {c.count(None)}, {c.count(0)} of {len(c)}" for c in cells) + " |")


if __name__ == "__main__": main()
