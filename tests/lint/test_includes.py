# SPDX-License-Identifier: MIT
"""Which module may include which: reads every #include under src/, include/ and python/ and fails on one that is not
in the table, and on a third-party header outside its wrapper."""
import os
import re
import sys
import tempfile
from pathlib import Path

ALLOWED = {  # module: what it may include, besides itself: modules, X/* for all in X, or single headers
    "base": set(),
    "math": {"base"},
    "io": {"base"},
    "worlds": {"base", "math"},
    "engine/kernels": {"base"},
    "engine": {"base", "math", "engine/kernels"},
    "dataset": {"base", "math", "io", "worlds"},
    "measures/fit": {"base", "math", "engine"},
    "measures/symetric": {"base", "math", "engine", "measures/fit"},
    "measures/kappa": {"base", "math", "engine", "measures/fit"},
    "measures/phase_space": {"base", "math", "engine", "measures/fit", "measures/symetric", "measures/kappa"},
    "measures/forecast": {"base", "math", "engine"},
    "measures/surprise": {"base", "math", "engine"},
    "measures/correlation": {"base", "math", "engine"},
    "measures": {"base", "math", "engine"},
    "models": {"base", "math", "engine", "dataset/video.h"},
    "models/hgn": {"base", "math", "engine", "dataset/video.h", "models"},
    "models/predrnn": {"base", "math", "engine", "dataset/video.h", "models"},
    "models/plato": {"base", "math", "engine", "dataset/video.h", "models"},
    "distributed": {"base", "engine"},
    "train": {"base", "io", "worlds", "engine", "dataset", "models", "distributed"},
    "evaluate": {"base", "math", "io", "worlds", "dataset", "measures/*", "models", "train"},
    "sweep": {"base", "math", "io", "dataset", "models", "distributed", "train", "evaluate"},
    "plot": {"base", "io"},
    "report": {"base", "math", "io", "worlds", "dataset", "measures/*", "evaluate", "plot"},
    "system": {"base", "math", "io", "measures/*", "distributed"},
    "cli": {"base/option.h", "base/spelling.h"},
    "python": set(),
}

# public header: the module it belongs to. The program and Python may include them all.
PUBLIC = {
    "status": "base", "array": "base", "record": "base", "file": "io", "world": "worlds",
    "dataset": "dataset", "loader": "dataset", "symetric": "measures", "kappa": "measures", "phase_space": "measures",
    "forecast": "measures", "surprise": "measures", "rank_correlation": "measures", "train": "train",
    "evaluation": "evaluate", "rollout": "evaluate", "audit": "evaluate", "sweep": "sweep", "report": "report",
    "system": "system", "distributed": "distributed", "plumb": "cli",
}

# (file, header): includes that break the table and are still to be mended. One that is mended must go from here.
EXCEPTIONS = {
    ("measures/surprise/shortcut_classifier.h", "plumb/audit.h"),  # returns a struct of its own
    ("models/model.h", "plumb/forecast.h"),  # R11: an enum of its own
}

