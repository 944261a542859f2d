# SPDX-License-Identifier: MIT
"""What is asked of every file and a machine can check: an SPDX line, no more than 800 lines, no path of somebody's own machine,
and clang-format where version 14 is installed."""
import re
import shutil
import subprocess

import pytest

from paths import SOURCE
from sources import files, plant, read

LONGEST = 800
SUFFIXES = {".c", ".h", ".py", ".sh", ".cmake"}
# Split, so that this file does not name what it looks for.
OWN_PATH = re.compile("/" + "(home|root|Users|work)/[A-Za-z0-9_.]")
SPDX = "// SPDX-License-Identifier: MIT\n"


def is_source(path):
    return path.suffix in SUFFIXES or path.name in ("CMakeLists.txt", "Makefile") or path.parent.name in ("scripts", ".ci")


def faults_of(where, path, text):
    hit = OWN_PATH.search(text)
    if hit and "corpus" not in where.parts:
        yield f"{where}: names a path of somebody's own, {hit.group()}"
    if not is_source(path):
        return
    lines = text.split("\n")
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
        yield f"{where}: no SPDX line at the top"
    if len(lines) - 1 > LONGEST:
        yield f"{where}: {len(lines) - 1} lines, look for a seam"
    if text and not text.endswith("\n"):
        yield f"{where}: no newline at the end"
    if "\t" in text and path.name != "Makefile":
        yield f"{where}: a tab"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{where}:{number}: space at the end of the line"
            break


def faults(root):
    found, count = [], 0
    for path in files(root):
        where, text = path.relative_to(root), read(path)
        if text is not None:
            count += is_source(path)
            found += faults_of(where, path, text)
        elif is_source(path):
            found.append(f"{where}: not UTF-8")
    return found, count


def clang_format():
    """Version 14, or None: other versions format differently."""
    for name in ("clang-format-14", "clang-format"):
        tool = shutil.which(name)
        if tool and re.search(r"version 14\.", subprocess.run([tool, "--version"], capture_output=True, text=True).stdout):
            return tool
    return None


def unformatted(root):
    ours = [path for path in files(root) if path.suffix in (".c", ".h")]
    done = subprocess.run([clang_format(), "--dry-run", "--Werror", f"--style=file:{SOURCE}/.clang-format", *ours], capture_output=True, text=True)
    return sorted(set(re.findall(r"^(.+?):\d+:\d+: error", done.stderr, re.M))) or ([done.stderr] if done.returncode else [])


def test_every_file_keeps_the_rules():
    found, count = faults(SOURCE)
    assert not found, "\n".join(found)
    assert count >= 30, "too few files were seen"


@pytest.mark.parametrize("name, text", [
    ("src/a.c", "int x;\n"), ("src/a.c", SPDX + "int x;\n" * LONGEST), ("docs/a.md", "see /" + "home/me/x\n"), ("src/a.c", SPDX + "int x; \n"),
    ("src/a.c", SPDX + "int x;"), ("src/a.c", SPDX + "\tint x;\n"), ("scripts/a", "#!/bin/sh\n\n")],
    ids=["no SPDX line", "too long", "own path", "space at the end", "no newline", "a tab", "script without SPDX"])
def test_a_planted_fault_is_found(name, text, tmp_path):
    assert faults(plant(tmp_path, {name: text}))[0]


@pytest.mark.skipif(not clang_format(), reason="clang-format 14 is not installed")
def test_c_files_are_formatted():
    found = unformatted(SOURCE)
    assert not found, "make format would change:\n" + "\n".join(found)


@pytest.mark.skipif(not clang_format(), reason="clang-format 14 is not installed")
def test_planted_unformatted_code_is_found(tmp_path):
    assert unformatted(plant(tmp_path, {"a.c": SPDX + "int  f( void ){return 1;}\n"}))


def readme_faults(root):
    """Folders of src/ without a README of at most 30 lines."""
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        readme = folder / "README.md"
        if not readme.exists():
            yield f"{folder.name} has no README.md"
        elif readme.read_text().count("\n") > 30:
            yield f"{folder.name}/README.md has more than 30 lines"


def test_every_module_has_a_short_readme():
    assert not list(readme_faults(SOURCE))


def test_a_missing_and_a_long_readme_are_found(tmp_path):
    plant(tmp_path, {"src/a/x.c": SPDX, "src/b/README.md": "x\n" * 31})
    assert len(list(readme_faults(tmp_path))) == 2
