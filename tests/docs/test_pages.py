# SPDX-License-Identifier: MIT
"""Form of the pages: the README stays short, and text is wrapped. Tables, code blocks and links that cannot be wrapped are exempt."""
import re

import pytest

from paths import SOURCE

WORDS = 900  # of the README
WIDTH = 100


def read_pages():
    return [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "python/README.md", *sorted((SOURCE / "docs").glob("*.md"))]


def find_wide_lines(text):
    """Numbers of the lines that are too wide."""
    found, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r" *(```|~~~)", line):
            fenced = not fenced
        elif not fenced and len(line) > WIDTH and not line.startswith(("|", "<", "![")) and " " in line.strip():
            found.append(number)
    return found


def test_the_readme_is_short():
    count = len((SOURCE / "README.md").read_text().split())
    assert count <= WORDS, f"{count} words"


def test_the_readme_names_the_command_of_continuous_integration():
    command = re.search(r"^exec (.*)$", (SOURCE / ".ci/run").read_text(), re.M).group(1)
    assert re.search(rf"^{re.escape(command)}\b", (SOURCE / "README.md").read_text(), re.M), command


@pytest.mark.parametrize("page", read_pages(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_pages_are_wrapped(page):
    if page.name == "api.md":
        pytest.skip("made from the headers")
    found = find_wide_lines(page.read_text())
    assert not found, f"{page.name}: lines {found} have more than {WIDTH} columns"


def test_a_planted_wide_line_is_found():
    wide = "word " * 30
    assert find_wide_lines(f"short\n{wide}\n| {wide} |\n```text\n{wide}\n```\n") == [2]
