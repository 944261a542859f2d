# SPDX-License-Identifier: MIT
"""What a model is evaluated on (not its training data, frames of its size, long enough), from which directory, and where the result
goes."""
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from program import Program

plumb = Program()
FEW = ("--count", 2, "--steps", 5, "--measured", 4, "--method", "pr")
TINY = ("--preset", "tiny", "--set", "image=16", "--steps", 2)


def simulate(path, *more, image=16, count=8, steps=70, seed=1):
    plumb.run("simulate", "mass-spring", "--count", count, "--steps", steps, "--image", image, "--seed", seed, "--out", path, *more)
    return path


@pytest.fixture(scope="module")
def videos(shared):
    return simulate(shared / "train.npz")


@pytest.fixture(scope="module")
def run(shared, videos):
    plumb.run("train", "hgn++", *TINY, "--data", videos, "--out", shared / "run")
    return shared / "run"


@pytest.fixture(scope="module")
def others(shared):
    return simulate(shared / "test.npz", seed=2)


# ---- training data ----

def test_a_model_is_not_evaluated_on_its_training_data(run, videos, others, tmp_path):
    words = f"{videos}: {run} was trained on these videos; give other ones, or set --allow-training-data"
    plumb.refused(words, "evaluate", run, *FEW, "--data", videos, code=2)
    # A copy is the same data, also in another format.
    shutil.copy(videos, tmp_path / "copy.npz")
    plumb.run("convert", videos, tmp_path / "copy.tfrecord")
    for copy in ("copy.npz", "copy.tfrecord"):
        plumb.refused("was trained on these videos", "evaluate", run, *FEW, "--data", tmp_path / copy, code=2)
    plumb.run("evaluate", run, *FEW, "--data", others)
    plumb.run("evaluate", run, *FEW, "--data", videos, "--allow-training-data")


def test_a_file_of_the_training_videos_of_a_world_is_refused(tmp_path):
    plumb.run("train", "hgn++", *TINY, "--world", "mass-spring", "--set", "trajectories=4", "--set", "frames=70", "--out", tmp_path / "run")
    simulate(tmp_path / "same.npz", count=4)
    simulate(tmp_path / "more.npz", count=6)  # the first four are those of training
    simulate(tmp_path / "other.npz", count=4, seed=3)
    for name in ("same", "more"):
        plumb.refused("was trained on these videos", "evaluate", tmp_path / "run", *FEW, "--data", tmp_path / f"{name}.npz", code=2)
    plumb.run("evaluate", tmp_path / "run", *FEW, "--data", tmp_path / "other.npz")


def test_probes_that_a_video_model_was_trained_on_are_refused(tmp_path):
    probes = tmp_path / "solid.npz"
    plumb.run("simulate", "rooms/solidity", "--count", 10, "--image", 16, "--out", probes)
    plumb.run("train", "predrnn", "--preset", "tiny", "--data", probes, "--steps", 1, "--out", tmp_path / "run")
    few = ("evaluate", tmp_path / "run", "--films", 0, "-k", 2, "--probes", probes)
    plumb.refused(f"{probes}: {tmp_path / 'run'} was trained on these videos", *few, code=2)
    plumb.run(*few, "--allow-training-data")


# ---- frame sizes ----

@pytest.mark.parametrize("image", [32, 64])
def test_videos_of_another_size_are_refused_and_both_are_named(run, tmp_path, image):
    other = simulate(tmp_path / "other.npz", image=image, count=4, seed=5)
    words = f"{other}: has frames of {image}x{image}x3, and {run} was trained on 16x16x3"
    plumb.refused(words, "evaluate", run, *FEW, "--data", other)
    plumb.refused(words, "rollout", run, "--count", 2, "--steps", 8, "--data", other, "--out", tmp_path / "x.npz")


# ---- paths ----

