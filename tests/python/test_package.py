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
import numpy as np
import plumb
import pytest

from paths import PLUMB, SOURCE

OUTSIDE = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PLUMB_LIBRARY")}


@pytest.mark.parametrize("name", ["", "._phase_space", "._measures", "._surprise", "._worlds", "._runs", "._results", "._arrays", "._report", "._commands", "._metric", "._model", "._options", "._inputs"])
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


# ---- signatures ----

def functions():
    """Everything that can be called and may be called with options."""
    for name in plumb.__all__:
        one = getattr(plumb, name)
        if inspect.isfunction(one):
            yield name, one
        elif inspect.isclass(one) and not issubclass(one, Exception):
            yield from ((f"{name}.{method}", function) for method, function in inspect.getmembers(one, inspect.isfunction)
                        if method == "__init__" or not method.startswith("_"))


@pytest.mark.parametrize("name, function", list(functions()), ids=lambda value: value if isinstance(value, str) else "")
def test_no_option_is_hidden_behind_stars(name, function):
    starred = [one.name for one in inspect.signature(function).parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
    assert not starred, f"{name} has **{starred[0]}"


COMMANDS = ["measure", "probe", "dynamics", "forecast", "surprise", "compare", "audit", "train", "evaluate", "rollout", "sweep", "simulate", "convert",
            "show", "report", "worlds", "doctor", "demo", "read", "import_weights", "export_weights"]


def test_every_command_is_a_function():
    listing = subprocess.run([PLUMB, "--manual"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^\.SS plumb (\w+)", listing, re.M)
    assert len(commands) > 15
    for command in commands:
        name = {"import": "import_weights", "export": "export_weights"}.get(command, command)
        assert name in plumb.__all__ and callable(getattr(plumb, name)), command
    assert set(COMMANDS) <= set(plumb.__all__)


STATE = np.cumsum(np.random.default_rng(1).normal(size=(12, 20, 2)), 1)


@pytest.mark.parametrize("call, message", [
    (lambda: plumb.evaluate("hgn++-mass-spring", counts=3), "no option counts, did you mean count"),
    (lambda: plumb.evaluate("hgn++-mass-spring", forecast_videos=3), "no option forecast_videos; there are first"),
    (lambda: plumb.evaluate("hgn++-mass-spring", count=1), "count"),
    (lambda: plumb.Metric(resample=3), "no option resample; there are lagrangian"),
    (lambda: plumb.world("pendulum").batch(1, images=3), "no option images, did you mean image"),
    (lambda: plumb.world("pendulum").batch("3"), "count is '3', wanted a whole number"),
    (lambda: plumb.world("pendulum").batch(-1), "count is -1, wanted at least 0"),
    (lambda: plumb.world("pendulum").dataset(-1), "items is -1"),
    (lambda: plumb.train("hgn++", world="pendulum", steps=-5), "steps is -5, wanted at least 0"),
    (lambda: plumb.train("hgn++", world="pendulum", callback=3), "callback is int, wanted a function"),
    (lambda: plumb.train("hgn++", world="pendulum", minutes="a"), "minutes is 'a', wanted a number"),
    (lambda: plumb.train("hgn++", data=[[1]]), "data is list, wanted the path of a file"),
    (lambda: plumb.compare([1, 2]), "models is list, wanted a dict"),
    (lambda: plumb.measure(STATE, STATE, constants=[1, 2, 3]), r"constants has shape \(3,\), wanted \(12,\)"),
    (lambda: plumb.show({"frames": plumb.world("pendulum").batch(1, 5).frames}, item=4), "^source: there is no item 4"),
    (lambda: plumb.load_run("hgn++-nothing"), "trained models are .*hgn.+-mass-spring")])
def test_errors_name_the_python_argument(call, message):
    with pytest.raises((TypeError, ValueError, plumb.PlumbError), match=message):
        call()


def test_a_file_that_is_there_is_replaced_only_if_that_is_asked_for(tmp_path):
    path = plumb.simulate("pendulum", tmp_path / "p.npz", count=1, steps=2)
    for call in (lambda: plumb.simulate("pendulum", path, count=1, steps=2), lambda: plumb.convert(path, path)):
        with pytest.raises(plumb.FileError, match="replace=True replaces it|same file"):
            call()
    plumb.simulate("pendulum", path, count=2, steps=2, replace=True)
    assert len(plumb.read(path, "frames")) == 2


def test_a_world_has_the_same_options_in_a_file_and_in_memory(tmp_path):
    for more in ({"profile": "ring"}, {"background": "texture"}, {"colors": "six"}, {"dt": 0.1}):
        path = plumb.simulate("pendulum", tmp_path / "p.npz", count=2, steps=4, seed=5, replace=True, **more)
        assert (plumb.read(path, "frames") == plumb.simulate("pendulum", count=2, steps=4, seed=5, **more).frames).all()
