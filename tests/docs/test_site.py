# SPDX-License-Identifier: MIT
"""make docs: the site is built without a warning, has a search and every page, and a link to a heading that is not there is caught."""
import os
import shutil
import subprocess

import pytest

from paths import LIBRARY, PLUMB, SOURCE

ENVIRONMENT = {**os.environ, "PLUMB": PLUMB, "PLUMB_LIBRARY": str(LIBRARY)}


def build(root):
    return subprocess.run([root / "scripts/docs"], capture_output=True, text=True, env=ENVIRONMENT, cwd=root)


@pytest.fixture(scope="module")
def site():
    done = build(SOURCE)
    if "Could not find a version" in done.stderr or "No matching distribution" in done.stderr:
        pytest.skip("Sphinx is not installed and the package index cannot be reached")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return SOURCE / "build/docs"


def test_every_page_command_and_header_is_on_the_site(site):
    for page in (SOURCE / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists(), page.name
    for header in (SOURCE / "include/plumb").glob("*.h"):
        assert header.stem == "plumb" or (site / f"api/{header.stem}.html").exists(), header.name
    assert (site / "commands/measure.html").exists()


def test_the_notebooks_are_on_the_site_with_their_outputs(site):
    for path in (SOURCE / "examples").glob("*.ipynb"):
        page = (site / f"notebooks/{path.stem}.html").read_text()
        assert page.count("<svg") > 1 and "class='output'" in page, path.name
        assert f"notebooks/{path.stem}.html" in (site / "index.html").read_text()
    assert "not learnt: " in (site / "notebooks/07_notebook.html").read_text()


def test_words_can_be_searched(site):
    index = (site / "searchindex.js").read_text()
    assert (site / "search.html").exists()
    for word in ("plumb_symetric_measur", "lyapunov"):  # as stems
        assert word in index.lower(), word
    assert '"plumb_symetric_measure"' in index, "no heading of a function"


def test_a_planted_link_that_leads_nowhere_is_caught(site, tmp_path):
    for name in ("docs", "scripts", "include", "examples", "bench", "python", "zoo", "tests", "src", "studies"):
        shutil.copytree(SOURCE / name, tmp_path / name, ignore=shutil.ignore_patterns("*.safetensors", "golden", "corpus", "__pycache__"))
    for file in SOURCE.glob("*"):
        if file.is_file():
            shutil.copy(file, tmp_path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/notebooks-env").symlink_to(SOURCE / "build/notebooks-env")
    (tmp_path / "build/docs-env").symlink_to(SOURCE / "build/docs-env")
    with open(tmp_path / "docs/tutorial.md", "a") as page:
        page.write("\n[nowhere](worlds.md#no-such-heading)\n")
    done = build(tmp_path)
    assert done.returncode and "no-such-heading" in done.stderr, done.stdout + done.stderr
