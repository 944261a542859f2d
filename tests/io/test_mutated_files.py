# SPDX-License-Identifier: MIT
"""Files with a few bytes changed at random are read, or refused in one line; nothing else happens. libhdf5 crashes, loops and
takes much memory on some of them: the process around it has to hold.

PLUMB_MUTANTS is the number of files, PLUMB_MUTANTS_SEED chooses them.
"""
import os
import random
import subprocess
import time

import pytest

from paths import LONG, ROUNDTRIP, SANITIZE

np = pytest.importorskip("numpy")
try:
    import h5py
except ImportError:
    h5py = None

COUNT = int(os.environ.get("PLUMB_MUTANTS", "5000" if LONG else "300"))
SEED = int(os.environ.get("PLUMB_MUTANTS_SEED", "1"))


def parents(folder):
    x = np.arange(60.0).reshape(3, 4, 5)
    paths = []
    for name, save in (("a.npz", np.savez), ("b.npz", np.savez_compressed)):
        save(folder / name, x=x, y=np.asfortranarray(x))
        paths.append(folder / name)
    np.save(folder / "c.npy", x)
    paths.append(folder / "c.npy")
    if h5py:
        layouts = [{}, {"chunks": (1, 2, 5)}, {"compression": "gzip", "shuffle": True},
                   {"fletcher32": True}, {"maxshape": (None, None, None)}]
        for i, (options, library) in enumerate((o, l) for o in layouts for l in ("earliest", "latest")):
            path = folder / f"h{i}.h5"
            with h5py.File(path, "w", libver=library) as f:
                f.create_dataset("group/x", data=x, **options)
                f["group/flag"] = x > 3
                f["x"] = h5py.SoftLink("/group/x")
            paths += [path] * 2  # the ones to worry about
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


def test_changed_files_are_read_or_refused_in_one_line_with_little_memory(tmp_path):
    dice, bad, memory = random.Random(SEED), [], 0
    files = parents(tmp_path)
    for i in range(COUNT):
        file = files[i % len(files)]
        path = tmp_path / f"mutant-{SEED}-{i}{file.suffix}"
        path.write_bytes(mutant(dice, file.read_bytes()))
        start = time.monotonic()
        done = subprocess.run([ROUNDTRIP, path], capture_output=True, env=dict(os.environ, PLUMB_ROUNDTRIP_MEMORY="1"))
        took = time.monotonic() - start
        said = done.stdout.split(b"memory ")
        used = int(said[1]) if len(said) == 2 else 10**9
        memory = max(memory, used)
        if (done.returncode == 0) != (done.stderr == b"") or done.returncode not in (0, 1) or done.stderr.count(b"\n") > 1 or took > 60:
            bad.append(f"{path}: exit {done.returncode} after {took:.1f} s: {done.stderr}")
        else:
            path.unlink()
    assert not bad, "\n".join(bad)
    # 16 MiB, and what the two programs are before they see a file; each mutant has a few kB.
    assert SANITIZE or memory <= 22 * 1024, f"{memory} KiB with both programs"
