# SPDX-License-Identifier: MIT
"""plumb surprise as a user runs it: numbers against NumPy's, one line for every mistake."""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests/support"))
from program import Program  # noqa: E402

plumb = Program("surprise")
check, run, answer, complaint = plumb.check, plumb.run, plumb.answer, plumb.complaint


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def rk(seen, asked, k):
    d = np.sqrt(((asked[:, None] - seen[None]) ** 2).sum(-1))
    return np.sort(d, axis=1)[:, k - 1]


def accuracy(score):
    return (score[:, 2:].sum(1) > score[:, :2].sum(1)).mean()


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    rng = np.random.default_rng(1)
    n, d = 120, 9
    surprise = rng.gamma(2.0, 0.01, (n, 4, 7))
    surprise[:, 2:] += 0.004
    feature = rng.normal(size=(n, 4, d)).astype(np.float32)
    feature[:, 2:, 0] += 1
    seen = rng.normal(size=(150, d)).astype(np.float32)
    seen[:, 0] += 1
    voe = rng.gamma(2.0, 0.01, (n, 4))
    concept = np.arange(n) % 4
    everything = dict(surprise=surprise, feature=feature, observation=seen, surprise_voe=voe,
                      concept=concept)
    np.savez(folder / "all.npz", **everything)

    got = answer(folder / "all.npz", "-k", 5)
    s = surprise.mean(2)
    r = rk(unit(seen.astype(float)), unit(feature.astype(float)).reshape(-1, d), 5).reshape(n, 4)
    knn = got["scorers"]["knn"]
    check(np.allclose(knn["score"], s - 0.01 * r, rtol=0, atol=1e-14), "knn scores")
    check(np.allclose(got["scorers"]["naive"]["score"], s - voe, rtol=0, atol=1e-15), "naive scores")
    check(np.allclose(got["scorers"]["plain"]["score"], s, rtol=0, atol=1e-15), "plain scores")
    check(np.array(knn["score"]).shape == (n, 4), "a row of scores a tuple")
    for name, one in got["scorers"].items():
        score = np.array(one["score"])
        each = [accuracy(score[concept == c]) for c in range(4)]
        check(abs(one["accuracy"] - np.mean(each)) < 1e-15, f"{name}: accuracy over concepts")
        check(one["accuracy_ci"][0] <= one["accuracy"] <= one["accuracy_ci"][1], f"{name}: interval")
        p, i = score[:, :2].sum(1), score[:, 2:].sum(1)
        relative = (i - p) / (abs(i) + abs(p))
        check(abs(one["relative_surprise"] - np.mean([relative[concept == c].mean() for c in range(4)]))
              < 1e-14, f"{name}: relative surprise")
        auroc = (score[:, 2:].reshape(-1, 1) > score[:, :2].reshape(1, -1)).mean()
        check(abs(one["auroc"] - auroc) < 1e-14, f"{name}: AUROC")
        for c, entry in enumerate(got["concepts"]):
            check(entry["name"] == str(c) and entry["scorers"][name]["accuracy"] == each[c],
                  f"{name}: concept {c}")
    largest = np.array(surprise.max(2))
    check(abs(got["scorers"]["plain"]["maximum"]["accuracy"] -
              np.mean([accuracy(largest[concept == c]) for c in range(4)])) < 1e-15, "max over frames")
    check(0 <= got["uniformity"]["p"] <= 1 and 0 < got["uniformity"]["statistic"] < 1
          and sum(got["uniformity"]["paper"]["histogram"]) == 4 * n, "uniformity")
    check(got["likelihood_ratio"]["auroc"] > 0.5 and len(got["comparisons"]) >= 15, "ratio, McNemar")
    check(got["n"] == n and got["seed"] == 1 and got["measure_version"] == 1 and
          len(got["input_hash"]) == 32 and not got["split"], "n, seed, version, hash")

    def numbers(record):
        if not isinstance(record, dict):
            return record
        return {k: numbers(v) for k, v in record.items() if k != "seconds"}

    check(numbers(answer(folder / "all.npz", "-k", 5, "--threads", 1)) ==
          numbers(answer(folder / "all.npz", "-k", 5, "--threads", 3)), "threads change numbers")

    # Arrays from files of their own.
    for name, array in everything.items():
        np.save(folder / f"{name}.npy", array)
    apart = answer("--surprise", folder / "surprise.npy", "--feature", folder / "feature.npy",
                   "--observation", f"{folder / 'all.npz'}:observation", "--surprise-voe",
                   folder / "surprise_voe.npy", "--concept", folder / "concept.npy", "-k", 5)
    check(numbers(apart) == numbers(got), "files apart")
    alone = answer(folder / "surprise.npy")
    check(list(alone["scorers"]) == ["plain"] and "naive" in alone["left_out"] and
          alone["uniformity"] is None, "a lone .npy is the surprise")
    check(alone.keys() == got.keys(), "keys come and go")

    # Concepts by name, in both kinds of NumPy's text and in either byte order.
    words = np.array(["continuity", "solidity", "object_persistence", "unchangeable\u00e4"])[concept]
    for text in (words, words.astype(words.dtype.newbyteorder(">")), np.array(list("abcd"), "S1")[concept]):
        np.savez(folder / "words.npz", surprise=s, concept=text)
        named = answer(folder / "words.npz")
        want = [t.decode() if isinstance(t, bytes) else str(t) for t in text[:4]]
        check([c["name"] for c in named["concepts"]] == want, f"concepts by name: {want}")

    # The split: a fifth of every concept is observed, and not judged.
    np.savez(folder / "split.npz", surprise=s, feature=feature, concept=concept)
    split = answer(folder / "split.npz", "-k", 3, "--scorer", "plain,knn")
    check(split["split"] and split["n"] == 96 and split["observed"] == 48, "the split")
    judged = np.array(split["tested"])
    check(all((concept[judged] == c).sum() == 24 for c in range(4)), "the split by concept")
    x = unit(feature.astype(float))
    for c in range(4):
        test = judged[concept[judged] == c]
        rest = [t for t in np.flatnonzero(concept == c) if t not in test]
        want = s[test] - 0.01 * rk(x[rest][:, 2:].reshape(-1, d), x[test].reshape(-1, d), 3).reshape(-1, 4)
        have = np.array(split["scorers"]["knn"]["score"])[concept[judged] == c]
        check(np.allclose(have, want, rtol=0, atol=1e-14), f"the density of concept {c} alone")

    # Frames: a perfect prediction of the possible, a gray picture.
    truth = np.zeros((6, 4, 5, 4, 4, 3), np.uint8)
    truth[:, 2:, 3] = 255
    np.savez(folder / "frames.npz", truth=truth, prediction=np.zeros(truth.shape, np.float32))
    frames = answer(folder / "frames.npz")
    check(frames["scorers"]["plain"]["accuracy"] == 1 and
          np.allclose(frames["scorers"]["plain"]["score"], [[0, 0, 0.2, 0.2]] * 6), "frames")
    np.savez(folder / "gray.npz", truth=truth, prediction=np.full(truth.shape, 0.5))
    check(answer(folder / "gray.npz")["scorers"]["plain"]["accuracy"] == 0, "a tie is wrong")

    raw = answer(folder / "all.npz", "-k", 5, "--raw", "--scorer", "knn")
    far = rk(seen.astype(float), feature.astype(float).reshape(-1, d), 5).reshape(n, 4)
    check(np.allclose(raw["scorers"]["knn"]["score"], s - 0.01 * far, rtol=0, atol=1e-13), "--raw")
    own = answer(folder / "all.npz", "-k", 5, "--scorer", "pca,knn-log", "--gammas", "pca=0.5,knn-log=1e-3")
    check(own["scorers"]["pca"]["gamma"] == 0.5, "--gammas")
    check(np.allclose(own["scorers"]["knn-log"]["score"], s - 1e-3 * (d - 1) * np.log(r), atol=1e-13),
          "knn-log")

    answer(folder / "all.npz", "-k", 5, "--items", folder / "items.jsonl")
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    check(len(items) == n and np.allclose([i["scorers"]["knn"]["distance"] for i in items], r, atol=1e-13)
          and np.allclose([i["frame_surprise"] for i in items], surprise), "--items")

    table = run(folder / "all.npz", "-k", 5).stdout
    check("accuracy" in table and "uniformity" in table and "McNemar" in table, "the table")
    run(folder / "all.npz", "-k", 5, "--require", "accuracy=0.5")
    run(folder / "all.npz", "-k", 5, "--require", "accuracy=1.01", code=3)
    run(folder / "all.npz", "--require", "beauty", code=2)
    check("-496.046" in run("--example").stdout, "--example")
    example = answer("--example")
    check(abs(example["variance_0.001"]["log_likelihood_ratio"][0] - 3.453878) < 1e-6, "--example --json")

    # One line each.
    def wrong(words, *arguments, code=1, **change):
        np.savez(folder / "bad.npz", **{k: v for k, v in {**everything, **change}.items() if v is not None})
        complaint(words, folder / "bad.npz", *arguments, code=code)

    broken = feature.copy()
    broken[3, 1, 2] = np.nan
    wrong("feature has 1 value that is not finite, the first a NaN at (3, 1, 2)", feature=broken)
    wrong("k is 151", "-k", 151)
    wrong("a tuple has 4 clips", surprise=surprise[:, :3])
    wrong("overlaps the test set", observation=np.concatenate([seen, feature[5, 2:]]))
    wrong("dimensions", observation=seen[:, :5])
    wrong("the scorer naive needs surprise_voe", "--scorer", "naive", surprise_voe=None)
    wrong("has no array \"surprise\"", surprise=None)
    complaint("there is no scorer \"kmn\"; did you mean knn?", folder / "all.npz", "--scorer", "kmn", code=2)
    complaint("--gammas wants", folder / "all.npz", "--gammas", "knn=x", code=2)
    complaint("wants F.npz", code=2)
    complaint("", folder / "not-there.npz")
    zero = feature.copy()
    zero[0, 0] = 0
    np.savez(folder / "zero.npz", **{**everything, "feature": zero, "observation": np.concatenate([seen, seen[:2]])})
    said = run(folder / "zero.npz", "-k", 5, "--scorer", "knn").stderr.splitlines()
    check(len(said) == 2 and "1 features are zero vectors" in said[0] and "2 of 152" in said[1],
          f"zero vectors and repeats: {said}")

sys.exit(plumb.failures > 0)
