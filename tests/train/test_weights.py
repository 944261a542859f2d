# SPDX-License-Identifier: MIT
"""plumb import and export: a state dict of PredRNN's published code predicts what the same network predicts in NumPy, and every model
comes back from its own file."""
import json

import numpy as np
import pytest

from program import Program
from state_dict import PredRNN, read_safetensors, save_pth, save_safetensors

plumb = Program()


def frames_of(run, where, rooms="rooms/solidity", count=2):
    plumb.run("rollout", run, "--world", rooms, "--count", count, "--out", where)
    with np.load(where) as file:
        return file["truth"], file["prediction"], file["feature"]


@pytest.mark.parametrize("kind", ["first", "second", "norm", "kernel", "deep"])
def test_an_imported_predrnn_predicts_what_numpy_does(kind, tmp_path):
    sizes = {"norm": {"layer_norm": True, "image": 16}, "second": {"adapter": True}, "kernel": {"kernel": 5}, "deep": {"layers": 3, "patch": 2}}
    net = PredRNN(seed=3, **sizes.get(kind, {}))
    file = save_safetensors(tmp_path / "w.safetensors", net.state) if kind in ("first", "norm") else \
        save_pth(tmp_path / "model.ckpt", {"net_param": net.state, "itr": 80000})
    run = tmp_path / "run"
    done = plumb.answer("import", "predrnn", file, "--out", run, "--set", "image=16")
    assert done["model"] == "predrnn" and done["run"] == str(run)
    truth, prediction, feature = frames_of(run, tmp_path / "r.npz")
    for t in range(2):
        for c in (0, 3):
            want, hidden = net.predict(truth[t, c] / 255.0)
            assert np.abs(prediction[t, c] - want).max() < 2e-5
            assert np.abs(feature[t, c] - hidden.max((1, 2))).max() < 2e-5
    assert np.abs(prediction - truth[:, :, 1:] / 255.0).max() > 0.01, "a network that predicts the truth would test nothing"


def test_an_imported_run_is_judged_and_reported(tmp_path):
    net = PredRNN(seed=1)
    run = tmp_path / "run"
    plumb.run("import", "predrnn", save_safetensors(tmp_path / "w.safetensors", net.state), "--out", run, "--set", "image=16")
    got = plumb.answer("evaluate", run, "--tuples", 6, "-k", 1, "--scorer", "plain")
    assert got["steps"] == 0 and 0 <= got["surprise"]["scorers"]["plain"]["accuracy"] <= 1
    plumb.run("report", run, "--out", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10000


@pytest.mark.parametrize("wrapped", ["", "module."])
def test_what_is_exported_is_what_was_imported(wrapped, tmp_path):
    net = PredRNN(seed=5, layer_norm=True, image=16)
    file = save_safetensors(tmp_path / "w.safetensors", {wrapped + name: x for name, x in net.state.items()})
    plumb.run("import", "predrnn", file, "--out", tmp_path / "run", "--set", "image=16")
    plumb.run("export", tmp_path / "run", "--out", tmp_path / "back.safetensors")
    back, notes = read_safetensors(tmp_path / "back.safetensors")
    assert list(back) == list(net.state) and all((back[n] == net.state[n]).all() for n in back)
    assert json.loads(notes["plumb_config"])["settings"]["residual"] is False
    plumb.run("export", tmp_path / "run", "--out", tmp_path / "back.npz")
    with np.load(tmp_path / "back.npz") as other:
        assert all((other[n] == net.state[n]).all() for n in net.state)


@pytest.mark.parametrize("model, world", [("hgn", "mass-spring"), ("hgn++", "pendulum"), ("plato", "rooms/freeform"), ("predrnn", "rooms/freeform")])
def test_every_model_comes_back_from_its_file(model, world, tmp_path):
    plumb.run("train", model, "--world", world, "--preset", "tiny", "--steps", 2, "--out", tmp_path / "run")
    plumb.run("export", tmp_path / "run", "--out", tmp_path / "w.safetensors")
    plumb.run("import", model, tmp_path / "w.safetensors", "--out", tmp_path / "again")
    (one, _), (two, _) = (read_safetensors(tmp_path / r / "weights.safetensors") for r in ("run", "again"))
    assert list(one) == list(two) and all(np.array_equal(one[n], two[n]) for n in one)
    given, _ = read_safetensors(tmp_path / "w.safetensors")
    for name, x in one.items():
        if name.endswith(".w") and x.ndim == 4:  # (height, width, in, out) to (out, in, height, width)
            assert np.array_equal(given[name[:-2] + ".weight"], x.transpose(3, 2, 0, 1))
        elif name.endswith(".w") and x.ndim == 2:
            assert np.array_equal(given[name[:-2] + ".weight"], x.T)
    with_settings = plumb.answer("evaluate", tmp_path / "again", "--tuples", 2, "-k", 1) if model in ("plato", "predrnn") else {}
    assert with_settings.get("steps", 0) == 0


def test_what_is_no_state_dict_of_the_model_is_one_line(tmp_path):
    net = PredRNN(seed=2)
    out = ("--out", tmp_path / "run")

    def refused(words, state, *options):
        plumb.refused(words, "import", "predrnn", save_safetensors(tmp_path / "w.safetensors", state), *out, *options)
        assert not (tmp_path / "run" / "weights.safetensors").exists()

    some = dict(net.state)
    some.pop("cell_list.1.conv_o.0.weight")
    refused('has no tensor "cell_list.1.conv_o.0.weight"', some)
    refused("has a tensor \"cell_list.7.bias\"", {**net.state, "cell_list.7.bias": np.zeros(3, np.float32)})
    refused("conv_last.weight is", {**net.state, "conv_last.weight": np.zeros((3, 4, 1, 1), np.float32)})
    refused("NaN or infinite", {**net.state, "conv_last.weight": np.full_like(net.state["conv_last.weight"], np.nan)})
    refused("so it is not PredRNN's", {"a.weight": np.zeros((3, 3), np.float32)})
    refused("frames of 18 x 18", net.state, "--set", "image=18")
    file = save_safetensors(tmp_path / "w.safetensors", net.state)
    plumb.refused("needs --out RUN", "import", "predrnn", file, code=2)
    plumb.refused("needs MODEL and F", "import", "predrnn", code=2)
    plumb.refused("no model \"predrn\"", "import", "predrn", file, *out)
    plumb.refused("no model \"predrn\"", "import", "predrn", tmp_path / "no-such-file.pth", *out)
    plumb.run("import", "predrnn", file, *out, "--preset", "tiny")
    plumb.refused("a run exists already", "import", "predrnn", file, *out, "--set", "image=16")
    plumb.refused("so the run cannot be resumed", "train", "predrnn", "--resume", *out)
    plumb.refused("are read, not written", "export", tmp_path / "run", "--out", tmp_path / "w.pth")


def test_an_installed_model_is_exported_by_its_name(tmp_path):
    got = plumb.answer("export", "hgn++-mass-spring", cwd=tmp_path)
    assert got["file"] == "hgn++-mass-spring.safetensors" and read_safetensors(tmp_path / got["file"])
    plumb.refused("no trained model", "export", "hgn++-mass-sprong", cwd=tmp_path)
