# SPDX-License-Identifier: MIT
"""plumb worlds, simulate, convert and show as a user runs them: every kind of file holds the same numbers, no part of a file is
left behind, and every mistake is one line."""
import gzip
import os
import resource
import signal
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest

from paths import PLUMB
from processes import wait_until
from program import Program

plumb = Program()
run, answer, refused = plumb.run, plumb.answer, plumb.refused
WORLDS = {w["name"]: w for w in answer("worlds")}
HAMILTONIAN = [name for name, w in WORLDS.items() if w["n"]]  # rooms have no phase space: test_rooms.py
try:
    import h5py
    HDF5 = answer("doctor")["hdf5"]
except ImportError:
    HDF5 = False
KINDS = [".npz", ".tfrecord"] + ([".h5"] if HDF5 else [])


def arrays(path):
    if path.suffix == ".npz":
        with np.load(path) as z:
            return {k: z[k] for k in z.files}
    with h5py.File(path) as h:
        return {k: h[k][()] for k in h}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for k in a:
        assert a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes(), k


def png_size(data):
    return struct.unpack(">II", data[16:24])


def png_pixels(data):
    """An RGB picture without filters, which is what drawings are."""
    width, height = png_size(data)
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        assert zlib.crc32(data[at + 4:at + 8 + size]) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0], "a PNG chunk"
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any(), "a drawing has row filters"
    return rows[:, 1:].reshape(height, width, 3)


def first_frame(path):
    """The first frame on a drawing: each pixel is a square of three."""
    return png_pixels(path.read_bytes())[58:58 + 96:3, 30:30 + 96:3]


# ---- worlds ----

def test_the_published_worlds_are_listed():
    for name in ("mass-spring", "mass-spring+c", "pendulum", "pendulum+c", "double-pendulum", "double-pendulum+c", "two-body",
                 "two-body+c", "matching-pennies", "rock-paper-scissors", "room-circle", "md-4", "md-16"):
        assert name in WORLDS
    assert all({"name", "n", "image", "dt", "summary"} <= w.keys() for w in WORLDS.values())
    table = run("worlds").stdout
    assert all(name in table for name in WORLDS)


# ---- the same numbers in every file ----

@pytest.mark.parametrize("name", HAMILTONIAN)
def test_every_kind_of_file_holds_the_same_numbers(name, inside):
    w, few = WORLDS[name], [name, "--count", 3, "--steps", 6, "--seed", 7]
    got = answer("simulate", *few, "--out", "a.npz")
    assert (got["world"], got["count"], got["steps"], got["seed"], got["file"]) == (name, 3, 6, 7, "a.npz") and got["seconds"] > 0
    a = arrays(inside / "a.npz")
    assert a["frames"].shape == (3, 6, *w["image"]) and a["frames"].dtype == np.uint8
    assert a["state"].shape == (3, 6, 2 * w["n"]) and a["derivative"].shape == a["state"].shape
    assert a["energy"].shape == (3, 6) and a["world"].tobytes().decode() == name
    assert np.allclose(a["time"], np.arange(6) * a["dt"])
    assert all(np.isfinite(v).all() for v in a.values())
    last = "a.npz"
    for i, way in enumerate(["b.tfrecord", "c.npz"] + (["d.h5", "e.npz", "f.h5"] if HDF5 else [])):
        got = answer("convert", last, way, "--force", *(["--compress"] if i % 2 else []))
        assert (got["in"], got["out"], got["records"]) == (last, way, 3)
        if not way.endswith(".tfrecord"):
            assert_same(a, arrays(inside / way))
        last = way
    run("simulate", *few, "--out", "b.tfrecord", "--force", "--compress")
    assert (inside / "b.tfrecord").read_bytes()[:2] == b"\x1f\x8b", "--compress is no gzip"
    run("convert", "b.tfrecord", "c.npz", "--force")
    assert_same(a, arrays(inside / "c.npz"))
    if HDF5:
        run("simulate", *few, "--out", "d.h5", "--force")
        assert_same(a, arrays(inside / "d.h5"))


@pytest.mark.parametrize("name, keys", [("mass-spring", {"k", "m"}), ("pendulum+c", {"m", "l", "g"}),
                                        ("double-pendulum", {"m_1", "m_2", "l_1", "l_2", "g"}), ("two-body+c", {"m", "g"})])
