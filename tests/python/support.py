# SPDX-License-Identifier: MIT
"""What the tests of the package share: plumb from the sources with the library of this build."""
import os
import subprocess
import sys
from pathlib import Path

SOURCE, BUILD = Path(os.environ["PLUMB_SOURCE"]), Path(os.environ["PLUMB_BUILD"])
LIBRARY = BUILD / "lib" / "libplumb.so"
SANITIZE = os.environ.get("PLUMB_SANITIZE", "")


def begin():
    """Before plumb is imported. A library built with AddressSanitizer wants its runtime to be there first."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("NumPy is not here (Debian: python3-numpy): the Python package was not tested")
        sys.exit(77)
    os.environ["PLUMB_LIBRARY"] = str(LIBRARY)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTHONPATH"] = str(SOURCE / "python")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SOURCE / "python"))
    if "address" in SANITIZE and "LD_PRELOAD" not in os.environ:
        runtime = subprocess.run([os.environ["PLUMB_CC"], "-print-file-name=libasan.so"], capture_output=True,
                                 text=True).stdout.strip()
        os.environ["LD_PRELOAD"] = runtime
        # Python itself leaves memory behind.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    elif SANITIZE and "address" not in SANITIZE:
        print(f"a library built with {SANITIZE} cannot be loaded into Python: not tested")
        sys.exit(77)


class Checks:
    failures = 0

    def __call__(self, right, what):
        if not right:
            self.failures += 1
            print("FAILED:", what)

    def raises(self, kind, words, function, *arguments, **named):
        try:
            function(*arguments, **named)
        except kind as error:
            self(words in str(error), f"says {str(error)!r}, wanted {words!r}")
        else:
            self(False, f"no {kind.__name__} ({words})")

    def end(self):
        print("all is well" if not self.failures else f"{self.failures} failed")
        sys.exit(bool(self.failures))
