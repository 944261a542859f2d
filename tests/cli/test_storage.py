# SPDX-License-Identifier: MIT
"""Training videos that are read from disk give the bits of videos in memory, for every kind of model, and leave no file behind."""
import json

import pytest

from program import Program

train = Program("train")
# A model of each kind of input: windows, single frames in turn, patches, masks, and frames of all videos before training.
MODELS = [("hgn++", "pendulum"), ("ar", "mass-spring"), ("predrnn", "rooms/freeform"), ("plato", "rooms/freeform"), ("bodies", "two-body")]


def run_files(run):
    return sorted(p.name for p in run.iterdir())


def weights(run):
    return (run / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("model, world", MODELS)
def test_disk_gives_the_bits_of_memory(model, world, tmp_path):
    # Bodies looks at all frames before training, and needs frames that it can explain.
    how = ("points", 40) if model == "bodies" else ("tiny", 6)
    small = (model, "--world", world, "--preset", how[0], "--steps", 3, "--set", f"trajectories={how[1]}")
    for storage in ("memory", "disk"):
        train.run(*small, "--set", f"storage={storage}", "--out", tmp_path / storage)
    assert weights(tmp_path / "memory") == weights(tmp_path / "disk")
    assert run_files(tmp_path / "memory") == run_files(tmp_path / "disk"), "the temporary file is still there"
    data = [json.loads((tmp_path / storage / "results.json").read_text())["train"]["data"] for storage in ("memory", "disk")]
    assert data[0] == data[1]


def test_a_file_is_read_from_disk_too_and_a_run_resumes_with_the_other_storage(tmp_path):
    data = tmp_path / "data.npz"
    Program("simulate").run("mass-spring", "--count", 6, "--steps", 20, "--out", data)
    small = ("hgn++", "--data", data, "--preset", "tiny", "--set", "trajectories=0", "--set", "decay=constant")
    train.run(*small, "--steps", 4, "--out", tmp_path / "whole")
    train.run(*small, "--steps", 2, "--set", "storage=disk", "--out", tmp_path / "parts")
    train.run("--out", tmp_path / "parts", "--resume", "--steps", 4, "--set", "storage=memory")
    assert weights(tmp_path / "whole") == weights(tmp_path / "parts")


def test_more_videos_than_the_disk_holds_are_refused_before_training(tmp_path):
    # 10^9 videos of 24 frames take 74 TB.
    train.refused("no space for", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--set", "trajectories=1000000000",
                  "--out", tmp_path / "run")
    train.refused("do not fit into memory", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--set",
                  "trajectories=1000000000", "--set", "storage=memory", "--out", tmp_path / "other", code=2)


def test_the_preset_paper_has_the_published_videos_both_ways():
    rows = {line.split()[0]: line.split()[1] for line in train.run("hgn++", "--settings").stdout.splitlines() if len(line[:1].strip() and line.split()) > 1}
    assert (rows["trajectories"], rows["direction"], rows["split"]) == ("50000", "forward_backward", "include_inference")
