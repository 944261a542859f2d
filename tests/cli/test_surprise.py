# SPDX-License-Identifier: MIT
"""plumb surprise as a user runs it: numbers against NumPy's, one line for every mistake."""
import json

import numpy as np
import pytest

from program import Program, numbers

plumb = Program("surprise")
run, answer, refused = plumb.run, plumb.answer, plumb.refused
N, D = 120, 9


def normalized(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def kth_distance(seen, asked, k):
    d = np.sqrt(((asked[:, None] - seen[None]) ** 2).sum(-1))
    return np.sort(d, axis=1)[:, k - 1]


def accuracy(score):
    return (score[:, 2:].sum(1) > score[:, :2].sum(1)).mean()


class Data:
    """120 tuples of four concepts with all arrays that a scorer may ask for."""

    def __init__(self, folder):
        self.folder, self.all = folder, folder / "all.npz"
        rng = np.random.default_rng(1)
        self.surprise = rng.gamma(2.0, 0.01, (N, 4, 7))
        self.surprise[:, 2:] += 0.004
        self.feature = rng.normal(size=(N, 4, D)).astype(np.float32)
        self.feature[:, 2:, 0] += 1
        self.seen = rng.normal(size=(150, D)).astype(np.float32)
        self.seen[:, 0] += 1
        self.voe = rng.gamma(2.0, 0.01, (N, 4))
        self.concept = np.arange(N) % 4
        self.arrays = dict(surprise=self.surprise, feature=self.feature, observation=self.seen, surprise_voe=self.voe,
                           concept=self.concept)
        np.savez(self.all, **self.arrays)
        self.s = self.surprise.mean(2)
        self.r = kth_distance(normalized(self.seen.astype(float)), normalized(self.feature.astype(float)).reshape(-1, D), 5).reshape(N, 4)

    def save(self, **arrays):
        np.savez(self.folder / "other.npz", **arrays)
        return self.folder / "other.npz"

    def changed(self, **arrays):
        """A file of all arrays with some changed, or left out where None."""
        return self.save(**{k: v for k, v in {**self.arrays, **arrays}.items() if v is not None})


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


@pytest.fixture(scope="module")
def got(data):
    return answer(data.all, "-k", 5)


# ---- numbers ----

def test_scores_are_numpys(data, got):
    knn = got["scorers"]["knn"]
    assert np.allclose(knn["score"], data.s - 0.01 * data.r, rtol=0, atol=1e-14)
    assert np.allclose(got["scorers"]["naive"]["score"], data.s - data.voe, rtol=0, atol=1e-15)
    assert np.allclose(got["scorers"]["plain"]["score"], data.s, rtol=0, atol=1e-15)
    assert np.array(knn["score"]).shape == (N, 4)


def test_metrics_of_every_scorer_are_numpys(data, got):
    concept = data.concept
    for name, one in got["scorers"].items():
        score = np.array(one["score"])
        each = [accuracy(score[concept == c]) for c in range(4)]
        assert abs(one["accuracy"] - np.mean(each)) < 1e-15, name
        assert one["accuracy_ci"][0] <= one["accuracy"] <= one["accuracy_ci"][1], name
        p, i = score[:, :2].sum(1), score[:, 2:].sum(1)
        relative = (i - p) / (abs(i) + abs(p))
        assert abs(one["relative_surprise"] - np.mean([relative[concept == c].mean() for c in range(4)])) < 1e-14, name
        auroc = (score[:, 2:].reshape(-1, 1) > score[:, :2].reshape(1, -1)).mean()
        assert abs(one["auroc"] - auroc) < 1e-14, name
        for c, entry in enumerate(got["concepts"]):
            assert entry["name"] == str(c) and entry["scorers"][name]["accuracy"] == each[c], name


def test_the_maximum_over_frames_is_scored_too(data, got):
    largest = np.array(data.surprise.max(2))
    want = np.mean([accuracy(largest[data.concept == c]) for c in range(4)])
    assert abs(got["scorers"]["plain"]["maximum"]["accuracy"] - want) < 1e-15


def test_uniformity_ratio_and_comparisons_are_there(got):
    assert 0 <= got["uniformity"]["p"] <= 1 and 0 < got["uniformity"]["statistic"] < 1
    assert sum(got["uniformity"]["paper"]["histogram"]) == 4 * N
    assert got["likelihood_ratio"]["auroc"] > 0.5 and len(got["comparisons"]) >= 15
    assert got["n"] == N and got["seed"] == 1 and got["measure_version"] == 2 and len(got["input_hash"]) == 32 and not got["split"]


def test_threads_change_no_number(data):
    assert numbers(answer(data.all, "-k", 5, "--threads", 1)) == numbers(answer(data.all, "-k", 5, "--threads", 3))


def test_raw_features_are_not_normalized(data):
    raw = answer(data.all, "-k", 5, "--raw", "--scorer", "knn")
    far = kth_distance(data.seen.astype(float), data.feature.astype(float).reshape(-1, D), 5).reshape(N, 4)
    assert np.allclose(raw["scorers"]["knn"]["score"], data.s - 0.01 * far, rtol=0, atol=1e-13)


def test_gammas_are_per_scorer(data):
    got = answer(data.all, "-k", 5, "--scorer", "pca,knn-log", "--gammas", "pca=0.5,knn-log=1e-3")
    assert got["scorers"]["pca"]["gamma"] == 0.5
    assert np.allclose(got["scorers"]["knn-log"]["score"], data.s - 1e-3 * (D - 1) * np.log(data.r), atol=1e-13)


def test_the_example_of_the_paper_is_printed():
    assert "-496.046" in run("--example").stdout
    got = answer("--example")
    assert abs(got["variance_0.001"]["log_likelihood_ratio"][0] - 3.453878) < 1e-6 and got["prior"] == 0.5


def test_the_example_follows_the_prior_and_has_the_annulus():
    got = answer("--example", "--prior", 0.1)
    ratio = np.exp(got["variance_0.001"]["log_likelihood_ratio"][0])
    assert abs(got["variance_0.001"]["posterior"][0] - 0.1 / (0.1 + 0.9 / ratio)) < 1e-12
    assert [a["dims"] for a in got["annulus"]] == [1, 2, 8, 32, 128, 512]
    assert all(abs(a["surprise"][1] - a["surprise"][0] - a["dims"] / 2) < 1e-9 for a in got["annulus"])
    refused("--prior", "--example", "--prior", 1, code=2)


def test_figures_are_drawn(data):
    run("--example", "--figure", data.folder / "example.svg")
    run(data.all, "-k", 5, "--figure", data.folder / "roc.svg")
    example, roc = ((data.folder / name).read_text() for name in ("example.svg", "roc.svg"))
    assert "d = 128" in example and "calibration error" in roc and "lr 0." in roc and "nan" not in roc
    refused("", "--example", "--figure", data.folder / "no" / "where.svg")


def test_gammas_may_be_chosen_on_tuples_that_are_not_judged(data):
    path = data.save(surprise=data.s, feature=data.feature, concept=data.concept)
    fixed, chosen = answer(path, "--scorer", "plain,knn"), answer(path, "--scorer", "plain,knn", "--gamma", "auto")
    assert fixed["scorers"]["knn"]["gamma"] == 0.01 and not fixed["gamma_auto"] and chosen["gamma_auto"]
    gamma, s = chosen["scorers"]["knn"]["gamma"], data.s[chosen["tested"]]
    r = (s - np.array(fixed["scorers"]["knn"]["score"])) / 0.01
    assert gamma != 0.01 and np.allclose(chosen["scorers"]["knn"]["score"], s - gamma * r, rtol=0, atol=1e-12)
    refused("--gamma takes a number or auto", path, "--gamma", "some", code=2)


def test_single_clips_are_decided_by_a_threshold_of_other_clips(data):
    best, level, given = (answer(data.all, "-k", 5, *more) for more in ((), ("--threshold", "level"), ("--threshold", "0.02")))
    for name, one in given["scorers"].items():
        score = np.array(one["score"])
        called = score >= 0.02
        clips = one["clips"]
        assert abs(clips["threshold"] - 0.02) < 1e-15 and abs(clips["type1"] - (~called[:, 2:]).mean()) < 1e-14, name
        assert abs(clips["type2"] - called[:, :2].mean()) < 1e-14 and abs(clips["accuracy"] - 1 + (clips["type1"] + clips["type2"]) / 2) < 1e-14
        assert level["scorers"][name]["clips"] == level["scorers"][name]["level"] == best["scorers"][name]["level"], name
        assert abs(level["scorers"][name]["level"]["type1"] - 0.05) < 0.05, name
    assert best["scorers"]["plain"]["clips"]["accuracy"] > 0.5
    refused("--threshold takes best, level or a number", data.all, "--threshold", "high", code=2)


def test_the_ratio_is_calibrated_and_has_a_posterior_for_every_clip(data):
    got = answer(data.all, "-k", 5, "--scorer", "plain,lr", "--prior", 0.2, "--items", data.folder / "items.jsonl")
    ratio = got["likelihood_ratio"]
    items = [json.loads(line) for line in (data.folder / "items.jsonl").read_text().splitlines()]
    log_ratio, posterior = (np.array([i[key] for i in items]) for key in ("log_likelihood_ratio", "posterior"))
    assert np.allclose(posterior, 0.2 / (0.2 + 0.8 / np.exp(log_ratio)), rtol=1e-12)
    assert np.allclose(got["scorers"]["lr"]["score"], log_ratio) and got["scorers"]["lr"]["gamma"] is None
    y, w = np.array([0, 0, 1, 1]), np.array([0.8, 0.8, 0.2, 0.2])
    assert abs(ratio["brier"] - ((posterior - y) ** 2 * w).sum() / (w.sum() * N)) < 1e-12
    assert sum(ratio["calibration"]["clips"]) == 4 * N and 0 <= ratio["calibration_error"] < 0.3
    assert len(ratio["temperature"]) == len(ratio["weight"]) == 4 and len(ratio["dimension"]) == 1
    assert np.allclose(ratio["posterior_mean"], [posterior[:, :2].mean(), posterior[:, 2:].mean()])
    table = run(data.all, "-k", 5).stdout
    assert "Brier score" in table and "power" in table and "clips, %" in table


# ---- input ----

def test_arrays_may_come_from_files_of_their_own(data, got):
    for name, array in data.arrays.items():
        np.save(data.folder / f"{name}.npy", array)
    apart = answer("--surprise", data.folder / "surprise.npy", "--feature", data.folder / "feature.npy", "--observation",
                   f"{data.all}:observation", "--surprise-voe", data.folder / "surprise_voe.npy",
                   "--concept", data.folder / "concept.npy", "-k", 5)
    assert numbers(apart) == numbers(got)
    alone = answer(data.folder / "surprise.npy")
    assert list(alone["scorers"]) == ["plain"] and "naive" in alone["left_out"] and alone["uniformity"] is None
    assert alone.keys() == got.keys(), "keys come and go"


@pytest.mark.parametrize("kind", ["native", "big-endian", "bytes"])
def test_concepts_may_be_names(data, kind):
    words = np.array(["continuity", "solidity", "object_persistence", "unchangeable\u00e4"])[data.concept]
    text = {"native": words, "big-endian": words.astype(words.dtype.newbyteorder(">")),
            "bytes": np.array(list("abcd"), "S1")[data.concept]}[kind]
    named = answer(data.save(surprise=data.s, concept=text))
    assert [c["name"] for c in named["concepts"]] == [t.decode() if isinstance(t, bytes) else str(t) for t in text[:4]]


def test_without_observations_a_fifth_of_every_concept_is_observed_and_not_judged(data):
    concept, s = data.concept, data.s
    split = answer(data.save(surprise=s, feature=data.feature, concept=concept), "-k", 3, "--scorer", "plain,knn")
    assert split["split"] and split["n"] == 96 and split["observed"] == 48
    judged = np.array(split["tested"])
    assert all((concept[judged] == c).sum() == 24 for c in range(4))
    x = normalized(data.feature.astype(float))
    for c in range(4):  # the density of concept c alone
        test = judged[concept[judged] == c]
        rest = [t for t in np.flatnonzero(concept == c) if t not in test]
        want = s[test] - 0.01 * kth_distance(x[rest][:, 2:].reshape(-1, D), x[test].reshape(-1, D), 3).reshape(-1, 4)
        have = np.array(split["scorers"]["knn"]["score"])[concept[judged] == c]
        assert np.allclose(have, want, rtol=0, atol=1e-14), c


def test_frames_of_a_perfect_prediction_score_1_and_a_tie_is_wrong(data):
    truth = np.zeros((6, 4, 5, 4, 4, 3), np.uint8)
    truth[:, 2:, 3] = 255
    path = data.save(truth=truth, prediction=np.zeros(truth.shape, np.float32))
    plain = answer(path)["scorers"]["plain"]
    assert plain["accuracy"] == 1 and np.allclose(plain["score"], [[0, 0, 48, 48]] * 6)
    mean = answer(path, "--unit", "mean")
    assert np.allclose(mean["scorers"]["plain"]["score"], [[0, 0, 0.2, 0.2]] * 6) and mean["unit"] == "mean"
    largest = answer(path, "--frames", "max")
    assert np.allclose(largest["scorers"]["plain"]["score"], [[0, 0, 48, 48]] * 6) and largest["frames_joined_by"] == "max"
    gray = answer(data.save(truth=truth, prediction=np.full(truth.shape, 0.5)))
    assert gray["scorers"]["plain"]["accuracy"] == 0


def test_an_observation_with_concepts_is_one_density_each(data):
    of = np.arange(150) % 4
    got = answer(data.changed(observation_concept=of), "-k", 3, "--scorer", "knn")
    x, seen = normalized(data.feature.astype(float)), normalized(data.seen.astype(float))
    for c in range(4):
        at = data.concept == c
        want = data.s[at] - 0.01 * kth_distance(seen[of == c], x[at].reshape(-1, D), 3).reshape(-1, 4)
        assert np.allclose(np.array(got["scorers"]["knn"]["score"])[at], want, rtol=0, atol=1e-13), c
    assert got["least_observed"] == 37 and got["observed"] == 150 and len(got["likelihood_ratio"]["dimension"]) == 4
    refused("has no row of the concept 3", data.changed(observation_concept=np.minimum(of, 2)))
    refused("without concept", data.changed(observation_concept=of, concept=None))
    refused("observation_concept is (149,)", data.changed(observation_concept=of[:149]))


def test_uniformity_is_tested_for_each_concept_too(data, got):
    each = [c["uniformity"] for c in got["concepts"]]
    assert [sum(u["paper"]["histogram"]) for u in each] == [4 * N / 4] * 4 and all(0 <= u["p"] <= 1 for u in each)
    assert answer(data.all, "--scorer", "plain")["concepts"][0]["uniformity"] is None


# ---- output ----

def test_items_has_one_line_per_tuple(data):
    answer(data.all, "-k", 5, "--items", data.folder / "items.jsonl")
    items = [json.loads(line) for line in (data.folder / "items.jsonl").read_text().splitlines()]
    assert len(items) == N and np.allclose([i["scorers"]["knn"]["distance"] for i in items], data.r, atol=1e-13)
    assert np.allclose([i["frame_surprise"] for i in items], data.surprise)


def test_items_count_right_tuples_and_ties_as_the_result_does(data):
    """A constant predictor on clips that are spliced from the same frames: sums are equal but for their rounding."""
    rng = np.random.default_rng(3)
    a, b, c, d = rng.gamma(2.0, 0.01, (4, 200, 9))
    joined = np.stack([np.hstack([a, b]), np.hstack([c, d]), np.hstack([a, d]), np.hstack([c, b])], 1)
    path = data.save(surprise=joined)
    got = answer(path, "--items", data.folder / "ties.jsonl")["scorers"]["plain"]
    items = [json.loads(line)["scorers"]["plain"] for line in (data.folder / "ties.jsonl").read_text().splitlines()]
    assert got["ties"] == 200 and got["correct"] == 0
    assert sum(i["right"] for i in items) == got["correct"]
    assert sum(i["relative_surprise"] == 0 for i in items) == got["ties"]


def test_the_table_and_require(data):
    table = run(data.all, "-k", 5).stdout
    assert "accuracy" in table and "uniformity" in table and "McNemar" in table
    run(data.all, "-k", 5, "--require", "accuracy=0.5")
    run(data.all, "-k", 5, "--require", "accuracy=1.01", code=3)
    run(data.all, "--require", "beauty", code=2)


# ---- one line for every mistake ----

def test_wrong_arrays_are_one_line(data):
    broken = data.feature.copy()
    broken[3, 1, 2] = np.nan
    for words, arguments, change in (
            ("feature has 1 value that is not finite, the first a NaN at (3, 1, 2)", (), {"feature": broken}),
            ("k is 151", ("-k", 151), {}),
            ("a tuple has 4 clips", (), {"surprise": data.surprise[:, :3]}),
            ("overlaps the test set", (), {"observation": np.concatenate([data.seen, data.feature[5, 2:]])}),
            ("dimensions", (), {"observation": data.seen[:, :5]}),
            ("the scorer naive needs surprise_voe", ("--scorer", "naive"), {"surprise_voe": None}),
            ("has no array \"surprise\"", (), {"surprise": None})):
        refused(words, data.changed(**change), *arguments)


def test_wrong_usage_is_one_line(data):
    refused("there is no scorer \"kmn\"; did you mean knn?", data.all, "--scorer", "kmn", code=2)
    refused("--gammas takes", data.all, "--gammas", "knn=x", code=2)
    refused("needs F.npz", code=2)
    refused("", data.folder / "not-there.npz")


def test_zero_vectors_and_repeats_are_said(data):
    zero = data.feature.copy()
    zero[0, 0] = 0
    path = data.changed(feature=zero, observation=np.concatenate([data.seen, data.seen[:2]]))
    said = run(path, "-k", 5, "--scorer", "knn").stderr.splitlines()
    assert len(said) == 2 and "1 features are zero vectors" in said[0] and "2 of 152" in said[1], said
