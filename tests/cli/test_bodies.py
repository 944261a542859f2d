# SPDX-License-Identifier: MIT
"""The model `bodies` as a user runs it: trained for a few steps, resumed, evaluated and rolled out."""
import json
import re

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
# The last half of the steps compares drawn frames.
KINDS["drawn"] = (*KINDS["points"], "--set", "pixels=on", "--set", "pixels_share=0.5")
LATENTS = {"drawn": 8, "points": 8, "box": 16, "chain": 4, "spring": 4}
OBJECTS = {"drawn": 2, "points": 2, "box": 4, "chain": 2, "spring": 1}
NAMES = {"drawn": "x1 y1 x2 y2 px1 py1 px2 py2", "points": "x1 y1 x2 y2 px1 py1 px2 py2", "chain": "angle1 angle2 p1 p2", "spring": "x1 y1 px1 py1",
         "box": "x1 y1 x2 y2 x3 y3 x4 y4 px1 py1 px2 py2 px3 py3 px4 py4"}
FEW = ("--count", 2, "--steps", 5, "--measured", 10, "--method", "pr")


@pytest.fixture(scope="module")
def runs(shared):
    for kind, options in KINDS.items():
        trained = plumb.answer("train", "bodies", *options, "--out", shared / kind, "--threads", 2)
        assert trained["model"] == "bodies" and trained["steps"] == 6
    return shared


@pytest.mark.parametrize("kind", ["points", "spring", "drawn"])
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
    # The places are those of the pixels that differ from the background: nearest to some object.
    tracks, frames = data["tracks"][:, 2], data["frames"][:, 2] / 255.0
    assert data["tracks"].shape == (2, 12, OBJECTS[kind], 2)
    for video in range(2):
        contrast = numpy.abs(frames[video] - numpy.median(data["frames"] / 255.0, axis=(0, 1))).sum(axis=2)
        row, column = numpy.unravel_index(contrast.argmax(), contrast.shape)
        assert numpy.hypot(tracks[video, :, 0] - column, tracks[video, :, 1] - row).min() < 5


def test_the_refinement_on_frames_changes_weights_and_is_not_worse(shared):
    """Both are evaluated on videos that neither has seen."""
    options = ("--world", "two-body", "--preset", "points", "--set", "objects=2", "--set", "trajectories=60", "--set", "steps=150",
               "--set", "frames=60", "--set", "horizons=5,15", "--set", "nodes=24", "--set", "width=16")
    score = {}
    for pixels in ("off", "on"):
        plumb.run("train", "bodies", *options, "--set", f"pixels={pixels}", "--out", shared / f"pixels-{pixels}")
        score[pixels] = plumb.answer("evaluate", shared / f"pixels-{pixels}", "--count", 8, "--steps", 100, "--measured", 10, "--method", "pr")
    weights = [(shared / f"pixels-{pixels}/weights.safetensors").read_bytes() for pixels in ("off", "on")]
    assert weights[0] != weights[1]
    for key in ("rec_mse", "ext_mse"):
        assert score["on"][key] <= 1.2 * score["off"][key], (key, score["on"][key], score["off"][key])


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
    # The page of a run on frames alone has the names of the latents, and the tracks.
    numpy.savez(tmp_path / "alone.npz", frames=numpy.load(tmp_path / "frames.npz")["frames"])
    Program("report").run(tmp_path / "run", "--data", tmp_path / "alone.npz", "--films", 2, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("data-track") == 2 and ">x1<" in page and ">y1<" in page


def test_a_world_without_objects_is_refused_in_words(tmp_path):
    done = plumb.run("train", "bodies", "--world", "matching-pennies", *QUICK, "--out", tmp_path / "run", code=2)
    assert "no number of round objects up to" in done.stderr
    done = plumb.run("train", "bodies", "--world", "matching-pennies", *QUICK, *TWO, "--out", tmp_path / "run", code=2)
    assert "do not explain the frames" in done.stderr
    numpy.savez(tmp_path / "empty.npz", frames=numpy.full((8, 60, 32, 32, 3), 90, numpy.uint8))
    done = plumb.run("train", "bodies", "--data", tmp_path / "empty.npz", *QUICK, "--out", tmp_path / "run", code=2)
    assert "no moving objects" in done.stderr


def test_a_page_is_made_of_a_run(runs):
    """With the names of its latents, and with tracks over both videos."""
    Program("report").run(runs / "chain", "--films", 2, "--steps", 20, "--out", runs / "page.html")
    page = (runs / "page.html").read_text()
    assert "bodies" in page and "angle1" in page
    tracks = [json.loads(text) for text in re.findall('data-track="([^"]*)"', page)]
    assert len(tracks) == 4 and tracks[0] == tracks[2] and all(len(track) == 20 for track in tracks)
    # In pixels of the page, whose rows are counted from the top; those of this world from the bottom.
    Program("rollout").run(runs / "chain", "--out", runs / "page.npz", "--count", 2, "--steps", 20)
    want = numpy.load(runs / "page.npz")["tracks"][0].transpose(1, 0, 2)
    want[..., 1] = 31 - want[..., 1]
    assert numpy.abs(numpy.array(tracks[:2]) - want).max() < 0.006
