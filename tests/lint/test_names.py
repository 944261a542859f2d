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

# module: (static functions with a name of one word, banned identifiers) that are still there. The numbers may only fall; a module
# that keeps the rules must go from here.
WAITING = {
"base": (8, 0),
    "cli": (43, 95),
    "cli/common": (8, 2),
    "dataset": (23, 7),
    "distributed": (4, 11),
    "engine": (54, 153),
    "engine/kernels": (15, 3),
    "evaluate": (17, 121),
    "io": (60, 12),
    "io/hdf5": (9, 0),
    "math": (45, 0),
    "measures/correlation": (5, 0),
    "measures/fit": (15, 16),
    "measures/forecast": (8, 0),
    "measures/kappa": (29, 13),
    "measures/surprise": (49, 19),
    "measures/symetric": (10, 43),
    "models": (8, 3),
    "models/hgn": (56, 100),
    "models/plato": (17, 48),
    "models/predrnn": (21, 55),
    "plot": (21, 7),
    "report": (31, 52),
    "sweep": (25, 37),
    "train": (18, 81),
    "worlds": (4, 0),
    "worlds/games": (9, 0),
    "worlds/hamiltonian": (39, 0),
    "worlds/molecules": (12, 0),
    "worlds/render": (22, 10),
    "worlds/rooms": (59, 10),
}

# Functions with eight or more parameters, and why.
WAITS = "waits for a context struct"
WIDE = {
    "dataset/simulate.c: plumb_dataset_simulate": WAITS,
    "dataset/simulate_rooms.c: plumb_room_simulate": WAITS,
    "dataset/video_load.c: video_load_world": WAITS,
    "dataset/video_load.c: video_load_room": WAITS,
    "engine/adam.c: adam_step": WAITS,
    "engine/adam.c: adam_step_reference": WAITS,
    "engine/kernels/conv_window.c: conv_window_gather": WAITS,
    "engine/kernels/conv_winograd.c: transform_output": WAITS,
    "engine/kernels/gemm.c: run": WAITS,
    "engine/kernels/gemm.c: packed": WAITS,
    "engine/kernels/gemm.c: gemm_float": "the arguments of a matrix product",
    "engine/kernels/gemm.c: gemm_reference": "the arguments of a matrix product",
    "math/blas.c: blas_gemm": "the arguments of cblas_dgemm",
    "math/poly_design.c: poly_design_init": WAITS,
    "math/stats.c: stats_bootstrap": WAITS,
    "math/stats.c: stats_bootstrap_mean": WAITS,
    "math/vector.c: vector_products": WAITS,
    "measures/fit/kernel_fit.c: jacobian_of_polynomial": WAITS,
    "measures/fit/kernel_fit.c: jacobian_of_kernel": WAITS,
    "measures/fit/principal_components.c: principal_components_fit": WAITS,
    "measures/kappa/kappa.c: numbers": WAITS,
    "measures/kappa/kappa.c: decide": WAITS,
    "measures/kappa/state_r2.c: attempt": WAITS,
    "measures/kappa/state_r2.c: attempts": WAITS,
    "measures/kappa/symplectic_map.c: kappa_symplectic_map": WAITS,
    "measures/surprise/one_class_svm.c: solve": WAITS,
    "measures/surprise/one_class_svm.c: prepare": WAITS,
    "measures/surprise/one_class_svm.c: one_class_svm_decide": WAITS,
    "measures/surprise/one_class_svm_none.c: one_class_svm_decide": WAITS,
    "measures/surprise/principal_axes.c: principal_axes_project": WAITS,
    "measures/symetric/batch.c: columns_of": WAITS,
    "measures/symetric/batch.c: symetric_batch_columns": WAITS,
    "measures/symetric/batch.c: jacobian_at": WAITS,
    "measures/symetric/batch.c: symetric_batch_sums": WAITS,
    "measures/symetric/network.c: shuffle_rows": WAITS,
    "measures/symetric/network.c: train": WAITS,
    "measures/symetric/sym_score.c: sym_score_compute": WAITS,
    "models/hgn/hgn.c: follow": WAITS,
    "models/hgn/hgn.c: roll": WAITS,
    "models/hgn/hgn.c: describe_roll": WAITS,
    "models/hgn/hgn.c: hgn_rollout_build": WAITS,
    "models/predrnn/predict.c: advance": WAITS,
    "models/predrnn/predrnn.c: joined": WAITS,
    "models/predrnn/predrnn.c: normed": WAITS,
    "report/figures_phase_space.c: draw_row": WAITS,
    "report/figures_phase_space.c: draw_curve": WAITS,
    "worlds/render/raytrace_boxes.c: pixel": WAITS,
    "worlds/rooms/contact.c: face_contacts": WAITS,
}


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
            found.append(f"{name} keeps the rules: take it from WAITING")
    found += [f"{where} has {count} parameters: use a struct" for where, count in wide.items() if where not in reasons]
    found += [f"{where} has fewer than {MOST + 1} parameters now: take it from WIDE" for where in reasons if where not in wide]
    return found


def test_names_keep_the_rules():
    found = faults(SOURCE, WAITING, WIDE)
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
    assert all(re.fullmatch(r"[\w/]+\.[ch]: \w+", where) and reason for where, reason in WIDE.items())
