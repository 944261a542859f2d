# SPDX-License-Identifier: MIT
"""Each public header compiles alone, as C17 and as C++20, without a warning; and plumb.h includes all the others."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import CC, SOURCE

INCLUDE = Path(os.environ.get("PLUMB_INCLUDE", SOURCE / "include"))
HEADERS = sorted((INCLUDE / "plumb").glob("*.h"))
WARN = ["-Wall", "-Wextra", "-pedantic", "-pedantic-errors", "-Werror"]
CXX = shutil.which("clang++" if "clang" in subprocess.run([CC, "--version"], capture_output=True, text=True).stdout else "g++") or "c++"

# A member is called "concept", a keyword of C++20. A header that compiles must be taken from this list.
NOT_YET_CXX20 = set()


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
@pytest.mark.parametrize("language", [[CC, "-std=c17", "-Wstrict-prototypes"], [CXX, "-std=c++17"], [CXX, "-std=c++20"]],
                         ids=["C17", "C++17", "C++20"])
def test_a_header_compiles_alone_and_twice(header, language, tmp_path):
    source = tmp_path / ("alone.c" if language[0] == CC else "alone.cpp")
    source.write_text(f'#include "plumb/{header.name}"\n' * 2 + "int main(void) { return 0; }\n")
    done = subprocess.run([*language, *WARN, "-I", INCLUDE, "-fsyntax-only", source], capture_output=True, text=True)
    if language[-1] == "-std=c++20" and header.name in NOT_YET_CXX20:
        assert done.returncode, f"{header.name} compiles as C++20: take it from NOT_YET_CXX20"
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("header", [path for path in HEADERS if path.name != "plumb.h"], ids=lambda path: path.name)
def test_a_header_is_extern_c_and_part_of_plumb_h(header):
    assert 'extern "C"' in header.read_text()
    assert f'#include "plumb/{header.name}"' in (INCLUDE / "plumb/plumb.h").read_text()


def test_there_are_headers():
    assert len(HEADERS) >= 7
