# SPDX-License-Identifier: MIT
"""Every command of the program is a function, and the two agree."""
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import threading

import package  # noqa: F401
import numpy as np
import plumb
import pytest

from paths import PLUMB

# Commands whose function has another name, or that are no work of their own.
OTHER_NAMES = {"help": None, "version": "__version__", "import": "import_weights", "export": "export_weights"}


def run(*arguments):
    done = subprocess.run([PLUMB, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trained(shared):
    return plumb.train("hgn++", world="mass-spring", preset="tiny", steps=3, out=shared / "run", progress=False)


def test_every_command_is_a_function():
    commands = [line.split()[0] for line in run("help").splitlines() if line.startswith("  ") and line.split()[0].isalpha()]
    assert "measure" in commands and len(commands) > 12
    missing = [name for name in commands if OTHER_NAMES.get(name, name) and not hasattr(plumb, OTHER_NAMES.get(name, name))]
    assert not missing


@pytest.mark.parametrize("name", [name for name in plumb.__all__ if inspect.isfunction(getattr(plumb, name))])
def test_every_function_has_a_text_and_names_its_options(name):
    function = getattr(plumb, name)
    assert function.__doc__ and len(function.__doc__) > 20
    open_ended = [one.name for one in inspect.signature(function).parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
    assert not open_ended or name in ("canonical", "evaluate", "rollout", "figure")


# ---- files ----

def test_simulate_writes_what_the_program_writes(inside):
    assert plumb.simulate("pendulum", "a.npz", count=3, steps=6, seed=4, image=16) == "a.npz"
    run("simulate", "pendulum", "--count", 3, "--steps", 6, "--seed", 4, "--image", 16, "--out", "b.npz")
    one, other = plumb.read("a.npz"), plumb.read("b.npz")
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    with pytest.raises(plumb.FileError):
        plumb.simulate("pendulum", "a.npz", count=1)
    assert plumb.simulate("pendulum", "a.npz", count=1, steps=5, replace=True)
    with pytest.raises(TypeError, match="compress is for a file"):
        plumb.simulate("pendulum", compress=True)
    assert np.array_equal(plumb.simulate("pendulum", count=3, steps=6, seed=4, image=16).state, one["state"])


@pytest.mark.parametrize("name", ["x.npz", "x.tfrecord", "x.h5"])
def test_read_and_convert_keep_every_bit(name, inside):
    plumb.simulate("mass-spring", "first.npz", count=2, steps=5)
    try:
        assert plumb.convert("first.npz", name) == 2
    except plumb.MissingError as why:
        pytest.skip(str(why))
    one, other = plumb.read("first.npz"), plumb.read(name)
    assert np.array_equal(one["state"], other["state"])
    assert np.array_equal(plumb.read("first.npz", "frames"), one["frames"])
    with pytest.raises(plumb.FileError, match="no array"):
        plumb.read("first.npz", "nothing")


def test_show_gives_a_figure(inside):
    plumb.simulate("mass-spring", "x.npz", count=2, steps=12)
    drawn = plumb.show("x.npz", item=1)
    assert drawn._repr_svg_().startswith("<svg") and drawn._repr_png_() is None
    assert plumb.show(plumb.simulate("mass-spring", count=2, steps=12, seed=1), item=1).svg == drawn.svg
    assert plumb.show({"state": plumb.simulate("mass-spring", count=1, steps=12).state}).svg.startswith("<svg")
    image = plumb.show("x.npz", "x.png")
    assert image.png[:4] == b"\x89PNG" and (inside / "x.png").read_bytes() == image.png
    drawn.save("y.svg")
    assert (inside / "y.svg").read_text() == drawn.svg
    with pytest.raises(ValueError, match="does not end in .svg"):
        drawn.save("y.png")


def test_audit_agrees_with_the_program(inside):
    plumb.simulate("rooms/solidity", "p.npz", count=8, image=32)
    found = plumb.audit("p.npz")
    assert found.clean is True
    program = json.loads(run("audit", "p.npz", "--json"))
    assert found.to_dict().items() <= program.items()


# ---- training ----

def test_train_gives_the_weights_of_the_program(trained, inside):
    run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 3, "--out", "run")
    with open("run/weights.safetensors", "rb") as one, open(os.path.join(trained.path, "weights.safetensors"), "rb") as other:
        assert one.read() == other.read()
    assert trained.result["finished"] and trained.result["steps"] == 3


def test_the_callback_sees_every_step(inside):
    seen = []
    plumb.train("hgn++", world="mass-spring", preset="tiny", steps=4, out="run", callback=seen.append)
    assert [one.step for one in seen] == [1, 2, 3, 4] and seen[-1].steps == 4 and np.isfinite(seen[-1].loss)


def test_settings_are_those_of_the_model(inside):
    run_ = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=1, out="run", settings={"learning_rate": 1e-4, "nested_pairs": False})
    assert float(run_.config["training"]["learning_rate"]) == 1e-4
    with pytest.raises(plumb.RangeError, match="learning_rate"):
        plumb.train("hgn++", world="mass-spring", preset="tiny", steps=1, out="other", settings={"learning_rat": 1})
    with pytest.raises(plumb.PlumbError):
        plumb.train("hgn++", world="mass-spring", preset="tiny", steps=1, out="run")


class Enough(Exception):
    pass


def test_what_a_callback_raises_saves_the_run_which_then_resumes_to_the_same_bits(inside):
    def stop(now):
        if now.step == 2:
            raise Enough
    with pytest.raises(Enough):
        plumb.train("hgn++", world="mass-spring", preset="tiny", steps=5, out="run", callback=stop)
    plumb.train("hgn++", out="run", resume=True, progress=False)
    plumb.train("hgn++", world="mass-spring", preset="tiny", steps=5, out="whole", progress=False)
    with open("run/weights.safetensors", "rb") as one, open("whole/weights.safetensors", "rb") as other:
        assert one.read() == other.read()


@pytest.mark.filterwarnings("ignore")  # a model of few steps ignores its input, and training says so
def test_ctrl_c_saves_the_run(inside):
    def interrupt(now):
        if now.step == 3:
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        plumb.train("hgn++", world="mass-spring", preset="tiny", steps=100000, out="run", callback=interrupt)
    again = plumb.train("hgn++", out="run", resume=True, minutes=0.01, progress=False)
    assert again.result["steps"] >= 3


def test_a_thread_can_train(inside):
    found = []
    thread = threading.Thread(target=lambda: found.append(plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, out="run", progress=False)))
    thread.start()
    thread.join()
    assert found[0].result["steps"] == 2


