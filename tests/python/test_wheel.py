# SPDX-License-Identifier: MIT
"""The wheels: pip builds one, scripts/wheel one for other machines, and in fresh environments module and program do their work. Needs
PyPI, and for the second the machine's package sources."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from paths import SOURCE

OUTSIDE = {key: value for key, value in os.environ.items() if not key.startswith("PLUMB") and key not in ("PYTHONPATH", "LD_PRELOAD")}


def find_pythons():
    """Python 3.9, 3.11 and 3.13, as far as they are installed, on the path or by pyenv; else this one."""
    found = []
    for version in ("3.9", "3.11", "3.13"):
        root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
        places = [shutil.which(f"python{version}"), *sorted(glob.glob(f"{root}/versions/{version}.*/bin/python"))]
        works = (place for place in places if place and subprocess.run([place, "-c", "import venv"], capture_output=True).returncode == 0)
        found += [place for place in [next(works, None)] if place]
    return found or [sys.executable]


WORK = """
import numpy as np, plumb
state = plumb.world("mass-spring").batch(20, seed=1).state
assert plumb.measure(2 * state, state).verdict == "learnt"
plumb.simulate("pendulum", "p.h5", count=2, steps=5)
assert plumb.read("p.h5")["frames"].shape == (2, 5, 32, 32, 3)
run = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, out="run", progress=False)
assert run.rollout(2, 10).prediction.shape[:2] == (2, 10)
assert plumb.evaluate("hgn++-mass-spring", count=2, steps=20, measured=12).verdict == "learnt"
assert plumb.doctor()["version"] == plumb.__version__
print(plumb.__file__)
"""
TYPED = """
from typing import Optional
import plumb
state = plumb.world("mass-spring").batch(20, seed=1).state
result = plumb.measure(2 * state, state)
verdict: str = result.verdict
kappa: Optional[float] = result.kappa
metric = plumb.Metric(resamples=100).update(state, state)
run = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, callback=lambda now: print(now.loss))
vpt: float = run.evaluate(count=2, steps=10).vpt
probe = plumb.probe(state, {"state": state}, folds=4)
"""
STUDY = """
name: small
runs:
  - {model: hgn++, world: mass-spring, preset: tiny, steps: 20, seed: [1]}
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
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences >= {"LICENSE", "philox.txt", "xxhash.txt"}  # headers whose code is in the library


