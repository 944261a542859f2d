# SPDX-License-Identifier: MIT
"""Run directories from Python, and Ctrl-C in the middle of work."""
import os
import signal
import threading
import time

import package  # noqa: F401
import numpy as np
import plumb
import pytest

from program import Program

WIDE = np.random.default_rng(1).standard_normal((400, 60, 16))


@pytest.fixture(scope="module")
def path(shared):
    Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 10, "--out", shared / "run")
    return shared / "run"


@pytest.fixture(scope="module")
def run(path):
    return plumb.load_run(str(path))


@pytest.fixture(scope="module")
def roll(run):
    return run.rollout(count=2, steps=70)


def test_a_run_knows_its_model_world_results_and_log(run):
    assert run.model == "hgn++" and run.world == "mass-spring" and run.results["train"]["steps"] == 10
    assert [line["step"] for line in run.log][-1:] == [10]


def test_a_rollout_has_latents_frames_and_truth(roll):
    assert roll.latent.shape[:2] == roll.frames.shape[:2] == (2, 70) and roll.prediction.dtype == np.float32
    assert np.isfinite(roll.prediction).all()
    assert roll.truth.shape == (2, 70, 2 * plumb.world("mass-spring").n)


def test_a_rollout_depends_on_its_direction_and_not_on_threads(run, roll):
    assert not np.array_equal(run.rollout(count=2, steps=70, backward=True).latent, roll.latent)
    assert np.array_equal(run.rollout(count=2, steps=70, threads=1).latent, roll.latent)


def test_a_saved_rollout_is_read_by_plumb_measure(roll, tmp_path):
    roll.save(str(tmp_path / "rollout.npz"))
    Program("measure").answer(tmp_path / "rollout.npz")


def test_a_run_is_evaluated(run):
    result = run.evaluate(count=2, steps=20, measured=4, mlp=False, symetric={"resamples": 0})
    assert result.model == "hgn++" and result.pr["r2_ci"] is None and result.vpt >= 0


def test_the_protocol_of_the_paper_and_its_options_are_keywords(run):
    result = run.evaluate(protocol="paper", count=2, steps=20, measured=10, mlp=False, mask="none", average="median")
    assert result.protocol == "paper" and result.pr["mode"] == "reference" and result.pr["fits"] == 2
    assert result.forecast["average"] == "median" and result.forecast["n"] == 2
    other = run.evaluate(count=2, steps=20, measured=10, mlp=False, mode="reference", points=5)
    assert other.protocol == "own" and other.pr["mode"] == "reference" and other.forecast["average"] == "mean"
    with pytest.raises(ValueError, match="wanted own, paper"):
        run.evaluate(protocol="papper")


def test_failures_have_a_kind_of_their_own(run, path, tmp_path):
    with pytest.raises(plumb.FileError, match="a run directory is what plumb train writes"):
        plumb.load_run(str(tmp_path))
    with pytest.raises(OSError, match="config.json"):
        plumb.load_run(str(tmp_path / "nowhere"))
    with pytest.raises(plumb.PlumbError, match="nowhere"):
        run.rollout(world="nowhere")
    with pytest.raises(TypeError, match="no option"):
        run.rollout(cout=2)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text("{")
    with pytest.raises(plumb.FormatError, match="config.json"):
        plumb.load_run(str(tmp_path / "run"))


def test_ctrl_c_ends_a_call_at_once_and_the_next_one_works():
    begun = time.monotonic()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:  # half a minute of work or so
        plumb.symetric(WIDE, WIDE**3, mode="reference", max_order=3, threads=1, kappa=False)
        assert time.monotonic() - begun < 0.5, "Ctrl-C was not heard"
    except KeyboardInterrupt:
        deadline = time.monotonic() + 60
        while threading.active_count() > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threading.active_count() == 1, "Ctrl-C left the work running"
    small = WIDE[:20, :, :2]
    assert plumb.symetric(small, small).passes


def test_other_threads_go_on_meanwhile():
    ticks = []
    thread = threading.Thread(target=lambda: [ticks.append(time.sleep(0.01)) for _ in range(20)])
    thread.start()
    part = WIDE[:100, :, :8]
    plumb.symetric(part, part**3, mode="reference", threads=1, max_order=2, kappa=False)
    assert ticks, "the interpreter's lock is held"
    thread.join()


def test_weights_go_out_and_come_back(tmp_path):
    run = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, out=tmp_path / "run", progress=False)
    again = plumb.import_weights("hgn++", plumb.export_weights(run, tmp_path / "w.safetensors"), tmp_path / "again")
    assert again.config["settings"] == run.config["settings"]
    with pytest.raises(plumb.PlumbError, match="a run exists already"):
        plumb.import_weights("hgn++", tmp_path / "w.safetensors", tmp_path / "again")


def test_a_model_of_objects_is_loaded_and_rolled_out():
    """With the names of its latents, and with its tracks in pixels."""
    run = plumb.load_run("bodies-two-body")
    rollout = run.rollout(2, 12)
    assert [name.decode() for name in rollout.latent_names.view("S8").ravel()][:4] == ["x1", "y1", "x2", "y2"]
    assert rollout.tracks.shape == (2, 12, 2, 2) and run.model == "bodies"
    # A unit of length is half the side of the picture.
    assert np.abs(rollout.tracks[..., 0] - 15.5 * (1 + rollout.latent[..., [0, 2]])).max() < 1e-4