def test_a_run_on_a_relative_path_works_from_any_directory(tmp_path):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir(), away.mkdir()
    simulate(home / "train.npz", count=4)
    simulate(away / "test.npz", seed=2)
    plumb.run("train", "hgn++", *TINY, "--data", "train.npz", "--out", "run", "--set", "decay=constant", cwd=home)
    assert json.loads((home / "run/config.json").read_text())["data"]["data"] == str(home / "train.npz")
    plumb.run("train", "--resume", "--out", home / "run", "--steps", 3, cwd=away)
    plumb.run("rollout", home / "run", "--data", "test.npz", "--count", 2, "--steps", 8, "--out", "x.npz", cwd=away)
    # Other data need neither the training data nor their directory.
    (home / "train.npz").unlink()
    plumb.run("evaluate", home / "run", *FEW, "--data", "test.npz", cwd=away)
    plumb.run("evaluate", home / "run", *FEW, "--world", "mass-spring", cwd=away)


def test_an_old_run_with_a_relative_path_is_evaluated_on_other_data(run, others, tmp_path):
    # Weights of version 0.1.0 do not name the size of their frames, and config.json has the path as it was given.
    old = Path(shutil.copytree(run, tmp_path / "old"))
    config = json.loads((old / "config.json").read_text())
    config["data"]["data"] = "gone.npz"
    (old / "config.json").write_text(json.dumps(config))
    weights = (old / "weights.safetensors").read_bytes()
    size = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8:8 + size])
    assert header["__metadata__"].pop("frames") == "16x16x3"
    text = json.dumps(header).encode()
    (old / "weights.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + weights[8 + size:])
    plumb.run("evaluate", old, *FEW, "--data", others)
    plumb.refused("gone.npz", "evaluate", old, *FEW, "--world", "mass-spring")


# ---- number of steps ----

def test_the_advised_number_of_steps_works(run, others):
    done = plumb.run("evaluate", run, "--count", 2, "--measured", 4, "--method", "pr", "--data", others, code=1)
    said = re.search(r"has 70 frames per video, and \S+ needs \d+; it allows --steps (\d+)$", done.stderr.strip())
    assert said, done.stderr
    plumb.run("evaluate", run, "--count", 2, "--measured", 4, "--method", "pr", "--data", others, "--steps", said[1])
    plumb.refused("it allows --steps 70", "rollout", run, "--data", others, "--steps", 71, "--out", "x.npz")


def test_a_file_that_is_too_short_for_any_number_of_steps_says_so(run, tmp_path):
    short = simulate(tmp_path / "short.npz", steps=50, seed=4)
    done = plumb.run("evaluate", run, *FEW[:2], "--data", short, code=1)
    assert "has 50 frames per video" in done.stderr and "needs 60 at least" in done.stderr and "--steps" not in done.stderr


# ---- where the result goes ----

def results(path):
    return json.loads((path / "results.json").read_text()).keys()


def test_no_save_leaves_the_run_as_it_is(run, others, tmp_path):
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / "results.json").write_text('{"train": {}}\n')
    done = plumb.run("evaluate", copy, *FEW, "--data", others, "--no-save")
    assert results(copy) == {"train"} and "saved" not in done.stderr
    plumb.run("evaluate", copy, *FEW, "--data", others)
    assert results(copy) == {"train", "evaluate"}


def test_a_model_of_the_zoo_is_not_changed_by_its_path(run, others, tmp_path):
    zoo = tmp_path / "zoo"
    shutil.copytree(run, zoo / "mine")
    before = (zoo / "mine/results.json").read_bytes()
    how = {"cwd": tmp_path, "env": {**os.environ, "PLUMB_ZOO": str(zoo)}}
    done = plumb.run("evaluate", "zoo/mine", *FEW, "--data", others, **how)
    assert "zoo/mine is a model of the zoo, so the result is not saved in it; --no-save" in done.stderr
    assert (zoo / "mine/results.json").read_bytes() == before and "Verdict" in done.stdout
    assert "saved" not in plumb.run("evaluate", "zoo/mine", *FEW, "--data", others, "--no-save", **how).stderr


def test_a_run_that_cannot_be_written_is_evaluated_with_a_warning(run, others):
    # As root every directory can be written, so the program runs as another user. It must be able to read what is there.
    user = {"user": 65534} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        locked = Path(shutil.copytree(run, Path(folder) / "locked"))
        shutil.copy(others, Path(folder) / "test.npz")
        locked.chmod(0o555)
        done = plumb.run("evaluate", locked, *FEW, "--data", Path(folder) / "test.npz", **user)
        assert f"{locked} cannot be written, so the result is not saved in it; --no-save" in done.stderr and "Verdict" in done.stdout
        locked.chmod(0o755)
