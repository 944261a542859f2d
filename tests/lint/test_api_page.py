# SPDX-License-Identifier: MIT
"""docs/api.md is what the headers say, and every function of theirs is on it."""
import re
import subprocess
import sys

from paths import SOURCE


def test_the_page_is_what_the_script_makes_of_the_headers():
    done = subprocess.run([sys.executable, SOURCE / "scripts/api-page", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_function_is_on_the_page():
    headers = " ".join(path.read_text() for path in sorted((SOURCE / "include/plumb").glob("*.h")))
    page = (SOURCE / "docs/api.md").read_text()
    names = set(re.findall(r"\bPLUMB_API\b[^;{]*?\b(plumb_\w+)\(", headers))
    assert len(names) >= 20
    assert not [name for name in sorted(names) if f"{name}(" not in page]
