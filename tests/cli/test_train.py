# SPDX-License-Identifier: MIT
"""plumb train as a user runs it, with a toy model: what it writes, what it says, and that it can be stopped."""
import json
import os
import pty
import signal
import subprocess

import numpy as np
import pytest

from paths import TOY
from processes import log_lines, start, wait_until
from program import Program, without_cost

plumb, toy = Program(), Program("train", path=TOY)
QUICK = ("--world", "mass-spring", "--set", "batch=2")
SLOW_TOY = ("toy", *QUICK, "--steps", 100000, "--set", "pause=2000", "--set", "checkpoint_steps=0")
SHOWN_TOY = ("toy", *QUICK, "--set", "pause=20000", "--steps", 80)


def files(run):
    return sorted(p.name for p in run.iterdir())


def weights(run):
    return (run / "weights.safetensors").read_bytes()


@pytest.fixture(scope="module")
def whole(shared):
    """A run of 200 steps that no test changes, and what was printed."""
    return shared / "run", toy.answer("toy", *QUICK, "--steps", 200, "--out", shared / "run")


@pytest.fixture
def short(tmp_path):
    """A run of four steps."""
    toy.run("toy", *QUICK, "--steps", 4, "--out", tmp_path / "short")
    return tmp_path / "short"


# ---- a whole run ----

def test_the_answer_has_its_keys(whole):
    run, answer = whole
    assert list(answer)[:5] == ["model", "steps", "loss", "seconds", "run"]
    assert answer["model"] == "toy" and answer["steps"] == 200 and answer["run"] == str(run)
    assert 0 < answer["loss"] < 1 and answer["finished"] is True


def test_a_run_directory_holds_config_log_weights_and_results(whole):
    run, answer = whole
    assert files(run) == ["config.json", "events.out.tfevents.plumb", "lock", "log.jsonl", "optimizer.safetensors", "results.json",
                          "weights.safetensors"]
    config = json.loads((run / "config.json").read_text())
    assert config["model"] == "toy" and config["preset"] == "cpu"
    assert config["training"]["steps"] == 200 and config["training"]["batch"] == 2
    assert config["settings"]["flavour"] == "sweet" and config["data"]["world"] == "mass-spring"
    assert json.loads((run / "results.json").read_text())["train"]["loss"] == answer["loss"]


def test_the_log_has_a_line_every_ten_steps_and_the_loss_falls(whole):
    run, answer = whole
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log] == list(range(10, 201, 10))
    assert list(log[0]) == ["step", "loss", "spread", "rate", "seconds"]
    assert log[-1]["loss"] == answer["loss"] < log[0]["loss"]
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(log, log[1:]))


def test_threads_change_no_bit(whole, tmp_path):
    done = toy.run("toy", *QUICK, "--steps", 200, "--out", tmp_path / "again", "--threads", 3)
    progress = [line for line in done.stderr.splitlines() if not line.startswith("train: step ")]  # lines come after a second
    assert "200 steps, loss" in done.stdout and not progress
    assert weights(tmp_path / "again") == weights(whole[0])


def test_a_run_in_two_parts_has_the_same_bits(tmp_path):
    constant = (*QUICK, "--set", "decay=constant")
    one, two = tmp_path / "one", tmp_path / "two"
    toy.run("toy", *constant, "--steps", 60, "--out", one)
    toy.run("toy", *constant, "--steps", 35, "--out", two)
    toy.run("toy", "--resume", "--steps", 60, "--out", two)
    assert weights(two) == weights(one), "35 + 25 are not 60"
    before = (two / "optimizer.safetensors").read_bytes()
    again = toy.answer("--resume", "--out", two)  # nothing left to do
    assert again["steps"] == 60 and (two / "optimizer.safetensors").read_bytes() == before


