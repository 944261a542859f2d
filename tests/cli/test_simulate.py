# SPDX-License-Identifier: MIT
"""plumb worlds, simulate, convert and show as a user runs them: every kind of file holds the same
numbers, nothing half is left behind, and every mistake is one line."""
import gzip
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

try:
    import h5py
except ImportError:
    h5py = None

PLUMB = os.environ["PLUMB"]
HDF5 = h5py and json.loads(subprocess.run([PLUMB, "doctor", "--json"], capture_output=True,
                                          text=True).stdout)["hdf5"]
sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests/support"))
from program import Program  # noqa: E402

plumb = Program()
check, run, answer, complaint = plumb.check, plumb.run, plumb.answer, plumb.complaint


def arrays(path):
    if path.suffix == ".npz":
        with np.load(path) as z:
            return {k: z[k] for k in z.files}
    with h5py.File(path) as h:
        return {k: h[k][()] for k in h}


def same(a, b, what):
    check(a.keys() == b.keys(), f"{what}: {sorted(a)} and {sorted(b)}")
    for k in a.keys() & b.keys():
        check(a[k].dtype == b[k].dtype and a[k].shape == b[k].shape
              and a[k].tobytes() == b[k].tobytes(), f"{what}: {k} differs")


def png_size(data):
    return struct.unpack(">II", data[16:24])


