# SPDX-License-Identifier: MIT
"""The tables of python/plumb/_native.py are those of the headers: every struct, field, offset, word and code."""
import ctypes
import re
import subprocess

import package
import pytest
from plumb import _native as native

from paths import CC, SOURCE


def compiled_offsets(structs, folder):
    """struct.field: (offset, size) as the compiler has them; None if it does not compile."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "plumb/plumb.h"', "int main(void)", "{"]
    for name, fields in structs.items():
        lines.append(f'printf("{name} %zu 0\\n", sizeof(plumb_{name}));')
        for field in fields:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(plumb_{name}, {field}), '
                         f'sizeof(((plumb_{name} *)0)->{field}));')
    lines += ["return 0;", "}"]
    source, program = folder / "layout.c", folder / "layout"
    source.write_text("\n".join(lines))
    done = subprocess.run([CC, "-std=c17", "-I", SOURCE / "include", source, "-o", program], capture_output=True, text=True,
                          env=package.PLAIN)
    if done.returncode:
        print(done.stderr[:2000])
        return None
    rows = subprocess.run([program], capture_output=True, text=True, env=package.PLAIN, check=True).stdout.split("\n")
    return {row.split()[0]: tuple(map(int, row.split()[1:])) for row in rows if row}


def differences(kinds, folder):
    structs = {name: [field for field, _ in kind._fields_] for name, kind in kinds.items()}
    compiled = compiled_offsets(structs, folder)
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


def header(name):
    return (SOURCE / "include/plumb" / name).read_text()


def test_structs_have_the_fields_offsets_and_sizes_of_the_headers(tmp_path):
    assert not differences(native.types, tmp_path)


@pytest.mark.parametrize("fields", [[("low", ctypes.c_float), ("high", ctypes.c_double)], [("low", ctypes.c_double)]],
                         ids=["wrong type", "field left out"])
def test_a_planted_mistake_is_seen(fields, tmp_path):
    assert differences({"interval": type("interval", (ctypes.Structure,), {"_fields_": fields})}, tmp_path)


def test_codes_scorers_and_types_are_those_of_the_headers():
    assert re.findall(r"^    X\((E\w+), ", header("status.h"), re.M) == list(native.ERRORS)
    assert tuple(re.findall(r'^    X\(\w+, +"([\w-]+)"\)', header("surprise.h"), re.M)) == native.SCORERS
    assert tuple(re.findall(r"^    X\(\w+, *\"(\w+)\", \d, '\w'\)", header("array.h"), re.M)) == native.DTYPES


@pytest.mark.parametrize("struct, field", [("symetric_options", "mode"), ("kappa_options", "estimator"),
                                           ("forecast_options", "frames"), ("surprise_options", "pca")])
def test_every_enum_of_an_options_struct_has_its_words(struct, field):
    assert len(native.WORDS[struct, field]) >= 2
