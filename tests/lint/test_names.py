# SPDX-License-Identifier: MIT
"""Names in src/: a static function has a name of two words or more, no function takes eight parameters without a reason, and no
identifier is one of the words that say nothing here."""
import re

import pytest

from ctokens import functions, slots, tokens
from paths import SOURCE
from sources import plant

SHARE = 0.10  # of the static functions of a module may have a name of one word
MOST = 7  # parameters
BANNED = set("blunder cell complain crew door dossier examinee eye film footage foretell foretoken gather house jail judge ledger own "
             "recipe roomset studio subject tape told trainee unit".split())

# waiting-names.txt: module, static functions with a name of one word, banned identifiers that are still there. The numbers may
# only fall; a module that keeps the rules must go from there. scripts/lint-lists takes out what is no longer needed.
# wide-functions.txt: functions with eight or more parameters, and why.
LISTS = SOURCE / "tests/lint"


def read_waiting():
    rows = [line.split() for line in (LISTS / "waiting-names.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {module: (int(one), int(banned)) for module, one, banned in rows}


def read_wide():
    rows = [line.split("  ", 1) for line in (LISTS / "wide-functions.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {where: reason.strip() for where, reason in rows}


def examine(root):
    """Per module: static functions, those of one word, banned identifiers; and functions with many parameters."""
    modules, wide = {}, {}
    src = root / "src"
    for path in sorted(src.rglob("*.[ch]")):
        text, where = path.read_text(), path.relative_to(src).as_posix()
        module = modules.setdefault(where.rpartition("/")[0], {"static": 0, "one word": [], "banned": []})
        named_slots = slots(text)
        for function in functions(text):
            module["static"] += function.is_static
            if function.is_static and "_" not in function.name and function.name not in named_slots:
                module["one word"].append(f"{where}:{function.line}: {function.name}()")
            if function.parameters > MOST:
                wide[f"{where}: {function.name}"] = function.parameters
        module["banned"] += [f"{where}:{line}: {word}" for word, line in tokens(text) if word in BANNED]
    return modules, wide


def faults(root, waiting, reasons):
    modules, wide = examine(root)
    found = []
    for name, module in modules.items():
        one, banned = len(module["one word"]), len(module["banned"])
        most_one, most_banned = waiting.get(name, (0, 0))
        if one > max(SHARE * module["static"], most_one):
            found.append(f"{name}: {one} of {module['static']} static functions have a name of one word\n  " + "\n  ".join(module["one word"]))
        if banned > most_banned:
            found.append(f"{name}: {banned} banned identifiers\n  " + "\n  ".join(module["banned"]))
    for name in waiting:
        module = modules.get(name)
        if not module or len(module["one word"]) <= SHARE * module["static"] and not module["banned"]:
            found.append(f"{name} keeps the rules: scripts/lint-lists takes it from waiting-names.txt")
    found += [f"{where} has {count} parameters: use a struct" for where, count in wide.items() if where not in reasons]
    found += [f"{where} has fewer than {MOST + 1} parameters now: scripts/lint-lists takes it from wide-functions.txt" for where in reasons if where not in wide]
    return found


def test_names_keep_the_rules():
    found = faults(SOURCE, read_waiting(), read_wide())
    assert not found, "\n".join(found)


def test_functions_are_seen():
    modules, _ = examine(SOURCE)
    assert sum(module["static"] for module in modules.values()) > 1000


@pytest.mark.parametrize("text", [
    "static int *make(int a)\n{\n}\n", "int f_x(void)\n{\n    int crew = 1;\n}\n",
    "void f_x(int a, int b, int c, int d, int e, int f, int g, int (*h)(int, int))\n{\n}\n"], ids=["one word", "banned", "eight parameters"])
def test_a_planted_name_is_found(text, tmp_path):
    assert faults(plant(tmp_path, {"src/base/a.c": text}), {}, {})


@pytest.mark.parametrize("text", [
    "static int make_it(void)\n{\n}\n", "// a crew\nstatic const char *x_y = \"crew\";\n", "#define CREW crew\n",
    "static int open(void)\n{\n}\nconst table t_x = {.open = open};\n",
    "void f_x(int a, int b, int c, int d, int e, int f, int (*h)(int, int))\n{\n}\n"],
    ids=["two words", "text", "directive", "slot", "seven parameters"])
def test_good_names_are_left_alone(text, tmp_path):
    assert not faults(plant(tmp_path, {"src/base/a.c": text}), {}, {})


def test_entries_that_nothing_needs_are_found(tmp_path):
    root = plant(tmp_path, {"src/base/a.c": "static int make_it(void)\n{\n}\n"})
    assert len(faults(root, {"base": (1, 0)}, {"base/a.c: make_it": "reason"})) == 2


def test_the_list_of_reasons_names_functions():
    assert all(re.fullmatch(r"[\w/]+\.[ch]: \w+", where) and reason for where, reason in read_wide().items())
