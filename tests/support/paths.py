# SPDX-License-Identifier: MIT
"""Where the sources and the build are. ctest says so in the environment; without ctest it is build/release."""
import os
import sys
from pathlib import Path

SOURCE = Path(os.environ.setdefault("PLUMB_SOURCE", str(Path(__file__).resolve().parents[2])))
BUILD = Path(os.environ.setdefault("PLUMB_BUILD", str(SOURCE / "build/release")))
PLUMB = os.environ.setdefault("PLUMB", str(BUILD / "bin/plumb"))
TOY = os.environ.setdefault("PLUMB_TOY", str(BUILD / "tests/plumb_toy"))
ROUNDTRIP = os.environ.setdefault("PLUMB_ROUNDTRIP", str(BUILD / "tests/plumb_roundtrip"))
CC = os.environ.setdefault("PLUMB_CC", "cc")
CMAKE = os.environ.setdefault("PLUMB_CMAKE", "cmake")
PYTHON = os.environ.setdefault("PLUMB_PYTHON", sys.executable)
LIBRARY = BUILD / "lib/libplumb.so"
SANITIZE = os.environ.setdefault("PLUMB_SANITIZE", "")
LONG = bool(os.environ.get("PLUMB_LONG"))  # set by make test-long: more of the same
