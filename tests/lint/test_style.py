# SPDX-License-Identifier: MIT
"""What style.md asks of every file and a machine can check: an SPDX line, no more than 800 lines,
no path of somebody's own machine, and clang-format where version 14 is at hand."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LONGEST = 800
SOURCE = {".c", ".h", ".py", ".sh", ".cmake"}
# Split, so that this file does not name what it looks for.
WORKPLACE = re.compile("/" + "(home|root|Users|work)/[A-Za-z0-9_.]")
SKIP = {".git", "build", "out", "__pycache__"}


def files(root):
    for folder, names, found in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIP)
        for name in sorted(found):
            path = Path(folder) / name
            if name not in SKIP and not path.is_symlink():  # in a worktree .git is a file
                yield path


def is_source(path):
    return (path.suffix in SOURCE or path.name in ("CMakeLists.txt", "Makefile")
            or path.parent.name in ("scripts", ".ci"))


def complaints(root):
    found, count = [], 0
    for path in files(root):
        data = path.read_bytes()
        if b"\0" in data[:4096]:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            if is_source(path):
                found.append(f"{path.relative_to(root)}: not UTF-8")
            continue
        where = path.relative_to(root)
        hit = WORKPLACE.search(text)
        if hit and "corpus" not in where.parts:
            found.append(f"{where}: names a path of somebody's own, {hit.group()}")
        if not is_source(path):
            continue
        count += 1
        lines = text.split("\n")
        if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
            found.append(f"{where}: no SPDX line at the top")
        if len(lines) - 1 > LONGEST:
            found.append(f"{where}: {len(lines) - 1} lines, look for a seam")
        if text and not text.endswith("\n"):
            found.append(f"{where}: no newline at the end")
        if "\t" in text and path.name != "Makefile":
            found.append(f"{where}: a tab")
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                found.append(f"{where}:{number}: space at the end of the line")
                break
    return found, count


def unformatted(root):
    """None if clang-format 14 is not here; other versions format differently."""
    for name in ("clang-format-14", "clang-format"):
        tool = shutil.which(name)
        if tool and re.search(r"version 14\.", subprocess.run(
                [tool, "--version"], capture_output=True, text=True).stdout):
            break
    else:
        return None
    ours = [p for p in files(root) if p.suffix in (".c", ".h")]
    found = []
    for path in ours:
        run = subprocess.run([tool, "--style=file:" + os.environ["PLUMB_SOURCE"] + "/.clang-format",
                              str(path)], capture_output=True)
        if run.returncode or run.stdout != path.read_bytes():
            found.append(f"{path.relative_to(root)}: clang-format would change it (make format)")
    return found


def planted():
    """Each of these must be caught, or the test is asleep."""
    good = "// SPDX-License-Identifier: MIT\n"
    cases = {
        "no SPDX line": ("src/a.c", "int x;\n"),
        "too long": ("src/a.c", good + "int x;\n" * LONGEST),
        "a path of somebody's own": ("docs/a.md", "see /" + "home/me/x\n"),
        "space at the end": ("src/a.c", good + "int x; \n"),
        "no newline": ("src/a.c", good + "int x;"),
        "a script without SPDX": ("scripts/a", "#!/bin/sh\n\n"),
    }
    missed = []
    for what, (name, text) in cases.items():
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / name
            path.parent.mkdir()
            path.write_text(text)
            if not complaints(Path(d))[0]:
                missed.append(what)
    with tempfile.TemporaryDirectory() as d:
        (Path(d) / "a.c").write_text(good + "int  f( void ){return 1;}\n")
        if unformatted(Path(d)) == []:
            missed.append("unformatted code")
    return missed


def main():
    root = Path(os.environ["PLUMB_SOURCE"])
    missed = planted()
    for what in missed:
        print("not caught when planted:", what)
    found, count = complaints(root)
    ugly = unformatted(root)
    if ugly is None:
        print("clang-format 14 is not here: the format was not checked")
    found += ugly or []
    for line in found:
        print(line)
    print(f"{count} source files, {len(found)} complaints")
    sys.exit(bool(missed or found or count < 30))


main()
