#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files with a few bytes changed at random are read, or refused in one line; nothing else happens.
libhdf5 crashes, loops and eats memory on some of them: the walls around it have to hold.

PLUMB_MUTANTS says how many, PLUMB_MUTANTS_SEED which.
"""
import os
import random
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print("NumPy is not here")
    sys.exit(77)
try:
    import h5py
except ImportError:
    h5py = None

ROUNDTRIP = os.environ.get("PLUMB_ROUNDTRIP")
if not ROUNDTRIP:
    print("PLUMB_ROUNDTRIP is not set")
    sys.exit(77)
COUNT = int(os.environ.get("PLUMB_MUTANTS", "300"))
SEED = int(os.environ.get("PLUMB_MUTANTS_SEED", "1"))
SANITIZED = bool(os.environ.get("PLUMB_SANITIZE"))


def parents(folder):
    x = np.arange(60.0).reshape(3, 4, 5)
    paths = []
    for name, save in (("a.npz", np.savez), ("b.npz", np.savez_compressed)):
        save(os.path.join(folder, name), x=x, y=np.asfortranarray(x))
        paths.append(name)
    np.save(os.path.join(folder, "c.npy"), x)
    paths.append("c.npy")
    if h5py:
        layouts = [{}, {"chunks": (1, 2, 5)}, {"compression": "gzip", "shuffle": True},
                   {"fletcher32": True}, {"maxshape": (None, None, None)}]
        for i, (options, library) in enumerate((o, l) for o in layouts
                                               for l in ("earliest", "latest")):
            with h5py.File(os.path.join(folder, "h%d.h5" % i), "w", libver=library) as f:
                f.create_dataset("group/x", data=x, **options)
                f["group/flag"] = x > 3
                f["x"] = h5py.SoftLink("/group/x")
            paths += ["h%d.h5" % i] * 2  # the ones to worry about
    return paths


def mutant(dice, whole):
    b = bytearray(whole)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        # Headers rather than data: most of the bytes that matter come early.
        at = dice.randrange(min(len(b), dice.choice((100, 1000, 10**9))))
        b[at] = dice.choice((0, 1, 255, 127, 128, dice.randrange(256), b[at] ^ 1 << dice.randrange(8)))
    if dice.random() < 0.05:
        del b[dice.randrange(len(b)):]
    return bytes(b)


def main():
    dice = random.Random(SEED)
    bad = slow = read = gave_up = 0
    slowest, memory = 0.0, 0
    with tempfile.TemporaryDirectory(prefix="plumb-mutants-") as folder:
        names = parents(folder)
        for i in range(COUNT):
            name = names[i % len(names)]
            with open(os.path.join(folder, name), "rb") as f:
                whole = f.read()
            path = os.path.join(folder, "mutant" + os.path.splitext(name)[1])
            with open(path, "wb") as f:
                f.write(mutant(dice, whole))
            start = time.monotonic()
            done = subprocess.run([ROUNDTRIP, path], capture_output=True,
                                  env=dict(os.environ, PLUMB_ROUNDTRIP_MEMORY="1"))
            took = time.monotonic() - start
            slowest = max(slowest, took)
            said = done.stdout.split(b"memory ")
            memory = max(memory, int(said[1])) if len(said) == 2 else 10**9
            slow += took > 0.1
            read += done.returncode == 0
            gave_up += b"gave up" in done.stderr
            if (done.returncode == 0) != (done.stderr == b"") or done.returncode not in (0, 1) or \
                    done.stderr.count(b"\n") > 1 or took > 10:
                bad += 1
                kept = os.path.join(tempfile.gettempdir(), "plumb-mutant-%d-%d%s" %
                                    (SEED, i, os.path.splitext(name)[1]))
                with open(path, "rb") as f, open(kept, "wb") as g:
                    g.write(f.read())
                print("%s: exit %d after %.1f s: %s" % (kept, done.returncode, took, done.stderr))
    print("%d mutants: %d read, %d where HDF5 gave up, %d bad; %d above 100 ms, slowest %.0f ms; "
          "most memory %d KiB with both programs" % (COUNT, read, gave_up, bad, slow, 1e3 * slowest, memory))
    # 16 MiB, and what the two programs are before they see a file; each mutant has a few kB.
    if not SANITIZED and memory > 22 * 1024:
        print("one of them took more than 22 MiB")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
