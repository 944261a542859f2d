# SPDX-License-Identifier: MIT
"""The measures from Python: the program's numbers, NumPy's by hand, scikit-learn's where it is installed."""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
import numpy as np  # noqa: E402
import plumb  # noqa: E402

check = support.Checks()
rng = np.random.default_rng(1)


def program(command, **arrays):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npz")
        np.savez(path, **arrays)
        done = subprocess.run([os.environ["PLUMB"], *command[:1], path, *command[1:], "--json"], capture_output=True,
                              text=True)
    check(done.returncode == 0, f"{command}: {done.stderr}")
    return json.loads(done.stdout)


# kappa takes large products: where NumPy has loaded OpenBLAS first, plumb has to take it as it is, threads and all,
# and last digits differ from the program's.
OWN = ("kappa", "kappa_ci", "r2_state", "r2_latent", "r2_local", "symplectic_r2", "form", "canonical_why")


def same(a, b, near=False):
    """Bit for bit, but for seconds, and for plumb's own numbers to six digits."""
    if isinstance(a, dict):
        return all(same(a[k], b.get(k), near or k in OWN) for k in a if k != "seconds")
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, near) for x, y in zip(a, b))
    return abs(a - b) <= 1e-6 * (1 + abs(b)) if near and isinstance(a, float) and isinstance(b, float) else a == b


# ---- SyMetric: a good model and a bad one ----
t = 0.1 * np.arange(60)
radius, phase = rng.uniform(0.5, 1.5, (2, 40, 1))
q, p = radius * np.cos(t + phase), -radius * np.sin(t + phase)
truth = np.stack([q, p], -1)
good = np.stack([0.8 * q + 0.6 * p, -0.6 * q + 0.8 * p], -1)
bad = np.stack([q * np.exp(q), p], -1)
result = plumb.symetric(good, truth)
check(result.passes and result.symetric == 1 and result.r2 > 0.999 and result.sym < 1e-6, f"good {result}")
check(same(result.to_dict(), program(["measure"], latent=good, truth=truth)), "not the program's numbers")
check(not plumb.symetric(bad, truth).passes, "the bad model passes")
check(result.canonical == 1 and result.kappa > 0.99 and plumb.symetric(bad, truth).canonical == 0, "kappa of good and bad")
check("kappa" not in plumb.symetric(good, truth, kappa=False).to_dict(), "kappa=False")
own = plumb.kappa(good, truth)
check(own.kappa == result.kappa and own.canonical == 1 and "canonical" in own._repr_html_(), f"canonical {own}")
check(plumb.kappa(good, truth, angles=[False]).canonical == 1, "angles")
check.raises(ValueError, "angles has 2", plumb.kappa, good, truth, angles=[True, False])
few = plumb.symetric(good[:3], truth[:3])
check(few.canonical is None and few.canonical_why, f"three trajectories: {few.to_dict()}")
check(plumb.symetric(good, truth, resamples=0).r2_ci is None, "an interval without resamples")
one, two = plumb.symetric(bad, truth, mode="reference", threads=1), plumb.symetric(bad, truth, mode="reference", threads=2)
check(same(one.to_dict(), two.to_dict()) and one.mode == "reference", "threads change a result")
check(same(one.to_dict(), program(["measure", "--mode", "reference"], latent=bad, truth=truth)), "reference mode")
points = np.tile(np.arange(10), (40, 1))
check(plumb.symetric(bad, truth, eval_index=points, seed=1).sym == plumb.symetric(bad, truth, eval_index=points, seed=2).sym,
      "given points are not taken")

# R2 of a line is NumPy's to what the Lasso takes off it; scikit-learn's Lasso gives it exactly.
noisy = truth + 0.05 * rng.standard_normal(truth.shape)
result = plumb.symetric(noisy, truth, max_order=1)
x, y = noisy.reshape(-1, 2), truth.reshape(-1, 2)
xs, ys = (x - x.mean(0)) / x.std(0), (y - y.mean(0)) / y.std(0)
left = ys - xs @ np.linalg.lstsq(xs, ys, rcond=None)[0]
check(abs(result.r2 - (1 - (left**2).sum() / (ys**2).sum())) < 1e-3, f"R2 {result.r2} is not NumPy's")
try:
    from sklearn.linear_model import Lasso
    from sklearn.metrics import r2_score, roc_auc_score
except ImportError:
    Lasso = None
    print("scikit-learn is not here (pip install scikit-learn): its comparisons were left out")
if Lasso:
    fit = Lasso(alpha=result.alpha, tol=1e-12, max_iter=100000).fit(xs, ys)
    check(abs(result.r2 - r2_score(ys, fit.predict(xs), multioutput="variance_weighted")) < 1e-6, "R2 is not scikit-learn's")