def test_the_published_layout_is_written_and_read(name, keys, inside):
    os.mkdir(name)
    run("simulate", name, "--count", 2, "--steps", 5, "--out", inside / name / "train.tfrecord", "--published")
    lines = dict(line.split(", ", 1) for line in (inside / name / "features.txt").read_text().splitlines())
    assert lines.keys() == {"x", "dx_dt", "image", "other/offset", "other/color_index"} | {"other/" + k for k in keys}
    assert lines["image"] == "(5, 32, 32, 3), uint8" and lines["other/g" if "g" in keys else "other/k"] == "(1,), float64"
    bodies = 1 if name in ("mass-spring", "pendulum+c") else 2
    assert lines["other/color_index"] == f"(1, {bodies}), int64"
    run("convert", inside / name, "x.npz", "--split", "train", "--force")
    run("simulate", name, "--count", 2, "--steps", 5, "--out", "y.npz", "--force")
    x, y = arrays(inside / "x.npz"), arrays(inside / "y.npz")
    if name == "mass-spring":
        assert lines["other/offset"] == "(1, 1), float64"
        y["offset"] = y["offset"][:, :1]
    assert_same(x, {k: y[k] for k in x})
    run("convert", name, "z.npz", "--split", "test", code=1)


def test_narrow_writes_float32(inside):
    run("simulate", "md-4", "--count", 1, "--steps", 3, "--out", "n.tfrecord", "--published", "--narrow")
    assert "x, (3, 16), float32" in (inside / "features.txt").read_text()


def test_an_item_is_the_same_whatever_the_count_the_threads_and_the_first(inside):
    run("simulate", "pendulum+c", "--count", 9, "--steps", 4, "--out", "all.npz", "--threads", 1)
    run("simulate", "pendulum+c", "--count", 9, "--steps", 4, "--out", "again.npz", "--threads", 3)
    assert (inside / "all.npz").read_bytes() == (inside / "again.npz").read_bytes()
    run("simulate", "pendulum+c", "--count", 2, "--steps", 4, "--first", 6, "--out", "some.npz")
    x, y = arrays(inside / "all.npz"), arrays(inside / "some.npz")
    assert all(np.array_equal(x[k][6:8], y[k]) for k in y if y[k].ndim and k != "world")


def test_image_size_time_step_stride_and_direction_are_options(inside):
    run("simulate", "pendulum", "--count", 1, "--steps", 4, "--image", 16, "--dt", 0.1, "--stride", 2, "--backward",
        "--colors", "six", "--out", "options.npz")
    x = arrays(inside / "options.npz")
    assert x["frames"].shape == (1, 4, 16, 16, 3) and np.allclose(x["time"][0], [0, -0.2, -0.4, -0.6])


# ---- pictures ----

def test_a_pendulum_is_shown_the_right_way_up(inside):
    run("simulate", "pendulum", "--count", 2, "--steps", 40, "--out", "p.npz")
    got = answer("show", "p.npz", "--out", "film.png", "--item", 1)
    data = (inside / "film.png").read_bytes()
    assert (got["width"], got["height"]) == png_size(data) and got["file"] == "film.png"
    frame = arrays(inside / "p.npz")["frames"][1, 0][::-1]
    assert np.array_equal(first_frame(inside / "film.png"), frame)
    run("show", "p.npz", "--out", "film.svg", "--frames", 4)
    svg = (inside / "film.svg").read_text()
    assert svg.startswith("<svg ") and svg.count("<image ") == 4 and svg.rstrip().endswith("</svg>")
    # And from a published folder, which does not say which way is up.
    run("convert", "p.npz", "q.tfrecord", "--published")
    os.makedirs(inside / "pendulum_dt_0_05")
    for name in ("q.tfrecord", "features.txt"):
        os.replace(inside / name, inside / "pendulum_dt_0_05" / name.replace("q.", "test."))
    run("show", "pendulum_dt_0_05", "--out", "q.png", "--item", 1)
    assert np.array_equal(first_frame(inside / "q.png"), frame)


def test_a_room_is_upright_already(inside):
    run("simulate", "room-circle", "--count", 1, "--steps", 3, "--out", "r.npz")
    run("show", "r.npz", "--out", "r.png", "--frames", 1)
    assert np.array_equal(first_frame(inside / "r.png"), arrays(inside / "r.npz")["frames"][0, 0])


# ---- mistakes and damage ----

