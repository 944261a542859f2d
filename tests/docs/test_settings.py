# SPDX-License-Identifier: MIT
"""Settings that pages and study files name exist: `name=value` in code, --set name=value, and the tables of settings."""
import re
import subprocess

import pytest

from paths import PLUMB, SOURCE

MODELS = ("hgn", "hgn++", "lgn", "ode", "rgn", "ar", "bodies", "predrnn", "plato")
PAGES = [SOURCE / "README.md", SOURCE / "zoo/README.md", *sorted((SOURCE / "docs").glob("*.md"))]
# Words before "=" that are no settings: a placeholder, and an argument of Python.
OTHERS = {"name", "latent"}


@pytest.fixture(scope="module")
def settings():
    """Names of all models."""
    found = set()
    for model in MODELS:
        listing = subprocess.run([PLUMB, "train", model, "--settings"], capture_output=True, text=True, check=True).stdout
        found |= set(re.findall(r"^([a-z]\w*) ", listing, re.M)) - {"setting"}
    return found


def named(text):
    """(line, name) of what looks like a setting."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        names = re.findall(r"(?:--set |-s )([a-z_0-9]+)=", line) + re.findall(r"`([a-z_0-9]+)=[^`=\s]*`", line)
        found += [(number, name) for name in names if name not in OTHERS]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_settings_on_a_page_exist(page, settings):
    found = [f"line {number}: {name}" for number, name in named(page.read_text()) if name not in settings]
    assert not found, "\n".join(found)


def test_tables_of_settings_exist(settings):
    text = (SOURCE / "docs/video-models.md").read_text()
    rows = re.search(r"^\| setting \|.*?(?=\n\n)", text, re.M | re.S).group().split("\n")[2:]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert names and not set(names) - settings, set(names) - settings


def test_a_planted_setting_is_found():
    assert named("x `spread=0.1` and --set calm=1, but not `plumb X`") == [(1, "calm"), (1, "spread")]