def png_pixels(data):
    """An RGB picture without filters, which is what drawings are."""
    width, height = png_size(data)
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        check(zlib.crc32(data[at + 4:at + 8 + size]) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0],
              "a PNG chunk")
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    check(not rows[:, 0].any(), "a drawing has row filters")
    return rows[:, 1:].reshape(height, width, 3)


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    os.chdir(folder)

    # Worlds.
    worlds = json.loads(run("worlds", "--json").stdout)
    names = [w["name"] for w in worlds]
    for name in ("mass-spring", "mass-spring+c", "pendulum", "pendulum+c", "double-pendulum",
                 "double-pendulum+c", "two-body", "two-body+c", "matching-pennies",
                 "rock-paper-scissors", "room-circle", "md-4", "md-16"):
        check(name in names, f"plumb worlds has no {name}")
    check(all({"name", "n", "image", "dt", "summary"} <= w.keys() for w in worlds), "keys of worlds")
    check(all(w["name"] in run("worlds").stdout for w in worlds), "the table of worlds")

    # Every world into every kind of file and back.
    for w in (w for w in worlds if w["n"]):  # rooms, which have no phase space, are another test
        name = w["name"]
        few = [name, "--count", 3, "--steps", 6, "--seed", 7]
        got = answer("simulate", *few, "--out", "a.npz")
        check((got["world"], got["count"], got["steps"], got["seed"], got["file"]) ==
              (name, 3, 6, 7, "a.npz") and got["seconds"] > 0, f"{name}: {got}")
        a = arrays(folder / "a.npz")
        check(a["frames"].shape == (3, 6, *w["image"]) and a["frames"].dtype == np.uint8, "frames")
        check(a["state"].shape == (3, 6, 2 * w["n"]) and a["derivative"].shape == a["state"].shape, "state")
        check(a["energy"].shape == (3, 6) and a["world"].tobytes().decode() == name, "energy, world")
        check(np.allclose(a["time"], np.arange(6) * a["dt"]), "time")
        check(all(np.isfinite(v).all() for v in a.values()), f"{name} is not finite")
        ways = ["b.tfrecord", "c.npz"] + (["d.h5", "e.npz", "f.h5"] if HDF5 else [])
        last = "a.npz"
        for i, way in enumerate(ways):
            pack = ["--compress"] if i % 2 else []
            got = answer("convert", last, way, "--force", *pack)
            check((got["in"], got["out"], got["records"]) == (last, way, 3), f"convert says {got}")
            if not way.endswith(".tfrecord"):
                same(a, arrays(folder / way), f"{name}: {last} to {way}")
            last = way
        run("simulate", *few, "--out", "b.tfrecord", "--force", "--compress")
        check((folder / "b.tfrecord").read_bytes()[:2] == b"\x1f\x8b", "--compress is no gzip")
        run("convert", "b.tfrecord", "c.npz", "--force")
        same(a, arrays(folder / "c.npz"), f"{name}: through gzip")
        if HDF5:
            run("simulate", *few, "--out", "d.h5", "--force")
            same(a, arrays(folder / "d.h5"), f"{name}: straight to .h5")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        os.chdir(folder)

    # The published layout.
    for name, keys in (("mass-spring", {"k", "m"}), ("pendulum+c", {"m", "l", "g"}),
                       ("double-pendulum", {"m_1", "m_2", "l_1", "l_2", "g"}), ("two-body+c", {"m", "g"})):
        os.mkdir(folder / name)
        run("simulate", name, "--count", 2, "--steps", 5, "--out", folder / name / "train.tfrecord", "--published")
        lines = dict(line.split(", ", 1) for line in (folder / name / "features.txt").read_text().splitlines())
        check(lines.keys() == {"x", "dx_dt", "image", "other/offset", "other/color_index"} |
              {"other/" + k for k in keys}, f"{name}: {lines}")
        check(lines["image"] == "(5, 32, 32, 3), uint8" and lines["other/g" if "g" in keys else "other/k"] ==
              "(1,), float64", f"{name}: {lines}")
        bodies = 1 if name in ("mass-spring", "pendulum+c") else 2
        check(lines["other/color_index"] == f"(1, {bodies}), int64", f"{name}: {lines}")
        run("convert", folder / name, "x.npz", "--split", "train", "--force")
        run("simulate", name, "--count", 2, "--steps", 5, "--out", "y.npz", "--force")
        x, y = arrays(folder / "x.npz"), arrays(folder / "y.npz")
        if name == "mass-spring":
            check(lines["other/offset"] == "(1, 1), float64", f"{name}: {lines}")
            y["offset"] = y["offset"][:, :1]
        same(x, {k: y[k] for k in x}, f"{name}: published")
        run("convert", name, "z.npz", "--split", "test", code=1)
    run("simulate", "md-4", "--count", 1, "--steps", 3, "--out", "n.tfrecord", "--published", "--narrow")
    check("x, (3, 16), float32" in (folder / "features.txt").read_text(), "--narrow")
    os.remove(folder / "features.txt")

    # The same items whatever the count, the threads, the first.
    run("simulate", "pendulum+c", "--count", 9, "--steps", 4, "--out", "all.npz", "--threads", 1)
    run("simulate", "pendulum+c", "--count", 9, "--steps", 4, "--out", "again.npz", "--threads", 3)
    check((folder / "all.npz").read_bytes() == (folder / "again.npz").read_bytes(), "threads change bytes")
    run("simulate", "pendulum+c", "--count", 2, "--steps", 4, "--first", 6, "--out", "some.npz")
    x, y = arrays(folder / "all.npz"), arrays(folder / "some.npz")
    check(all(np.array_equal(x[k][6:8], y[k]) for k in y if y[k].ndim and k != "world"), "--first")
    run("simulate", "pendulum", "--count", 1, "--steps", 4, "--image", 16, "--dt", 0.1, "--stride", 2, "--backward",
        "--colors", "six", "--out", "options.npz")
    x = arrays(folder / "options.npz")
    check(x["frames"].shape == (1, 4, 16, 16, 3) and np.allclose(x["time"][0], [0, -0.2, -0.4, -0.6]), "options")

    # Pictures, the right way up: a pendulum hangs below the middle of its frame.
    run("simulate", "pendulum", "--count", 2, "--steps", 40, "--out", "p.npz")
    got = answer("show", "p.npz", "--out", "film.png", "--item", 1)
    data = (folder / "film.png").read_bytes()
    check((got["width"], got["height"]) == png_size(data) and got["file"] == "film.png", f"show says {got}")
    pixels = png_pixels(data)
    frame = arrays(folder / "p.npz")["frames"][1, 0][::-1]
    shown = pixels[58:58 + 96:3, 30:30 + 96:3]
    check(np.array_equal(shown, frame), "the first frame is not shown the right way up")
    svg = run("show", "p.npz", "--out", "film.svg", "--frames", 4) and (folder / "film.svg").read_text()
    check(svg.startswith("<svg ") and svg.count("<image ") == 4 and svg.rstrip().endswith("</svg>"), "film.svg")
    run("simulate", "room-circle", "--count", 1, "--steps", 3, "--out", "r.npz")
    run("show", "r.npz", "--out", "r.png", "--frames", 1)
    check(np.array_equal(png_pixels((folder / "r.png").read_bytes())[58:58 + 96:3, 30:30 + 96:3],
                         arrays(folder / "r.npz")["frames"][0, 0]), "a room is upright already")
    run("convert", "p.npz", "q.tfrecord", "--published")
    os.makedirs(folder / "pendulum_dt_0_05")
    for name in ("q.tfrecord", "features.txt"):
        os.replace(folder / name, folder / "pendulum_dt_0_05" / name.replace("q.", "test."))
    run("show", "pendulum_dt_0_05", "--out", "q.png", "--item", 1)
    check(np.array_equal(png_pixels((folder / "q.png").read_bytes())[58:58 + 96:3, 30:30 + 96:3], frame),
          "a published folder is shown the right way up")

    # One line each.
    complaint('"pendulum"', "simulate", "pendulm", "--out", "bad.npz", code=2)
    complaint("--out is missing", "simulate", "pendulum", code=2)
    complaint("takes one world", "simulate", "--out", "bad.npz", code=2)
    complaint("is there already", "simulate", "pendulum", "--out", "p.npz", "--count", 1)
    complaint("ends in none of", "simulate", "pendulum", "--out", "bad.txt")
    complaint("count is 0", "simulate", "pendulum", "--out", "bad.npz", "--count", 0)
    complaint("image", "simulate", "pendulum", "--out", "bad.npz", "--image", 7)
    complaint("No such file", "convert", "none.npz", "bad.npz")
    complaint("takes IN and OUT", "convert", "p.npz", code=2)
    complaint("no item 2", "show", "p.npz", "--out", "bad.png", "--item", 2)
    complaint("neither .png nor .svg", "show", "p.npz", "--out", "bad.jpg")
    complaint("takes no files", "worlds", "p.npz", code=2)
    check(not list(folder.glob("bad.*")), "a refusal left a file")

    # Damage: one line that names file and record; nothing is written.
    os.mkdir(folder / "damage")
    run("simulate", "mass-spring", "--count", 4, "--steps", 3, "--out", "damage/x.tfrecord")
    good = (folder / "damage/x.tfrecord").read_bytes()
    second = 16 + struct.unpack("<Q", good[:8])[0]
    spoilt = bytearray(good)
    spoilt[second + 40] ^= 1
    for name, data, words in (("data", bytes(spoilt), "record 1: the checksum of the data is wrong"),
                              ("length", good[:second] + b"\1" + good[second + 1:], "record 1: the checksum of the length"),
                              ("cut", good[:-5], "record 3 is cut short"),
                              ("gzip", gzip.compress(good)[:-30], "is cut short"),
                              ("other", b"hello, world, this is no file of records", "not a TFRecord file"),
                              ("empty", b"", "holds no record")):
        (folder / "damage" / f"{name}.tfrecord").write_bytes(data)
        complaint(words, "convert", f"damage/{name}.tfrecord", "out.npz")
        check(not (folder / "out.npz").exists(), f"{name}: a file was written")
    (folder / "damage/whole.tfrecord").write_bytes(gzip.compress(good))
    run("convert", "damage/whole.tfrecord", "out.npz")

    # Ctrl-C and a full disk leave nothing.
    before = sorted(p.name for p in folder.iterdir())
    kinds = [".npz", ".tfrecord"] + ([".h5"] if HDF5 else [])
    for kind in kinds:
        for pack in ([], ["--compress"]):
            for what in (signal.SIGINT, signal.SIGTERM):
                started = subprocess.Popen([PLUMB, "simulate", "pendulum", "--count", "1000000", "--steps", "64",
                                            "--out", "stop" + kind, *pack], stderr=subprocess.PIPE, text=True)
                time.sleep(0.4)
                check(any(p.name.startswith("stop" + kind) for p in folder.iterdir()), "it had not begun")
                started.send_signal(what)
                words = started.communicate(timeout=60)[1]
                check(started.returncode == -what and "stopped" in words, f"{kind}: {started.returncode} {words!r}")
                check(sorted(p.name for p in folder.iterdir()) == before, f"{what.name} left {kind} {pack}")

            def limit():
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

            complaint("cannot be written", "simulate", "pendulum", "--count", 200, "--steps", 256, "--out",
                      "full" + kind, *pack, preexec_fn=limit)
            check(sorted(p.name for p in folder.iterdir()) == before, f"a full disk left {kind} {pack}")

    # A disk that is really full, where one may be had.
    small = folder / "small"
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], capture_output=True).returncode == 0:
        try:
            for kind in kinds:
                complaint("cannot be written", "simulate", "pendulum", "--count", 200, "--steps", 64, "--out",
                          small / ("x" + kind))
                check(not list(small.iterdir()), f"a full disk keeps {[p.name for p in small.iterdir()]}")
        finally:
            subprocess.run(["umount", small])

print("failures:", plumb.failures)
sys.exit(plumb.failures > 0)
