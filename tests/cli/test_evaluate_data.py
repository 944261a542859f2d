# SPDX-License-Identifier: MIT
"""The data that a model is evaluated on: never its own training data, and of its frame size."""
import shutil

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
