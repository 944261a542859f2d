# SPDX-License-Identifier: MIT
"""The examples run, as they are printed."""
import ast
import json
import os
import subprocess
import sys

import pytest

from paths import BUILD, CC, LIBRARY, SANITIZE, SOURCE

EXAMPLES = SOURCE / "examples"
# The package from the sources, with the library of this build.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "PLUMB_LIBRARY": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1",
               "PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
if "address" in SANITIZE:  # the library wants the sanitizer to be there first
    runtime = subprocess.run([CC, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    PYTHON_ENVIRONMENT = {**ENVIRONMENT, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"}
else:
    PYTHON_ENVIRONMENT = ENVIRONMENT


def run(*command, env=ENVIRONMENT, cwd=EXAMPLES, text=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env, cwd=cwd, input=text)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def run_python(*command, **how):
    return run(sys.executable, *command, env=PYTHON_ENVIRONMENT, **how)


def run_c(name, argument, folder):
    flags = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
    run(CC, "-std=c17", "-Wall", "-Wextra", "-pedantic", "-Werror", *flags, name, "-o", folder / "example", "-I", SOURCE / "include",
        "-L", BUILD / "lib", "-lplumb", f"-Wl,-rpath,{BUILD}/lib")
    missing = subprocess.run([folder / "example", "missing.npz"], capture_output=True, cwd=EXAMPLES)
    assert missing.returncode, "a missing file is no failure"
    return run(folder / "example", argument)


def run_cells():
    """Run in a process of its own: the cells of a notebook one after the other; what the last line of one shows is printed."""
    names = {}
    for cell in json.load(sys.stdin)["cells"]:
        assert cell["cell_type"] != "code" or not cell["outputs"], "outputs are kept in the notebook"
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            print(value)
            if hasattr(value, "_repr_html_"):
                assert "<svg" in value._repr_html_(), "no figure"


def by_number(pattern):
    found = sorted(path.name for path in EXAMPLES.glob(pattern))
    assert len(found) == 1, found
    return found[0]


def test_every_example_has_a_case_here():
    assert {path.name[:2] for path in EXAMPLES.glob("[0-9]*")} == {"01", "02", "03", "04", "05", "06", "07", "08"}


def test_01_measures_a_good_model():
    assert "passes as canonical" in run_python(by_number("01_*"))


def test_02_measures_from_c(tmp_path):
    assert "passes as canonical" in run_c(by_number("02_*"), "latents/good.npz", tmp_path)


def test_03_loads_batches_from_c(tmp_path):
    assert "mass-spring+c, batch 4" in run_c(by_number("03_*"), "mass-spring+c", tmp_path)


def test_08_tells_newton_from_kepler():
    lines = run_python(by_number("08_*")).splitlines()
    force, orbit = ({line.split()[0]: float(line.split()[k]) for line in lines[1:]} for k in (3, 7))
    assert force["newton"] > 0.99 > 0.5 > force["kepler"] and orbit["kepler"] > 0.99 > 0.9 > orbit["newton"]


@pytest.mark.skipif(bool(SANITIZE), reason="PyTorch and a sanitizer do not go together")
def test_04_trains_with_pytorch(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    assert "learnt" in run_python(by_number("04_*"), tmp_path / "torch.html")
    assert (tmp_path / "torch.html").stat().st_size


def test_05_goes_from_data_to_a_report(tmp_path):
    assert "report.html" in run("sh", by_number("05_*"), env={**ENVIRONMENT, "OUT": str(tmp_path), **({"STEPS": "20", "FRAMES": "20"} if SANITIZE else {})})


def test_06_shows_trajectories():
    assert "5 trajectories" in run_python(by_number("06_*"))


def test_07_is_a_notebook_whose_cells_run(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(SOURCE / 'tests/docs')!r}); sys.path.insert(0, {str(SOURCE / 'tests/support')!r}); " \
           "from test_examples import run_cells; run_cells()"
    out = run_python("-c", code, cwd=tmp_path, text=(EXAMPLES / by_number("07_*")).read_text())
    assert "<Measurement: learnt" in out and "<Measurement: not learnt" in out
