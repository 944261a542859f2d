# SPDX-License-Identifier: MIT
"""Models take frames of any height and width that their strides allow: trained for a step, evaluated or rolled out."""
import json

import numpy as np
import pytest
from program import Program

plumb = Program()


@pytest.fixture(scope="module")
def videos(shared):
    """Files of noise with states and masks, by frame size."""
    def make(height, width, steps=15):
        path = shared / f"{height}x{width}x{steps}.npz"
        if not path.exists():
            rng = np.random.default_rng(height * 1000 + width)
            np.savez(path, frames=rng.integers(0, 256, (6, steps, height, width, 3), dtype=np.uint8),
                     mask=rng.integers(0, 3, (6, steps, height, width), dtype=np.uint8), state=rng.normal(size=(6, steps, 2)))
        return path
    return make


def trained(out, model, data, *more):
    plumb.run("train", model, "--preset", "tiny", "--data", data, "--steps", 1, "--out", out, *more)
    return json.loads((out / "results.json").read_text())["train"]


@pytest.mark.parametrize("model", ["hgn++", "hgn", "lgn", "rgn", "ar"])
@pytest.mark.parametrize("height, width", [(24, 16), (18, 30)])
def test_dynamics_models_take_frames_that_are_not_square(videos, tmp_path, model, height, width):
    assert trained(tmp_path / "run", model, videos(height, width))["steps"] == 1
    plumb.run("rollout", tmp_path / "run", "--data", videos(height, width), "--count", 2, "--steps", 12, "--out", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["prediction"].shape[2:] == (height, width, 3)


def test_a_decoder_by_pixels_takes_them_too(videos, tmp_path):
    trained(tmp_path / "run", "hgn++", videos(24, 16), "--set", "decoder=pixels")


def test_sides_that_are_odd_are_refused_by_models_that_halve_them(videos, tmp_path):
    plumb.refused("frames of 15 x 16; height and width must be even", "train", "hgn++", "--preset", "tiny", "--data", videos(15, 16),
                  "--steps", 1, "--out", tmp_path / "run", code=2)


def test_predrnn_takes_patches_of_three_on_frames_of_twelve_by_six(videos, tmp_path):
    trained(tmp_path / "run", "predrnn", videos(12, 6), "--set", "patch=3")
    plumb.refused("cannot be cut into patches of 4", "train", "predrnn", "--preset", "tiny", "--data", videos(12, 6), "--set", "patch=4",
                  "--out", tmp_path / "no")


@pytest.mark.parametrize("height, width", [(32, 32), (20, 18)])
def test_plato_takes_any_size(videos, tmp_path, height, width):
    trained(tmp_path / "run", "plato", videos(height, width))
