# SPDX-License-Identifier: MIT
"""The video models that ship with plumb are surprised as they were when they were made; an untrained and a damaged one are not."""
import shutil

import pytest

from paths import LONG, SANITIZE, SOURCE
from program import Program

ZOO = SOURCE / "zoo"
CONCEPTS = ["continuity", "directional_inertia", "object_persistence", "solidity", "unchangeableness"]
# Surprise of a frame on free clips and on possible clips of each concept, and how many tuples were right; on few tuples, to be
# quick, but always the same ones. zoo/README.md has the accuracies of many. Another processor changes the sixth digit.
KNOWN = {"predrnn": (20, [3.1769e-3, 7.9358e-5, 2.1477e-4, 8.6684e-4, 1.0400e-4, 3.7230e-3], [15, 16, 12, 15, 16]),
         "plato": (5, [1.1702e-3, 4.1356e-5, 9.5673e-5, 5.9389e-4, 3.5092e-5, 4.5509e-3], [4, 4, 4, 4, 4])}
NEAR = 0.01  # of a surprise; and one tuple, for a difference may be next to nothing
plumb = Program()


def evaluate(model, run, *more):
    return plumb.answer("evaluate", run, "--tuples", 2 if SANITIZE else KNOWN[model][0], "-k", 2, "--films", 8, *more)


def is_known(model, got):
    """Under a sanitizer only the free clips are compared."""
    tuples, surprise, right = KNOWN[model]
    if SANITIZE:
        return abs(got["mse"]["free"]["model"] / surprise[0] - 1) < NEAR
    found = [got["mse"][name]["model"] for name in ("free", *CONCEPTS)]
    correct = [round(c["scorers"]["plain"]["accuracy"] * 0.8 * tuples) for c in got["concepts"]]
    return all(abs(a / b - 1) < NEAR for a, b in zip(found, surprise)) and all(abs(a - b) <= 1 for a, b in zip(correct, right))


@pytest.fixture
def copy(tmp_path):
    """Copies of models of the zoo, for evaluate writes into a run."""
    return lambda name: shutil.copytree(ZOO / name, tmp_path / name)


@pytest.mark.parametrize("name", ["predrnn-rooms", "predrnn-impossible", "plato-rooms"])
def test_weights_are_small(name):
    assert (ZOO / name / "weights.safetensors").stat().st_size < 2 << 20


def test_predrnn_is_surprised_as_it_was_with_the_naive_model_beside(copy):
    got = evaluate("predrnn", copy("predrnn-rooms"), "--naive", copy("predrnn-impossible"))
    assert is_known("predrnn", got), (got["mse"], got["concepts"])
    assert "naive" in got["overall"]


@pytest.mark.skipif(bool(SANITIZE) and not LONG, reason="takes a minute under a sanitizer: make test-long")
def test_plato_is_surprised_as_it_was(copy):
    got = evaluate("plato", copy("plato-rooms"))
    assert is_known("plato", got), (got["mse"], got["concepts"])


@pytest.mark.skipif(bool(SANITIZE), reason="needs all concepts, which takes minutes under a sanitizer")
def test_a_model_of_the_impossible_scores_otherwise(copy):
    assert not is_known("predrnn", evaluate("predrnn", copy("predrnn-impossible")))


@pytest.mark.skipif(bool(SANITIZE), reason="needs all concepts, which takes minutes under a sanitizer")
def test_an_untrained_network_scores_otherwise(tmp_path):
    plumb.run("train", "predrnn", "--world", "rooms/freeform", "--set", "trajectories=4", "--steps", 1, "--out", tmp_path / "new")
    assert not is_known("predrnn", evaluate("predrnn", tmp_path / "new"))


def test_a_changed_byte_of_the_weights_is_refused(copy):
    run = copy("predrnn-rooms")
    data = bytearray((run / "weights.safetensors").read_bytes())
    data[-5] ^= 64
    (run / "weights.safetensors").write_bytes(data)
    plumb.refused("weights.safetensors", "evaluate", run, "--tuples", 5, "-k", 2)
