# SPDX-License-Identifier: MIT
"""plumb forecast as a user runs it: numbers against NumPy's, files of every kind, one line for every mistake."""
import json

import numpy as np
import pytest

from paths import SOURCE
from program import Program, numbers

plumb = Program("forecast")
run, answer, refused = plumb.run, plumb.answer, plumb.refused


def valid(errors, threshold=0.025):
    """Steps until the error passes the threshold, per trajectory."""
    above = errors > threshold
    return np.where(above.any(1), above.argmax(1), errors.shape[1]).astype(float)


class Data:
    """Five noisy predictions of random videos, and files of them."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(1)
        self.truth = truth = rng.integers(1, 256, (5, 130, 4, 6, 3)).astype(np.uint8)
        self.x = x = truth / 255.0
        growth = np.linspace(0, 0.25, 130)[None, :, None, None, None]
        self.prediction = prediction = (x + growth * rng.normal(0, 0.5, x.shape)).astype(np.float32)
        self.backward = backward = (x + growth[:, ::-1] * rng.normal(0, 0.5, x.shape)).astype(np.float32)
        self.all, self.short, self.rollout = folder / "all.npz", folder / "short.npz", folder / "rollout.npz"
        np.savez(self.all, truth=truth, prediction=prediction, prediction_backward=backward)
        np.savez_compressed(self.short, truth=truth, prediction=prediction, backward=backward)
        np.savez(self.rollout, latent=x[:, :, 0, 0, :2], truth=x[:, :, 0, 0, :2], frames=truth, prediction=prediction)
        np.save(folder / "truth.npy", truth)
        np.savez(folder / "same.npz", truth=x[:2], prediction=x[:2])
        self.same = folder / "same.npz"
        self.e, self.b = self.errors(prediction), self.errors(backward)
        self.ahead, self.back = valid(self.e[:, 60:]), valid(self.b[:, :70][:, ::-1])
        state = np.empty((60, 130, 1))
        state[:, 0, 0] = rng.uniform(0.1, 0.9, 60)
        for t in range(129):
            state[:, t + 1] = 4 * state[:, t] * (1 - state[:, t])
        np.save(folder / "state.npy", state)

    def errors(self, y):
        x = self.x
        return ((x - y.astype(float)) ** 2).sum((2, 3, 4)) / (x ** 2).sum((2, 3, 4))

    def save(self, **arrays):
        np.savez(self.folder / "other.npz", **arrays)
        return self.folder / "other.npz"


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


@pytest.fixture(scope="module")
def got(data):
    return answer(data.all)


def test_mse_is_numpys(data, got):
    assert abs(got["rec_mse"] - data.e[:, :60].mean() / 72) < 1e-15
    assert abs(got["ext_mse"] - data.e[:, 60:120].mean() / 72) < 1e-15
    assert abs(got["ext_mse_relative"] - data.e[:, 60:120].mean()) < 1e-13
    assert got["ext_mse_ci"][0] < got["ext_mse"] < got["ext_mse_ci"][1]


def test_vpt_is_numpys(data, got):
    ahead, back = data.ahead, data.back
    assert 0 < np.median(ahead) < 70 and 0 < np.median(back) < 70, "the test says nothing"
    assert got["forward"]["vpt_per_trajectory"] == ahead.tolist()
    assert got["backward"]["vpt_per_trajectory"] == back.tolist()
    assert got["vpt_per_trajectory"] == ((ahead + back) / 2).tolist()
    assert got["vpt_forward"] == np.median(ahead)
    assert got["vpt"] == (np.median(ahead) + np.median(back)) / 2
    assert got["vpt_backward_published"] == np.median(valid(data.b[:, :70]))


def test_n_seed_version_and_hash_are_there(got):
    assert got["n"] == 5 and got["seed"] == 1 and got["measure_version"] == 1
    assert len(got["input_hash"]) == 32


def test_vpt_in_lyapunov_times_of_the_logistic_map(data, got):
    assert got["lyapunov"] is None and got["vpt_lyapunov"] is None, "no states, no exponent"
    state = data.folder / "state.npy"  # exponent log 2 per step
    chaos = answer(data.all, "--state", state)
    assert 0.4 < chaos["lyapunov"] < 0.9
    assert abs(chaos["vpt_lyapunov"] - chaos["vpt"] * chaos["lyapunov"]) < 1e-9
    assert "in Lyapunov times" in run(data.all, "--state", state).stdout
    refused("16 steps", data.all, "--state", data.rollout)


def test_the_mean_and_the_published_count_are_options(data):
    mean = answer(data.all, "--average", "mean", "--backward-count", "published")
    assert abs(mean["vpt"] - (data.ahead.mean() + valid(data.b[:, :70]).mean()) / 2) < 1e-12


def test_the_form_of_the_files_changes_no_number(data, got):
    assert numbers(answer(data.short)) == numbers(got), "the key backward, deflated"
    apart = answer("--truth", data.folder / "truth.npy", "--prediction", f"{data.all}:prediction",
                   "--backward", f"{data.short}:backward")
    assert numbers(apart) == numbers(got), "files apart"


def test_threads_change_no_number(data):
    assert numbers(answer(data.all, "--threads", 1)) == numbers(answer(data.all, "--threads", 3))


def test_a_rollout_is_measured_forward_with_the_same_keys(data, got):
    rolled = answer(data.rollout)
    assert rolled["ext_mse"] == got["ext_mse"] and rolled["backward"] is None
    assert rolled["vpt"] == rolled["vpt_forward"] and rolled["vpt_backward"] is None
    assert rolled.keys() == got.keys()


def test_a_backward_prediction_may_have_a_file_of_its_own(tmp_path):
    for name, more in ("forward", ()), ("backward", ("--backward",)):
        Program("rollout").run(SOURCE / "zoo/hgn++-mass-spring", "--count", 2, "--steps", 80, *more, "--out", tmp_path / f"{name}.npz")
    got = plumb.answer(tmp_path / "forward.npz", "--backward", tmp_path / "backward.npz")
    with np.load(tmp_path / "backward.npz") as arrays:
        frames, prediction = arrays["frames"] / 255, arrays["prediction"]
    error = ((frames - prediction) ** 2).sum((2, 3, 4)) / (frames ** 2).sum((2, 3, 4))
    assert got["backward"]["full_mse_relative"] == pytest.approx(error.mean(), rel=1e-6)
    assert got["vpt"] == (got["vpt_forward"] + got["vpt_backward"]) / 2
    named = plumb.answer(tmp_path / "forward.npz", "--backward", f"{tmp_path / 'backward.npz'}:prediction")
    assert numbers(named) == numbers(got)
    Program("rollout").run(SOURCE / "zoo/hgn++-mass-spring", "--count", 2, "--steps", 80, "--first", 5, "--backward", "--out", tmp_path / "other.npz")
    plumb.refused("have different true frames", tmp_path / "forward.npz", "--backward", tmp_path / "other.npz")
    plumb.refused("--truth is missing", "--prediction", tmp_path / "forward.npz", "--backward", tmp_path / "backward.npz", code=2)


def test_split_threshold_and_extrapolate_are_taken(data):
    short = answer(data.all, "--split", 10, "--threshold", 0.01, "--extrapolate", 0)
    assert abs(short["ext_mse_relative"] - data.e[:, 10:].mean()) < 1e-13
    assert short["forward"]["vpt_per_trajectory"] == valid(data.e[:, 10:], 0.01).tolist()


def test_the_frames_of_overlap_by_one(data):
    overlap = answer(data.all, "--frames", "overlap-by-one")
    assert overlap["forward"]["rec_frames"] == [4, 64] and overlap["forward"]["vpt_frames"] == [64, 130]
    assert overlap["backward"]["rec_frames"] == [66, 126] and overlap["backward"]["ext_frames"] == [6, 66]
    assert overlap["backward"]["vpt_frames"] == [0, 66]
    assert abs(overlap["rec_mse_relative"] - data.e[:, 4:64].mean()) < 1e-13


def test_items_has_the_errors_of_every_trajectory(data):
    answer(data.all, "--items", data.folder / "items.jsonl")
    items = [json.loads(line) for line in (data.folder / "items.jsonl").read_text().splitlines()]
    assert len(items) == 5 and [i["trajectory"] for i in items] == list(range(5))
    assert np.allclose([i["forward"]["error"] for i in items], data.e, rtol=1e-12)


def test_require_passes_or_exits_3_and_prints_the_same_table(data, got):
    table = run(data.all).stdout
    assert "MSE Ext" in table and "VPT" in table and "backward" in table
    run(data.all, "--require", f"vpt={got['vpt']},ext_mse=1")
    bad = run(data.all, "--require", f"vpt={got['vpt'] + 1}", code=3)
    assert "required at least" in bad.stderr and bad.stdout == table
    run(data.all, "--require", "ext_mse=0", code=3)
    run(data.all, "--require", "beauty", code=2)


def test_the_same_twice_is_perfect(data):
    same = answer(data.same, "--require", "vpt,rec_mse=0")
    assert same["rec_mse"] == 0 and same["ext_mse"] == 0 and same["vpt_per_trajectory"] == [70, 70]


def test_a_black_frame_makes_the_mse_undefined_and_says_where(data):
    dark = data.x[:2].copy()
    dark[1, 70] = 0
    path = data.save(truth=dark, prediction=data.x[:2])
    got = answer(path, "--require", "vpt_forward=40")
    assert got["ext_mse"] is None and "trajectory 1, frame 70" in got["ext_mse_reason"]
    assert got["vpt_per_trajectory"] == [70, 10] and got["rec_mse"] == 0
    assert "undefined" in run(path).stdout


def test_nan_is_refused_with_its_place(data):
    broken = data.x[:2].copy()
    broken[1, 3, 2, 1, 0] = np.nan
    broken[1, 4, 0, 0, :] = np.inf
    refused("4 values that are not finite, the first a NaN at (1, 3, 2, 1, 0)", data.save(truth=data.x[:2], prediction=broken))


def test_arrays_of_the_wrong_shape_are_one_line(data):
    x = data.x[:2]
    refused("(2, 130, 3, 6, 3)", data.save(truth=x, prediction=x[:, :, :3]))
    refused("129 frames", data.save(truth=x, prediction=x[:, :129]))
    refused("the truth has 60 frames", data.save(truth=x[:, :60], prediction=x[:, :60]))


def test_missing_arrays_and_files_are_one_line(data):
    refused("has no array", "--truth", f"{data.same}:x", "--prediction", data.same)
    refused("", data.folder / "not-there.npz")


def test_wrong_usage_is_one_line(data):
    truth = data.folder / "truth.npy"
    refused("--prediction is missing", "--truth", truth, code=2)
    refused("a file and --truth", data.same, "--prediction", truth, code=2)
    refused("needs F.npz", code=2)
    refused("--split is for --frames plain", data.same, "--frames", "no-overlap", "--split", 7, code=2)
    refused("did you mean", data.same, "--treshold", 1, code=2)
    refused("split is -1", data.same, "--split", -1)
