# SPDX-License-Identifier: MIT
"""The package as it is in the sources: its stub, its metadata, and that the examples in the text run."""
import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys

import package  # noqa: F401
import plumb
import pytest

from paths import SOURCE

OUTSIDE = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PLUMB_LIBRARY")}


@pytest.mark.parametrize("name", ["", "._phase_space", "._measures", "._surprise", "._worlds", "._runs", "._results", "._arrays", "._report", "._commands", "._metric", "._model"])
def test_the_examples_in_the_text_run(name):
    assert doctest.testmod(importlib.import_module("plumb" + name)).failed == 0


def test_the_stub_is_that_of_the_library():
    done = subprocess.run([sys.executable, SOURCE / "scripts/python-stub", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in plumb.__all__ if inspect.isclass(getattr(plumb, name))])
def test_the_stub_has_every_class(name):
    assert re.search(rf"^class {name}\b", (SOURCE / "python/plumb/__init__.pyi").read_text(), re.M)


def test_pyproject_names_what_is_there():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())
    module, function = project["project"]["scripts"]["plumb"].split(":")
    assert callable(getattr(importlib.import_module(module), function))
    tool = project["tool"]["scikit-build"]
    assert all((SOURCE / path).is_dir() for path in tool["wheel"]["packages"])
    rule = tool["metadata"]["version"]
    assert re.search(rule["regex"], (SOURCE / rule["input"]).read_text()).group("value") == plumb.__version__


def test_without_its_library_the_package_says_what_to_do(tmp_path):
    shutil.copytree(SOURCE / "python/plumb", tmp_path / "plumb", ignore=shutil.ignore_patterns("*.so"))
    done = subprocess.run([sys.executable, "-c", "import plumb"], cwd=tmp_path, capture_output=True, text=True, env=OUTSIDE)
    assert done.returncode and "PLUMB_LIBRARY" in done.stderr.splitlines()[-1]
