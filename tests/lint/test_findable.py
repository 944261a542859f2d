# SPDX-License-Identifier: MIT
"""The tests of every source file can be found: by its name, or in the table of tests/README.md. Every line of the table is needed."""
import fnmatch
import re

import pytest

from paths import SOURCE
from sources import plant


def rows(root):
    """(pattern, tests) of the table."""
    for line in (root / "tests/README.md").read_text().splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]
        if len(cells) == 2 and cells[0] and cells[0][0].startswith("src/"):
            yield cells[0][0], cells[1]


def has_test_of_its_name(root, path):
    module, name = path.relative_to(root / "src").parts[0], re.sub("^cmd_", "", path.stem)
    return any((root / "tests" / module / f"test_{name}{suffix}").exists() for suffix in (".c", ".py"))


def faults(root):
    table, needed, found = dict(rows(root)), set(), []
    for path in sorted((root / "src").rglob("*.c")):
        where = path.relative_to(root).as_posix()
        # A star stands for a name, not for a folder.
        pattern = next((p for p in table if fnmatch.fnmatch(where, p) and where.count("/") == p.count("/")), None)
        if has_test_of_its_name(root, path):
            continue
        if pattern:
            needed.add(pattern)
        else:
            found.append(f"{where}: no test of its name, and not in tests/README.md")
    found += [f"tests/README.md: nothing needs {pattern}" for pattern in table if pattern not in needed]
    found += [f"tests/README.md: {test} is not there" for tests in table.values() for test in tests if not (root / "tests" / test).exists()]
    return found


def test_the_tests_of_every_source_file_can_be_found():
    found = faults(SOURCE)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("files", [
    {"src/a/x.c": "", "tests/README.md": ""},
    {"src/a/x.c": "", "tests/a/test_x.c": "", "tests/README.md": "| `src/a/x.c` | `a/test_x.c` |\n"},
    {"src/a/x.c": "", "tests/README.md": "| `src/a/*.c` | `a/test_gone.c` |\n"},
    {"src/a/b/x.c": "", "tests/a/test_y.c": "", "tests/README.md": "| `src/a/*.c` | `a/test_y.c` |\n"}],
    ids=["no test", "line that nothing needs", "test that is gone", "another folder"])
def test_a_planted_fault_is_found(files, tmp_path):
    assert faults(plant(tmp_path, files))


def test_cmd_files_are_found_by_their_command(tmp_path):
    assert not faults(plant(tmp_path, {"src/cli/cmd_x.c": "", "tests/cli/test_x.py": "", "tests/README.md": ""}))
