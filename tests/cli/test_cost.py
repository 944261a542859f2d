# SPDX-License-Identifier: MIT
"""Long commands say first what they will take, and a plan is a page that can be read."""
import json
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from paths import SANITIZE
from program import Program

plumb = Program()


def first_lines(count, *arguments, until="", seconds=60):
    """The first lines on stderr, up to one with these words, of a command that is then stopped."""
    process = subprocess.Popen([str(x) for x in plumb.command(*arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    started, lines = time.monotonic(), []
    try:
        while len(lines) < count and time.monotonic() - started < seconds:
            lines.append(process.stderr.readline().rstrip())
            if until and until in lines[-1]:
                break
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    return lines


# ---- simulate ----

@pytest.mark.parametrize("name, words", [("x.npz", "x.npz: 2 MB will be written"), ("x.tfrecord", "x.tfrecord: at most 2 MB will be written")])
def test_simulate_says_what_it_will_write(tmp_path, name, words):
    done = plumb.run("simulate", "pendulum", "--count", 3, "--out", tmp_path / name)
    assert words in done.stderr and "about" not in done.stderr
    if name == "x.npz":
        assert 1.5e6 < (tmp_path / name).stat().st_size < 2.5e6


def test_a_long_simulation_says_how_long(tmp_path):
    size, duration = first_lines(2, "simulate", "md-16", "--count", 100000, "--out", tmp_path / "x.npz")
    assert size.endswith("118.4 GB will be written") and re.fullmatch(r"plumb simulate: about \S+ (min|h)", duration)
    assert not (tmp_path / "x.npz").exists()


# ---- probe ----

def save(path, trajectories, steps, d, seed=1):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(trajectories, steps, 2))
    latent = truth @ rng.normal(size=(2, d)) + rng.normal(size=(trajectories, steps, d))
    np.savez(path, latent=latent.astype(np.float32), truth=truth)
    return path


def test_a_long_probe_says_so_before_it_starts(tmp_path):
    line, = first_lines(1, "probe", save(tmp_path / "x.npz", 20, 20, 3000), "--threads", 1)
    found = re.fullmatch(r"plumb probe: about (\d+) (s|min), (\S+) (MB|GB) of memory", line)
    assert found, line
    assert 0.3 < float(found[3]) * (1e-3 if found[4] == "MB" else 1) < 1.5  # 8 bytes x 6 x 3256^2 and more


def test_a_short_probe_says_nothing(tmp_path):
    assert "about" not in plumb.run("probe", save(tmp_path / "x.npz", 20, 20, 16)).stderr


def test_4096_latents_are_read_out_in_bounded_memory(tmp_path):
    """Fewer rows than latents: the readout is that of the dual problem, which numpy solves in the rows."""
    path = save(tmp_path / "x.npz", 12, 10, 4096)
    command = [str(x) for x in plumb.command("probe", path, "--json", "--linear-only", "--no-controls", "--penalties", 1, "--penalty-low", 0.5,
                                             "--folds", 3, "--threads", 2, "--resamples", 0)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    got = json.loads(done.stdout)
    with np.load(path) as file:
        latent, truth = file["latent"].astype(float), file["truth"]
    fold, predicted = np.array(got["fold"]), np.empty_like(truth)
    for tested in range(3):
        x, y = latent[fold != tested].reshape(-1, 4096), truth[fold != tested].reshape(-1, 2)
        mean, deviation = x.mean(0), x.std(0)
        z, new = (x - mean) / deviation, (latent[fold == tested] - mean) / deviation
        weights = np.linalg.solve(z @ z.T + 0.5 * len(z) * np.eye(len(z)), y - y.mean(0))
        predicted[fold == tested] = new @ (z.T @ weights) + y.mean(0)
    r2 = 1 - ((truth - predicted) ** 2).sum((0, 1)) / ((truth - truth.mean((0, 1))) ** 2).sum((0, 1))
    assert [one["linear"]["r2"] for one in got["targets"]] == pytest.approx(r2, abs=1e-8)
    # Three folds and two threads: five matrices of 134 MB, and what is small. A larger child before says nothing.
    assert after < 950_000 or after == before


def test_more_than_4096_latents_are_refused(tmp_path):
    plumb.refused("at most 4096", "probe", save(tmp_path / "x.npz", 6, 4, 4097))


@pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer needs more")
def test_a_large_file_is_measured_in_twice_its_size(tmp_path):
    """SyMetric uses all rows; a standardised copy of the latents would be a whole file more."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, (1600, 1, 1)) + 0.1 * np.arange(200)[None, :, None]
    truth = rng.uniform(0.5, 1.5, (1600, 1, 1)) * np.concatenate([np.cos(angle), -np.sin(angle)], 2)
    path = tmp_path / "x.npz"
    np.savez(path, latent=np.tanh(truth @ rng.normal(size=(2, 64)) + rng.normal(size=64)), truth=truth)
    command = [str(x) for x in plumb.command("measure", path, "--json", "--threads", 1, "--published", "--resamples", 0)]
    # RUSAGE_CHILDREN has the largest of all children so far. This interpreter waits for one alone.
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 2 * path.stat().st_size


def test_any_other_long_command_says_so_from_how_far_it_has_come(tmp_path):
    """The length of fitting a network is known only once it runs."""
    t, phase = 0.1 * np.arange(20), np.arange(12)[:, None]
    truth = np.stack([np.cos(t + phase), -np.sin(t + phase)], -1) * np.linspace(0.5, 1.5, 12)[:, None, None]
    np.savez(tmp_path / "x.npz", latent=truth, truth=truth)
    lines = first_lines(20, "measure", tmp_path / "x.npz", "--method", "mlp", "--few-points", "--updates", 3000000, until="about")
    told = [line for line in lines if "about" in line]
    assert len(told) == 1 and re.fullmatch(r"plumb measure: training a network: about \S+ (s|min|h), \d+ MB so far", told[0]), lines


# ---- training ----

def test_a_plan_is_a_page():
    page = plumb.run("train", "hgn++", "--world", "pendulum", "--preset", "tiny", "--plan").stdout
    for words in ("hgn++ on pendulum, preset tiny", "parameters", "8 of 24 frames, 32 x 32 x 3", "4 clips in 2 shards", "at most about", "memory"):
        assert words in page
    record = plumb.answer("train", "hgn++", "--world", "pendulum", "--preset", "tiny", "--plan")
    assert record["data"] == "pendulum" and record["training_steps"] == 20 and record["batch"] == 4 and record["stages"]
    assert 0 < record["step_core_seconds"] < 1 and 0 < record["seconds"] < 20 and 5e7 < record["bytes"] < 5e8
    twice = plumb.answer("train", "hgn++", "--world", "pendulum", "--preset", "tiny", "--plan", "--set", "trajectories=2000")
    assert abs(twice["bytes"] - record["bytes"] - 1992 * 24 * 3072) < 1e6


def test_a_plan_of_a_file_has_its_videos(tmp_path):
    plumb.run("simulate", "pendulum", "--count", 7, "--steps", 30, "--out", tmp_path / "x.npz")
    page = plumb.run("train", "ode", "--data", tmp_path / "x.npz", "--preset", "tiny", "--plan").stdout
    assert "7 of 30 frames, 32 x 32 x 3: 645 KB" in page
    plumb.refused("No such file", "train", "ode", "--data", tmp_path / "y.npz", "--plan")


def test_a_plan_without_a_possible_step_says_why():
    done = plumb.run("train", "hgn++", "--world", "pendulum", "--set", "frames=20", "--plan")
    assert "time           unknown" in done.stdout and "no step could be timed" in done.stderr and "20 frames" in done.stderr


def test_a_long_training_says_so(tmp_path):
    line, = first_lines(1, "train", "ode", "--world", "pendulum", "--preset", "tiny", "--steps", 10000000, "--out", tmp_path / "run")
    assert re.fullmatch(r"plumb train: about \S+ (s|min|h), \d+ MB of memory", line), line
