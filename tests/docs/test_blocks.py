# SPDX-License-Identifier: MIT
"""What the README and the tutorial tell people to type works: blocks marked `sh` or `python` are run in order in an empty directory,
with plumb on the path. Blocks marked `text` are only read: what takes long or needs another machine."""
import os
import resource
import sys
from pathlib import Path

import pytest

from blocks import Failure, blocks, run_page
from paths import BUILD, LIBRARY, SOURCE

PAGES = ["README.md", "docs/tutorial.md"]
SECONDS = 120  # of processor time for all pages
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCE / "python"),
               "PLUMB_LIBRARY": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"}


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_blocks_of_readme_and_tutorial_run_in_two_minutes(tmp_path):
    begun, count = processor_time(), 0
    for page in PAGES:
        folder = tmp_path / Path(page).stem
        folder.mkdir()
        count += run_page(SOURCE / page, page, folder, ENVIRONMENT)
    assert count, "no block was run"
    assert processor_time() - begun < SECONDS


def test_the_blocks_of_your_model_run(tmp_path):
    assert run_page(SOURCE / "docs/your-model.md", "docs/your-model.md", tmp_path, ENVIRONMENT) >= 8


@pytest.mark.parametrize("page", [*PAGES, "docs/your-model.md"])
def test_every_block_is_marked(page):
    assert not [f"{page}:{block.line}" for block in blocks((SOURCE / page).read_text()) if not block.language]


def test_a_failing_block_shows_its_line_its_command_and_its_output(tmp_path):
    page = tmp_path / "page.md"
    for code, words in (("```sh\necho before\nfalse\n```\n", ("page.md:4", "exits 1", "echo before", "before")),
                        ("```python\nx = 1\nprint(x)\nprint(y)\n```\n", ("page.md:4", "fails", "print(y)", "line 6", "NameError"))):
        page.write_text("# A page\n\n" + code)
        with pytest.raises(Failure) as failure:
            run_page(page, "page.md", tmp_path)
        assert all(word in str(failure.value) for word in words), str(failure.value)


def test_blocks_share_a_directory_and_an_interpreter_and_texts_are_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 5 >five\n```\n```python\nfive = int(open('five').read())\n```\n```text\nfalse\n```\n"
                    "1. A list:\n   ```python\n   assert five == 5\n   ```\n")
    assert run_page(page, "page.md", tmp_path) == 3
