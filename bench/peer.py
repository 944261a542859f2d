# SPDX-License-Identifier: MIT
"""The peer: SyMetric by polynomial regression in Python, step by step as the published code does it.

Higgins et al., SyMetric, NeurIPS 2021. The work is that of the published code: the same scikit-learn calls
with the same settings, 22 Lasso fits an order, and a Jacobian that reads the names of the monomials. Left out:
its printing, and its limit of 400 seconds for a grid search, which makes results depend on the machine.

    peer.py FILE.npz AT.npy [--max-order K]      one measure, one line of JSON
    peer.py --golden DIR [--batches N] [CASE..]  does this peer repeat the published numbers?
"""
import argparse
import json
import os
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

ALPHAS = np.logspace(-4, -0.5, 10)
R2_BAR, SYM_BAR, SYM_CAP = 0.9, 0.05, 1000.0
SHIFT, WEIGHT_TOLERANCE, ORDER_ONE_ABOVE = 1e-6, 1e-3, 32


def lasso(**settings):
    return Lasso(max_iter=1000, tol=1e-4, random_state=0, warm_start=False, **settings)


def add_gradient(grad, monomial, x, weight):
    """grad += the gradient at x of weight times a monomial, given by its name, as in "x0 x3^2"."""
    factors = monomial.split(" ")
    parts = np.ones(len(factors)) * weight
    where = []
    for i, factor in enumerate(factors):
        variable, _, exponent = factor.partition("^")
        j, power = int(variable[1:]), int(exponent or 1)
        where.append(j)
        times = np.ones_like(parts) * x[j] ** power
        times[i] = power * x[j] ** (power - 1) if power > 1 else 1.0
        parts = parts * times
    grad[where] += parts


def jacobian(x, monomials, weights):
    weights = weights * (np.abs(weights) > WEIGHT_TOLERANCE)
    rows = []
    for w in weights:
        grad = np.zeros_like(x)
        for j, monomial in enumerate(monomials):
            add_gradient(grad, monomial, x, w[j])
        rows.append(grad)
    return np.stack(rows)


def area(J):
    """A^ A^T, with A^ = J' A J'^T."""
    J = J + SHIFT
    half = J.shape[1] // 2
    A = np.kron([[0, -1], [1, 0]], np.eye(half))
    return (J @ A @ J.T) @ (J @ A.T @ J.T)


class Clock:
    """Seconds since it was made, by the wall and by the processor."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self):
        return np.array([time.perf_counter() - self.wall, time.process_time() - self.cpu])


def measure(latent, truth, at, max_order=5):
    """latent (trajectories, steps, 2m), truth (trajectories, steps, 2n), at (trajectories, points)."""
    whole = Clock()
    spent = {"search": np.zeros(2)}
    count, steps, _ = truth.shape
    X = StandardScaler().fit_transform(latent.reshape(count * steps, -1))
    y = StandardScaler().fit_transform(truth.reshape(count * steps, -1))
    X = np.clip(np.nan_to_num(X), -999999, 999999)
    if X.shape[1] > ORDER_ONE_ABOVE:
        max_order = 1

    r2, order, path = 0.0, 0, []
    while r2 < R2_BAR and order < max_order:
        order += 1
        polynomial = PolynomialFeatures(order, include_bias=False)
        features = polynomial.fit_transform(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clock = Clock()
            search = GridSearchCV(lasso(), {"alpha": ALPHAS}, cv=2, refit=True, scoring="explained_variance")
            search.fit(features, y)
            spent["search"] += clock.read()
            fit = lasso(alpha=search.best_params_["alpha"])  # once more, as published
            fit.fit(features, y)
        r2 = fit.score(features, y)
        path.append([order, float(fit.alpha), float(r2)])

    clock = Clock()
    monomials = np.array(polynomial.get_feature_names_out())
    weights = np.atleast_2d(fit.coef_)
    scores = []
    for i in range(count):
        Q = np.stack([area(jacobian(X[i * steps + t], monomials, weights)) for t in at[i]])
        c = np.mean(np.max(np.abs(Q), axis=(1, 2)))
        if c != 0:
            Q = Q / c
        scores.append(np.mean((Q - np.eye(Q.shape[-1])) ** 2, axis=(1, 2)))
    sym = min(float(np.mean(scores)), SYM_CAP)
    spent["jacobian"], spent["seconds"] = clock.read(), whole.read()

    return {
        "r2": float(r2), "sym": sym, "symetric": float(r2 > R2_BAR and sym < SYM_BAR),
        "order": order, "alpha": float(fit.alpha), "features": len(monomials), "path": path,
        "iterations": int(np.max(fit.n_iter_)), **{key: float(wall) for key, (wall, _) in spent.items()},
        "cpu": {key: float(cpu) for key, (_, cpu) in spent.items()},
    }


def versions():
    import scipy
    import sklearn
    import threadpoolctl

    blas = [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]
    blas = max(blas, key=lambda lib: "numpy" in lib["filepath"], default={})  # SciPy brings its own
    return {"python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__, "blas_version": blas.get("version", "?"),
            "blas_kernel": blas.get("architecture", "?")}


def golden(folder, batches, wanted):
    """Against the published numbers, as far as a newer scikit-learn allows. Returns the number of misses."""
    misses = 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".npz") or (wanted and not any(name.startswith(w) for w in wanted)):
            continue
        case = np.load(os.path.join(folder, name))
        if "B_eval_idx" not in case:
            continue
        for b in range(min(batches, int(case["cfg_n_batches"]))):
            keep, rows = case["B_mask"][b].astype(bool), slice(5 * b, 5 * b + 5)
            got = measure(case["in_latent"][rows].astype(float)[..., keep], case["in_gt"][rows].astype(float),
                          case["B_eval_idx"][b])
            want = {key: case["B_" + key][b] for key in ("order", "alpha", "rsq", "sym")}
            r2, sym = abs(got["r2"] - want["rsq"]), abs(got["sym"] - want["sym"])
            ok = got["order"] == want["order"] and abs(got["alpha"] / want["alpha"] - 1) < 1e-9 and r2 <= 1e-9
            misses += not ok
            print(f"{'ok  ' if ok else 'MISS'} {name[:-4]:24} batch {b}  order {got['order']}/{want['order']}  "
                  f"alpha {got['alpha']:.3g}/{want['alpha']:.3g}  R2 off {r2:.1e}  Sym off {sym:.1e}"
                  f"{' (ill posed)' if case['cfg_sym_ill_posed'] else ''}  {got['seconds']:.2f} s", flush=True)
    return misses


def main():
    args = argparse.ArgumentParser()
    args.add_argument("file", nargs="*")
    args.add_argument("--max-order", type=int, default=5)
    args.add_argument("--golden", metavar="DIR")
    args.add_argument("--batches", type=int, default=1)
    args.add_argument("--versions", action="store_true")
    args = args.parse_args()
    if args.versions:
        print(json.dumps(versions()))
        return 0
    if args.golden:
        return 1 if golden(args.golden, args.batches, args.file) else 0

    # scikit-learn imports part of itself on first use; that belongs to the imports, not to the measure.
    clock = Clock()
    rng = np.random.RandomState(0)
    measure(rng.standard_normal((2, 8, 2)), rng.standard_normal((2, 8, 2)), np.zeros((2, 2), int), max_order=1)
    warm = clock.read()

    case, at = np.load(args.file[0]), np.load(args.file[1])
    result = measure(case["latent"], case["truth"], at, args.max_order)
    result["warm_up"], result["cpu"]["warm_up"] = map(float, warm)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
