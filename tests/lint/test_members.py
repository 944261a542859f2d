# SPDX-License-Identifier: MIT
"""Every member of a public struct says what it is: a comment behind it, or in the lines above it."""
import re

import pytest

from paths import SOURCE
from sources import plant, read

STRUCT = re.compile(r"^typedef struct \w+ \{$(.*?)^\} \w+;", re.S | re.M)


def faults(root):
    found, count = [], 0
    for path in sorted((root / "include/plumb").glob("*.h")):
        for struct in STRUCT.finditer(read(path)):
            above = ""
            for line in struct[1].split("\n"):
                if ";" in line and not line.lstrip().startswith("//"):
                    count += 1
                    if "///<" not in line and not above.startswith("//"):
                        found.append(f"{path.name}: no comment on {line.strip()}")
                above = line.strip()
    return found, count


def test_every_member_has_a_comment():
    found, count = faults(SOURCE)
    assert not found and count > 500


@pytest.mark.parametrize("member", ["int64_t steps;", "int64_t items; ///< One.\n    double p;", "/// Above.\n    int a;\n    int b;"])
def test_a_planted_member_is_found(member, tmp_path):
    plant(tmp_path, {"include/plumb/x.h": "typedef struct plumb_x {\n    " + member + "\n} plumb_x;\n"})
    assert len(faults(tmp_path)[0]) == 1
