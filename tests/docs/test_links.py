# SPDX-License-Identifier: MIT
"""Every link of a Markdown page to a file or a heading of this project leads somewhere."""
import re
import urllib.parse

from paths import SOURCE
from sources import files, plant

FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LINK = re.compile(r"(?<!\\)\]\(<?([^)#\s>]*)(#[^)\s>]+)?>?(?:\s+\"[^\"]*\")?\)")
IMAGE = re.compile(r"<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)=\"([^\"#]+)(#[^\"]+)?\"")


def anchors(text):
    """The names GitHub gives to headings, and those of explicit anchors."""
    seen, found = {}, set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)) | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def broken(root):
    """Links that lead nowhere, and the number of links."""
    found, count = [], 0
    for path in files(root, skip=("golden", "corpus")):
        if path.suffix != ".md":
            continue
        text = re.sub(r"<!--.*?-->", "", FENCE.sub("", path.read_text()), flags=re.S)
        for target, anchor in LINK.findall(text) + IMAGE.findall(text):
            if re.match(r"[a-z]+:", target) or not target and not anchor:
                continue
            count += 1
            where = path.relative_to(root)
            other = path.parent / urllib.parse.unquote(target) if target else path
            if not other.exists():
                found.append(f"{where}: {target} is not there")
            elif anchor and other.suffix == ".md" and anchor[1:] not in anchors(other.read_text()):
                found.append(f"{where}: {target or where.name} has no heading {anchor}")
    return found, count


def test_every_link_leads_somewhere():
    found, count = broken(SOURCE)
    assert not found, "\n".join(found)
    assert count >= 20, "too few links were seen"


def test_planted_links_that_lead_nowhere_are_found(tmp_path):
    root = plant(tmp_path, {
        "b.md": '[x](gone.md) [y](c.md#gone) [z](c.md#here-it-is) [w](#nowhere)\n<img src="gone.png">\n```\n[code](is-no-link.md)\n```\n',
        "c.md": "# Here `it` is\n"})
    found = broken(root)[0]
    assert len(found) == 4 and not any("here-it-is" in line or "is-no-link" in line for line in found), found
