# SPDX-License-Identifier: MIT
"""Ctrl-C at many moments of every long call: it ends soon, nothing crashes, and the same process goes on working."""
import subprocess
import sys

import package  # noqa: F401
import pytest

from paths import LONG, SANITIZE
from program import Program

# Calls `work` again and again and interrupts it a little later each time. At the end everything must still work.
PROGRAM = """
import os, pathlib, random, signal, sys, threading, time
import numpy as np
import plumb
folder, name, moments, twice = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "twice"
rng = np.random.default_rng(1)
state = plumb.world("mass-spring").batch(100, seed=1).state
wide = np.concatenate([np.tanh(state @ rng.normal(size=(2, 16)))] , -1)
frames = rng.random((40, 120, 16, 16, 3), dtype=np.float32)
run = plumb.load_run(str(folder / "run"))

def load():
    with plumb.world("pendulum").loader(64, seed=1) as loader:
        for _ in range(50): next(loader)

works = {
    "symetric": lambda: plumb.symetric(wide, state),
    "kappa": lambda: plumb.kappa(wide, state, symplectic=True),
    "forecast": lambda: [plumb.forecast(truth=frames, prediction=frames) for _ in range(20)],
    "surprise": lambda: plumb.surprise(rng.random((2000, 4)), feature=rng.random((2000, 4, 32)), observation=rng.random((4000, 32))),
    "loader": load,
    "rollout": lambda: run.rollout(10, 400),
    "evaluate": lambda: run.evaluate(count=8, steps=200, measured=40, mlp=False),
    "report": lambda: plumb.report(folder / "page.html", folder / "run", steps=300),
}
work = works[name]
started = time.monotonic()
try: work()
except plumb.PlumbError as why: sys.exit(f"fails by itself: {why}")
whole = time.monotonic() - started
interrupted, latest = 0, 0.0
for moment in range(moments):
    delay = whole * (moment + 0.5) / moments
    timers = [threading.Timer(delay + wait, os.kill, (os.getpid(), signal.SIGINT)) for wait in ((0, 0.05) if twice else (0,))]
    try:
        for timer in timers: timer.start()
        begun = time.monotonic()
        work()
        while time.monotonic() < begun + delay + 0.2: time.sleep(0.01)
    except KeyboardInterrupt:
        interrupted += 1
        latest = max(latest, time.monotonic() - begun - delay)
    except plumb.StoppedError as why:
        sys.exit(f"moment {moment}: a stop that nobody asked for: {why}")
    for timer in timers:
        try:
            timer.join()
        except KeyboardInterrupt:
            pass
    try: time.sleep(0.02)
    except KeyboardInterrupt: pass
    result = plumb.symetric(state[:20], state[:20], resamples=0)
    assert result.symetric == 1 and result.canonical == 1
print(interrupted, round(whole, 2), round(latest, 2))
"""
NAMES = ["symetric", "kappa", "forecast", "surprise", "loader", "rollout", "evaluate", "report"]


@pytest.fixture(scope="module")
def folder(shared):
    Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 4, "--out", shared / "run")
    return shared


@pytest.mark.parametrize("name, times", [(name, "once") for name in NAMES] + [(name, "twice") for name in (NAMES if LONG else ("report",))])
def test_ctrl_c_ends_the_call_and_nothing_else(name, times, folder):
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM, folder, name, str(40 if LONG else 1 if SANITIZE else 2), times],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    interrupted, whole, latest = map(float, done.stdout.split())
    print(f"{name}: {whole} s, ended {latest} s after Ctrl-C")
    assert interrupted >= 1
    assert latest < 10  # a second and less; more only where the machine is busy
