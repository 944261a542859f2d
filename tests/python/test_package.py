# SPDX-License-Identifier: MIT
"""The wheel: what is in it, that pip installs it without a network, and that the examples in the text run."""
import base64
import csv
import doctest
import hashlib
import importlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import package
import plumb
import plumb_build
import pytest

from paths import LIBRARY, SOURCE

OUTSIDE = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PLUMB_LIBRARY")}


@pytest.fixture(scope="module")
def wheel(shared):
    # With the library of this build, so that nothing is compiled twice.
    return shared / plumb_build.build_wheel(shared, {"library": str(LIBRARY)})


@pytest.mark.parametrize("name", ["", "._phase_space", "._measures", "._surprise", "._worlds", "._runs", "._results", "._arrays", "._report", "._commands", "._metric", "._model"])
def test_the_examples_in_the_text_run(name):
    assert doctest.testmod(importlib.import_module("plumb" + name)).failed == 0


def test_the_stub_is_that_of_the_library():
    done = subprocess.run([sys.executable, SOURCE / "scripts/python-stub", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in plumb.__all__ if inspect.isclass(getattr(plumb, name))])
def test_the_stub_has_every_class(name):
    assert re.search(rf"^class {name}\b", (SOURCE / "python/plumb/__init__.pyi").read_text(), re.M)


def test_pyproject_and_wheel_have_the_same_metadata():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    rows = [tuple(line.split(": ", 1)) for line in plumb_build.metadata().split("\n\n")[0].split("\n")]
    given = {key: [value for name, value in rows if name == key] for key, _ in rows}
    assert [project["name"]] == given["Name"] and [project["description"]] == given["Summary"]
    assert [project["license"]["text"]] == given["License"] and [project["requires-python"]] == given["Requires-Python"]
    assert project["dependencies"] == given["Requires-Dist"] and project["classifiers"] == given["Classifier"]


def test_the_version_is_that_of_the_library():
    assert plumb.__version__ == plumb_build.version()


def test_a_wheel_names_every_file_with_its_digest(wheel):
    assert re.fullmatch(r"plumb_physics-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as z:
        names = set(z.namelist())
        assert {"plumb/__init__.py", "plumb/__init__.pyi", "plumb/py.typed", "plumb/libplumb.so"} <= names
        info = next(n for n in names if n.endswith("/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(z.read(info).decode()))}
        assert set(rows) == names
        for name, digest in rows.items():
            want = base64.urlsafe_b64encode(hashlib.sha256(z.read(name)).digest()).rstrip(b"=").decode()
            assert name == info or digest == "sha256=" + want, name


def test_the_same_sources_give_the_same_wheel(wheel, tmp_path):
    plumb_build.build_wheel(tmp_path, {"library": str(LIBRARY)})
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_an_sdist_holds_the_sources_alone(tmp_path):
    with tarfile.open(tmp_path / plumb_build.build_sdist(tmp_path)) as tar:
        names = {n.split("/", 1)[1] for n in tar.getnames() if "/" in n}
    assert {"pyproject.toml", "CMakeLists.txt", "src/base/status.c", "python/plumb/__init__.py", "PKG-INFO"} <= names
    assert not any("__pycache__" in n for n in names)


def test_cmake_takes_the_settings_of_the_backend(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import plumb_build, sys; plumb_build.configure(sys.argv[1])", tmp_path / "cmake"],
                          capture_output=True, text=True, env=package.PLAIN)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]


def test_pip_installs_without_an_index_from_both_places(tmp_path):
    venv = tmp_path / "venv"
    if subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", venv], capture_output=True, env=OUTSIDE).returncode:
        pytest.skip("no venv here (Debian: python3-venv)")
    for place in (SOURCE, SOURCE / "python"):
        done = subprocess.run([venv / "bin/python", "-m", "pip", "install", "--no-index", "--force-reinstall", "--no-deps",
                               "--config-settings", f"library={LIBRARY}", "."], cwd=place, capture_output=True, text=True,
                              env={key: value for key, value in OUTSIDE.items() if key != "LD_PRELOAD"})
        assert done.returncode == 0, f"in {place.name}: {done.stderr[-1500:]}"
        done = subprocess.run([venv / "bin/python", "-c", "import plumb; print(plumb.__file__, plumb.__version__, len(plumb.worlds()))"],
                              cwd=tmp_path, capture_output=True, text=True, env=OUTSIDE)
        assert done.returncode == 0 and str(tmp_path) in done.stdout, done.stderr


def test_without_its_library_the_package_says_what_to_do(tmp_path):
    shutil.copytree(SOURCE / "python/plumb", tmp_path / "plumb", ignore=shutil.ignore_patterns("*.so"))
    done = subprocess.run([sys.executable, "-c", "import plumb"], cwd=tmp_path, capture_output=True, text=True, env=OUTSIDE)
    assert done.returncode and "PLUMB_LIBRARY" in done.stderr.splitlines()[-1]
