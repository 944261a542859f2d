# SPDX-License-Identifier: MIT
"""plumb forecast of states and fields: every number against NumPy's, good and bad models, one line for every mistake."""
import numpy as np
import pytest

from program import Program, numbers

plumb = Program("forecast")
run, answer, refused = plumb.run, plumb.answer, plumb.refused


class Data:
    """Springs with energies from 0.1 to 1, and a model whose phase is late and whose second column is noisy."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(2)
        t = 0.1 * np.arange(100)
        radius, phase = rng.uniform(0.5, 1.4, (12, 1)), rng.uniform(0, 6.28, (12, 1))
        self.truth = self.orbit(radius, t + phase)
        late = self.orbit(radius, 0.92 * t + phase)
        late[..., 1] += 0.05 * rng.normal(size=late.shape[:2])
        self.prediction = late.astype(np.float32)
        self.good = self.save(truth=self.truth, prediction=self.truth)
        self.file = self.save("late.npz", truth=self.truth, prediction=self.prediction)

    @staticmethod
    def orbit(radius, angle):
        return np.stack([radius * np.cos(angle), -radius * np.sin(angle), np.full(angle.shape, 3.0)], -1)

    def save(self, name="good.npz", **arrays):
        np.savez(self.folder / name, **arrays)
        return self.folder / name


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


def numpys(truth, prediction, deviations=0.5):
    """The definitions of docs/measures-forecast.md."""
    x, p = truth.astype(float), prediction.astype(float)
    axes = tuple(range(x.ndim - 1))
    mse = ((p - x) ** 2).mean(axes)
    deviation, size = x.std(axes), np.sqrt((x ** 2).mean(axes))
    varies = deviation > 1e-12
    error = np.sqrt((((p - x)[..., varies] / deviation[varies]) ** 2).mean(tuple(range(2, x.ndim))))
    vpt = np.where((error > deviations).any(1), (error > deviations).argmax(1), x.shape[1])
    return {"mse": mse.mean(), "rmse": np.sqrt(mse).mean(), "nrmse": (np.sqrt(mse) / size).mean(),
            "vrmse": (np.sqrt(mse)[varies] / deviation[varies]).mean(),
            "smape": (200 * np.abs(p - x) / (np.abs(p) + np.abs(x))).mean(), "vpt": vpt.mean(), "vpt_median": np.median(vpt),
            "step_vrmse": np.sqrt((error ** 2).mean(0)), "vpt_per_trajectory": vpt}


def check(got, want):
    for key, value in want.items():
        assert np.allclose(got[key], value, rtol=1e-12, atol=1e-14), key


def test_every_number_is_numpys(data):
    got = answer(data.file)
    assert got["kind"] == "states" and (got["n"], got["steps"], got["dims"], got["space"]) == (12, 100, 3, 1)
    check(got, numpys(data.truth, data.prediction))
    assert 5 < got["vpt"] < 95, "the test says nothing"
    for key in ("mse", "rmse", "nrmse", "vrmse", "smape", "vpt"):
        assert got[f"{key}_ci"][0] < got[key] < got[f"{key}_ci"][1]
    # A column that never changes has no VRMSE and does not count.
    assert got["columns"]["vrmse"][2] is None and got["columns"]["mse"][2] == 0


def test_a_right_prediction_has_no_error(data):
    got = answer(data.good)
    assert got["mse"] == got["vrmse"] == got["smape"] == 0 and got["vpt"] == 100 and got["vpt_relative"] == 1


def test_a_context_is_not_scored(data):
    got = answer(data.file, "--context", "40", "--deviations", "0.2")
    check(got, numpys(data.truth[:, 40:], data.prediction[:, 40:], 0.2))
    assert got["scored"] == 60
    x = data.truth[:, 40:, :2]
    last, line = data.truth[:, 39:40, :2], data.truth[:, 39:40, :2] - data.truth[:, 38:39, :2]
    ahead = np.arange(1, 61)[None, :, None]
    for name, p in (("last", last), ("linear", last + ahead * line), ("mean", x.mean((0, 1)))):
        want = (np.sqrt(((x - p) ** 2).mean((0, 1))) / x.std((0, 1))).mean()
        assert abs(got["baselines"][name]["vrmse"] - want) < 1e-12, name
        error = np.sqrt((((x - p) / x.std((0, 1))) ** 2).mean(2))
        vpt = np.where((error > 0.2).any(1), (error > 0.2).argmax(1), 60).mean()
        assert got["baselines"][name]["vpt"] == vpt
    assert abs(got["baselines"]["mean"]["vrmse"] - 1) < 1e-12


def test_fields_have_axes_of_space(data):
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(4, 10, 6, 5, 2)) * [1, 10]
    prediction = truth + 0.1 * rng.normal(size=truth.shape) * [1, 10]
    got = answer(data.save("field.npz", truth=truth, prediction=prediction), "--kind", "states")
    assert (got["space"], got["dims"]) == (30, 2)
    check(got, numpys(truth, prediction))
    line = answer(data.save("line.npz", truth=truth[:, :, :, 0], prediction=prediction[:, :, :, 0]))
    check(line, numpys(truth[:, :, :, 0], prediction[:, :, :, 0]))


def test_a_prediction_that_diverges_ends_its_vpt(data):
    prediction = data.prediction.astype(float)
    prediction[3, 5:] = np.inf
    prediction[4, 7:, 0] = np.nan
    got = answer(data.save("bad.npz", truth=data.truth, prediction=prediction))
    assert got["diverged"] == 2 and got["vpt_per_trajectory"][3:5] == [5, 7]
    assert got["mse"] is None and got["vrmse"] is None and got["vpt"] > 5
    assert "diverged" in run(data.folder / "bad.npz").stdout
    refused("in every step", data.save("bad.npz", truth=data.truth, prediction=np.full(data.truth.shape, np.nan)))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_samples_are_scored_as_a_distribution(data, axis):
    rng = np.random.default_rng(7)
    truth = data.truth[:5, :8, :2]
    samples = truth[None] + rng.normal(size=(9, *truth.shape)) + 0.3
    got = answer(data.save("samples.npz", truth=truth, prediction=np.moveaxis(samples, 0, axis)), "--samples-axis", axis)
    assert got["samples"] == 9
    check(got, numpys(truth, samples.mean(0)))
    deviation = truth.std((0, 1))
    z, x = samples / deviation, truth / deviation
    crps = np.abs(z - x).mean(0) - np.abs(z[:, None] - z[None]).mean((0, 1)) / 2
    assert abs(got["crps"] - crps.mean()) < 1e-12
    norm = np.linalg.norm(z - x, axis=-1).mean(0) - np.linalg.norm(z[:, None] - z[None], axis=-1).mean((0, 1)) / 2
    assert abs(got["energy_score"] - norm.mean()) < 1e-12


def test_the_drift_of_an_energy(data):
    truth = data.truth[..., :2]
    spiral = truth * np.exp(0.005 * np.arange(100))[None, :, None]
    energy, other = (truth ** 2).sum(-1) / 2, (spiral ** 2).sum(-1) / 2
    got = answer(data.save("e.npz", truth=truth, prediction=spiral, energy=energy, prediction_energy=other))
    want = (np.abs(other - other[:, :1]).max(1) / energy.std()).mean()
    assert abs(got["energy_drift"] - want) < 1e-12 and got["energy_drift_truth"] < 1e-12
    assert answer(data.file)["energy_drift"] is None


def test_a_world_knows_its_energy(data):
    Program("simulate").run("pendulum", "--count", "9", "--steps", "50", "--out", data.folder / "pendulum.npz")
    z = np.load(data.folder / "pendulum.npz")
    file = data.save("p.npz", truth=z["state"], prediction=z["state"] * 1.01)
    got = answer(file, "--world", "pendulum")
    assert 0 <= got["energy_drift_truth"] < 1e-6 < got["energy_drift"]
    refused("no world", file, "--world", "moon", code=2)
    refused("states of two-body are", file, "--world", "two-body")
    refused("differ between trajectories", file, "--world", "pendulum+c", code=2)


def test_chaos_gives_a_unit_of_time(data):
    state = np.empty((60, 130, 1))
    state[:, 0, 0] = np.random.default_rng(1).uniform(0.1, 0.9, 60)
    for t in range(129):
        state[:, t + 1] = 4 * state[:, t] * (1 - state[:, t])
    got = answer(data.save("logistic.npz", truth=state, prediction=np.roll(state, 1, 0)))
    assert abs(got["lyapunov"] - np.log(2)) < 0.2 and got["vpt_lyapunov"] == got["vpt"] * got["lyapunov"]


def test_files_apart_and_tables(data):
    np.save(data.folder / "truth.npy", data.truth)
    np.save(data.folder / "prediction.npy", data.prediction)
    apart = answer("--truth", data.folder / "truth.npy", "--prediction", data.folder / "prediction.npy")
    assert numbers(apart) == numbers(answer(data.file)) == numbers(answer(data.file, "--threads", "1"))
    text = run(data.file).stdout
    for word in ("VRMSE", "sMAPE", "VPT", "what needs no model", "last state", "linear", "mean"):
        assert word in text


def test_requirements(data):
    run(data.good, "--require", "vpt,vrmse=0.1")
    assert "vpt" in run(data.file, "--require", "vpt=99", code=3).stderr
    refused("not \"rec_mse\"", data.file, "--require", "rec_mse", code=2)


def test_mistakes_are_one_line(data):
    refused("truth has 100 steps and prediction 99: --align", data.save("a.npz", truth=data.truth, prediction=data.prediction[:, :-1]))
    refused("truth has shape (12, 100)", data.save("a.npz", truth=data.truth[..., 0], prediction=data.truth[..., 0]))
    refused("never changes", data.save("a.npz", truth=np.ones((4, 5, 2)), prediction=np.ones((4, 5, 2))))
    refused("truth has 100 steps", data.file, "--context", "100", code=2)
    refused("are for frames", data.file, "--items", data.folder / "x.jsonl", code=2)
    truth = data.truth.copy()
    truth[2, 3, 1] = np.nan
    refused("trajectory 2, step 3", data.save("a.npz", truth=truth, prediction=data.prediction))
    refused("energy has shape", data.save("a.npz", truth=data.truth, prediction=data.prediction, energy=np.ones(12), prediction_energy=np.ones(12)))


def test_prediction_and_truth_in_two_files(data):
    np.save(data.folder / "prediction.npy", data.prediction)
    np.save(data.folder / "truth.npy", data.truth)
    got = answer(data.folder / "prediction.npy", "--truth", data.folder / "truth.npy")
    assert numbers(got) == numbers(answer(data.file))
