# SPDX-License-Identifier: MIT
"""From one's own pictures to a verdict: PNG sequences, other sizes, grey and float frames are read by train, rollout, evaluate, report."""
import re
import struct
import zlib

import numpy as np
import pytest

from program import Program

plumb = Program()
STEPS, HEIGHT, WIDTH = 80, 90, 120


def write_png(path, pixels, depth=8):
    """A PNG of grey or RGB pixels of 8 or 16 bits, without a library."""
    height, width = pixels.shape[:2]
    raw = b"".join(b"\0" + row.astype(">u2" if depth == 16 else "u1").tobytes() for row in pixels)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", width, height, depth, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""))


def white_ball(count, seed):
    """A ball on a spring before black: bytes (count, steps, height, width, 3), and its states."""
    rng = np.random.default_rng(seed)
    radius, phase = rng.uniform(0.4, 1, (count, 1)), rng.uniform(0, 6.28, (count, 1))
    t = 0.1 * np.arange(STEPS)
    state = np.stack([radius * np.cos(t + phase), -radius * np.sin(t + phase)], -1)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    frames = np.empty((count, STEPS, HEIGHT, WIDTH, 3), np.uint8)
    for i in range(count):
        away = np.hypot(x - WIDTH / 2 - 40 * state[i, :, 0, None, None], y - HEIGHT / 2)
        frames[i] = (255 * np.clip(9.5 - away, 0, 1))[..., None].astype(np.uint8)
    return frames, state


@pytest.fixture(scope="module")
def pictures(shared):
    """A folder of PNG sequences, and a file of other videos with their states."""
    frames, _ = white_ball(20, 1)
    for i, video in enumerate(frames):
        folder = shared / f"pictures/video{i}"
        folder.mkdir(parents=True)
        for k, frame in enumerate(video):
            write_png(folder / f"frame{k}.png", frame)
    frames, state = white_ball(24, 2)
    np.savez(shared / "test.npz", frames=frames, state=state, canonical=state)
    return shared / "pictures"


def test_a_folder_of_pictures_becomes_a_verdict_and_a_page(pictures, tmp_path):
    run, test = tmp_path / "run", pictures.parent / "test.npz"
    done = plumb.run("train", "bodies", "--data", pictures, "--preset", "points", "--set", "objects=1", "--steps", 300, "--out", run)
    assert "frames of 90 x 120 are resized to 48 x 64" in done.stderr
    got = plumb.answer("evaluate", run, "--data", test, "--count", 4, "--steps", 10, "--measured", 24, "--method", "pr")
    assert got["verdict"] == "learnt" and got["kappa"] > 0.95
    page = tmp_path / "page.html"
    plumb.run("report", run, "--data", pictures, "--out", page)
    headings = re.findall(r"<h3>([^<]*)", page.read_text())
    assert "Video" in headings and "Truth and prediction" in headings and "Phase space" not in headings
    plumb.run("report", run, "--data", test, "--out", page)
    assert "Phase space" in re.findall(r"<h3>([^<]*)", page.read_text())
    # The pictures have no states: they can be rolled out, but not compared.
    plumb.run("rollout", run, "--data", pictures, "--count", 2, "--steps", 70, "--out", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        assert "truth" not in arrays and arrays["prediction"].shape == (2, 70, 48, 64, 3)
    plumb.refused('no array "state"', "evaluate", run, "--data", pictures, "--count", 2, "--steps", 5, "--allow-training-data")


def trained_on(data, out, *more):
    plumb.run("train", "hgn++", "--preset", "tiny", "--steps", 1, "--data", data, "--out", out, *more)
    weights = (out / "weights.safetensors").read_bytes()
    return weights[8 + struct.unpack("<Q", weights[:8])[0]:]


def test_pictures_arrays_floats_and_grey_frames_are_the_same_videos(tmp_path):
    frames = white_ball(3, 3)[0][:, :40, ::3, ::3]
    grey = frames[..., 0]
    rgb, one = tmp_path / "rgb.npz", tmp_path / "one.npz"
    np.savez(rgb, frames=frames)
    np.savez(one, frames=grey[..., None])
    for kind, depth in (("pictures", 8), ("deep", 16), ("grey", 8)):
        for i, video in enumerate(grey if kind == "grey" else frames):
            folder = tmp_path / kind / f"{i}"
            folder.mkdir(parents=True)
            for k, frame in enumerate(video):
                write_png(folder / f"{k}.png", frame.astype(np.uint16) * 257 if depth == 16 else frame, depth)
    np.savez(tmp_path / "float.npz", frames=(frames / 255).astype(np.float32))
    np.savez(tmp_path / "whole.npz", frames=frames.astype(np.int64))
    np.savez(tmp_path / "flat.npz", frames=grey)
    wanted, wanted_grey = trained_on(rgb, tmp_path / "a"), trained_on(one, tmp_path / "b")
    for number, name in enumerate(("pictures", "deep", "float.npz", "whole.npz")):
        assert trained_on(tmp_path / name, tmp_path / f"c{number}") == wanted, name
    for number, name in enumerate(("grey", "flat.npz")):
        assert trained_on(tmp_path / name, tmp_path / f"d{number}") == wanted_grey, name


def test_frames_are_resized_by_areas(tmp_path):
    frames = white_ball(3, 4)[0][:, :40]
    small = frames.reshape(3, 40, 30, 3, 40, 3, 3).astype(float).mean((3, 5))
    np.savez(tmp_path / "large.npz", frames=frames)
    np.savez(tmp_path / "small.npz", frames=np.floor(small + 0.5).astype(np.uint8))
    assert trained_on(tmp_path / "large.npz", tmp_path / "a", "--set", "resize=40") == trained_on(tmp_path / "small.npz", tmp_path / "b")


def test_what_is_no_video_is_one_line(tmp_path):
    out = ("--preset", "tiny", "--steps", 1, "--out", tmp_path / "run")
    folder = tmp_path / "pictures/a"
    folder.mkdir(parents=True)
    plumb.refused("nor folders of PNGs", "train", "hgn++", "--data", tmp_path / "pictures", *out)
    rng = np.random.default_rng(0)
    for k in range(40):
        write_png(folder / f"{k}.png", rng.integers(0, 255, (16, 16, 3)))
    write_png(folder / "7.png", rng.integers(0, 255, (16, 20, 3)))
    plumb.refused("7.png: the PNG is 20 x 16, wanted 16 x 16", "train", "hgn++", "--data", tmp_path / "pictures", *out)
    (folder / "7.png").write_bytes(b"not a picture")
    plumb.refused("7.png: damaged PNG", "train", "hgn++", "--data", tmp_path / "pictures", *out)
    (folder / "0.png").write_bytes(b"not a picture")
    plumb.refused("0.png: it is no PNG", "train", "hgn++", "--data", tmp_path / "pictures", *out)
    np.savez(tmp_path / "x.npz", frames=rng.uniform(0, 255, (3, 40, 16, 16, 3)))
    plumb.refused("divide by 255", "train", "hgn++", "--data", tmp_path / "x.npz", *out)
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").glob("weights*"))
