# SPDX-License-Identifier: MIT
"""Old names of settings and tensors are read everywhere, with one line that names the new one, and are never written. The runs of
tests/golden/old-names were made by version 0.1.0, before the names changed."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from paths import LONG, SOURCE
from program import Program

plumb = Program()
OLD = SOURCE / "tests/golden/old-names"
RUNS = sorted(path.name for path in OLD.iterdir() if path.is_dir() and (LONG or path.name.startswith("hgn++")))
SCRIPT = SOURCE / "scripts/rename-settings"
TINY = ("--world", "mass-spring", "--preset", "tiny", "--set", "trajectories=4", "--steps", 2)


def header(path):
    """The header of a safetensors file, and its numbers."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def notices(done):
    return [line for line in done.stderr.splitlines() if "is now called" in line]


@pytest.fixture
def copy(tmp_path):
    def make(run):
        return Path(shutil.copytree(OLD / run, tmp_path / run))
    return make


# ---- the command line ----

def test_set_takes_an_old_name_and_names_the_new_one(tmp_path):
    old = plumb.run("train", "hgn++", *TINY, "--set", "spread=0.5", "--set", "rate=1e-3", "--out", tmp_path / "old")
    new = plumb.run("train", "hgn++", *TINY, "--set", "initial_posterior_scale=0.5", "--set", "learning_rate=1e-3",
                    "--out", tmp_path / "new")
    assert notices(old) == ["plumb train: the setting spread is now called initial_posterior_scale",
                            "plumb train: the setting rate is now called learning_rate"]
    assert not notices(new)
    for name in ("config.json", "weights.safetensors", "optimizer.safetensors"):
        assert (tmp_path / "old" / name).read_bytes() == (tmp_path / "new" / name).read_bytes(), name


def test_the_new_names_are_written(tmp_path):
    plumb.run("train", "hgn++", *TINY, "--set", "objective=plain", "--set", "standard=on", "--out", tmp_path / "run")
    config = json.loads((tmp_path / "run/config.json").read_text())
    listed = [row["name"] for row in plumb.answer("train", "hgn++", "--settings")["settings"]]
    assert [name for part in ("data", "training", "settings") for name in config[part]] == listed
    assert {"learning_rate", "checkpoint_steps", "standardise_frames", "nested_pairs"} <= set(listed)
    assert not {"rate", "save", "standard", "spread", "nested", "settle"} & set(listed)
    assert config["settings"]["objective"] == "mse"
    tensors, _ = header(tmp_path / "run/weights.safetensors")
    assert {"frames.mean", "frames.std", "dec.start"} <= set(tensors) and not {"film.mean", "dec.h"} & set(tensors)


def test_an_old_word_of_a_choice_is_taken(tmp_path):
    done = plumb.run("train", "hgn++", *TINY, "--set", "objective=plain", "--out", tmp_path / "run")
    assert notices(done) == ["plumb train: the setting objective=plain is now called objective=mse"]


def test_a_name_that_models_share_is_that_of_the_model(tmp_path):
    rooms = ("--world", "rooms/freeform", "--preset", "tiny", "--set", "trajectories=4", "--set", "image=16", "--steps", 1)
    done = plumb.run("train", "predrnn", *rooms, "--set", "settle=3", "--out", tmp_path / "predrnn")
    assert "settle is now called camera_motion_steps" in done.stderr
    done = plumb.run("train", "hgn++", *TINY, "--set", "settle=0.5", "--out", tmp_path / "hgn++")
    assert "settle is now called selection_start" in done.stderr
    plumb.refused('there is no setting "settle"', "train", "plato", *rooms, "--set", "settle=3", "--out", tmp_path / "plato", code=2)


def test_both_names_of_a_setting_are_refused(tmp_path, copy):
    both = ("--set", "spread=0.5", "--set", "initial_posterior_scale=0.5")
    words = "spread and initial_posterior_scale are the same setting"
    plumb.refused(words, "train", "hgn++", *TINY, *both, "--out", tmp_path / "no", code=2)
    plumb.refused(words, "train", "hgn++", *TINY, *both[2:], *both[:2], "--out", tmp_path / "no", code=2)
    plumb.run("train", "hgn++", *TINY, *both[:2], *both[:2], "--out", tmp_path / "twice")  # the later one counts
    run = copy("hgn++")
    text = (run / "config.json").read_text()
    (run / "config.json").write_text(text.replace('"spread": 0.1', '"spread": 0.1, "initial_posterior_scale": 0.1'))
    plumb.refused('the setting "initial_posterior_scale" appears twice; its old name is spread', "evaluate", run)


# ---- runs ----

