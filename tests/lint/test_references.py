# SPDX-License-Identifier: MIT
"""What is cited can be found: every [Key99] has an entry in docs/references.bib, and every relative
link of a page leads somewhere."""
import os
import re
import sys
import tempfile
from pathlib import Path

BRACKET = re.compile(r"\[([A-Z][A-Za-z]+[0-9]{2}[a-z]?(?:[,;][^\]]*)?)\]")
KEY = re.compile(r"\b[A-Z][A-Za-z]+[0-9]{2}[a-z]?\b")  # [One99] and [One99, Two98, eq. (3)]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]+)?\)")
SKIP = {".git", "build", "out", "__pycache__", "golden", "corpus"}


def anchors(text):
    """The names GitHub gives to headings."""
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", text, re.M)}


def complaints(root):
    known = set(re.findall(r"^@\w+\{(\w+),", (root / "docs/references.bib").read_text(), re.M))
    found, cited = [], set()
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in SKIP]
        for path in (Path(folder) / f for f in sorted(files)):
            if path.suffix not in (".c", ".h", ".py", ".sh", ".md") or path.name == Path(__file__).name:
                continue
            text = path.read_text()
            for key in (k for b in BRACKET.findall(text) for k in KEY.findall(b)):
                cited.add(key)
                if key not in known:
                    found.append(f"{path.relative_to(root)}: [{key}] is not in docs/references.bib")
            if path.suffix != ".md":
                continue
            for target, anchor in LINK.findall(text):
                if re.match(r"[a-z]+:", target):
                    continue
                other = path.parent / target
                if not other.exists():
                    found.append(f"{path.relative_to(root)}: {target} is not there")
                elif anchor and anchor[1:] not in anchors(other.read_text()):
                    found.append(f"{path.relative_to(root)}: {target} has no heading {anchor}")
    return found, len(cited)


def planted():
    with tempfile.TemporaryDirectory() as d:
        root = Path(d)
        (root / "docs").mkdir()
        (root / "docs/references.bib").write_text("@article{Real99,\n}\n")
        (root / "a.c").write_text("// as in [Real99, eq. 1] and [Unreal98] and [Real99, Gone97]\n")
        (root / "b.md").write_text("[x](gone.md) [y](c.md#gone) [z](c.md#here-it-is)\n")
        (root / "c.md").write_text("# Here it is\n")
        return len(complaints(root)[0])


root = Path(os.environ["PLUMB_SOURCE"])
caught = planted()
if caught != 4:
    print(f"of 4 planted faults {caught} were caught")
found, cited = complaints(root)
print("\n".join(found + [f"{cited} works cited, {len(found)} complaints"]))
sys.exit(caught != 4 or bool(found) or cited < 3)