def test_wrong_usage_is_one_line_and_leaves_no_file(inside):
    run("simulate", "pendulum", "--count", 2, "--steps", 4, "--out", "p.npz")
    refused('"pendulum"', "simulate", "pendulm", "--out", "bad.npz", code=2)
    refused("--out is missing", "simulate", "pendulum", code=2)
    refused("takes one world", "simulate", "--out", "bad.npz", code=2)
    refused("is there already", "simulate", "pendulum", "--out", "p.npz", "--count", 1)
    refused("ends in none of", "simulate", "pendulum", "--out", "bad.txt")
    refused("count is 0", "simulate", "pendulum", "--out", "bad.npz", "--count", 0)
    refused("image", "simulate", "pendulum", "--out", "bad.npz", "--image", 7)
    refused("No such file", "convert", "none.npz", "bad.npz")
    refused("takes IN and OUT", "convert", "p.npz", code=2)
    refused("no item 2", "show", "p.npz", "--out", "bad.png", "--item", 2)
    refused("must end in .png or .svg", "show", "p.npz", "--out", "bad.jpg")
    refused("takes no files", "worlds", "p.npz", code=2)
    assert not list(inside.glob("bad.*"))


def test_damaged_records_are_named_and_nothing_is_written(inside):
    run("simulate", "mass-spring", "--count", 4, "--steps", 3, "--out", "x.tfrecord")
    good = (inside / "x.tfrecord").read_bytes()
    second = 16 + struct.unpack("<Q", good[:8])[0]
    changed = bytearray(good)
    changed[second + 40] ^= 1
    for name, data, words in (("data", bytes(changed), "record 1: the checksum of the data is wrong"),
                              ("length", good[:second] + b"\1" + good[second + 1:], "record 1: the checksum of the length"),
                              ("cut", good[:-5], "record 3 is cut short"),
                              ("gzip", gzip.compress(good)[:-30], "is cut short"),
                              ("other", b"hello, world, this is no file of records", "not a TFRecord file"),
                              ("empty", b"", "holds no record")):
        (inside / f"{name}.tfrecord").write_bytes(data)
        refused(words, "convert", f"{name}.tfrecord", "out.npz")
        assert not (inside / "out.npz").exists(), name
    (inside / "whole.tfrecord").write_bytes(gzip.compress(good))
    run("convert", "whole.tfrecord", "out.npz")


# ---- files are written atomically ----

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pack", [[], ["--compress"]], ids=["plain", "compressed"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_file(kind, pack, number, inside):
    process = subprocess.Popen([PLUMB, "simulate", "pendulum", "--count", "1000000", "--steps", "64", "--out", "stop" + kind, *pack],
                               stderr=subprocess.PIPE, text=True)
    wait_until(lambda: list(inside.iterdir()))
    assert any(p.name.startswith("stop" + kind) for p in inside.iterdir()), "it had not begun"
    time.sleep(0.1)
    process.send_signal(number)
    words = process.communicate(timeout=300)[1]
    assert process.returncode == -number and "stopped" in words
    assert not list(inside.iterdir())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pack", [[], ["--compress"]], ids=["plain", "compressed"])
def test_a_full_disk_leaves_no_file(kind, pack, inside):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))

    refused("cannot be written", "simulate", "pendulum", "--count", 100, "--steps", 128, "--out", "full" + kind, *pack, preexec_fn=limit)
    assert not list(inside.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_is_really_full_leaves_no_file(kind, tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted as root")
    try:
        refused("cannot be written", "simulate", "pendulum", "--count", 200, "--steps", 64, "--out", tmp_path / ("x" + kind))
        assert not list(tmp_path.iterdir())
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_driven_world_has_actions(tmp_path, kind):
    """A torque that is held does the work torque x angle, in every kind of file."""
    world = WORLDS["pendulum-torque"]
    assert world["actions"] == 1 and not world["reversible"] and not any(w["actions"] for name, w in WORLDS.items() if w is not world)
    file, npz = tmp_path / f"x{kind}", tmp_path / "y.npz"
    run("simulate", "pendulum-torque", "--count", 3, "--steps", 20, "--out", file)
    if kind != ".npz":
        run("convert", file, npz)
    got = arrays(npz if kind != ".npz" else file)
    assert got["action"].shape == (3, 20, 1) and got["torque"].shape == (3, 9)
    work = got["action"][:, :-1, 0] * np.diff(got["state"][..., 0], axis=1)
    assert np.abs(np.diff(got["energy"], axis=1) - work).max() < 1e-12 < np.abs(work).max()


def test_a_driven_world_refuses_what_actions_do_not_allow(tmp_path):
    for option in (("--stride", 2), ("--backward",)):
        refused("pendulum-torque: ", "simulate", "pendulum-torque", *option, "--out", tmp_path / "x.npz", code=1)
