# SPDX-License-Identifier: MIT
"""What is cited can be found: every [Key99] has an entry in docs/references.bib."""
import re

from paths import SOURCE
from sources import files, plant

BRACKET = re.compile(r"\[([A-Z][A-Za-z]+[0-9]{2}[a-z]?(?:[,;][^\]]*)?)\]")  # [One99] and [One99, Two98, eq. (3)]
KEY = re.compile(r"\b[A-Z][A-Za-z]+[0-9]{2}[a-z]?\b")


def unknown(root):
    """Citations without an entry, and the number of works cited."""
    known = set(re.findall(r"^@\w+\{(\w+),", (root / "docs/references.bib").read_text(), re.M))
    found, cited = [], set()
    for path in files(root, skip=("golden", "corpus")):
        if path.suffix not in (".c", ".h", ".py", ".sh", ".md") or path.name == "test_references.py":
            continue
        for key in (k for b in BRACKET.findall(path.read_text()) for k in KEY.findall(b)):
            cited.add(key)
            if key not in known:
                found.append(f"{path.relative_to(root)}: [{key}] is not in docs/references.bib")
    return found, len(cited)


def test_every_citation_has_an_entry():
    found, cited = unknown(SOURCE)
    assert not found, "\n".join(found)
    assert cited >= 3, "too few citations were seen"


def test_planted_citations_are_found(tmp_path):
    root = plant(tmp_path, {"docs/references.bib": "@article{Real99,\n}\n",
                            "a.c": "// as in [Real99, eq. 1] and [Unreal98] and [Real99, Gone97]\n"})
    assert len(unknown(root)[0]) == 2
