#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""6. Read a published TFRecord into NumPy, without TensorFlow.

    python3 examples/06_published_tfrecord.py dm_hamiltonian_dynamics_suite/mass_spring    # a folder of the suite
    python3 examples/06_published_tfrecord.py            # simulates one in the published layout
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

PLUMB = os.environ.get("PLUMB", "plumb")

with tempfile.TemporaryDirectory() as folder:
    source = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "train.tfrecord")
    if len(sys.argv) < 2:
        subprocess.run([PLUMB, "simulate", "mass-spring", "--count", "5", "--steps", "20", "--published", "--out", source],
                       check=True, stdout=subprocess.DEVNULL)
    arrays = os.path.join(folder, "data.npz")
    subprocess.run([PLUMB, "convert", source, arrays], check=True, stdout=subprocess.DEVNULL)
    with np.load(arrays) as data:
        for name in data.files:
            print(f"{name:12} {data[name].shape} {data[name].dtype}")
        frames, state = data["frames"], data["state"]
print(f"{len(frames)} trajectories; the first begins at q = {state[0, 0, 0]:.3f}, p = {state[0, 0, 1]:.3f}")
