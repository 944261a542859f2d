# SPDX-License-Identifier: MIT
"""The wheel: what is in it, that pip installs it without a network, and that the examples in the text run."""
import base64
import csv
import doctest
import hashlib
import importlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
import plumb  # noqa: E402
import plumb_build  # noqa: E402

check = support.Checks()
for name in ("", "._measures", "._worlds", "._runs", "._results", "._arrays", "._report"):
    failed, tried = doctest.testmod(importlib.import_module("plumb" + name))
    check(failed == 0, f"doctest of plumb{name}")

# The stub names what the module has, with the same arguments.
stub = (support.SOURCE / "python/plumb/__init__.pyi").read_text()
for name in plumb.__all__:
    thing = getattr(plumb, name)
    kind = "class" if inspect.isclass(thing) else "def"
    check(re.search(rf"^{kind} {name}\b", stub, re.M), f"{name} is not in the stub")
    if kind == "def":
        given = re.search(rf"^def {name}\((.*?)\) ->", stub, re.M | re.S).group(1)
        words = re.findall(r"(\w+)(?=:)", re.sub(r"\[[^]]*\]", "", given))
        check(words == list(inspect.signature(thing).parameters), f"{name}: the stub has {words}")

folder = Path(tempfile.mkdtemp())
env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PLUMB_LIBRARY")}
try:
    # With the library of this build, so that nothing is compiled twice.
    wheel = folder / plumb_build.build_wheel(folder, {"library": str(support.LIBRARY)})
    check(re.fullmatch(r"plumb_physics-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name), f"name {wheel.name}")
    with zipfile.ZipFile(wheel) as z:
        names = set(z.namelist())
        check({"plumb/__init__.py", "plumb/__init__.pyi", "plumb/py.typed", "plumb/libplumb.so"} <= names, f"files {names}")
        info = next(n for n in names if n.endswith("/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(z.read(info).decode()))}
        check(set(rows) == names, "RECORD does not name every file")
        for name, digest in rows.items():
            want = base64.urlsafe_b64encode(hashlib.sha256(z.read(name)).digest()).rstrip(b"=").decode()
            check(name == info or digest == "sha256=" + want, f"{name}: wrong digest")
    again = folder / "again"
    again.mkdir()
    plumb_build.build_wheel(again, {"library": str(support.LIBRARY)})
    check((again / wheel.name).read_bytes() == wheel.read_bytes(), "the same sources give another wheel")

    with tarfile.open(folder / plumb_build.build_sdist(folder)) as tar:
        names = {n.split("/", 1)[1] for n in tar.getnames() if "/" in n}
    check({"pyproject.toml", "CMakeLists.txt", "src/base/status.c", "python/plumb/__init__.py", "PKG-INFO"} <= names, "sdist")
    check(not any("__pycache__" in n for n in names), "sdist holds leavings")

    # CMake takes the settings of the backend.
    log = subprocess.run([sys.executable, "-c", "import plumb_build, sys; plumb_build.configure(sys.argv[1])", folder / "cmake"],
                         capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    check(log.returncode == 0, f"cmake: {log.stdout[-500:]} {log.stderr[-500:]}")

    # pip, as a user types it, in both places; the index is never asked.
    made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder / "venv"], capture_output=True, text=True,
                          env=env)
    if made.returncode:
        print("no venv here (Debian: python3-venv): pip was not tried")
    for place in (support.SOURCE, support.SOURCE / "python") if not made.returncode else ():
        done = subprocess.run([folder / "venv/bin/python", "-m", "pip", "install", "--no-index", "--force-reinstall", "--no-deps",
                               "--config-settings", f"library={support.LIBRARY}", "."], cwd=place, capture_output=True, text=True,
                              env={k: v for k, v in env.items() if k != "LD_PRELOAD"})
        check(done.returncode == 0, f"pip install in {place.name}: {done.stderr[-1500:]}")
        done = subprocess.run([folder / "venv/bin/python", "-c", "import plumb; print(plumb.__file__, plumb.__version__, len(plumb.worlds()))"],
                              cwd=folder, capture_output=True, text=True, env=env)
        check(done.returncode == 0 and str(folder) in done.stdout, f"the installed package: {done.stdout} {done.stderr}")

    # Without its library it says what to do.
    shutil.copytree(support.SOURCE / "python/plumb", folder / "bare/plumb", ignore=shutil.ignore_patterns("*.so"))
    done = subprocess.run([sys.executable, "-c", "import plumb"], cwd=folder / "bare", capture_output=True, text=True, env=env)
    check(done.returncode and "PLUMB_LIBRARY" in done.stderr.splitlines()[-1], f"no library: {done.stderr}")
finally:
    shutil.rmtree(folder, ignore_errors=True)
check(plumb.__version__ == plumb_build.version(), "the version")
check.end()
