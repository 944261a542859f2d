# SPDX-License-Identifier: MIT
"""The wheel: pip builds it and installs it into a fresh environment, where module and program do their work. Needs PyPI."""
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from paths import SOURCE

OUTSIDE = {key: value for key, value in os.environ.items() if not key.startswith("PLUMB") and key not in ("PYTHONPATH", "LD_PRELOAD")}
VERSIONS = [name for name in ("python3.9", "python3.11", "python3.13") if shutil.which(name)] or [sys.executable]
WORK = """
import numpy as np, plumb
state = plumb.world("mass-spring").batch(20, seed=1).state
assert plumb.measure(2 * state, state).verdict == "learnt"
plumb.simulate("pendulum", "p.h5", count=2, steps=5)
assert plumb.read("p.h5")["frames"].shape == (2, 5, 32, 32, 3)
run = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, out="run", progress=False)
assert run.rollout(2, 10).prediction.shape[:2] == (2, 10)
print(plumb.__file__)
"""


def execute(*command, cwd=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=OUTSIDE)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def make_environment(python, folder):
    execute(python, "-m", "venv", folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def dist(shared):
    """A source distribution, and the wheel that is built from it."""
    place = make_environment(sys.executable, shared / "build-env")
    execute(place / "pip", "install", "-q", "build")
    execute(place / "python", "-m", "build", "--outdir", shared / "dist", SOURCE)
    return shared / "dist"


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob("*.whl"))


def test_the_wheel_has_the_module_the_program_and_the_models(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    assert {"plumb/__init__.py", "plumb/py.typed", "plumb/lib/libplumb.so", "plumb/bin/plumb", "plumb/libexec/plumb/plumb-h5",
            "plumb/share/plumb/zoo/hgn++-mass-spring/weights.safetensors", "plumb/share/bash-completion/completions/plumb"} <= names
    assert any(name.endswith("LICENSE") for name in names)


def test_the_source_distribution_has_the_sources_alone(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    assert {"pyproject.toml", "CMakeLists.txt", "src/base/status.c", "python/plumb/__init__.py", "PKG-INFO"} <= names
    assert not any(name.startswith(("build/", "tests/")) or "__pycache__" in name for name in names)


@pytest.mark.parametrize("python", VERSIONS)
def test_a_fresh_environment_can_do_everything(python, wheel, tmp_path):
    place = make_environment(python, tmp_path / "env")
    execute(place / "pip", "install", "-q", wheel)
    assert str(tmp_path) in execute(place / "python", "-c", WORK, cwd=tmp_path)
    assert execute(place / "plumb", "--version").startswith("plumb 0.")
    assert "mass-spring" in execute(place / "python", "-m", "plumb", "worlds")
    out = execute(place / "plumb", "evaluate", "hgn++-mass-spring", "--count", 2, "--steps", 20, "--measured", 12, "--no-save", cwd=tmp_path)
    assert "Verdict: learnt" in out
