# SPDX-License-Identifier: MIT
"""A host program that sets a locale with a decimal comma: everything the library reads and writes is as in the C locale."""
import json
import os
import subprocess
import sys
import xml.dom.minidom

import package  # noqa: F401
import pytest

from program import Program

PROGRAM = """
import json, locale, pathlib, sys
if sys.argv[1]:
    locale.setlocale(locale.LC_ALL, sys.argv[1])
    assert locale.format_string("%g", 0.5) == "0,5"
import plumb
folder = pathlib.Path(sys.argv[2])
state = plumb.world("mass-spring").batch(20, seed=1).state
latent = 1.5 * state
latent[..., 0] += 0.25 * latent[..., 1] ** 2
measured = plumb.symetric(latent, state)
roll = plumb.load_run(str(folder.parent / "run")).rollout(2, 20)
plumb.report(folder / "report.html", measured, folder.parent / "run", name="bent")
numbers = {key: value for key, value in measured.to_dict().items() if not key.endswith("seconds")}
print(json.dumps([numbers, roll.latent.tolist()], default=str))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locale")
    Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 4, "--set", "learning_rate=0.00125",
                         "--out", folder / "run")
    return folder


def run(folder, name):
    folder.mkdir()
    environment = {**os.environ, "LOCPATH": os.environ["PLUMB_LOCALES"]} if name else dict(os.environ)
    done = subprocess.run([sys.executable, "-c", PROGRAM, name, folder], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def both(folder):
    return run(folder / "c", ""), run(folder / "de", "de_DE.UTF-8")


def test_measures_are_equal(both):
    assert both[0][0] == both[1][0]


def test_a_run_is_read_as_it_was_written(both):
    assert both[0][1] == both[1][1]


def test_figures_are_drawings(both, folder):
    for name in ("c", "de"):
        page = (folder / name / "report.html").read_text()
        drawings = ["<svg" + part.split("</svg>")[0] + "</svg>" for part in page.split("<svg")[1:]]
        assert drawings
        for drawing in drawings:
            root = xml.dom.minidom.parseString(drawing).documentElement
            for part in root.getElementsByTagName("*"):
                for key, value in part.attributes.items():
                    if key in ("cx", "cy", "r", "x", "y", "width", "height", "stroke-width") and "%" not in value: float(value)
                    if key == "d": assert "," not in value
