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
    check(world.kind == ("trajectory" if not name.startswith("rooms/") else "room" if world.clips == 1 else "probe"), f"{name}: kind")
    if world.kind != "trajectory":
        continue
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

# Rooms: the arrays of the program's files, in the same names.
for name in ("rooms/freeform", "rooms/solidity"):
    room = plumb.world(name)
    clips = () if room.clips == 1 else (room.clips,)
    check(room.n == 0 and room.steps == 15 and room.image == (64, 64, 3) and room.state_names == [], f"{name}: attributes")
    batch = room.batch(2, seed=9, first=4, image=32, threads=2)
    check(batch.frames.shape == (2, *clips, 15, 32, 32, 3) and batch.mask.shape == (2, *clips, 15, 32, 32), f"{name}: shapes")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npz")
        subprocess.run([os.environ["PLUMB"], "simulate", name, "--count", "2", "--seed", "9", "--first", "4", "--image", "32",
                        "--out", path], check=True, capture_output=True)
        with np.load(path) as file:
            for field, array in batch.to_dict().items():
                check(file[field].dtype == array.dtype and np.array_equal(file[field], array), f"{name}: {field} is not the program's")
    item = room.dataset(3, seed=9, first=4, image=32)[1]
    check(np.array_equal(item["frames"], batch.frames[1]), f"{name}: a sequence has other items")
    check.raises(plumb.RangeError, "15 frames", lambda: room.batch(1, 20))
    check.raises(plumb.RangeError, "backward", lambda: room.batch(1, backward=True))
check(plumb.world("rooms/solidity").concept == "solidity" and plumb.world("pendulum").concept is None, "concepts")
check(plumb.world("rooms/freeform").event_names[5] == "curtain", "names of events")
check("rooms/impossible" not in plumb.worlds(), "rooms/impossible is not listed")
impossible, probes = plumb.world("rooms/impossible").batch(6, seed=2, image=16), plumb.world("rooms/continuity").batch(2, seed=2, image=16)
check(np.array_equal(impossible.frames[5], probes.frames[1, 2:]), "rooms/impossible has the impossible clips, concept by concept")
check.raises(plumb.RangeError, "no room", lambda: plumb.world("rooms/kitchen"))
with plumb.world("rooms/freeform").loader(batch=2, window=15, seed=3, world_options={"image": 16}) as stream:
    batch = next(stream)
    check(np.array_equal(batch.frames, plumb.world("rooms/freeform").batch(2, seed=3, image=16).frames), "a loader of a room")
    check(np.allclose(batch.time[0], 0.06 * np.arange(15)), "times of a room")
check.raises(plumb.RangeError, "4 clips", lambda: plumb.world("rooms/solidity").loader(batch=2, window=15))

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
