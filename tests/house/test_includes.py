# SPDX-License-Identifier: MIT
"""Who may include whom: reads every #include under src/ and python/ and fails on an arrow that is
not in the table, on a third-party header outside its door, and on two files of one name."""
import os
import re
import sys
import tempfile
from pathlib import Path

ALLOWED = {  # room: rooms it may include, besides itself and plumb/*.h
    "base": set(),
    "math": {"base"},
    "data": {"base"},
    "worlds": {"base", "math"},
    "engine": {"base", "math"},
    "models": {"base", "math", "data", "engine"},
    "measures": {"base", "math", "engine"},
    "study": {"base", "math", "data", "worlds", "engine", "models", "measures"},
    "report": {"base", "data"},
    "cli": set(),
    "python": set(),
}

DOORS = {  # third-party header: the only file that may include it
    r"cblas\.h|f77blas\.h|openblas.*\.h|lapacke?\.h": "math/blas.c",
    r"zip\.h": "data/npz.c",
    r"zlib\.h|zconf\.h": "data/flate.c",
    r"png\.h|pngconf\.h": "data/png.c",
    r"hdf5.*\.h|H5.*\.h": "data/h5.c",
    r"Random123/.*": "math/rng.c",
    r"xxhash\.h": "base/hash.c",
    r"(oneapi/dnnl/)?dnnl.*\.h(pp)?": "engine/kernels/dnn.c",
    r"ode/.*": "worlds/rooms/ode.c",
    r"(libsvm/)?svm\.h": "measures/surprise/ocsvm.c",
    r"mpi\.h": "study/comm_mpi.c",
    r"yaml\.h": "study/yaml.c",
}

# Everything else in angle brackets must be the language's, the system's or the compiler's own.
SYSTEM = re.compile(
    r"(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|"
    r"stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|"
    r"threads|time|uchar|wchar|wctype|"
    r"dirent|dlfcn|endian|fcntl|fnmatch|getopt|glob|libgen|link|malloc|poll|pthread|pwd|sched|"
    r"semaphore|spawn|termios|unistd|linux/[a-z_0-9]+|"
    r"sys/[a-z_0-9]+|sanitizer/[a-z_]+|immintrin|x86intrin|cpuid)\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def complaints(root):
    found = []
    names = {}
    src = root / "src"
    files = sorted(p for top in (src, root / "python") if top.is_dir()
                   for p in top.rglob("*") if p.suffix in (".c", ".h"))
    for path in files:
        inside = path.relative_to(src) if src in path.parents else path.relative_to(root)
        room = inside.parts[0]
        where = inside.as_posix()
        if path.suffix == ".c":  # a .c and its .h share a name; two .c files never
            if path.stem in names:
                found.append(f"{where}: {names[path.stem]} has the same name")
            names.setdefault(path.stem, where)
        if room not in ALLOWED:
            found.append(f"{where}: no such room in the table")
            continue
        for bracket, header in INCLUDE.findall(path.read_text()):
            door = next((d for pattern, d in DOORS.items() if re.fullmatch(pattern, header)), None)
            if door:
                if where != door:
                    found.append(f"{where}: <{header}> is for {door} alone")
            elif bracket == "<":
                if not SYSTEM.fullmatch(header):
                    found.append(f"{where}: <{header}> has no door")
            elif "/" not in header:
                found.append(f'{where}: "{header}" does not name its room')
            else:
                other = header.split("/")[0]
                if other not in {room, "plumb"} | ALLOWED[room]:
                    found.append(f'{where}: {room} may not include "{header}"')
    headers = {}
    for path in (p for p in files if p.suffix == ".h"):
        if path.name in headers:
            found.append(f"{path.relative_to(root)}: {headers[path.name]} has the same name")
        headers.setdefault(path.name, path.relative_to(root))
    return found, len(files)


def planted():
    """Each of these must be caught, or the test is asleep."""
    cases = {
        "src/base/a.c": '#include "math/blas.h"\n',
        "src/math/a.c": '#include "data/npy.h"\n',
        "src/measures/forecast/a.c": '#include "models/hgn.h"\n',
        "src/cli/a.c": '#include "base/arena.h"\n',
        "src/worlds/a.c": '#include "engine/plan.h"\n',
        "src/measures/a.c": "#include <cblas.h>\n",
        "src/data/a.c": "#include <zip.h>\n",
        "src/data/b.c": '#include "zip.h"\n',
        "src/data/c.c": "#include <zlib.h>\n",
        "src/report/a.c": "#include <png.h>\n",
        "src/report/b.c": '#include "worlds/pendulum.h"\n',
        "src/study/a.c": "  #  include <hdf5.h>\n",
        "src/math/c.c": "#include <Random123/philox.h>\n",
        "src/math/d.c": "#include <xxhash.h>\n",
        "src/math/e.c": "#include <gsl/gsl_math.h>\n",
        "src/math/f.c": '#include "blas.h"\n',
        "src/attic/a.c": "",
    }
    missed = []
    for name, text in cases.items():
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            if not complaints(Path(d))[0]:
                missed.append(name + ": " + text.strip())
    for pair in (("src/base/same.c", "src/math/same.c"), ("src/base/x.h", "src/data/x.h")):
        with tempfile.TemporaryDirectory() as d:
            for name in pair:
                path = Path(d) / name
                path.parent.mkdir(parents=True)
                path.write_text("")
            if not complaints(Path(d))[0]:
                missed.append("two files of one name")
    return missed


def main():
    missed = planted()
    for case in missed:
        print("not caught when planted:", case)
    found, count = complaints(Path(os.environ["PLUMB_SOURCE"]))
    for line in found:
        print(line)
    print(f"{count} files, {len(found)} complaints")
    sys.exit(bool(missed or found or count < 20))


main()
