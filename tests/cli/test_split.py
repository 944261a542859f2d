# SPDX-License-Identifier: MIT
"""Training both ways in time predicts the input frames too. config.json records the split that is used, another one is refused, and
runs that recorded another one stay valid."""
import json
import shutil

import pytest
from paths import SOURCE
from program import Program

plumb = Program()
OLD = SOURCE / "tests/golden/old-split/hgn++"
TINY = ("--world", "mass-spring", "--preset", "tiny", "--set", "trajectories=4", "--set", "image=16", "--steps", 2, "--set",
        "decay=constant")
BOTH = ("--set", "direction=forward_backward")


def split_of(run):
    return json.loads((run / "config.json").read_text())["settings"]["split"]


def test_a_preset_that_trains_both_ways_records_the_split_it_uses(tmp_path):
    rows = {row["name"]: row for row in plumb.answer("train", "hgn++", "--settings")["settings"]}
    assert rows["direction"]["cpu"] == "forward_backward" and rows["split"]["cpu"] == "include_inference"
    assert rows["direction"]["paper"] == "forward_backward" and rows["split"]["paper"] == "include_inference"
    assert rows["direction"]["tiny"] == "forward" and rows["split"]["tiny"] == "overlap_by_one"
    plumb.run("train", "hgn++", "--world", "mass-spring", "--set", "trajectories=2", "--steps", 0, "--out", tmp_path / "run")
    assert split_of(tmp_path / "run") == "include_inference"


def test_a_direction_that_the_user_sets_decides_the_split(tmp_path):
    plumb.run("train", "hgn++", *TINY, *BOTH, "--out", tmp_path / "both")
    assert split_of(tmp_path / "both") == "include_inference"
    # Forward in time the default is that of the paper, also where the preset trains both ways.
    plumb.run("train", "hgn++", "--world", "mass-spring", "--set", "trajectories=2", "--set", "direction=forward", "--steps", 0,
              "--out", tmp_path / "forward")
    assert split_of(tmp_path / "forward") == "overlap_by_one"


@pytest.mark.parametrize("model", ["hgn++", "lgn", "ode"])
def test_another_split_is_refused(model, tmp_path):
    words = "split=no_overlap conflicts with direction=forward_backward, which uses split=include_inference"
    for order in ((*BOTH, "--set", "split=no_overlap"), ("--set", "split=no_overlap", *BOTH)):
        plumb.refused(words, "train", model, *TINY, *order, "--out", tmp_path / "no", code=2)
    assert not (tmp_path / "no").exists()
    plumb.run("train", model, *TINY, *BOTH, "--set", "split=include_inference", "--out", tmp_path / "yes")


def test_a_study_that_asks_for_another_split_is_refused_at_its_line(tmp_path):
    (tmp_path / "study.yaml").write_text("name: s\ndefaults: {preset: tiny, model: hgn++, world: mass-spring}\nruns:\n"
                                         "  - set:\n      direction: forward_backward\n      split: overlap_by_one\n")
    done = plumb.run("sweep", "study.yaml", "--out", "out", cwd=tmp_path, code=1)
    assert "study.yaml:6: split=overlap_by_one conflicts with direction=forward_backward" in done.stderr


# ---- runs of version 0.1.0 ----

def test_an_old_run_is_read_and_resumed(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(OLD, old)
    assert split_of(old) == "no_overlap"
    plumb.run("rollout", old, "--count", 2, "--steps", 12, "--out", tmp_path / "old.npz")
    before = (old / "optimizer.safetensors").read_bytes()
    # The config is corrected although the checkpoint still has the old hash: a kill between the two must do no harm.
    plumb.run("train", "--resume", "--out", old)
    assert split_of(old) == "include_inference" and (old / "optimizer.safetensors").read_bytes() == before
    plumb.run("rollout", old, "--count", 2, "--steps", 12, "--out", tmp_path / "again.npz")
    assert (tmp_path / "old.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    plumb.run("train", "--resume", "--out", old, "--steps", 4)
    # What is trained is what was always trained.
    plumb.run("train", "hgn++", *TINY, *BOTH, "--out", new)
    assert split_of(new) == "include_inference"


def test_weights_of_another_direction_are_still_refused(tmp_path):
    old = tmp_path / "old"
    shutil.copytree(OLD, old)
    text = (old / "config.json").read_text()
    (old / "config.json").write_text(text.replace("forward_backward", "forward"))
    plumb.refused("other settings than config.json has", "rollout", old, "--out", tmp_path / "x.npz")


def test_the_zoo_records_what_was_used():
    for config in (SOURCE / "zoo").glob("*/config.json"):
        settings = json.loads(config.read_text())["settings"]
        if settings.get("direction") == "forward_backward":
            assert settings["split"] == "include_inference", config
