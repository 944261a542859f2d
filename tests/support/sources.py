# SPDX-License-Identifier: MIT
"""The files of the source tree, for the lint tests."""
import os
from pathlib import Path

SKIP = {".git", "build", "out", "__pycache__"}


def files(root, skip=()):
    """Every file of ours in order, without the build, links and other people's leavings."""
    for folder, names, found in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIP and name not in skip)
        for name in sorted(found):
            path = Path(folder) / name
            if name not in SKIP and not path.is_symlink():  # in a worktree .git is a file
                yield path


def read(path):
    """The text of a file, or None if it is not text."""
    data = path.read_bytes()
    if b"\0" in data[:4096]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def plant(root, files):
    """Writes a small tree, {path: text}, in which a test has to find something."""
    for name, text in files.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Path(root)
