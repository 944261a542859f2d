#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""1. From NumPy arrays to a verdict, through the program.

    python3 examples/01_from_numpy.py

The "model" here is a rotation of the true phase space of a harmonic oscillator, so it passes. Put
your own latents in its place.
"""
import json
import os
import subprocess
import tempfile

import numpy as np

rng = np.random.default_rng(1)
t = 0.1 * np.arange(60)
radius, phase = rng.uniform(0.5, 1.5, (2, 100, 1))
q, p = radius * np.cos(t + phase), -radius * np.sin(t + phase)
truth = np.stack([q, p], axis=-1)                                    # (trajectories, steps, 2n)
latent = np.stack([0.8 * q + 0.6 * p, -0.6 * q + 0.8 * p], axis=-1)  # (trajectories, steps, 2m)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "run.npz")
    np.savez(path, latent=latent, truth=truth)
    out = subprocess.run([os.environ.get("PLUMB", "plumb"), "measure", path, "--json"],
                         capture_output=True, text=True, check=True).stdout
result = json.loads(out)
print(f"SyMetric {result['symetric']:g}, R2 {result['r2']:.4f} {result['r2_ci']}, Sym {result['sym']:.2g}")
print(result["why"])
