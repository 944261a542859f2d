# SPDX-License-Identifier: MIT
"""The examples run, as they are printed."""
import ast
import json
import os
import re
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
            if getattr(value, "_figure", None):
                assert "<svg" in value._repr_html_(), "no figure"


def by_number(pattern):
    found = sorted(path.name for path in EXAMPLES.glob(pattern))
    assert len(found) == 1, found
    return found[0]


def test_every_example_has_a_case_here():
    assert {path.name[:2] for path in EXAMPLES.glob("[0-9]*")} == {f"{number:02}" for number in range(1, 14)}


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


def run_notebook(number, folder):
    """The cells of a notebook, one after the other, without a kernel; test_notebooks.py has one."""
    code = f"import sys; sys.path.insert(0, {str(SOURCE / 'tests/docs')!r}); sys.path.insert(0, {str(SOURCE / 'tests/support')!r}); " \
           "from test_examples import run_cells; run_cells()"
    return run_python("-c", code, cwd=folder, text=(EXAMPLES / by_number(f"{number:02}_*")).read_text())


def test_07_is_a_notebook_from_latents_to_a_verdict(tmp_path):
    out = run_notebook(7, tmp_path)
    assert "<Measurement: learnt" in out and "<Measurement: not learnt" in out


def test_09_is_a_notebook_from_own_frames_to_a_page(tmp_path):
    assert "<Evaluation: learnt" in run_notebook(9, tmp_path)
    assert (tmp_path / "own.html").stat().st_size > 10000


def test_12_is_a_notebook_about_surprise(tmp_path):
    out = run_notebook(12, tmp_path)
    assert "% of the tuples are told apart by plain surprise" in out and "60 ties of 60" in out and "<Audit: clean" in out


# ---- models in PyTorch ----

@pytest.mark.skipif(bool(SANITIZE), reason="PyTorch and a sanitizer do not go together")
def test_13_has_a_verdict_after_every_epoch():
    pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    rows = re.findall(r"^(Lightning, )?epoch (\d): .*kappa ([\d.]+), (learnt|not learnt|not determined)", run_python(by_number("13_*")), re.M)
    plain = [row[1:] for row in rows if not row[0]]
    assert [row[0] for row in plain] == ["0", "1", "2", "3"] and float(plain[-1][1]) > float(plain[0][1])
    assert [row[1:] for row in rows if row[0]] in ([], plain), "Lightning trains the same model"


@pytest.mark.skipif("PLUMB_LONG" not in os.environ, reason="a minute each; make test-long runs them")
@pytest.mark.skipif(bool(SANITIZE), reason="PyTorch and a sanitizer do not go together")
@pytest.mark.parametrize("number", [10, 11])
def test_10_and_11_train_a_model_and_evaluate_it(number, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    out = run_python(by_number(f"{number}_*"), tmp_path / "page.html")
    assert re.search(r"^dynamics: (right|drifts|diverges|wrong)", out, re.M), out
    read = ast.literal_eval(re.search(r"R2: (\{.*\})", out).group(1))
    assert min(read["state[0]"], read["state[1]"]) > 0.8, "the model did not find the state"
    # A model that predicts what it sees uses the position that can be read from it.
    moved = {name: float(cosine) for name, cosine in re.findall(r"^moved (\w+): .*cosine (-?[\d.]+), slope", out, re.M)}
    assert set(moved) == {"q", "p"} and max(moved.values()) > 0.5
    assert "intervention on q" in (tmp_path / "page.html").read_text()
