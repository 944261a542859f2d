# SPDX-License-Identifier: MIT
"""docs/architecture.md: the tree has the folders of src/, and the files and functions of its data flow exist and call each other as
drawn. Functions that are called through a table are marked so in the text."""
import re
from collections import namedtuple

from paths import SOURCE

PAGE = SOURCE / "docs/architecture.md"
Hop = namedtuple("Hop", "depth file functions through_table")


def read_hops(text):
    """The items of the lists whose first word is a file of src/."""
    section = re.search(r"^## Data flow\n(.*?)(?=^## )", text, re.M | re.S).group(1)
    hops = []
    for item in re.split(r"\n(?= *- )", section):
        match = re.match(r"( *)- `([\w/]+\.c)`:(.*?)(?=\n\n|\Z)", item, re.S)
        if match:
            spaces, file, words = match.groups()
            hops.append(Hop(len(spaces) // 2, file, re.findall(r"`(\w+)\(\)`", words), "table" in words or "registry" in words.split("through")[-1]))
    return hops


def find_faults(hops, root):
    found, callers = [], {}
    for hop in hops:
        path = root / hop.file
        if not path.exists():
            found.append(f"{hop.file} is not there")
            continue
        text = path.read_text()
        found += [f"{hop.file} does not define {name}" for name in hop.functions
                  if not re.search(rf"^\w[\w *]*\b{name}\([^;]*?\)\s*\{{", text, re.M | re.S)]
        caller = callers.get(hop.depth - 1)
        if caller and not hop.through_table:
            other = (root / caller).read_text()
            found += [f"{caller} does not call {name}" for name in hop.functions if not re.search(rf"\b{name}\b", other)]
        callers[hop.depth] = hop.file
        if hop.file == caller:
            found.append(f"{hop.file} calls itself")
    return found


def test_the_tree_has_the_folders_of_the_source():
    tree = re.search(r"^```text\n(include/plumb/.*?)^```", PAGE.read_text(), re.M | re.S).group(1)
    drawn, folder = set(), ""
    for spaces, name in re.findall(r"^( *)([\w]+)/ ", tree.split("src/\n")[1], re.M):
        if len(spaces) == 2:
            folder = name
            drawn.add(name)
        elif len(spaces) == 4:
            drawn.add(f"{folder}/{name}")
    present = {path.parent.relative_to(SOURCE / "src").as_posix() for path in (SOURCE / "src").rglob("*.c")} - {"."}
    assert drawn == present


def test_every_hop_of_the_data_flow_exists():
    hops = read_hops(PAGE.read_text())
    assert len(hops) > 40, hops
    found = find_faults(hops, SOURCE / "src")
    assert not found, "\n".join(found)


def test_planted_hops_are_found(tmp_path):
    (tmp_path / "a.c").write_text("int first(void)\n{\n    return second();\n}\n")
    (tmp_path / "b.c").write_text("int second(void)\n{\n    return 0;\n}\nint third(void)\n{\n    return 0;\n}\n")
    text = "## Data flow\n\n- `a.c`: `first()` starts.\n  - `b.c`: `{}()` ends.\n\n## End\n"
    assert not find_faults(read_hops(text.format("second")), tmp_path)
    assert find_faults(read_hops(text.format("third")), tmp_path) == ["a.c does not call third"]
    assert find_faults(read_hops(text.format("fourth")), tmp_path) == ["b.c does not define fourth", "a.c does not call fourth"]
