# SPDX-License-Identifier: MIT
"""plumb demo gives the known verdicts, and fails when one of them is different."""
import json
import re
import shutil
import subprocess

import pytest

from paths import PLUMB, PYTHON, SANITIZE, SOURCE
from program import Program

plumb = Program("demo")


def share(folder, zoo=None, trajectories=None):
    """A share folder with the samples, and with one trained model if given. Without one, and with few trajectories, the demo is quick."""
    shutil.copytree(SOURCE / "examples/latents", folder / "examples/latents")
    for sample in (folder / "examples/latents").glob("*.npz") if trajectories else ():
        np = pytest.importorskip("numpy")
        with np.load(sample) as arrays:
            short = {name: arrays[name][:trajectories] for name in arrays.files}
        np.savez(sample, **short)
    if zoo:
        (folder / "zoo").mkdir()
        (folder / "zoo" / zoo.name).symlink_to(zoo)
    return folder


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """Some trajectories of the samples alone, as PLUMB_SHARE; an empty working folder beside them."""
    monkeypatch.setenv("PLUMB_SHARE", str(share(tmp_path / "share", trajectories=20)))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "share"


@pytest.fixture(scope="module")
def demo(shared):
    """The demo as everybody first runs it, with the model that ships with plumb: its folder and what it printed."""
    done = subprocess.run([PLUMB, "demo", "--out", "demo.json"], cwd=shared, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return shared, done.stdout


@pytest.mark.slow
def test_the_good_sample_and_the_trained_model_pass_and_two_samples_fail(demo):
    out = demo[1]
    assert out.count("Verdict: learnt") == 3
    assert out.count("Verdict: not learnt") == 2
    assert out.count("Why: ") == 5
    assert out.count("above 0.9: area is kept") == 5, "kappa of each, which decides"


@pytest.mark.slow
def test_the_three_samples_have_the_known_numbers(demo):
    models = {m["name"]: m for m in json.loads((demo[0] / "demo.json").read_text())["models"]}
    good, bad, cheat = models["good"], models["bad"], models["cheat"]
    assert good["symetric"] == 1 and good["r2"] > 0.99 and good["sym"] < 1e-6 and good["order"] == 2, good
    assert bad["symetric"] == 0 and bad["r2"] > 0.9 and bad["sym"] > 0.05 and not bad["degenerate"], bad
    assert cheat["symetric"] == 0 and cheat["r2"] > 0.9 and cheat["degenerate"], cheat


@pytest.mark.slow
def test_the_page_is_named_and_shows_four_verdicts(demo):
    folder, out = demo
    assert "The page with all figures, for a browser: plumb-demo.html\n" in out
    page = (folder / "plumb-demo.html").read_text()
    assert len(re.findall('class="verdict', page)) == 5
    assert len(re.findall('class="verdict yes', page)) == 3
    assert "bodies-double-pendulum" in page and page.count("data-track") == 4  # two masses, over truth and prediction


@pytest.mark.slow
def test_the_last_lines_are_commands_that_work(demo, tmp_path):
    lines = demo[1].partition("Commands to try next:\n\n")[2].splitlines()
    assert len(lines) >= 3
    for line in lines:
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_json_is_one_object_of_three_models_and_leaves_no_file(samples, tmp_path):
    assert len(plumb.answer()["models"]) == 3
    assert not list((tmp_path / "here").iterdir())


def test_report_names_another_page(samples, tmp_path):
    page = tmp_path / "other.html"
    assert str(page) in plumb.run("--report", page).stdout
    assert page.stat().st_size


def test_a_page_that_cannot_be_written_is_one_line(samples, tmp_path):
    done = plumb.run("--report", tmp_path / "no/where.html", code=1)
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_a_model_of_five_updates_is_shown_and_does_not_pass(tmp_path, monkeypatch):
    run = tmp_path / "hgn++-mass-spring"
    Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 5, "--out", run)
    monkeypatch.setenv("PLUMB_SHARE", str(share(tmp_path / "share", zoo=run, trajectories=20)))
    out = plumb.run("--report", tmp_path / "zoo.html").stdout
    assert out.count("Verdict: learnt") == 1, out
    assert "VPT" in out
    assert "hgn++-mass-spring" in (tmp_path / "zoo.html").read_text()


def test_a_wrong_verdict_is_a_failure(samples):
    plumb.run()
    shutil.copy(samples / "examples/latents/good.npz", samples / "examples/latents/bad.npz")
    assert "verdicts are wrong" in plumb.run(code=1).stderr


def test_missing_samples_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PLUMB_SHARE", str(tmp_path / "nowhere"))
    assert plumb.run(code=1).stderr.count("\n") == 1


@pytest.mark.skipif(bool(SANITIZE), reason="no code of plumb runs here")
def test_the_samples_are_what_their_script_makes(tmp_path):
    np = pytest.importorskip("numpy")
    subprocess.run([PYTHON, SOURCE / "examples/make_latents.py", tmp_path], check=True)
    for name in ("good", "bad", "cheat"):
        shipped, made = (np.load(folder / f"{name}.npz") for folder in (SOURCE / "examples/latents", tmp_path))
        for key in ("latent", "truth"):  # libm may differ in a last bit
            np.testing.assert_allclose(shipped[key], made[key], rtol=1e-5, atol=1e-6)