def test_evaluate_and_rollout_are_those_of_the_run(trained):
    assert plumb.rollout(trained.path, 2, 12).prediction.shape == trained.rollout(2, 12).prediction.shape
    one = plumb.evaluate(trained, count=2, steps=10, measured=6, mlp=False)
    assert one.vpt == trained.evaluate(count=2, steps=10, measured=6, mlp=False).vpt
    assert one.mlp["r2"] is None


def test_sweep_trains_a_study(inside):
    (inside / "study.yaml").write_text("name: s\ndefaults: {preset: tiny, steps: 2}\nruns: [{model: hgn++, world: mass-spring, seed: [1, 2]}]\n"
                                       "evaluate: {count: 2, steps: 10, measured: 4, method: pr}\n")
    found = plumb.sweep("study.yaml", "runs", workers=2)
    assert len(found.runs) == 2 and {one["model"] for one in found.runs} == {"hgn++"}
    with pytest.raises(plumb.PlumbError, match="nothing.yaml"):
        plumb.sweep("nothing.yaml", "runs")


def test_plans_are_those_of_the_program(inside):
    assert plumb.settings("hgn++")["learning_rate"]["help"] and "trajectories" in plumb.settings("predrnn")
    wanted = json.loads(run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--set", "batch=4", "--plan", "--json"))
    plan = plumb.train_plan("hgn++", world="mass-spring", preset="tiny", settings={"batch": 4})
    timed = ("seconds", "step_core_seconds")  # each call times a step
    assert {key: value for key, value in plan.items() if key not in timed} == {key: value for key, value in wanted.items() if key not in timed}
    assert all(plan[key] > 0 for key in timed)
    (inside / "study.yaml").write_text("name: s\nruns: [{model: hgn++, world: mass-spring, preset: tiny, steps: 2, seed: [1, 2]}]\n")
    assert [one["state"] for one in plumb.sweep_plan("study.yaml", "runs")["runs"]] == ["new", "new"]
    assert "--array" in (inside / plumb.sweep_slurm("study.yaml", "runs", minutes=30)).read_text()
    for call in (lambda: plumb.settings("nothing"), lambda: plumb.train_plan("hgn++", world="nothing"), lambda: plumb.sweep_plan("none.yaml", "runs")):
        with pytest.raises(plumb.PlumbError, match="noth|none"):
            call()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("tqdm", [False, True])
def test_progress_is_shown_with_tqdm_or_without(inside, monkeypatch, tqdm):
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    shown, seen = Terminal(), []
    monkeypatch.setattr(sys, "stderr", shown)
    plumb.train("hgn++", world="mass-spring", preset="tiny", steps=3, out="run", callback=seen.append)
    assert ("3/3" if tqdm else "step 3 of 3") in shown.getvalue() and "loss " in shown.getvalue() and len(seen) == 3
    shown.truncate(0)
    plumb.train("hgn++", world="mass-spring", preset="tiny", steps=3, out="run", force=True, progress=False)
    assert not shown.getvalue().strip("\0")


def test_python_m_plumb_is_the_program():
    done = subprocess.run([sys.executable, "-m", "plumb", "worlds"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == run("worlds")
    assert subprocess.run([sys.executable, "-m", "plumb", "nothing"], capture_output=True).returncode == 2
