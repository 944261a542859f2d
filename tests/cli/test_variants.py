# SPDX-License-Identifier: MIT
"""LGN, ODE, RGN and AR as a user runs them, after a step or two: trained, resumed, evaluated and rolled out."""
import json
import math
import struct
import zipfile

import pytest

from program import Program

plumb = Program()
QUICK = ("--world", "mass-spring", "--preset", "tiny", "--set", "decay=constant")
FEW = ("--count", 2, "--steps", 5, "--measured", 10, "--method", "pr")
BEGINS = {"lgn": 0, "ode": 0, "rgn": 2, "ar": 1}  # the first frame that is predicted, of a window of three
MODELS = list(BEGINS)


def array(path, name):
    """Shape and numbers of an array of an .npz file."""
    with zipfile.ZipFile(path) as z:
        raw = z.read(name + ".npy")
    length = struct.unpack("<H", raw[8:10])[0]
    header = eval(raw[10:10 + length].decode(), {"__builtins__": {}}, {"True": True, "False": False})
    kind = {"<f4": "f", "<f8": "d", "|u1": "B"}[header["descr"]]
    shape = header["shape"]
    return shape, struct.unpack(f"<{math.prod(shape)}{kind}", raw[10 + length:])


@pytest.fixture(scope="module")
def runs(shared):
    """Each model after two steps, and a rollout of each."""
    for model in ("hgn++", *MODELS):
        trained = plumb.answer("train", model, *QUICK, "--steps", 2, "--out", shared / model)
        assert trained["model"] == model and trained["steps"] == 2
        plumb.run("rollout", shared / model, "--out", shared / f"{model}.npz", "--count", 2, "--steps", 12)
    return shared


def test_every_choice_of_a_setting_is_listed():
    rows = {row["name"]: row for row in plumb.answer("train", "hgn++", "--settings")["settings"]}
    assert rows["kinetic"]["takes"].endswith("|graded_masses")


@pytest.mark.parametrize("model", MODELS)
def test_a_resumed_run_has_the_same_bits(runs, model, tmp_path):
    plumb.run("train", model, *QUICK, "--steps", 1, "--out", tmp_path / "parts")
    plumb.run("train", model, "--steps", 2, "--out", tmp_path / "parts", "--resume")
    assert (runs / model / "weights.safetensors").read_bytes() == (tmp_path / "parts/weights.safetensors").read_bytes()


@pytest.mark.parametrize("model", MODELS)
def test_backward_measures_are_null_where_a_model_only_runs_forward(runs, model):
    got = plumb.answer("evaluate", runs / model, *FEW)
    one_way = BEGINS[model] > 0
    assert got["model"] == model and got["vpt_forward"] is not None
    assert (got["vpt_backward"] is None) == one_way
    assert (got["forecast"]["backward"] is None) == one_way
    assert got["pr"]["steps"] == 60 and 0 <= got["kappa"] <= 1
    assert ("cannot run backward in time" in plumb.run("evaluate", runs / model, *FEW).stdout) == one_way


@pytest.mark.parametrize("model", MODELS)
def test_a_rollout_stands_beside_the_frames_it_predicts(runs, model):
    out, begin = runs / f"{model}.npz", BEGINS[model]
    predicted = 12 - begin
    for name, width in (("latent", 4), ("truth", 2)):
        assert array(out, name)[0] == (2, predicted, width), name
    for name, width in (("frames", 32 * 32 * 3), ("truth", 2)):
        whole = array(runs / "hgn++.npz", name)[1]
        want = tuple(x for video in (0, 1) for x in whole[(12 * video + begin) * width:12 * (video + 1) * width])
        assert array(out, name)[1] == want, f"{name} of other frames"
    with zipfile.ZipFile(out) as z:
        assert ("momenta.npy" in z.namelist()) == (model == "lgn")


@pytest.mark.parametrize("model", MODELS)
def test_a_backward_rollout_is_made_or_refused(runs, model, tmp_path):
    arguments = ("rollout", runs / model, "--backward", "--out", tmp_path / "out.npz")
    if BEGINS[model] > 0:
        plumb.refused("cannot be run backward", *arguments, code=2)
    else:
        plumb.run(*arguments, "--count", 2, "--steps", 12)


def test_momenta_of_lgn_come_from_a_positive_mass_matrix(runs):
    # dL/dv = M(q) v with M = U'U + 1: along v it is never less than v itself.
    (n, steps, m), momenta = array(runs / "lgn.npz", "momenta")
    _, latent = array(runs / "lgn.npz", "latent")
    for row in range(n * steps):
        v, p = latent[(2 * row + 1) * m:(2 * row + 2) * m], momenta[row * m:(row + 1) * m]
        along, square = sum(a * b for a, b in zip(v, p)), sum(a * a for a in v)
        assert along >= square * (1 - 1e-5) > 0


def test_hgn_is_evaluated_both_ways(tmp_path):
    plumb.run("train", "hgn", *QUICK, "--steps", 1, "--out", tmp_path / "hgn")
    hgn = plumb.answer("evaluate", tmp_path / "hgn", *FEW)
    assert hgn["model"] == "hgn" and hgn["vpt_backward"] is not None


def test_settings_that_mean_nothing_to_a_model_are_refused(tmp_path):
    out = ("--out", tmp_path / "no")
    for model, setting in (("ode", "kinetic=pure_quad"), ("rgn", "direction=forward_backward"), ("ar", "beta=2"), ("lgn", "residual=on")):
        plumb.refused(setting.split("=")[0], "train", model, *QUICK, "--set", setting, *out, code=2)
    plumb.refused("potential=pure_quad is a form of kinetic energy", "train", "hgn++", *QUICK, "--set", "potential=pure_quad", *out, code=2)
    plumb.refused("add_magnitudes=on", "train", "hgn++", *QUICK, "--set", "colour_ramp_end=0.5", *out, code=2)
    plumb.refused("backward", "train", "rgn", *QUICK, "--set", "split=include_inference", *out, code=2)


def test_the_plan_and_the_config_name_the_model(runs):
    assert plumb.answer("train", "rgn", *QUICK, "--plan")["model"] == "rgn"
    config = json.loads((runs / "lgn/config.json").read_text())
    assert config["settings"]["integrator"] == "rk2" and "kinetic" not in config["settings"]
