# SPDX-License-Identifier: MIT
"""Which module may include which: reads every #include under src/, include/ and python/ and fails on one that is not in the table,
and on a third-party header outside its wrapper. The table has no cycle, and no line that nothing needs."""
import re

import pytest

from paths import SOURCE
from sources import plant

# module: what it may include besides itself. A module stands for its headers in src/ and its public ones; a single header for itself.
ALLOWED = {
    "base": set(),
    "math": {"base"},
    "io": {"base"},
    "worlds": {"base", "math"},
    "engine/kernels": {"base"},
    "engine": {"base", "engine/kernels"},
    "dataset": {"base", "math", "io", "worlds"},
    "measures/fit": {"base", "math", "engine"},
    "measures/symetric": {"base", "math", "measures/fit"},
    "measures/kappa": {"base", "math", "measures/fit"},
    "measures/flow": {"base", "math", "measures/fit", "measures/kappa"},
    "measures/loops": {"base", "math"},
    "measures/phase_space": {"base", "measures/fit", "measures/symetric", "measures/kappa", "measures/flow"},
    "measures/forecast": {"base", "math"},
    "measures/surprise": {"base", "math"},
    "measures/probe": {"base", "math"},
    "measures/dynamics": {"base", "math", "measures/fit", "measures/flow", "measures/probe", "measures/forecast"},
    "measures": {"base", "math"},
    "compare": {"base", "math", "io"},
    "models": {"base", "math", "engine", "dataset/video.h"},
    "models/latent_dynamics": {"base", "math", "engine", "dataset/video.h", "models"},
    "models/predrnn": {"base", "math", "engine", "models"},
    "models/bodies": {"base", "math", "dataset/video.h", "models"},
    "models/plato": {"base", "math", "engine", "models"},
    "distributed": {"base", "engine"},
    "train": {"base", "io", "worlds", "engine", "dataset", "models", "distributed"},
    "evaluate": {"base", "io", "worlds", "dataset", "measures/loops", "measures/symetric", "measures/phase_space", "measures/forecast",
                 "measures/surprise", "models", "train"},
    "sweep": {"base", "math", "io", "dataset", "measures/symetric", "measures/kappa", "measures/forecast", "measures/surprise",
              "distributed", "train", "evaluate"},
    "plot": {"base", "io"},
    # Of worlds, measures and evaluate the report sees what every user sees.
    "report": {"base", "io", "plot", "plumb/world.h", "plumb/dataset.h", "plumb/kappa.h", "plumb/phase_space.h",
               "plumb/probe.h", "plumb/dynamics.h", "plumb/surprise.h", "measures/rank_correlation.h", "plumb/evaluation.h", "plumb/rollout.h"},
    # The list of all options.
    "system": {"base", "math", "io", "worlds", "dataset", "measures/symetric", "measures/kappa", "measures/flow", "measures/loops",
               "measures/phase_space", "measures/forecast", "measures/surprise", "measures/probe", "measures/dynamics", "compare", "distributed", "train", "evaluate", "sweep", "report"},
    "cli": {"plumb/*", "base/option.h", "base/spelling.h"},
    "python": {"plumb/*"},
}

# public header: the module it belongs to.
PUBLIC = {
    "status": "base", "array": "base", "record": "base", "file": "io", "world": "worlds",
    "dataset": "dataset", "loader": "dataset", "symetric": "measures/symetric", "kappa": "measures/kappa", "layout": "measures/fit",
    "flow": "measures/flow", "loops": "measures/loops",
    "phase_space": "measures/phase_space", "forecast": "measures/forecast", "state_forecast": "measures/forecast", "probe": "measures/probe", "compare": "compare", "dynamics": "measures/dynamics", "surprise": "measures/surprise",
    "training": "train", "model": "train", "evaluation": "evaluate", "rollout": "evaluate", "audit": "evaluate", "surprise_study": "evaluate",
    "sweep": "sweep", "report": "report", "system": "system", "distributed": "distributed", "plumb": "cli",
}

# (file, header): includes that break the table and wait to be changed. One that is gone must go from here.
EXCEPTIONS = set()

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
    """The longest module whose folder the file is in, or None. A public header is its owner's."""
    if re.match(r"(include/)?plumb/", where):
        return PUBLIC.get(re.sub(r".*/|\.h$", "", where))
    folders = where.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        if "/".join(folders[:length]) in ALLOWED:
            return "/".join(folders[:length])
    return None


def permission(module, header):
    """What of the table permits this include: an entry, "" for the module itself, or None."""
    owner = module_of(header)
    if owner is None or owner == module:
        return "" if owner else None
    return next((entry for entry in (header, owner, "plumb/*" if header.startswith("plumb/") else None) if entry in ALLOWED[module]), None)


def all_files(root):
    for top in (root / "src", root / "include/plumb", root / "python"):
        for path in sorted(top.rglob("*")) if top.is_dir() else ():
            if path.suffix in (".c", ".h"):
                yield path.relative_to(root / "src" if top.name == "src" else root).as_posix(), path.read_text()


