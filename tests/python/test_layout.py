# SPDX-License-Identifier: MIT
"""The tables of python/plumb/_native.py are those of the headers: every struct, field, offset, word and code."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
from plumb import _native as native  # noqa: E402

check = support.Checks()


def offsets(structs):
    """struct.field: (offset, size) as the compiler has them; None if it does not compile."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "plumb/plumb.h"', "int main(void)", "{"]
    for name, fields in structs.items():
        lines.append(f'printf("{name} %zu 0\\n", sizeof(plumb_{name}));')
        for field in fields:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(plumb_{name}, {field}), '
                         f'sizeof(((plumb_{name} *)0)->{field}));')
    lines += ["return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("\n".join(lines))
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        done = subprocess.run([os.environ["PLUMB_CC"], "-std=c17", "-I", support.SOURCE / "include", source, "-o", program],
                              capture_output=True, text=True, env=env)
        if done.returncode:
            print(done.stderr[:2000])
            return None
        rows = subprocess.run([program], capture_output=True, text=True, env=env, check=True).stdout.split("\n")
    return {row.split()[0]: tuple(map(int, row.split()[1:])) for row in rows if row}


def differences(kinds):
    structs = {name: [field for field, _ in kind._fields_] for name, kind in kinds.items()}
    compiled = offsets(structs)
    if compiled is None:
        return ["the table does not compile against the headers"]
    found = []
    for name, kind in kinds.items():
        if compiled[name][0] != ctypes.sizeof(kind):
            found.append(f"{name}: {ctypes.sizeof(kind)} bytes here, {compiled[name][0]} in C")
        for field in structs[name]:
            here = getattr(kind, field)
            if compiled[f"{name}.{field}"] != (here.offset, here.size):
                found.append(f"{name}.{field}: {(here.offset, here.size)} here, {compiled[f'{name}.{field}']} in C")
    return found


for line in differences(native.types):
    check(False, line)

# Is the check awake? A struct with one field of the wrong kind, and one with a field left out.
wrong = type("interval", (ctypes.Structure,), {"_fields_": [("low", ctypes.c_float), ("high", ctypes.c_double)]})
short = type("interval", (ctypes.Structure,), {"_fields_": [("low", ctypes.c_double)]})
check(differences({"interval": wrong}) and differences({"interval": short}), "a planted mistake was not seen")

# Codes and lists.
header = lambda name: (support.SOURCE / "include/plumb" / name).read_text()
codes = re.findall(r"^    X\((E\w+), ", header("status.h"), re.M)
check(codes == list(native.ERRORS), f"codes {codes}")
check(tuple(re.findall(r'^    X\(\w+, +"([\w-]+)"\)', header("surprise.h"), re.M)) == native.SCORERS, "scorers")
kinds = re.findall(r"^    X\(\w+, *\"(\w+)\", \d, '\w'\)", header("array.h"), re.M)
check(tuple(kinds) == native.DTYPES, f"types {kinds}")

# Every enum of an options struct has its words.
for struct, field in (("symetric_options", "mode"), ("kappa_options", "estimator"), ("forecast_options", "frames"),
                      ("surprise_options", "pca")):
    check(len(native.WORDS[struct, field]) >= 2, f"{struct}.{field} has no words")
check.end()