def test_a_run_knows_the_data_file_it_was_trained_on(tmp_path):
    data, run = tmp_path / "p.npz", tmp_path / "file"
    plumb.run("simulate", "pendulum", "--count", 3, "--steps", 9, "--out", data)
    assert toy.answer("toy", "--data", data, "--steps", 4, "--out", run)["steps"] == 4
    plumb.run("simulate", "pendulum", "--count", 3, "--steps", 9, "--seed", 2, "--force", "--out", data)
    toy.refused("was trained on other data", "--resume", "--out", run)
    toy.refused("has 9 frames per trajectory; a clip of this model has 12", "toy", "--data", data, "--set", "length=12", "--out", tmp_path / "x")
    toy.refused("a run is a directory", "toy", *QUICK, "--out", data)


@pytest.mark.parametrize("shape, dtype", [((3, 5), "u1"), ((3, 20, 8), "u1"), ((3, 20, 0, 8, 3), "u1"), ((3, 4, 20, 8, 8, 3), "f4"),
                                          ((3, 5, 20, 8, 8, 3), "u1")])
@pytest.mark.parametrize("how", [("--plan",), ("--steps", 1)])
def test_frames_of_another_shape_or_type_are_refused_also_for_a_plan(shape, dtype, how, tmp_path):
    np.savez(tmp_path / "x.npz", frames=np.zeros(shape, dtype))
    toy.refused("frames of an item are", "toy", "--data", tmp_path / "x.npz", *how, "--out", tmp_path / "run")


# ---- what is refused ----

REFUSED = [
    ("takes one model, not 0", 2, ()),
    ("takes one model, not 2", 2, ("toy", "toy")),
    ('no model "tou"; the nearest is "toy"', 2, ("tou", *QUICK)),
    ("a world or a file of data must be given", 2, ("toy",)),
    ("--world and --data cannot both", 2, ("toy", *QUICK, "--data", "f.h5")),
    ("--resume and --force cannot both", 2, ("toy", "--resume", "--force")),
    ('no world "mass-sprung"; the nearest is "mass-spring"', 2, ("toy", "--world", "mass-sprung")),
    ('there is no setting "bach"; the nearest is "batch"', 2, ("toy", *QUICK, "--set", "bach=3")),
    ("a setting is name=value", 2, ("toy", *QUICK, "--set", "batch")),
    ('batch takes a whole number from 1 to 65536, not "0"', 2, ("toy", *QUICK, "--set", "batch=0")),
    ('learning_rate takes a number from 0 to 1000, not "fast"', 2, ("toy", *QUICK, "--set", "learning_rate=fast")),
    ("flavour takes plain, bitter or sweet, not \"swet\"; did you mean sweet?", 2, ("toy", *QUICK, "--set", "flavour=swet")),
    ('preset takes paper, cpu, tiny, cpu-angles, cpu-state, cpu-constants, points, box, chain, points-constants or '
     'chain-constants, not "cpy"; did you mean cpu?', 2,
     ("toy", *QUICK, "--preset", "cpy")),
    ("replicas=4 is more than batch=2", 2, ("toy", *QUICK, "--set", "replicas=4")),
    ("frames=2 is fewer than the 5 of a clip", 2, ("toy", *QUICK, "--set", "frames=2")),
    ("do not fit into memory", 2,
     ("toy", *QUICK, "--set", "trajectories=1000000000", "--set", "storage=memory")),
    ("minutes is -1", 2, ("toy", *QUICK, "--minutes", "-1")),
    ("no-such-file.npz", 1, ("toy", "--data", "no-such-file.npz")),
    ("there is no such run; start one without --resume", 1, ("toy", "--resume"))]


@pytest.mark.parametrize("words, code, arguments", REFUSED, ids=[words[:40] for words, _, _ in REFUSED])
def test_what_is_wrong_is_named_and_no_directory_is_left(words, code, arguments, tmp_path):
    toy.refused(words, *arguments, "--out", tmp_path / "x", code=code)
    assert not (tmp_path / "x").exists()