def examine(root, exceptions=()):
    """Faults; the lines of the table that are needed; the modules seen; how many files."""
    found, needed, modules, broken, count = [], set(), set(), set(), 0
    for where, text in all_files(root):
        count += 1
        module = module_of(where)
        if module is None:
            found.append(f"{where}: no such module in the table")
            continue
        modules.add(module)
        for bracket, header in INCLUDE.findall(text):
            wrapper = next((w for pattern, w in WRAPPERS.items() if re.fullmatch(pattern, header)), None)
            if wrapper:
                if where != wrapper:
                    found.append(f"{where}: <{header}> is for {wrapper} alone")
            elif bracket == "<":
                if not SYSTEM.fullmatch(header):
                    found.append(f"{where}: <{header}> has no wrapper")
            elif "/" not in header:
                found.append(f'{where}: "{header}" does not name its module')
            elif permission(module, header) is not None:
                needed.add((module, permission(module, header)))
            elif (where, header) in exceptions:
                broken.add((where, header))
            else:
                found.append(f'{where}: {module} may not include "{header}"')
    found += [f"{where}: does not include {header} any more: take it from EXCEPTIONS" for where, header in sorted(set(exceptions) - broken)]
    return found, needed, modules, count


def unneeded(needed, modules):
    return [f"{module} does not include {entry}: take it from ALLOWED" for module in sorted(modules)
            for entry in sorted(ALLOWED[module]) if (module, entry) not in needed]


def cycle(table):
    """Modules that include each other in a ring, or None."""
    def edges(module):
        return {module_of(entry) if entry.endswith(".h") else entry for entry in table[module] if entry != "plumb/*"}

    done, path = set(), []

    def visit(module):
        if module in path:
            return path[path.index(module):]
        if module in done:
            return None
        path.append(module)
        ring = next(filter(None, map(visit, sorted(edges(module)))), None)
        path.pop()
        done.add(module)
        return ring

    return next(filter(None, map(visit, table)), None)


def test_every_include_is_in_the_table():
    found, _, _, count = examine(SOURCE, EXCEPTIONS)
    assert not found, "\n".join(found)
    assert count >= 20, "too few files were seen"


def test_every_line_of_the_table_is_needed():
    _, needed, modules, _ = examine(SOURCE, EXCEPTIONS)
    found = unneeded(needed, modules)
    assert not found, "\n".join(found)


def test_the_table_has_no_cycle():
    assert cycle(ALLOWED) is None


def test_a_planted_cycle_and_a_planted_spare_line_are_found():
    assert cycle({**ALLOWED, "math": {"base", "dataset"}})
    assert unneeded(set(), {"math"})


@pytest.mark.parametrize("name, text", [
    ("src/base/a.c", '#include "math/blas.h"\n'),
    ("src/math/a.c", '#include "io/npy.h"\n'),
    ("src/engine/kernels/a.c", '#include "engine/graph.h"\n'),
    ("src/measures/forecast/a.c", '#include "models/latent_dynamics/hgn.h"\n'),
    ("src/measures/forecast/b.c", '#include "measures/kappa/kappa.h"\n'),
    ("src/measures/forecast/c.c", '#include "plumb/report.h"\n'),
    ("src/measures/forecast/d.c", '#include "plumb/kappa.h"\n'),
    ("src/measures/fit/a.c", '#include "plumb/kappa.h"\n'),
    ("src/models/latent_dynamics/a.c", '#include "models/plato/plato.h"\n'),
    ("src/models/latent_dynamics/b.c", '#include "dataset/writer.h"\n'),
    ("src/cli/a.c", '#include "base/arena.h"\n'),
    ("src/cli/common/a.c", '#include "base/arena.h"\n'),
    ("src/worlds/a.c", '#include "engine/plan.h"\n'),
    ("src/measures/kappa/a.c", "#include <cblas.h>\n"),
    ("src/io/a.c", "#include <zip.h>\n"),
    ("src/io/b.c", '#include "zip.h"\n'),
    ("src/io/c.c", "#include <zlib.h>\n"),
    ("src/report/a.c", "#include <png.h>\n"),
    ("src/report/b.c", '#include "models/model.h"\n'),
    ("src/report/c.c", '#include "measures/kappa/kappa.h"\n'),
    ("src/report/d.c", '#include "evaluate/trained_model.h"\n'),
    ("src/report/e.c", '#include "worlds/world.h"\n'),
    ("src/evaluate/a.c", "  #  include <hdf5.h>\n"),
    ("src/math/c.c", "#include <Random123/philox.h>\n"),
    ("src/math/d.c", "#include <xxhash.h>\n"),
    ("src/math/e.c", "#include <gsl/gsl_math.h>\n"),
    ("src/math/f.c", '#include "blas.h"\n'),
    ("src/attic/a.c", ""),
    ("include/plumb/world.h", '#include "plumb/report.h"\n'),
    ("include/plumb/attic.h", "")])
def test_a_planted_include_is_found(name, text, tmp_path):
    assert examine(plant(tmp_path, {name: text}))[0]


def test_an_exception_that_nothing_needs_is_found(tmp_path):
    assert examine(tmp_path, {("base/a.c", "math/blas.h")})[0]