# ---- forecast: by hand ----
frames = rng.uniform(0.2, 1, (6, 90, 8, 8, 3))
prediction = frames + np.linspace(0, 0.3, 90)[:, None, None, None] * rng.standard_normal(frames.shape)
result = plumb.forecast(frames, prediction, split=20, extrapolate=30, threshold=0.01)
error = ((frames - prediction)**2).sum((2, 3, 4)) / (frames**2).sum((2, 3, 4))
check(np.allclose(result.errors, error, rtol=1e-12), "errors are not NumPy's")
check(np.isclose(result.rec_mse, error[:, :20].mean() / 192) and np.isclose(result.ext_mse, error[:, 20:50].mean() / 192), "MSE")
vpt = [next((i for i, e in enumerate(row[20:]) if e > 0.01), 70) for row in error]
check(result.vpt_per_trajectory == vpt, f"VPT {result.vpt_per_trajectory}, by hand {vpt}")
check("errors_backward" not in dir(result) and "errors_backward" in dir(plumb.forecast(frames, prediction, prediction)), "backward")

# ---- surprise ----
s = rng.uniform(size=(60, 4)) + [0, 0, 0.4, 0.4]
feature, concept = rng.standard_normal((60, 4, 16)), np.array(["solidity", "continuity"])[np.arange(60) % 2]
result = plumb.surprise(s, feature=feature, concept=concept, k=5)
check(same(result.to_dict(), program(["surprise", "-k", "5"], surprise=s, feature=feature, concept=concept)), "not the program's")
check(result.score["knn"].shape == result.distance["knn"].shape == (result.n if "n" in dir(result) else len(result.score["knn"]), 4), "shapes")
check(sorted(c["name"] for c in result.concepts) == ["continuity", "solidity"], f"concepts {result.concepts}")
alone = plumb.surprise(s, scorer="plain")
check(list(alone.scorers) == ["plain"] and alone.scorers["plain"]["accuracy"] == np.mean(s[:, 2:].sum(1) > s[:, :2].sum(1)), "plain")
if Lasso:
    auroc = roc_auc_score(np.tile([0, 0, 1, 1], 60), s.ravel())
    check(abs(alone.scorers["plain"]["auroc"] - auroc) < 1e-12, "AUROC is not scikit-learn's")
gammas = plumb.surprise(s, feature=feature, k=5, scorer=["plain", "knn"], gammas={"knn": 0.0})
check(gammas.scorers["knn"]["accuracy"] == gammas.scorers["plain"]["accuracy"], "gamma 0 is not plain")
check(plumb.surprise_example()["surprise"] if "surprise" in plumb.surprise_example() else plumb.surprise_example(), "example")

# ---- results ----
result = plumb.symetric(good, truth)
check("SyMetric" in result._repr_html_() and result.why[:2] in repr(result), "shows itself")
for shown, figure in ((result, "phase-space"), (plumb.forecast(frames, prediction), "film"), (alone, "concepts")):
    text = shown._repr_html_()
    check(text.count("<svg") == 1 and text.rstrip().endswith("</svg>"), f"no {figure} in a notebook: {text[-200:]}")
with tempfile.TemporaryDirectory() as folder:
    page = plumb.report(os.path.join(folder, "r.html"), result, plumb.forecast(frames, prediction), name="a <model>")
    text = open(page, encoding="utf-8").read()
    check("a &lt;model&gt;" in text and "phase-space" in text and 'id=rollout' in text, "a page of results")
    plumb.report(os.path.join(folder, "f.png"), result, figure="phase-space")
    check(open(os.path.join(folder, "f.png"), "rb").read(4) == b"\x89PNG", "a figure")
    check.raises(plumb.RangeError, "phase-space", plumb.report, os.path.join(folder, "f.png"), result, figure="film")
    check.raises(plumb.FileError, "", plumb.report, page, os.path.join(folder, "nowhere"))
    check.raises(TypeError, "neither a path", plumb.report, page, 3)
check(pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict(), "a pickle")
changed = result.to_dict()
changed["r2"] = 0
check(result.r2 > 0.9, "to_dict gives away what the result stands on")
check.raises(AttributeError, "there are", lambda: result.nonsense)

# ---- failures have the library's words and a kind of their own ----
check.raises(plumb.ShapeError, "", plumb.symetric, good[:, :, :1], truth)
check.raises(ValueError, "", plumb.symetric, good[:3], truth)
check.raises(plumb.NumericError, "not finite", plumb.symetric, np.full_like(good, np.nan), truth)
check.raises(plumb.RangeError, "", plumb.symetric, good, truth, max_order=-1)
check.raises(TypeError, "did you mean resamples", plumb.symetric, good, truth, resample=3)
check.raises(ValueError, "wanted converged, reference", plumb.symetric, good, truth, mode="refrence")
check.raises(TypeError, "whole number", plumb.symetric, good, truth, seed=1.5)
check.raises(ValueError, "does not fit", plumb.symetric, good, truth, seed=-1)
check.raises(ValueError, "wanted plain", plumb.surprise, s, scorer="nearest")
check.raises(plumb.PlumbError, "", plumb.surprise)
check.raises(plumb.RangeError, "", plumb.surprise, s, feature=feature, k=5000, scorer="knn")

# Several threads at once, each with its own message.
messages = []


def fails(bad_shape):
    try:
        plumb.symetric(np.zeros(bad_shape), truth)
    except plumb.PlumbError as error:
        messages.append((bad_shape, str(error)))


threads = [threading.Thread(target=fails, args=((40, 60, 2 * k + 1),)) for k in range(8)]
[x.start() for x in threads], [x.join() for x in threads]
check(len(messages) == 8 and all(str(shape[2]) in text for shape, text in messages), f"messages {messages}")
check.end()
