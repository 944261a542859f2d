# SPDX-License-Identifier: MIT
"""The model `bodies` as a user runs it: trained for a few steps, resumed, evaluated and rolled out."""
import json

import numpy
import pytest

from program import Program

plumb = Program()
QUICK = ("--preset", "tiny", "--set", "steps=6", "--set", "decay=constant")
TWO = ("--set", "objects=2")  # so few frames do not tell
KINDS = {"points": ("--world", "two-body", *QUICK, *TWO),
         "box": ("--world", "md-4", *QUICK, "--set", "objects=4", "--set", "periodic=on", "--set", "pair=log"),
         "chain": ("--world", "double-pendulum", *QUICK, *TWO, "--set", "structure=chain", "--set", "inference_frames=9"),
         "spring": ("--world", "mass-spring+c", *QUICK, "--set", "objects=1", "--set", "colours=6", "--set", "constants=on",
                    "--set", "inference_frames=9", "--set", "masses=by_size")}
LATENTS = {"points": 8, "box": 16, "chain": 4, "spring": 4}
NAMES = {"points": "x1 y1 x2 y2 px1 py1 px2 py2", "chain": "angle1 angle2 p1 p2", "spring": "x1 y1 px1 py1",
         "box": "x1 y1 x2 y2 x3 y3 x4 y4 px1 py1 px2 py2 px3 py3 px4 py4"}
FEW = ("--count", 2, "--steps", 5, "--measured", 10, "--method", "pr")


@pytest.fixture(scope="module")
def runs(shared):
    for kind, options in KINDS.items():
        trained = plumb.answer("train", "bodies", *options, "--out", shared / kind, "--threads", 2)
        assert trained["model"] == "bodies" and trained["steps"] == 6
    return shared


@pytest.mark.parametrize("kind", ["points", "spring"])
def test_a_resumed_run_with_another_number_of_threads_has_the_same_bits(runs, kind, tmp_path):
    plumb.run("train", "bodies", *KINDS[kind], "--steps", 3, "--out", tmp_path / "parts", "--threads", 1)
    plumb.run("train", "bodies", "--steps", 6, "--out", tmp_path / "parts", "--resume", "--threads", 1)
    assert (runs / kind / "weights.safetensors").read_bytes() == (tmp_path / "parts/weights.safetensors").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_evaluated_and_rolled_out(runs, kind):
    got = plumb.answer("evaluate", runs / kind, *FEW)
    assert got["latents"] == LATENTS[kind] and got["vpt_backward"] is not None and got["rec_mse"] < 1e-4
    plumb.run("rollout", runs / kind, "--out", runs / f"{kind}.npz", "--count", 2, "--steps", 12)
    data = numpy.load(runs / f"{kind}.npz")
    assert data["latent"].shape == (2, 12, LATENTS[kind]) and numpy.isfinite(data["latent"]).all()
    names = NAMES[kind].split()
    assert got["latent_names"].split() == names and [n.decode() for n in data["latent_names"].view("S8").ravel()] == names
    # Drawn where the objects are: near the true frames at least where the state was inferred.
    error = (data["prediction"][:, 2] - data["frames"][:, 2] / 255.0) ** 2
    assert error.mean() < 2e-4


def test_a_file_of_frames_is_enough(tmp_path):
    """The number of objects is found; a resumed run does not look for it again, and has the same bits."""
    plumb.run("simulate", "mass-spring", "--count", 12, "--steps", 60, "--out", tmp_path / "frames.npz")
    options = ("--data", tmp_path / "frames.npz", *QUICK, "--set", "horizons=2")
    got = plumb.answer("train", "bodies", *options, "--out", tmp_path / "run")
    assert got["steps"] == 6
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["settings"]["objects"] == 1
    assert "found 1 object " in json.loads((tmp_path / "run/results.json").read_text())["train"]["chosen"]
    plumb.run("train", "bodies", *options, "--steps", 3, "--out", tmp_path / "parts")
    plumb.run("train", "bodies", "--steps", 6, "--out", tmp_path / "parts", "--resume")
    assert (tmp_path / "run/weights.safetensors").read_bytes() == (tmp_path / "parts/weights.safetensors").read_bytes()


def test_a_world_without_objects_is_refused_in_words(tmp_path):
    done = plumb.run("train", "bodies", "--world", "matching-pennies", *QUICK, "--out", tmp_path / "run", code=2)
    assert "no number of round objects up to" in done.stderr
    done = plumb.run("train", "bodies", "--world", "matching-pennies", *QUICK, *TWO, "--out", tmp_path / "run", code=2)
    assert "do not explain the frames" in done.stderr


def test_a_page_is_made_of_a_run(runs):
    Program("report").run(runs / "chain", "--films", 2, "--steps", 20, "--out", runs / "page.html")
    assert "bodies" in (runs / "page.html").read_text()
