# SPDX-License-Identifier: MIT
"""The measures from Python: the program's numbers, NumPy's by hand, scikit-learn's where it is installed."""
import pickle
import threading

import package  # noqa: F401
import numpy as np
import plumb
import pytest

from paths import SOURCE
from program import Program

# kappa takes large products: where NumPy has loaded OpenBLAS first, plumb has to take it as it is, threads and all,
# and last digits differ from the program's.
OWN = ("kappa", "kappa_ci", "r2_state", "r2_latent", "r2_local", "r2_nearest", "symplectic_r2", "form", "canonical_why", "kappa_score", "r2_coordinates", "flow")
rng = np.random.default_rng(1)

# A good model and a bad one of 40 springs.
t = 0.1 * np.arange(60)
radius, phase = rng.uniform(0.5, 1.5, (2, 40, 1))
q, p = radius * np.cos(t + phase), -radius * np.sin(t + phase)
TRUTH = np.stack([q, p], -1)
GOOD = np.stack([0.8 * q + 0.6 * p, -0.6 * q + 0.8 * p], -1)
BAD = np.stack([q * np.exp(q), p], -1)
NOISY = TRUTH + 0.05 * rng.standard_normal(TRUTH.shape)
FRAMES = rng.uniform(0.2, 1, (6, 90, 8, 8, 3))
PREDICTION = FRAMES + np.linspace(0, 0.3, 90)[:, None, None, None] * rng.standard_normal(FRAMES.shape)
SURPRISE = rng.uniform(size=(60, 4)) + [0, 0, 0.4, 0.4]
FEATURE, CONCEPT = rng.standard_normal((60, 4, 16)), np.array(["solidity", "continuity"])[np.arange(60) % 2]


def same(a, b, near=False):
    """Bit for bit, but for seconds, and for plumb's own numbers to six digits."""
    if isinstance(a, dict):
        return all(same(a[k], b.get(k), near or k in OWN) for k in a if k != "seconds")
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, near) for x, y in zip(a, b))
    return abs(a - b) <= 1e-6 * (1 + abs(b)) if near and isinstance(a, float) and isinstance(b, float) else a == b


