# SPDX-License-Identifier: MIT
"""plumb compare as a user runs it: means, intervals and p against NumPy, SciPy and all changes of sign; files of every kind."""
import csv
import io
import itertools
import json

import numpy as np
import pytest

from program import Program

plumb = Program("compare")
run, answer, refused = plumb.run, plumb.answer, plumb.refused


@pytest.fixture(scope="module")
def data(shared):
    rng = np.random.default_rng(1)
    scores = {"good": rng.normal(1.0, 0.3, 30), "same": None, "poor": rng.normal(0.5, 0.3, 30)}
    scores["same"] = scores["good"] + rng.normal(0, 0.1, 30)
    for name, x in scores.items():
        (shared / f"{name}.json").write_text(json.dumps({"vpt": 3.0, "vpt_per_trajectory": list(x), "forward": {"e": list(-x)}}))
    return shared, scores


def files(data, *names):
    return [data[0] / f"{name}.json" for name in names]


def pair(record, first, second):
    return next(one for one in record["pairs"] if (one["first"], one["second"]) == (first, second))


def test_means_and_differences_are_numpys(data):
    folder, scores = data
    got = answer(*files(data, "good", "same", "poor"))
    assert [one["name"] for one in got["models"]] == ["good", "same", "poor"] and got["items"] == 30
    for one in got["models"]:
        assert abs(one["mean"] - scores[one["name"]].mean()) < 1e-14 and one["mean_ci"][0] < one["mean"] < one["mean_ci"][1]
        assert one["runs"] == 1 and one["deviation"] is None
    assert got["models"][2]["rank"] == 3
    good = pair(got, "good", "poor")
    difference = scores["good"] - scores["poor"]
    assert abs(good["difference"] - difference.mean()) < 1e-14 and good["wins"] == (difference > 0).sum() and good["ties"] == 0
    assert good["difference_ci"][0] > 0 and good["p"] < 0.001
    assert pair(got, "good", "same")["p"] > 0.01


def test_p_of_few_items_counts_all_changes_of_sign(data):
    folder, scores = data
    difference = (scores["good"] - scores["same"])[:9]
    for name in ("good", "same"):
        np.save(folder / f"{name}9.npy", scores[name][:9])
    signs = np.array(list(itertools.product([-1, 1], repeat=9)))
    want = (np.abs(signs @ difference) >= abs(difference.sum()) * (1 - 1e-12)).mean()
    assert answer(folder / "good9.npy", folder / "same9.npy")["pairs"][0]["p"] == want


def test_p_of_many_items_is_that_of_a_t_test(data):
    stats = pytest.importorskip("scipy.stats")
    folder, scores = data
    got = pair(answer(*files(data, "good", "same")), "good", "same")
    assert abs(got["p"] - stats.ttest_rel(scores["good"], scores["same"]).pvalue) < 0.03


def test_p_is_right_under_chance(shared):
    # Equal models: p below 0.1 in about a tenth of the cases.
    rng = np.random.default_rng(4)
    below = 0
    for _ in range(60):
        np.save(shared / "x.npy", rng.normal(size=20))
        np.save(shared / "y.npy", rng.normal(size=20))
        below += answer(shared / "x.npy", shared / "y.npy", "--flips", "1000", "--resamples", "0")["pairs"][0]["p"] < 0.1
    assert below <= 14


def test_pairs_are_corrected_by_holms_method(data):
    got = answer(*files(data, "good", "same", "poor"))["pairs"]
    ordered, most = sorted(got, key=lambda one: one["p"]), 0
    for k, one in enumerate(ordered):
        most = max(most, min(1, one["p"] * (3 - k)))
        assert one["p_adjusted"] == pytest.approx(most, abs=1e-15)


def test_runs_of_a_model_are_averaged(data):
    folder, scores = data
    np.save(folder / "runs.npy", np.stack([scores["good"], scores["same"]]))
    one = answer(f"m={folder / 'good.json'},{folder / 'same.json'}", *files(data, "poor"))
    two = answer(folder / "runs.npy", *files(data, "poor"))
    both = np.stack([scores["good"], scores["same"]])
    for got, name in ((one, "m"), (two, "runs")):
        model = got["models"][0]
        assert model["name"] == name and model["runs"] == 2 and abs(model["mean"] - both.mean()) < 1e-14
        assert abs(model["deviation"] - both.mean(1).std(ddof=1)) < 1e-12
        assert abs(got["pairs"][0]["difference"] - (both.mean(0) - scores["poor"]).mean()) < 1e-14


def test_keys_lines_and_tables(data):
    folder, scores = data
    by_path = answer(*files(data, "good", "poor"), "--key", "forward.e", "--lower-is-better")
    assert by_path["models"][0]["rank"] == 1 and by_path["pairs"][0]["wins"] > 15
    for name in ("good", "poor"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"item": k, "vpt": x}) + "\n" for k, x in enumerate(scores[name])))
    assert answer(folder / "good.jsonl", folder / "poor.jsonl", "--key", "vpt")["pairs"][0]["difference"] == pytest.approx(
        (scores["good"] - scores["poor"]).mean())
    for name in ("good", "poor"):
        (folder / f"{name}.csv").write_text("a,b\n" + "".join(f"0,{x:.17g}\n" for x in scores[name]))
    assert answer(folder / "good.csv", folder / "poor.csv", "--key", "b")["pairs"][0]["difference"] == pytest.approx(
        (scores["good"] - scores["poor"]).mean())
    # One number per run: means and deviations only.
    seeds = answer(f"m={folder / 'good.json'},{folder / 'poor.json'}", *files(data, "same"), "--key", "vpt")
    assert seeds["items"] == 1 and seeds["pairs"] == [] and seeds["models"][0]["deviation"] == 0


@pytest.mark.parametrize("form", ["md", "latex", "csv", "text", "json"])
def test_every_form_has_every_number(data, form):
    text = run(*files(data, "good", "poor"), "--format", form).stdout
    if form == "json":
        assert json.loads(text) == answer(*files(data, "good", "poor"))
        return
    mean = f"{data[1]['good'].mean():.4g}"
    assert mean in text and "good" in text and "wins/ties" in text
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0][0] == "model" and rows[1][:2] == ["good", mean] and len(rows[1]) == 6
    if form == "latex":
        assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 2 and "95 \\%" in text


def test_mistakes_are_one_line(data):
    folder, scores = data
    refused("needs files", code=2)
    refused("two are needed", *files(data, "good"), code=2)
    refused("no number or list", *files(data, "good", "poor"), "--key", "absent")
    np.save(folder / "short.npy", scores["good"][:5])
    refused("the same items", folder / "good.json", folder / "short.npy")
    np.save(folder / "nan.npy", np.array([1.0, np.nan]))
    refused("score 1 of nan", folder / "nan.npy", folder / "short.npy")
    (folder / "bad.json").write_text("{")
    refused("bad.json", folder / "bad.json", folder / "good.json")
    refused("nowhere.json", "nowhere.json", folder / "good.json")
    np.savez(folder / "two.npz", a=np.ones(3), b=np.ones(3))
    refused("name the one", folder / "two.npz", folder / "short.npy")
    np.save(folder / "cube.npy", np.ones((2, 3, 4)))
    refused("wanted (items,) or (runs, items)", folder / "cube.npy", folder / "short.npy")