WRAPPERS = {  # third-party header: the only file that may include it
    r"cblas\.h|f77blas\.h|openblas.*\.h|lapacke?\.h": "math/blas.c",
    r"zip\.h": "io/npz.c",
    r"zlib\.h|zconf\.h": "io/deflate.c",
    r"png\.h|pngconf\.h": "io/png.c",
    r"hdf5.*\.h|H5.*\.h": "io/hdf5/helper_main.c",
    r"Random123/.*": "math/rng.c",
    r"xxhash\.h": "base/hash.c",
    r"(libsvm/)?svm\.h": "measures/surprise/one_class_svm.c",
    r"mpi\.h": "distributed/comm_mpi.c",
    r"yaml\.h": "io/yaml.c",
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


def module_of(where):
    """The longest module whose folder the file is in, or None."""
    folders = where.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        if "/".join(folders[:length]) in ALLOWED:
            return "/".join(folders[:length])
    return None


def may_include(module, header):
    if header in ALLOWED[module]:
        return True
    if header.startswith("plumb/"):
        owner = PUBLIC.get(header[len("plumb/"):-len(".h")])
        return owner and (module in ("cli", "python") or owner == module.split("/")[0]
                          or owner in {m.split("/")[0] for m in ALLOWED[module]})
    other = module_of(header)
    return (other == module or other in ALLOWED[module]
            or (other or "").split("/")[0] + "/*" in ALLOWED[module])


def complaints(root, exceptions=()):
    found, used = [], set()
    src = root / "src"
    files = sorted(p for top in (src, root / "include/plumb", root / "python") if top.is_dir()
                   for p in top.rglob("*") if p.suffix in (".c", ".h"))
    for path in files:
        where = path.relative_to(src if src in path.parents else root).as_posix()
        if where.startswith("include/"):
            module = PUBLIC.get(path.stem)
        else:
            module = module_of(where)
        if module not in ALLOWED:
            found.append(f"{where}: no such module in the table")
            continue
        for bracket, header in INCLUDE.findall(path.read_text()):
            wrapper = next((w for pattern, w in WRAPPERS.items() if re.fullmatch(pattern, header)), None)
            if wrapper:
                if where != wrapper:
                    found.append(f"{where}: <{header}> is for {wrapper} alone")
            elif bracket == "<":
                if not SYSTEM.fullmatch(header):
                    found.append(f"{where}: <{header}> has no wrapper")
            elif "/" not in header:
                found.append(f'{where}: "{header}" does not name its module')
            elif not may_include(module, header):
                if (where, header) in exceptions:
                    used.add((where, header))
                else:
                    found.append(f'{where}: {module} may not include "{header}"')
    found += [f"{where}: does not include {header} any more: take it from the exceptions"
              for where, header in sorted(set(exceptions) - used)]
    return found, len(files)


def planted():
    """Each of these must be caught, or the test is asleep."""
    cases = {
        "src/base/a.c": '#include "math/blas.h"\n',
        "src/math/a.c": '#include "io/npy.h"\n',
        "src/engine/kernels/a.c": '#include "engine/graph.h"\n',
        "src/measures/forecast/a.c": '#include "models/hgn/hgn.h"\n',
        "src/measures/forecast/b.c": '#include "measures/kappa/kappa.h"\n',
        "src/measures/forecast/c.c": '#include "plumb/report.h"\n',
        "src/models/hgn/a.c": '#include "models/plato/plato.h"\n',
        "src/models/hgn/b.c": '#include "dataset/writer.h"\n',
        "src/cli/a.c": '#include "base/arena.h"\n',
        "src/cli/common/a.c": '#include "base/arena.h"\n',
        "src/worlds/a.c": '#include "engine/plan.h"\n',
        "src/measures/a.c": "#include <cblas.h>\n",
        "src/io/a.c": "#include <zip.h>\n",
        "src/io/b.c": '#include "zip.h"\n',
        "src/io/c.c": "#include <zlib.h>\n",
        "src/report/a.c": "#include <png.h>\n",
        "src/report/b.c": '#include "models/model.h"\n',
        "src/evaluate/a.c": "  #  include <hdf5.h>\n",
        "src/math/c.c": "#include <Random123/philox.h>\n",
        "src/math/d.c": "#include <xxhash.h>\n",
        "src/math/e.c": "#include <gsl/gsl_math.h>\n",
        "src/math/f.c": '#include "blas.h"\n',
        "src/attic/a.c": "",
        "include/plumb/world.h": '#include "plumb/report.h"\n',
        "include/plumb/attic.h": "",
    }
    missed = []
    for name, text in cases.items():
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            if not complaints(Path(d))[0]:
                missed.append(name + ": " + text.strip())
    with tempfile.TemporaryDirectory() as d:
        if not complaints(Path(d), {("base/a.c", "math/blas.h")})[0]:
            missed.append("an exception that nothing needs")
    return missed


def main():
    missed = planted()
    for case in missed:
        print("not caught when planted:", case)
    found, count = complaints(Path(os.environ["PLUMB_SOURCE"]), EXCEPTIONS)
    for line in found:
        print(line)
    print(f"{count} files, {len(found)} complaints")
    sys.exit(bool(missed or found or count < 20))


if __name__ == "__main__":
    main()