@pytest.fixture
def program(tmp_path):
    """What the program answers for the same arrays."""
    def answer(command, *options, **arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return Program(command).answer(tmp_path / "x.npz", *options)
    return answer


@pytest.fixture(scope="module")
def good():
    return plumb.symetric(GOOD, TRUTH)


# ---- SyMetric and kappa ----

def test_a_layout_is_named_by_its_word():
    state = plumb.world("double-pendulum").batch(30, seed=1).state
    mixed = np.asarray(state)[..., [0, 2, 1, 3]]
    few = {"resamples": 0}
    assert plumb.symetric(mixed, state, layout="interleaved", **few).kappa > 0.999
    assert "interleaved" in plumb.symetric(mixed, state, **few).hint
    assert plumb.symetric(state, mixed, truth_layout="interleaved", **few).kappa > 0.999
    with pytest.raises(ValueError):
        plumb.symetric(state, state, layout="sideways")


def test_momenta_replace_the_velocities_of_a_lagrangian_model():
    batch = plumb.world("double-pendulum").batch(40, steps=60, seed=3)
    state, slope = np.asarray(batch.state), np.gradient(np.asarray(batch.state), 0.05, axis=1)
    momenta, latent = state[..., 2:], np.concatenate([state[..., :2], slope[..., :2]], -1)
    given = plumb.symetric(latent, state, momenta=momenta, resamples=0)
    assert given.symetric == 1 and given.canonical == 1
    assert given.r2 == plumb.symetric(state, state, resamples=0).r2
    assert plumb.symetric(latent, state, momenta=momenta, resamples=0, kappa=False).sym == given.sym
    with pytest.raises(TypeError, match="exclude"):
        plumb.symetric(latent, state, momenta=momenta, lagrangian=True)
    with pytest.raises(plumb.PlumbError, match="velocity"):
        plumb.symetric(state, state, lagrangian=True)


def test_a_good_model_passes_with_the_programs_numbers(good, program):
    assert good.passes and good.symetric == 1 and good.r2 > 0.999 and good.sym < 1e-6
    assert same(good.to_dict(), program("measure", latent=GOOD, truth=TRUTH))


def test_kappa_accepts_the_good_and_rejects_the_bad(good):
    bad = plumb.symetric(BAD, TRUTH)
    assert not bad.passes and bad.canonical == 0
    assert good.canonical == 1 and good.kappa > 0.99
    assert (good.verdict, good.coordinates_verdict, bad.verdict, bad.coordinates_verdict) == ("learnt", "learnt", "not learnt", "not learnt")
    assert "kappa" not in plumb.symetric(GOOD, TRUTH, kappa=False).to_dict()


def test_kappa_alone_is_the_same(good):
    alone = plumb.kappa(GOOD, TRUTH)
    assert alone.kappa == good.kappa and alone.canonical == 1 and "canonical" in alone._repr_html_()
    assert plumb.kappa(GOOD, TRUTH, angles=[False]).canonical == 1
    with pytest.raises(ValueError, match="angles has 2"):
        plumb.kappa(GOOD, TRUTH, angles=[True, False])


def test_three_trajectories_are_too_few_and_no_resamples_give_no_interval():
    few = plumb.symetric(GOOD[:3], TRUTH[:3])
    assert few.canonical is None and few.canonical_why
    assert plumb.symetric(GOOD, TRUTH, resamples=0).r2_ci is None


def test_reference_mode_has_the_programs_numbers_on_any_number_of_threads(program):
    one, two = (plumb.symetric(BAD, TRUTH, mode="reference", threads=threads) for threads in (1, 2))
    assert same(one.to_dict(), two.to_dict()) and one.mode == "reference"
    assert same(one.to_dict(), program("measure", "--mode", "reference", latent=BAD, truth=TRUTH))


def test_given_points_are_taken():
    points = np.tile(np.arange(10), (40, 1))
    assert plumb.symetric(BAD, TRUTH, eval_index=points, seed=1).sym == plumb.symetric(BAD, TRUTH, eval_index=points, seed=2).sym


def line_fit():
    """SyMetric's fit of degree 1, and both sides of it normalized."""
    x, y = NOISY.reshape(-1, 2), TRUTH.reshape(-1, 2)
    return plumb.symetric(NOISY, TRUTH, max_order=1), (x - x.mean(0)) / x.std(0), (y - y.mean(0)) / y.std(0)


def test_r2_of_a_line_is_numpys_to_what_the_lasso_takes_off_it():
    result, x, y = line_fit()
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    assert abs(result.r2 - (1 - (left**2).sum() / (y**2).sum())) < 1e-3


def test_r2_of_a_line_is_that_of_scikit_learns_lasso():
    linear_model, metrics = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.metrics")
    result, x, y = line_fit()
    fit = linear_model.Lasso(alpha=result.alpha, tol=1e-12, max_iter=100000).fit(x, y)
    assert abs(result.r2 - metrics.r2_score(y, fit.predict(x), multioutput="variance_weighted")) < 1e-6


# ---- forecast ----

def test_forecast_is_numpys():
    result = plumb.forecast(truth=FRAMES, prediction=PREDICTION, split=20, extrapolate=30, threshold=0.01)
    error = ((FRAMES - PREDICTION)**2).sum((2, 3, 4)) / (FRAMES**2).sum((2, 3, 4))
    assert np.allclose(result.errors, error, rtol=1e-12)
    assert np.isclose(result.rec_mse, error[:, :20].mean() / 192) and np.isclose(result.ext_mse, error[:, 20:50].mean() / 192)
    assert result.vpt_per_trajectory == [next((i for i, e in enumerate(row[20:]) if e > 0.01), 70) for row in error]


def test_errors_backward_are_there_with_a_backward_prediction():
    assert "errors_backward" not in dir(plumb.forecast(truth=FRAMES, prediction=PREDICTION))
    assert "errors_backward" in dir(plumb.forecast(truth=FRAMES, prediction=PREDICTION, backward=PREDICTION))


# ---- surprise ----

def test_surprise_has_the_programs_numbers(program):
    result = plumb.surprise(SURPRISE, feature=FEATURE, concept=CONCEPT, k=5)
    assert same(result.to_dict(), program("surprise", "-k", 5, surprise=SURPRISE, feature=FEATURE, concept=CONCEPT))
    assert result.score["knn"].shape == result.distance["knn"].shape == (result.n if "n" in dir(result) else len(result.score["knn"]), 4)
    assert sorted(c["name"] for c in result.concepts) == ["continuity", "solidity"]


def test_plain_accuracy_is_numpys():
    alone = plumb.surprise(SURPRISE, scorer="plain")
    assert list(alone.scorers) == ["plain"]
    assert alone.scorers["plain"]["accuracy"] == np.mean(SURPRISE[:, 2:].sum(1) > SURPRISE[:, :2].sum(1))


def test_auroc_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    auroc = metrics.roc_auc_score(np.tile([0, 0, 1, 1], 60), SURPRISE.ravel())
    assert abs(plumb.surprise(SURPRISE, scorer="plain").scorers["plain"]["auroc"] - auroc) < 1e-12


def test_gamma_0_is_plain():
    gammas = plumb.surprise(SURPRISE, feature=FEATURE, k=5, scorer=["plain", "knn"], gammas={"knn": 0.0})
    assert gammas.scorers["knn"]["accuracy"] == gammas.scorers["plain"]["accuracy"]


def test_a_folder_of_a_study_gives_its_table(tmp_path):
    source = SOURCE / "fuzz/corpus/pth/torch-1.13-losses"
    (tmp_path / "losses_rank0.pth").write_bytes(source.read_bytes())
    (tmp_path / "losses_rank1.pth").write_bytes(source.read_bytes())
    table = plumb.surprise_study(tmp_path)
    assert table["files"] == 2 and table["mean"] == 1 and table["properties"][0]["pairs"] == 8
    with pytest.raises(plumb.PlumbError, match="has no .pth files"):
        plumb.surprise_study(tmp_path.parent)


def test_the_example_of_the_paper_is_there():
    example = plumb.surprise_example()
    assert example["surprise"] if "surprise" in example else example


# ---- results ----

@pytest.mark.parametrize("make", [lambda: plumb.symetric(GOOD, TRUTH), lambda: plumb.forecast(truth=FRAMES, prediction=PREDICTION),
                                  lambda: plumb.surprise(SURPRISE, scorer="plain")], ids=["phase-space", "film", "concepts"])
def test_a_result_shows_one_figure_in_a_notebook(make):
    text = make()._repr_html_()
    assert text.count("<svg") == 1 and text.rstrip().endswith("</svg>")


def test_a_result_has_words(good):
    assert "SyMetric" in good._repr_html_() and good.why[:2] in repr(good)
    with pytest.raises(AttributeError, match="there are"):
        good.nonsense


def test_a_result_can_be_pickled_and_its_dictionary_is_a_copy(good):
    assert pickle.loads(pickle.dumps(good)).to_dict() == good.to_dict()
    changed = good.to_dict()
    changed["r2"] = 0
    assert good.r2 > 0.9


def test_report_writes_pages_and_figures(good, tmp_path):
    page, figure = str(tmp_path / "r.html"), str(tmp_path / "f.png")
    assert plumb.report(page, good, plumb.forecast(truth=FRAMES, prediction=PREDICTION), name="a <model>") == page
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "a &lt;model&gt;" in text and "phase-space" in text and "id=rollout" in text
    plumb.report(figure, good, figure="phase-space")
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(plumb.RangeError, match="phase-space"):
        plumb.report(figure, good, figure="film")
    with pytest.raises(plumb.FileError):
        plumb.report(page, str(tmp_path / "nowhere"))
    with pytest.raises(TypeError, match="neither a path"):
        plumb.report(page, 3)


# ---- failures ----

@pytest.mark.parametrize("kind, words, call", [
    (plumb.ShapeError, "", lambda: plumb.symetric(GOOD[:, :, :1], TRUTH)),
    (ValueError, "", lambda: plumb.symetric(GOOD[:3], TRUTH)),
    (plumb.NumericError, "not finite", lambda: plumb.symetric(np.full_like(GOOD, np.nan), TRUTH)),
    (plumb.RangeError, "", lambda: plumb.symetric(GOOD, TRUTH, max_order=-1)),
    (TypeError, "did you mean resamples", lambda: plumb.symetric(GOOD, TRUTH, resample=3)),
    (ValueError, "wanted converged, reference", lambda: plumb.symetric(GOOD, TRUTH, mode="refrence")),
    (TypeError, "whole number", lambda: plumb.symetric(GOOD, TRUTH, seed=1.5)),
    (ValueError, "does not fit", lambda: plumb.symetric(GOOD, TRUTH, seed=-1)),
    (ValueError, "wanted plain", lambda: plumb.surprise(SURPRISE, scorer="nearest")),
    (plumb.PlumbError, "", lambda: plumb.surprise()),
    (plumb.RangeError, "", lambda: plumb.surprise(SURPRISE, feature=FEATURE, k=5000, scorer="knn"))])
def test_failures_have_the_librarys_words_and_a_kind_of_their_own(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def test_threads_get_messages_of_their_own():
    messages = []

    def fails(bad_shape):
        try:
            plumb.symetric(np.zeros(bad_shape), TRUTH)
        except plumb.PlumbError as error:
            messages.append((bad_shape, str(error)))

    threads = [threading.Thread(target=fails, args=((40, 60, 2 * k + 1),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(messages) == 8 and all(str(shape[2]) in text for shape, text in messages)


def test_score_files_of_other_benchmarks(tmp_path):
    rows = ["clip,group,possible,concept,score"] + [f"{g}{c},{g},{c < 2},x,{g % 3 + (c >= 2)}" for g in range(8) for c in range(4)]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    scores = plumb.load_scores(tmp_path / "scores.csv")
    assert scores["surprise"].shape == (8, 4) and list(scores["concept"]) == ["x"] * 8
    assert plumb.surprise(**scores).scorers["plain"]["accuracy"] == 1
    (tmp_path / "single.csv").write_text("clip,label,score\na,1,1\nb,0,2\nc,1,0\nd,0,3\n")
    got = plumb.surprise_clips(**plumb.load_scores(tmp_path / "single.csv"), resamples=10)
    assert got["auroc"] == 1 and got["possible"] == got["impossible"] == 2
    with pytest.raises(plumb.FileError):
        plumb.load_scores(tmp_path / "no.csv")


# ---- states ----

def test_a_forecast_of_states_is_the_programs(program):
    late = np.stack([radius * np.cos(0.9 * t + phase), -radius * np.sin(0.9 * t + phase)], -1)
    result = plumb.forecast(truth=TRUTH, prediction=late, deviations=0.3)
    assert near(result.to_dict(), program("forecast", "--deviations", "0.3", truth=TRUTH, prediction=late))
    assert result.errors.shape == (40, 60) and "steps" in repr(result)
    drift = plumb.forecast(truth=TRUTH, prediction=late, energy=ENERGY, prediction_energy=2 * ENERGY).energy_drift
    assert drift is not None
    for wrong in ({"backward": late}, {"states": late}):
        with pytest.raises(TypeError):
            plumb.forecast(truth=TRUTH, prediction=late, **wrong)
    with pytest.raises(ValueError):
        plumb.forecast(truth=TRUTH, prediction=late, kind="pictures")
    with pytest.raises(TypeError):
        plumb.forecast(truth=FRAMES, prediction=PREDICTION, energy=ENERGY)


# ---- probe ----

LATENT = TRUTH @ rng.normal(size=(2, 7)) + 0.1 * rng.standard_normal((40, 60, 7))
ENERGY = (TRUTH ** 2).sum(-1) / 2


def near(a, b):
    """Equal but for the last digits of products, which depend on who loaded OpenBLAS, and seconds."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a if k != "seconds")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(near, a, b))
    return abs(a - b) < 1e-7 if isinstance(a, float) and isinstance(b, (int, float)) else a == b


def test_a_probe_is_the_programs(program):
    result = plumb.probe(LATENT, {"truth": TRUTH, "energy": ENERGY}, ood="energy")
    assert near(result.to_dict(), program("probe", "--ood", "energy", latent=LATENT, truth=TRUTH, energy=ENERGY))
    assert result.target("truth")["linear"]["r2"] > 0.9 and "truth[0]" in repr(result)
    with pytest.raises(KeyError):
        result.target("mass")


def test_a_probe_names_columns_and_angles():
    angle = np.arctan2(q, p)
    result = plumb.probe(LATENT, np.stack([q, angle], -1), columns={"truth": ["q", "phi"]}, angles=["phi"], controls=False)
    assert [(one["name"], one["angle"]) for one in result.targets] == [("q", False), ("phi", True)]
    assert result.target("phi")["linear"]["r2"] > 0.8
    for wrong in ({"angles": ["x"]}, {"columns": {"truth": ["q"]}}, {"ood": "x"}):
        with pytest.raises(ValueError):
            plumb.probe(LATENT, TRUTH, **wrong)


def test_a_probe_takes_trajectories_of_different_lengths():
    lengths = rng.integers(20, 60, 40)
    as_list = plumb.probe([x[:n] for x, n in zip(LATENT, lengths)], [x[:n] for x, n in zip(TRUTH, lengths)], controls=False)
    named = plumb.probe(LATENT, TRUTH, lengths=lengths, controls=False)
    assert as_list.rows == named.rows == lengths.sum() and near(as_list.targets, named.targets)


def test_a_probe_takes_rows():
    few = {"controls": False, "nonlinear": False}
    want = plumb.probe(LATENT, TRUTH, **few)
    rows = LATENT.reshape(-1, 7), TRUTH.reshape(-1, 2)
    assert near(plumb.probe(*rows, cut=60, **few).targets, want.targets)
    flat = plumb.probe(*rows, lengths=np.full(40, 60), offsets=60 * np.arange(40), **few)
    assert near(flat.targets, want.targets)
    for wrong in ({"offsets": np.zeros(40)}, {"lengths": np.full(40, 61), "offsets": 60 * np.arange(40)}):
        with pytest.raises(plumb.PlumbError):
            plumb.probe(*rows, **wrong)
    with pytest.raises(ValueError, match="cut is 60"):
        plumb.probe(LATENT, TRUTH, cut=60)


def test_a_world_gives_targets_to_a_probe():
    world = plumb.world("two-body+c")
    batch = world.batch(12, steps=8, seed=2)
    made = world.quantities(batch.state, batch.parameters)
    assert np.allclose(np.concatenate([made["velocity"], made["force"]], -1), batch.derivative, rtol=1e-9, atol=1e-12)
    assert np.allclose(made["energy"][..., 0], batch.energy) and made["orbit"].std(1).max() < 1e-9
    for wrong in ((batch.state[..., :4], None), (batch.state, np.ones((12, 2)))):
        with pytest.raises(ValueError):
            world.quantities(*wrong)


def test_what_a_probe_refuses():
    with pytest.raises(plumb.ShapeError, match="truth has shape"):
        plumb.probe(LATENT, TRUTH[:, :50])
    with pytest.raises(plumb.RangeError, match="3 trajectories"):
        plumb.probe(LATENT[:3], TRUTH[:3])
    with pytest.raises(ValueError, match="empty"):
        plumb.probe(LATENT, {})


# ---- dynamics ----

def test_dynamics_are_the_programs(program):
    spiral = LATENT * np.linspace(1, 0.4, 60)[:, None]
    result = plumb.dynamics(spiral, LATENT, TRUTH, energy=ENERGY, context=5)
    want = program("dynamics", "--context", "5", latent=spiral, encoded=LATENT, truth=TRUTH, energy=ENERGY)
    assert result.verdict == want["verdict"] == "drifts" and near(result.motion, want["motion"])
    assert "drifts" in repr(result) and result.flow["area_change"] < -0.3
    assert plumb.dynamics(LATENT, LATENT, TRUTH).verdict == "right"
    assert plumb.dynamics(LATENT, LATENT, TRUTH, angles=[0]).dims == 3
    with pytest.raises(ValueError):
        plumb.dynamics(LATENT, LATENT, TRUTH, angles=[2])
    with pytest.raises(plumb.ShapeError):
        plumb.dynamics(LATENT[:, 1:], LATENT, TRUTH)
    with pytest.raises(TypeError):
        plumb.dynamics(LATENT, None, TRUTH)


# ---- compare ----

def test_models_are_compared_as_the_program_does(tmp_path):
    scores = {name: rng.normal(size=(2, 25)) + shift for name, shift in (("a", 0), ("b", 0.5), ("c", 1))}
    for name, one in scores.items():
        np.save(tmp_path / f"{name}.npy", one)
    result = plumb.compare(scores, seed=3)
    assert near(result.to_dict(), Program("compare").answer(*(tmp_path / f"{name}.npy" for name in scores), "--seed", "3"))
    assert "3 models on 25 items" in repr(result)
    with pytest.raises(plumb.ShapeError):
        plumb.compare({"a": np.ones(3), "b": np.ones(4)})
    with pytest.raises(plumb.ShapeError):
        plumb.compare({"a": np.ones((2, 2, 2)), "b": np.ones(4)})
    with pytest.raises(plumb.RangeError):
        plumb.compare({"a": np.ones(3)})