def test_the_source_distribution_has_the_sources_alone(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    assert {"pyproject.toml", "CMakeLists.txt", "src/base/status.c", "python/plumb/__init__.py", "python/build_backend/plumb_build.py", "PKG-INFO"} <= names
    assert not any(name.startswith(("build/", "tests/")) or "__pycache__" in name for name in names)


def test_where_it_cannot_be_built_pip_ends_with_a_sentence(tmp_path):
    """A system that is not Linux, by the hook that pip calls; and a machine without the headers, by pip itself."""
    place = make_environment(sys.executable, tmp_path / "env")
    execute(place / "pip", "install", "-q", "scikit-build-core")
    code = "import sys; sys.platform = 'darwin'; sys.path.insert(0, 'python/build_backend'); import plumb_build; plumb_build.get_requires_for_build_wheel()"
    done = subprocess.run([place / "python", "-B", "-c", code], cwd=SOURCE, capture_output=True, text=True, env=OUTSIDE)
    assert done.returncode and done.stderr.startswith("plumb runs on Linux alone: install it in"), done.stderr
    done = subprocess.run([place / "pip", "install", SOURCE], capture_output=True, text=True, env={**OUTSIDE, "PKG_CONFIG_LIBDIR": "/nowhere", "PKG_CONFIG_PATH": ""})
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    assert done.returncode and lines[lines.index("[end of output]") - 1].startswith("plumb could not be compiled: install a C compiler"), lines[-12:]


# ---- the wheel for other machines ----

def test_types_are_those_of_the_stub(wheel, tmp_path):
    """mypy --strict takes the stub and a program that uses it, and finds the two mistakes in another."""
    place = make_environment(sys.executable, tmp_path / "env")
    execute(place / "pip", "install", "-q", "mypy", wheel)
    (tmp_path / "right.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(TYPED + "plumb.measure(state)\nplumb.kappa(state, state, resample=3)\n")
    assert "no issues found" in execute(place / "mypy", "--strict", SOURCE / "python/plumb/__init__.pyi", cwd=tmp_path)
    assert "no issues found" in execute(place / "mypy", "--strict", "right.py", cwd=tmp_path)
    done = subprocess.run([place / "mypy", "--strict", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, env=OUTSIDE)
    assert "Found 2 errors" in done.stdout and "truth" in done.stdout and "resample" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def portable(shared):
    done = subprocess.run([SOURCE / "scripts/wheel", shared / "portable"], capture_output=True, text=True, env=OUTSIDE)
    for reason in ("pip install failed", "apt-get update failed", "cannot be fetched", "is not here"):
        if done.returncode and reason in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return next((shared / "portable").glob("*.whl"))


def test_the_portable_wheel_needs_an_old_glibc_and_nothing_else(portable, tmp_path):
    assert "py3-none-manylinux_2_28_" in portable.name
    shutil.unpack_archive(portable, tmp_path, "zip")
    for name in ("plumb/lib/libplumb.so", "plumb/bin/plumb", "plumb/libexec/plumb/plumb-h5", "plumb/lib/libyaml-0.so.2", "plumb/lib/libopenblas.so.0"):
        needed = re.findall(r"Shared library: \[(.*)\]", execute("readelf", "-d", tmp_path / name))
        assert set(needed) <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "libplumb.so"}, (name, needed)
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", execute("objdump", "-T", tmp_path / name))
        assert max(tuple(map(int, one)) for one in versions) <= (2, 28), name
    names = re.findall(r" [TDBRVW] (\S+)", execute("nm", "-D", "--defined-only", tmp_path / "plumb/lib/libplumb.so"))
    assert names and all(name.startswith("plumb_") for name in names), "a bundled library can be seen from outside"


def test_the_portable_wheel_has_the_licences_of_all_it_holds(portable):
    with zipfile.ZipFile(portable) as file:
        texts = {Path(name).stem: file.read(name).decode() for name in file.namelist() if "/licenses/" in name and not name.endswith("/")}
    assert {"LICENSE", "zlib", "libpng1.6", "libzip", "hdf5", "libyaml", "openblas", "zig", "philox", "xxhash"} == {name.removesuffix(".txt") for name in texts}
    assert all("copyright" in text.lower() for text in texts.values())


@pytest.mark.parametrize("python", find_pythons())
def test_a_fresh_environment_can_do_everything(python, portable, tmp_path):
    use(python, portable, tmp_path)
    loaded = execute(tmp_path / "env/bin/python", "-c", "import numpy as np, plumb; state = plumb.world('mass-spring').batch(20, seed=1).state; "
                     "assert plumb.measure(2 * state, state).kappa > 0.99; print(open('/proc/self/maps').read())")
    assert re.search(r"site-packages/plumb/lib/libopenblas\.so\.0", loaded), "kappa would need the machine's OpenBLAS"
    (tmp_path / "study.yaml").write_text(STUDY)
    seen = subprocess.run([tmp_path / "env/bin/plumb", "sweep", "study.yaml", "--out", "sweep", "--plan"], cwd=tmp_path, capture_output=True, text=True,
                          env={**OUTSIDE, "LD_DEBUG": "libs"})
    assert seen.returncode == 0 and re.search(r"calling init: .*site-packages/plumb/.*lib/libyaml-0\.so\.2", seen.stderr)


def test_the_wheel_of_pip_can_do_everything(wheel, tmp_path):
    use(sys.executable, wheel, tmp_path)


def use(python, wheel, tmp_path):
    place = make_environment(python, tmp_path / "env")
    execute(place / "pip", "install", "-q", wheel)
    assert str(tmp_path) in execute(place / "python", "-c", WORK, cwd=tmp_path)
    assert execute(place / "plumb", "--version").startswith("plumb 0.")
    assert "mass-spring" in execute(place / "python", "-m", "plumb", "worlds")
    out = execute(place / "plumb", "evaluate", "hgn++-mass-spring", "--count", 2, "--steps", 20, "--measured", 12, "--no-save", cwd=tmp_path)
    assert "Verdict: learnt" in out
