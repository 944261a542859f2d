# SPDX-License-Identifier: MIT
"""The Python package from the sources with the library of this build. Import this before plumb."""
import os
import sys

import pytest

from paths import LIBRARY, SANITIZE, SOURCE

pytest.importorskip("numpy", reason="NumPy is not here (Debian: python3-numpy)")
if SANITIZE and "libasan" not in os.environ.get("LD_PRELOAD", ""):
    pytest.skip(f"a library built with {SANITIZE} is loaded into Python only by ctest, and not with every sanitizer", allow_module_level=True)

os.environ["PLUMB_LIBRARY"] = str(LIBRARY)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ["PYTHONPATH"] = str(SOURCE / "python")
sys.path.insert(0, str(SOURCE / "python"))

# What a program must not inherit that is not to be run with the sanitizer, such as the compiler.
PLAIN = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
