# SPDX-License-Identifier: MIT
"""The notebooks run in a kernel, as a user would run them, and show what the site shows. Needs PyPI."""
import json
import os
import subprocess

import pytest

from paths import LIBRARY, SOURCE

NOTEBOOKS = sorted(path.name for path in (SOURCE / "examples").glob("*.ipynb"))


def execute(script, out):
    return subprocess.run([script, out], capture_output=True, text=True, env={**os.environ, "PLUMB_LIBRARY": str(LIBRARY)})


@pytest.fixture(scope="module")
def executed(shared):
    done = execute(SOURCE / "scripts/notebooks", shared / "notebooks")
    if "Could not find a version" in done.stderr or "No matching distribution" in done.stderr:
        pytest.skip("nbclient is not installed and the package index cannot be reached")
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return {name: json.loads((shared / "notebooks" / name).read_text()) for name in NOTEBOOKS}


def test_there_are_three(executed):
    assert len(executed) == 3


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_shows_verdicts_and_figures(executed, name):
    outputs = [one for cell in executed[name]["cells"] for one in cell.get("outputs", [])]
    text = json.dumps(outputs)
    assert not any(one["output_type"] == "error" for one in outputs)
    assert "<svg" in text and "text/html" in text
    assert {"07_notebook.ipynb": "not learnt: coordinates: kappa", "09_own_frames.ipynb": "learnt: coordinates: kappa",
            "12_surprise.ipynb": "told apart by plain surprise"}[name] in text


def test_a_cell_that_fails_is_reported(executed, tmp_path):
    """The same script with one notebook more, in a copy of what it needs."""
    for folder in ("scripts", "examples", "build"):
        (tmp_path / folder).mkdir()
    (tmp_path / "scripts/notebooks").write_text((SOURCE / "scripts/notebooks").read_text())
    (tmp_path / "scripts/notebooks").chmod(0o755)
    (tmp_path / "build/notebooks-env").symlink_to(SOURCE / "build/notebooks-env")
    (tmp_path / "python").symlink_to(SOURCE / "python")
    broken = json.loads((SOURCE / "examples/07_notebook.ipynb").read_text())
    next(cell for cell in broken["cells"] if cell["cell_type"] == "code")["source"] = ["import plumb\n", "plumb.measure(None, None)"]
    (tmp_path / "examples/broken.ipynb").write_text(json.dumps(broken))
    done = execute(tmp_path / "scripts/notebooks", tmp_path / "out")
    assert done.returncode and "latent is None" in done.stderr and "broken.ipynb failed" in done.stderr
