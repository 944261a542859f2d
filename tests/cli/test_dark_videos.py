# SPDX-License-Identifier: MIT
"""Videos on a black or a white background train like those on grey, and a model that predicts the same frames for every input is
reported in words."""
import json

import numpy as np
import pytest
from program import Program

plumb = Program("train")
SMALL = ("--set", "targets=20", "--set", "curriculum_targets=", "--set", "curriculum_deadlines=", "--set", "encoder_width=16",
         "--set", "decoder_width=16", "--set", "batch=8", "--steps", 400)
WORDS = "the prediction does not depend on the input"


@pytest.fixture(scope="module")
def dots(shared):
    """A dot on a spring, on black, white and grey: 20 videos of 40 frames of 16 x 16."""
    rng = np.random.default_rng(0)
    phase, radius = rng.uniform(0, 6.28, (20, 1)), rng.uniform(0.3, 1, (20, 1))
    x = 8 + 5 * radius * np.cos(0.2 * np.arange(40) + phase)
    row, column = np.mgrid[0:16, 0:16] + 0.5
    dot = np.clip(2 - np.hypot(column - x[..., None, None], row - 8), 0, 1)[..., None]
    colours = {"black": (0, 1), "white": (1, 0), "grey": (0.5, 1), "blue": ((0, 0, 1), (1, 1, 0))}
    for name, (back, front) in colours.items():
        frames = np.round(255 * (np.multiply(back, np.ones(3)) * (1 - dot) + np.multiply(front, np.ones(3)) * dot))
        np.savez(shared / f"{name}.npz", frames=frames.astype(np.uint8), state=np.zeros((20, 40, 2)))
    return shared


def trained(dots, out, colour, *more):
    """The answer and what is said."""
    done = plumb.run("hgn++", "--data", dots / f"{colour}.npz", "--out", out, *SMALL, *more, "--json")
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("colour", ["black", "white", "blue"])
def test_a_dark_or_bright_background_trains_like_grey(dots, tmp_path, colour):
    answer, said = trained(dots, tmp_path / "run", colour)
    assert answer["input_dependence"] > 3e-3 and answer["warning"] is None and WORDS not in said


@pytest.mark.parametrize("colour", ["black", "white"])
def test_a_collapsed_model_is_reported_in_words(dots, tmp_path, colour):
    answer, said = trained(dots, tmp_path / "run", colour, "--set", "output_range=unit")
    assert WORDS in answer["warning"] and answer["input_dependence"] < 1e-4
    assert said.count(WORDS) == 1 and f"plumb train: {tmp_path / 'run'}: {WORDS}" in said
    saved = json.loads((tmp_path / "run/results.json").read_text())["train"]
    assert saved["warning"] == answer["warning"] and saved["input_dependence"] == answer["input_dependence"]


def test_nothing_changes_on_grey(dots, tmp_path):
    wide, _ = trained(dots, tmp_path / "wide", "grey", "--set", "steps=40")
    unit, _ = trained(dots, tmp_path / "unit", "grey", "--set", "steps=40", "--set", "output_range=unit")
    assert wide["loss"] == unit["loss"] and wide["input_dependence"] == unit["input_dependence"]


@pytest.mark.parametrize("world", ["rock-paper-scissors", "matching-pennies"])  # the darkest
def test_nothing_changes_for_worlds(world, tmp_path):
    def loss(how):
        return plumb.answer("hgn++", "--world", world, "--preset", "tiny", "--steps", 3, "--set", f"output_range={how}", "--out",
                            tmp_path / how)["loss"]
    assert loss("unit") == loss("by_videos")


def test_a_resumed_run_and_an_evaluated_one_have_the_range_of_their_weights(dots, tmp_path):
    run = tmp_path / "run"
    constant = ("--set", "decay=constant", "--set", "nested_pairs=off")
    trained(dots, tmp_path / "whole", "black", *constant, "--set", "steps=40")
    trained(dots, run, "black", *constant, "--set", "steps=20")
    plumb.run("--resume", "--out", run, "--steps", 40)
    assert (run / "weights.safetensors").read_bytes() == (tmp_path / "whole/weights.safetensors").read_bytes()
    Program("rollout").run(run, "--data", dots / "black.npz", "--count", 2, "--steps", 30, "--out", tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as arrays:
        # A model that begins with grey frames is far from black after 40 steps.
        assert arrays["prediction"].mean() < 0.2


def test_a_short_training_is_not_judged(dots, tmp_path):
    answer, said = trained(dots, tmp_path / "run", "black", "--set", "output_range=unit", "--set", "steps=5")
    assert answer["warning"] is None and WORDS not in said and 0 <= answer["input_dependence"] < 1
