# SPDX-License-Identifier: MIT
"""plumb surprise against scikit-learn and PyOD, in one run, one core each. Started by bench/surprise.

Features are evenly spread over the sphere in 128 dimensions, where no tree and no bound helps. Each
program fits the observed features and scores 2,000 others; arrays are in memory, at unit length.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "bench-data"
K, TESTED = 50, 500


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def data(count):
    """The file, and the arrays as plumb has them: doubles at unit length."""
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / f"surprise-{count}.npz"
    r = np.random.default_rng(count)
    feature = r.normal(size=(TESTED, 4, 128)).astype(np.float32)
    seen = r.normal(size=(count, 128)).astype(np.float32)
    np.savez(path, surprise=np.zeros((TESTED, 4)), feature=feature, observation=seen)
    return path, unit(seen.astype(float)), unit(feature.astype(float)).reshape(-1, 128)


# ---- peers: fit on x, score q; larger is stranger ----

def sk_knn(x, q):
    from sklearn.neighbors import NearestNeighbors
    return NearestNeighbors(n_neighbors=K, algorithm="brute").fit(x).kneighbors(q)[0][:, -1]


def sk_iforest(x, q):
    from sklearn.ensemble import IsolationForest
    return -IsolationForest(random_state=1).fit(x).score_samples(q)


def sk_ocsvm(tolerance):
    def run(x, q):
        from sklearn.svm import OneClassSVM
        return -OneClassSVM(tol=tolerance).fit(x).decision_function(q)
    return run


def sk_pca(x, q):
    from sklearn.decomposition import PCA
    p = PCA(n_components=0.95, svd_solver="full").fit(x)
    return ((q - p.inverse_transform(p.transform(q))) ** 2).sum(1)


def sk_mahalanobis(x, q):
    from sklearn.covariance import EmpiricalCovariance
    return EmpiricalCovariance().fit(x).mahalanobis(q)


def pyod(module, name, **settings):
    def run(x, q):
        import importlib
        model = getattr(importlib.import_module("pyod.models." + module), name)(**settings)
        return model.fit(x).decision_function(q)
    return run


# scorer, plumb's options, peers by name: (function, how close its numbers must be, None: other numbers by design)
EXACT, LOOSE = 1e-9, 5e-3
ROWS = [
    (2000, "knn", [], {"scikit-learn": (sk_knn, EXACT), "PyOD": (pyod("knn", "KNN", n_neighbors=K), EXACT)}),
    (2000, "iforest", [], {"scikit-learn": (sk_iforest, None), "PyOD": (pyod("iforest", "IForest"), None)}),
    (2000, "ocsvm", ["--tolerance", "1e-3"], {"scikit-learn": (sk_ocsvm(1e-3), LOOSE), "PyOD": (pyod("ocsvm", "OCSVM"), None)}),
    (2000, "ocsvm", [], {"scikit-learn, tol 1e-6": (sk_ocsvm(1e-6), 1e-5)}),
    (2000, "pca", [], {"scikit-learn": (sk_pca, EXACT), "PyOD": (pyod("pca", "PCA"), None)}),
    (2000, "mahalanobis", [], {"scikit-learn": (sk_mahalanobis, EXACT)}),
    (100000, "knn", [], {"scikit-learn": (sk_knn, EXACT)}),
]


def plumb(program, path, scorer, options):
    """Seconds to fit and to score, and r."""
    done = subprocess.run([program, "surprise", path, "--scorer", scorer, "--gammas", scorer + "=1", "-k", str(K),
                           "--threads", "1", "--resamples", "0", "--json", *options],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {done.stderr}")
    answer = json.loads(done.stdout)
    return answer["scorers"][scorer]["seconds"], -np.array(answer["scorers"][scorer]["score"]).reshape(-1)


def timed(function, x, q):
    start, busy = time.perf_counter(), time.process_time()
    r = function(x, q)
    # Where another program took the core away, the CPU time is less, and counts: for the peers only.
    return min(time.perf_counter() - start, time.process_time() - busy), r


def apart(a, b, tolerance):
    """The largest difference, as a share of the largest value."""
    return np.abs(a - b).max() / np.abs(b).max() if tolerance else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=str(ROOT / "build/release/bin/plumb"))
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["observed", "scorer", "peer", "plumb_seconds", "peer_seconds", "ratio", "difference", "rank_correlation"])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    wrong, arrays = 0, {}
    for count, scorer, options, peers in ROWS:
        if count not in arrays:
            arrays = {count: data(count)}
        path, x, q = arrays[count]
        best = {name: float("inf") for name in ["plumb", *peers]}
        r = {}
        for _ in range(given.repeats):
            seconds, r["plumb"] = plumb(given.plumb, path, scorer, options)
            best["plumb"] = min(best["plumb"], seconds)
            for name, (function, _) in peers.items():
                seconds, r[name] = timed(function, x, q)
                best[name] = min(best[name], seconds)
        for name, (_, tolerance) in peers.items():
            far = apart(r["plumb"], r[name], tolerance)
            rank = np.corrcoef(r["plumb"].argsort().argsort(), r[name].argsort().argsort())[0, 1]
            out.writerow([count, scorer, name, f"{best['plumb']:.4f}", f"{best[name]:.4f}",
                          f"{best[name] / best['plumb']:.2f}", f"{far:.2g}", f"{rank:.4f}"])
            sys.stdout.flush()
            if tolerance and not far <= tolerance:
                wrong += 1
                print(f"bench: {scorer} of plumb and {name} differ by {far:g}", file=sys.stderr)
    sys.exit(wrong > 0)


main()
