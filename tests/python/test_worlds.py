# SPDX-License-Identifier: MIT
"""Worlds from Python: the program's data files, batches in any cut, streams and sequences."""
import os
import pickle
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
import numpy as np  # noqa: E402
import plumb  # noqa: E402

check = support.Checks()
check(len(plumb.worlds()) >= 13 and "pendulum+c" in plumb.worlds(), f"worlds {plumb.worlds()}")
for name in plumb.worlds():
    world = plumb.world(name)
    batch = world.batch(2, steps=3, seed=5)
    check(batch.frames.shape == (2, 3, *world.image) and batch.frames.dtype == np.uint8 and batch.frames.any(), f"{name}: frames")
    check(batch.state.shape == (2, 3, 2 * world.n) and np.isfinite(batch.state).all(), f"{name}: state")
    check(len(world.state_names) == 2 * world.n and len(world.canonical_names) == 2 * world.canonical_n, f"{name}: names")
    check(list(batch.parameters) == list(world.parameters) and len(batch) == 2, f"{name}: parameters")

# What the program writes.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.npz")
    subprocess.run([os.environ["PLUMB"], "simulate", "pendulum+c", "--count", "3", "--steps", "7", "--seed", "9", "--first",
                    "4", "--out", path], check=True, capture_output=True)
    batch = plumb.world("pendulum+c").batch(3, 7, seed=9, first=4).to_dict()
    with np.load(path) as file:
        for name in ("frames", "state", "canonical", "derivative", "energy"):
            check(np.array_equal(file[name], batch[name]), f"{name} is not the program's")

# Any cut, any threads: the same items.
world = plumb.world("two-body")
whole = world.batch(5, 6, seed=2, threads=3)
part = world.batch(2, 6, seed=2, first=3, threads=1)
check(np.array_equal(whole.frames[3:], part.frames) and np.array_equal(whole.state[3:], part.state), "another cut, other items")
check(np.allclose(whole.energy, whole.energy[:, :1]), "energy is not kept")
data = world.dataset(5, 6, seed=2)
check(len(data) == 5 and np.array_equal(data[-1]["state"], whole.state[4]), "a sequence has other items")
check(sum(1 for _ in data) == 5, "a sequence does not end")
check.raises(IndexError, "item 5 of 5", lambda: data[5])
check(np.array_equal(pickle.loads(pickle.dumps(data))[0]["frames"], data[0]["frames"]), "a pickled sequence")
check(world.batch(0, 6).frames.shape == (0, 6, 32, 32, 3), "no items")
check(world.batch(1, 2, image=64).frames.shape == (1, 2, 64, 64, 3), "image=64")

# Streams.
with world.loader(batch=3, window=4, seed=2) as stream:
    first, second = next(stream), next(stream)
    check(np.array_equal(first.frames, world.batch(3, 4, seed=2).frames), "the first batch")
    check(np.array_equal(second.state, world.batch(3, 4, seed=2, first=3).state), "the second batch")
check(next(stream, None) is None, "a closed stream goes on")
with world.loader(batch=2, window=4, copy=False, states=False) as stream:
    batch = next(stream)
    check(not batch.frames.flags.writeable and not hasattr(batch, "state"), "a batch without a copy")
for count, batch in enumerate(world):
    if count == 2:
        break
check(batch.frames.shape == (32, 64, 32, 32, 3), "a world is no iterable")

# Failures.
check.raises(plumb.RangeError, "pendulum", plumb.world, "pendulun")
check.raises(plumb.RangeError, "", world.batch, 1, 2, image=33)
check.raises(TypeError, "did you mean image", world.batch, 1, 2, images=33)
check.raises(ValueError, "steps", world.batch, 1, 0)
check.raises(plumb.RangeError, "", world.loader, batch=-1)
check.end()