@pytest.mark.parametrize("run", RUNS)
def test_an_old_run_resumes_like_one_with_new_names(copy, tmp_path, run):
    old, new = copy(run), Path(shutil.copytree(OLD / run, tmp_path / "new"))
    done = plumb.run("train", "--resume", "--out", old, "--steps", 4)
    assert len(notices(done)) == 1 and "config.json: the setting rate is now called learning_rate" in notices(done)[0]
    subprocess.run([SCRIPT, new], check=True, capture_output=True)
    assert not notices(plumb.run("train", "--resume", "--out", new, "--steps", 4))
    # Trained weights differ in their last bits between processors, so the two runs are compared with each other.
    before = header(OLD / run / "weights.safetensors")[1]
    assert header(old / "weights.safetensors")[1] == header(new / "weights.safetensors")[1] != before
    config = json.loads((old / "config.json").read_text())
    assert "learning_rate" in config["training"] and "rate" not in config["training"]
    assert not notices(plumb.run("train", "--resume", "--out", old))


def test_old_weights_are_read(copy, tmp_path):
    old, new = copy("hgn++"), tmp_path / "new.npz"
    done = plumb.run("rollout", old, "--count", 2, "--steps", 12, "--out", tmp_path / "old.npz")
    assert len(notices(done)) == 2 and "weights.safetensors: the tensor film.mean is now called frames.mean" in notices(done)[1]
    subprocess.run([SCRIPT, old], check=True)
    assert not notices(plumb.run("rollout", old, "--count", 2, "--steps", 12, "--out", new))
    assert (tmp_path / "old.npz").read_bytes() == new.read_bytes()


def test_old_weights_beside_other_settings_are_refused(copy):
    run = copy("hgn++")
    text = (run / "config.json").read_text()
    (run / "config.json").write_text(text.replace('"spread": 0.1', '"spread": 0.2'))
    done = plumb.run("rollout", run, "--out", run / "x.npz", code=1)
    assert "other settings than config.json has" in done.stderr


@pytest.mark.parametrize("run", RUNS)
def test_the_script_writes_what_the_program_writes(copy, tmp_path, run):
    script, program = copy(run), Path(shutil.copytree(OLD / run, tmp_path / "program"))
    assert subprocess.run([SCRIPT, "--check", script], capture_output=True).returncode == 1
    subprocess.run([SCRIPT, script], check=True, capture_output=True)
    assert subprocess.run([SCRIPT, "--check", script], capture_output=True).returncode == 0
    for path in (script, program):
        plumb.run("train", "--resume", "--out", path, "--steps", 2)
    (program / "weights.safetensors").unlink()
    plumb.run("train", "--resume", "--out", program, "--steps", 2)  # restores the weights
    assert json.loads((script / "config.json").read_text()) == json.loads((program / "config.json").read_text())
    (ours, numbers), (theirs, same) = header(script / "weights.safetensors"), header(program / "weights.safetensors")
    assert numbers == same and list(ours) == list(theirs)
    for key in ("settings", "layout", "hash", "data", "step"):
        assert ours["__metadata__"][key] == theirs["__metadata__"][key], key


def test_the_zoo_and_the_studies_have_new_names():
    done = subprocess.run([SCRIPT, "--check", SOURCE / "zoo", *SOURCE.glob("studies/*.jsonl")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- studies ----

STUDY = """name: old
defaults: {preset: tiny, model: hgn++, world: mass-spring, steps: 2}
runs:
  - set: {trajectories: 4, NAME: [0.5, 1]}
evaluate: {count: 2, steps: 12, measured: 20, method: pr}
"""


def test_a_study_takes_old_names_and_records_new_ones(tmp_path):
    (tmp_path / "old.yaml").write_text(STUDY.replace("NAME", "spread"))
    done = plumb.run("sweep", "old.yaml", "--out", "old", cwd=tmp_path)
    assert notices(done) == ["plumb sweep: the setting spread is now called initial_posterior_scale"]
    records = [json.loads(line) for line in (tmp_path / "old/results.jsonl").read_text().splitlines()]
    assert [record["set"]["initial_posterior_scale"] for record in records] == ["0.5", "1"]
    # Directories keep the name that the study gives, so that a sweep of version 0.1.0 is still found.
    assert [record["run"] for record in records] == ["hgn++-mass-spring-spread0.5", "hgn++-mass-spring-spread1"]
    assert plumb.answer("sweep", "old.yaml", "--out", "old", cwd=tmp_path)["skipped"] == 2


def test_a_study_with_both_names_is_refused(tmp_path):
    (tmp_path / "both.yaml").write_text(STUDY.replace("NAME", "initial_posterior_scale: 1, spread"))
    done = plumb.run("sweep", "both.yaml", "--out", "both", cwd=tmp_path, code=1)
    assert "both.yaml:4: " in done.stderr and "are the same setting" in done.stderr