def test_a_path_that_is_not_utf8_is_refused_before_anything_is_written(tmp_path):
    """config.json cannot hold it, so the run could never be read again."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.npz")
    plumb.run("simulate", "mass-spring", "--count", 4, "--steps", 70, "--out", path, errors="replace")
    toy.refused("not UTF-8", "toy", "--data", path, "--steps", 2, "--out", tmp_path / "run", code=2, errors="replace")
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_overwritten_or_resumed_with_other_settings(whole, tmp_path):
    run = whole[0]
    before = weights(run)
    for words, code, arguments in (
            ("a run exists already; --resume continues it, --force overwrites it", 1, ("toy", *QUICK)),
            ("was started with batch=2, not 3", 2, ("--resume", "--set", "batch=3")),
            ("was started with steps=200, over which its learning rate falls", 2, ("--resume", "--steps", 300)),
            ("was started with the preset cpu, not tiny", 2, ("--resume", "--preset", "tiny"))):
        toy.refused(words, *arguments, "--out", run, code=code)
    assert weights(run) == before


def test_without_out_the_run_is_named_by_model_and_world(tmp_path):
    answer = toy.answer("toy", *QUICK, "--steps", 2, cwd=tmp_path)
    assert answer["run"] == "toy-mass-spring" and (tmp_path / "toy-mass-spring/weights.safetensors").exists()


def test_out_must_be_a_place_for_a_run(tmp_path):
    toy.refused("--resume needs --out", "toy", "--resume", code=2)
    toy.refused("cannot be created", "toy", *QUICK, "--out", tmp_path / "no/such/place")


def test_a_directory_of_somebody_else_is_not_touched(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter.txt").write_text("dear")
    for more in ((), ("--force",)):
        toy.refused("holds other files and no run", "toy", *QUICK, *more, "--out", tmp_path / "home")
    assert files(tmp_path / "home") == ["letter.txt"]


def test_force_begins_anew_and_keeps_other_files(short):
    (short / "notes.txt").write_text("mine")
    toy.run("toy", *QUICK, "--steps", 4, "--force", "--out", short)
    assert "notes.txt" in files(short) and log_lines(short) == 1


# ---- damage ----

def flip(data):
    changed = bytearray(data)
    changed[-100] ^= 1
    return bytes(changed)


def test_a_damaged_checkpoint_is_refused(short, whole):
    path = short / "optimizer.safetensors"
    good, all_weights = path.read_bytes(), weights(short)
    toy.run("toy", *QUICK, "--set", "decay=constant", "--steps", 4, "--out", short.parent / "other")
    other = (short.parent / "other/optimizer.safetensors").read_bytes()
    for data, words in ((flip(good), "optimizer.safetensors: is damaged, its checksum is wrong; restore the right file"),
                        (good[:-9], "optimizer.safetensors: "),
                        (b"hello, world", "optimizer.safetensors: "),
                        (all_weights, 'has no tensor "value"'),
                        (other, "was made with other settings than config.json has")):
        path.write_bytes(data)
        toy.refused(words, "--resume", "--out", short)
    path.unlink()
    toy.refused("optimizer.safetensors: is missing, so the run cannot be resumed", "--resume", "--out", short)


def test_a_damaged_config_is_refused(short):
    path = short / "config.json"
    good = path.read_bytes()
    for data, words in ((good[:-20], "config.json: "),
                        (b"{}\n", "config.json: names no model"),
                        (good.replace(b'"learning_rate"', b'"learning_rat"'), 'there is no setting "learning_rat"; the nearest is "learning_rate"'),
                        (good.replace(b'"learning_rate": 0.02, ', b""), '"training" has no "learning_rate"'),
                        (good.replace(b'"learning_rate": 0.02', b'"learning_rate": -1'), 'learning_rate takes a number from 0 to 1000, not "-1"'),
                        (good.replace(b'"model": "toy"', b'"model": "tpy"'), 'no model "tpy"; the nearest is "toy"'),
                        (good.replace(b'"noise": 0.1', b'"noise": 0.2'), "was made with other settings")):
        assert data != good
        path.write_bytes(data)
        toy.refused(words, "--resume", "--out", short)
    path.unlink()
    toy.refused("config.json: is missing", "--resume", "--out", short)


def test_files_that_can_be_made_again_are(short):
    good = {p.name: p.read_bytes() for p in short.iterdir()}
    for name in ("weights.safetensors", "log.jsonl", "events.out.tfevents.plumb", "results.json"):
        (short / name).unlink()
        toy.run("--resume", "--out", short)
        assert (short / name).exists(), name
    assert weights(short) == good["weights.safetensors"]
    (short / "weights.safetensors").write_bytes(b"x")
    toy.run("--resume", "--out", short)
    assert weights(short) == good["weights.safetensors"], "damaged weights stay"
    log = (short / "log.jsonl").read_bytes()
    (short / "log.jsonl").write_bytes(log + b"rubbish\n" + b'{"step": 99}')
    toy.run("--resume", "--out", short)
    assert (short / "log.jsonl").read_bytes() == log, "rubbish in the log stays"


def test_a_gradient_that_is_nan_ends_the_run_at_a_good_checkpoint(tmp_path):
    run = tmp_path / "nan"
    toy.refused(f'step 13: the gradient of "b" is not finite; the last good checkpoint is step 10 in {run}', "toy", *QUICK,
                "--steps", 50, "--set", "checkpoint_steps=5", "--set", "poison=13", "--out", run)
    toy.run("--resume", "--set", "poison=-1", "--out", run)


# ---- signals, locks, limits ----

# SIGTERM and SIGUSR1 ask a batch system to start it again; Ctrl-C ends it as Ctrl-C ends anything.
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGINT, -signal.SIGINT)],
                         ids=["SIGTERM", "SIGUSR1", "SIGINT"])
def test_a_signal_leaves_a_checkpoint_that_goes_on(number, code, tmp_path):
    run = tmp_path / "run"
    process = start(*toy.command(*SLOW_TOY, "--out", run))
    assert wait_until(lambda: log_lines(run) >= 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    err = [line for line in without_cost(err) if "steps/s" not in line]
    assert process.returncode == code and out == "" and len(err) == 1 and "stopped at step" in err[0] and "--resume" in err[0]
    step = int(err[0].split("step ")[1].split(",")[0])
    toy.refused("steps", "--resume", "--out", run, "--steps", step + 7, code=2)
    # The same settings, ended by a limit on its time.
    answer = toy.answer("--resume", "--minutes", 0.002, "--out", run)
    assert answer["steps"] >= step and answer["finished"] is False


def test_a_run_that_is_being_trained_is_locked(tmp_path):
    run = tmp_path / "run"
    process = start(*toy.command(*SLOW_TOY, "--out", run))
    assert wait_until(lambda: log_lines(run) >= 1)
    toy.refused(f"process {process.pid} is training into it", "--resume", "--out", run)
    toy.refused(f"process {process.pid} is training into it", *SLOW_TOY, "--force", "--out", run)
    process.kill()
    process.communicate()


def test_a_terminal_has_a_bar_and_a_file_plain_lines(tmp_path):
    leader, follower = pty.openpty()
    process = subprocess.Popen(toy.command(*SHOWN_TOY, "--out", tmp_path / "tty"), stderr=follower, stdout=subprocess.DEVNULL)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0
    assert b"\rtrain [" in shown and b"steps/s" in shown and b" left" in shown and b"loss" in shown
    done = toy.run(*SHOWN_TOY, "--out", tmp_path / "plain")
    assert "train: step " in done.stderr and "\r" not in done.stderr


# ---- lists ----

def test_settings_are_listed_with_the_value_of_every_preset():
    done = toy.run("toy", "--settings")
    assert "flavour" in done.stdout and "learning_rate" in done.stdout and "plain | bitter | sweet" in done.stdout
    rows = {row["name"]: row for row in toy.answer("toy", "--settings")["settings"]}
    assert rows["noise"]["tiny"] == "0.5" and rows["learning_rate"]["cpu"] == "0.02" and rows["flavour"]["paper"] == "plain"
    toy.refused("the nearest is", "tou", "--settings", code=2)
