# SPDX-License-Identifier: MIT
"""Both libraries show plumb_* and nothing else, and both show the same."""
import re
import subprocess

import pytest

from paths import BUILD, LIBRARY, SOURCE

# What a sanitizer adds for itself is not ours to hide.
SANITIZER = re.compile(r"^(__asan|__ubsan|__tsan|__odr_asan|asan\.|__sanitizer)")


def exported(*command):
    rows = subprocess.run(["nm", "--defined-only", *command], capture_output=True, text=True, check=True).stdout.splitlines()
    return {re.sub("@.*", "", row.split()[2]) for row in rows if len(row.split()) >= 3}


def strangers(names):
    return sorted(name for name in names if not name.startswith("plumb_") and not SANITIZER.match(name))


@pytest.fixture(scope="module")
def shared_library():
    return exported("-D", LIBRARY)


@pytest.fixture(scope="module")
def static_library():
    return exported("-g", BUILD / "lib/libplumb.a")


def test_both_libraries_show_plumb_names_alone(shared_library, static_library):
    for names in (shared_library, static_library):
        assert len([name for name in names if name.startswith("plumb_")]) >= 20
        assert not strangers(names)


def test_both_libraries_show_the_same(shared_library, static_library):
    ours = [{name for name in names if name.startswith("plumb_")} for names in (shared_library, static_library)]
    assert ours[0] == ours[1]


def test_every_declared_function_is_in_the_library(shared_library):
    headers = " ".join(path.read_text() for path in sorted((SOURCE / "include/plumb").glob("*.h")))
    declared = set(re.findall(r"\bPLUMB_API\b[^;{]*?\b(plumb_\w+)\(", headers))
    assert len(declared) >= 20
    assert declared <= shared_library, declared - shared_library


def test_a_planted_stranger_is_seen():
    assert strangers({"plumb_x", "stranger", "__asan_init"}) == ["stranger"]
