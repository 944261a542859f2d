# SPDX-License-Identifier: MIT
"""Validation clips: their error is in the log, the best weights are kept beside the last, and training has the same bits."""
import json

import pytest

from program import Program

plumb = Program()
SETS = ("--set", "validation_clips=6", "--set", "validation_steps=5", "--set", "log_steps=5", "--set", "checkpoint_steps=5")
RUNS = {"predrnn": "rooms/freeform", "plato": "rooms/freeform", "hgn++": "mass-spring", "ar": "mass-spring"}


def train(out, model, *more):
    return plumb.answer("train", model, "--preset", "tiny", "--world", RUNS[model], "--steps", 20, "--out", out, *more)


def lines(run):
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("model", list(RUNS))
def test_the_best_weights_are_kept_and_training_has_the_same_bits(model, tmp_path):
    said = train(tmp_path / "a", model, *SETS)
    train(tmp_path / "b", model, *SETS[4:])
    assert (tmp_path / "a/weights.safetensors").read_bytes() == (tmp_path / "b/weights.safetensors").read_bytes()
    log = lines(tmp_path / "a")
    losses = {line["step"]: line["validation"] for line in log}
    assert list(losses) == [5, 10, 15, 20] and all(0 < x < 10 for x in losses.values())
    best = min(losses, key=losses.get)
    assert said["best_step"] == best and said["best_validation"] == losses[best]
    assert not any("validation" in line for line in lines(tmp_path / "b")) and not (tmp_path / "b/best.safetensors").exists()
    few = ("--tuples", 2, "--films", 2) if RUNS[model].startswith("rooms") else ("--count", 2, "--steps", 20, "--measured", 4, "--method", "pr")
    assert plumb.answer("evaluate", tmp_path / "a", "--best", "--no-save", *few)["steps"] == best
    assert plumb.answer("evaluate", tmp_path / "a", "--no-save", *few)["steps"] == 20
    plumb.refused("the run has no validation clips", "evaluate", tmp_path / "b", "--best", *few)


def test_a_run_in_parts_has_the_same_log_and_the_same_best_weights(tmp_path):
    sets = (*SETS, "--set", "decay=constant")
    train(tmp_path / "whole", "predrnn", *sets)
    plumb.run("train", "predrnn", "--preset", "tiny", "--world", "rooms/freeform", "--steps", 8, "--out", tmp_path / "parts", *sets)
    plumb.run("train", "--resume", "--steps", 20, "--out", tmp_path / "parts")
    whole, parts = ({line["step"]: line.get("validation") for line in lines(tmp_path / name)} for name in ("whole", "parts"))
    assert {step: parts[step] for step in whole} == whole, "a part has other errors"
    results = [json.loads((tmp_path / name / "results.json").read_text())["train"] for name in ("whole", "parts")]
    assert results[0]["best_validation"] >= results[1]["best_validation"], "the end of a part is validated too"
    if results[0]["best_step"] == results[1]["best_step"]:
        assert (tmp_path / "whole/best.safetensors").read_bytes() == (tmp_path / "parts/best.safetensors").read_bytes()


def test_validation_may_be_changed_when_a_run_is_resumed_and_needs_a_world(tmp_path):
    train(tmp_path / "a", "predrnn", "--set", "decay=constant")
    plumb.run("train", "--resume", "--steps", 25, "--set", "validation_clips=3", "--set", "validation_steps=5", "--out", tmp_path / "a")
    assert "validation" in lines(tmp_path / "a")[-1] and (tmp_path / "a/best.safetensors").exists()
    plumb.run("simulate", "rooms/freeform", "--count", 6, "--image", 16, "--out", tmp_path / "free.npz")
    plumb.run("train", "predrnn", "--preset", "tiny", "--data", tmp_path / "free.npz", "--set", "validation_clips=3", "--out", tmp_path / "file")
    assert not (tmp_path / "file/best.safetensors").exists()
