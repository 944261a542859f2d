#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the sample latents that `plumb demo` measures.

    python3 examples/make_latents.py [DIRECTORY]      (default: examples/latents)

No model is involved. Each file holds exact trajectories of a mass on a spring, `truth`, and an image
of them under a known map, `latent`. So the right verdict is known.
"""
import sys
from pathlib import Path

import numpy as np

TRAJECTORIES, STEPS, DT = 100, 60, 0.05
MASS, STIFFNESS = 0.5, 2.0


def mass_spring(rng):
    """(trajectories, steps, 2), q then p: H = p^2/2m + k q^2/2, solved in closed form."""
    omega = np.sqrt(STIFFNESS / MASS)
    radius = rng.uniform(0.1, 1.0, (TRAJECTORIES, 1))
    phase = rng.uniform(0.0, 2 * np.pi, (TRAJECTORIES, 1))
    t = DT * np.arange(STEPS)
    q = radius * np.cos(omega * t + phase)
    p = -MASS * omega * radius * np.sin(omega * t + phase)
    return np.stack([q, p], axis=-1)


def good(q, p, rng):
    """A shear, a rotation and a spare pair of noise: bent, but every step canonical."""
    a, b = q, p + 3.0 * q**2
    c, s = np.cos(0.4), np.sin(0.4)
    spare = 0.5 * rng.standard_normal((2,) + q.shape)
    return [c * a + s * b, spare[0], -s * a + c * b, spare[1]]


def bad(q, p, rng):
    """Holds the whole state, but squeezes areas where |q| is large: not canonical."""
    a, b = q, p / (1.0 + 20.0 * q**2)
    c, s = np.cos(0.4), np.sin(0.4)
    return [c * a + s * b, -s * a + c * b]


def cheat(q, p, rng):
    """Positions [q, dq/dt, t] and constant momenta: a clock, not a phase space [Higgins21]."""
    t = np.broadcast_to(DT * np.arange(STEPS), q.shape)
    zero = np.zeros_like(q)
    return [q, p / MASS, t, zero, zero, zero]


def main():
    here = Path(__file__).resolve().parent
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "latents"
    out.mkdir(parents=True, exist_ok=True)
    for seed, make in enumerate((good, bad, cheat), start=1):
        rng = np.random.RandomState(seed)  # the generator NumPy keeps unchanged
        truth = mass_spring(rng)
        latent = np.stack(make(truth[..., 0], truth[..., 1], rng), axis=-1)
        np.savez(out / f"{make.__name__}.npz",
                 latent=latent.astype(np.float32), truth=truth.astype(np.float32))


if __name__ == "__main__":
    main()
