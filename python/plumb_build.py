# SPDX-License-Identifier: MIT
"""A build backend for pip (PEP 517 and 660): compiles libplumb by CMake and packs it with the Python files.

It asks for nothing from the package index; what it needs is a C compiler, CMake and the libraries that
scripts/setup names. `--config-settings library=libplumb.so` packs a library that is already built."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME, FILE_NAME = "plumb-physics", "plumb_physics"
# What the package does not need is left out, and so are the libraries it would load.
CMAKE = ["-DCMAKE_BUILD_TYPE=Release", "-DPLUMB_PROGRAM=OFF", "-DPLUMB_TESTS=OFF", "-DPLUMB_INSTALL=OFF",
         "-DPLUMB_HDF5=OFF", "-DPLUMB_WERROR=OFF"]
SOURCES = ["CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml",
           "cmake", "include", "src", "python", "scripts"]


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(plumb VERSION ([0-9.]+)", text).group(1)


def metadata():
    head = [("Metadata-Version", "2.1"), ("Name", NAME), ("Version", version()),
            ("Summary", "Did this model learn the physics, or does it only draw good pictures?"),
            ("License", "MIT"), ("Requires-Python", ">=3.9"), ("Requires-Dist", "numpy>=1.22"),
            ("Classifier", "Operating System :: POSIX :: Linux"), ("Classifier", "Typing :: Typed"),
            ("Classifier", "Topic :: Scientific/Engineering"), ("Description-Content-Type", "text/markdown")]
    return "".join(f"{key}: {value}\n" for key, value in head) + "\n" + (HERE / "README.md").read_text()


def tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def configure(folder, *more):
    cmake = shutil.which("cmake")
    if not cmake:
        raise SystemExit("plumb-physics: cmake is not here; run scripts/setup, or install cmake and a C compiler")
    subprocess.run([cmake, "-S", str(ROOT), "-B", str(folder), *CMAKE, *more], check=True)
    return cmake


def library(settings, folder):
    """The path of libplumb.so, built unless the settings name one."""
    given = (settings or {}).get("library")
    if given:
        return Path(given).resolve(strict=True)
    cmake = configure(folder)
    jobs = str(len(os.sched_getaffinity(0)))
    subprocess.run([cmake, "--build", str(folder), "--target", "plumb_shared", "-j", jobs], check=True)
    return next(Path(folder).rglob("libplumb.so")).resolve()


def _write(path, files):
    """A wheel of name: bytes, with its RECORD."""
    info = f"{FILE_NAME}-{version()}.dist-info"
    files = {**files, f"{info}/METADATA": metadata().encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: plumb_build\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode(),
             f"{info}/LICENSE": (ROOT / "LICENSE").read_bytes()}
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes from the same sources
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f"plumb/{path.name}": path.read_bytes() for path in sorted((HERE / "plumb").iterdir())
             if path.suffix in (".py", ".pyi") or path.name == "py.typed"}
    with tempfile.TemporaryDirectory() as folder:
        files["plumb/libplumb.so"] = library(config_settings, folder).read_bytes()
    name = f"{FILE_NAME}-{version()}-{tag()}.whl"
    _write(Path(wheel_directory) / name, files)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The library is put beside the sources, which stay where they are."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(library(config_settings, folder), HERE / "plumb" / "libplumb.so")
    name = f"{FILE_NAME}-{version()}-{tag()}.whl"
    _write(Path(wheel_directory) / name, {f"{FILE_NAME}.pth": f"{HERE}\n".encode()})
    return name


def build_sdist(sdist_directory, config_settings=None):
    top = f"{FILE_NAME}-{version()}"
    skip = re.compile(r"(^|/)(__pycache__|libplumb\.so)(/|$)")
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "PKG-INFO"
        info.write_text(metadata())
        with tarfile.open(Path(sdist_directory) / f"{top}.tar.gz", "w:gz") as tar:
            tar.add(info, f"{top}/PKG-INFO")
            for name in SOURCES:
                tar.add(ROOT / name, f"{top}/{name}", filter=lambda t: None if skip.search(t.name) else t)
    return f"{top}.tar.gz"
