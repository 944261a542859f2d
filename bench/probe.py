# SPDX-License-Identifier: MIT
"""plumb probe against the same protocol written with scikit-learn, in one run. Started by bench/probe.

Springs in latents that are a random network of their state, with noise. The protocol is that of docs/measures-probe.md: five
folds of trajectories, ten penalties chosen by leaving out one more fold, shuffled targets, smaller shares of the trajectories, a
random projection of earlier latents, kernels of three widths, bootstrap intervals. The peer fits all targets and shuffles at once,
and takes the folds that plumb took.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--plumb", default=str(Path(__file__).resolve().parent.parent / "build/release/bin/plumb"))
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--repeats", type=int, default=3, help="runs of plumb; the fastest counts")
parser.add_argument("--sizes", default="100x60x64,200x60x128", help="trajectories x steps x latents")
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

import numpy as np  # noqa: E402
from sklearn.kernel_approximation import Nystroem  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.neural_network import MLPRegressor  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

DATA = Path(__file__).resolve().parent.parent / "build" / "bench-data"
PENALTIES, KERNEL_PENALTIES, SHUFFLES = np.logspace(-8, 1, 10), np.logspace(-10, -2, 5), 5


def data(trajectories, steps, dims):
    rng = np.random.default_rng(1)
    t = 0.1 * np.arange(steps)
    radius, phase = rng.uniform(0.5, 1.5, (2, trajectories, 1)), rng.uniform(0, 6.28, (2, trajectories, 1))
    q = radius * np.cos(np.array([1, 1.7])[:, None, None] * t + phase)
    p = -radius * np.sin(np.array([1, 1.7])[:, None, None] * t + phase)
    truth = np.stack([q[0], q[1], p[0], p[1]], -1)
    hidden = np.tanh(truth @ rng.normal(size=(4, 64)) + rng.normal(size=64))
    latent = hidden @ rng.normal(size=(64, dims)) / 8 + 0.02 * rng.normal(size=(trajectories, steps, dims))
    DATA.mkdir(parents=True, exist_ok=True)
    path = DATA / f"probe-{trajectories}x{steps}x{dims}.npz"
    energy = (truth ** 2).sum(-1) / 2
    np.savez(path, latent=latent, truth=truth, energy=energy)
    return path, latent, np.concatenate([truth, energy[..., None]], -1)


def rows(array, keep):
    return array[keep].reshape(-1, array.shape[-1])


def cross_fit(make, x, y, fold, penalties, fitted=None):
    """Out-of-fold predictions and the error while choosing, (folds, columns); `make` prepares features from training rows."""
    fitted = np.ones(len(fold), bool) if fitted is None else fitted
    folds = fold.max() + 1
    out, chosen = np.empty(y.shape), np.empty((folds, y.shape[-1]))
    for tested in range(folds):
        errors = np.zeros((len(penalties), y.shape[-1]))
        for left in set(range(folds)) - {tested}:
            fit, held = (fold != tested) & (fold != left) & fitted, (fold == left) & fitted
            scale = make().fit(rows(x, fit))
            a, b = scale.transform(rows(x, fit)), scale.transform(rows(x, held))
            for k, penalty in enumerate(penalties):
                model = Ridge(alpha=penalty * len(a)).fit(a, rows(y, fit))
                errors[k] += ((model.predict(b) - rows(y, held)) ** 2).sum(0)
        fit, best = (fold != tested) & fitted, errors.argmin(0)
        chosen[tested] = errors.min(0) / rows(y, fit).shape[0]
        scale = make().fit(rows(x, fit))
        a, b = scale.transform(rows(x, fit)), scale.transform(rows(x, fold == tested))
        for k in set(best):
            columns = best == k
            p = Ridge(alpha=penalties[k] * len(a)).fit(a, rows(y, fit)[:, columns]).predict(b)
            part = np.empty((len(b), y.shape[-1]))
            part[:, columns] = p.reshape(len(b), -1)
            out[np.ix_(fold == tested, np.arange(y.shape[1]), columns)] = part[:, columns].reshape(-1, y.shape[1], columns.sum())
    return out, chosen


class Kernels:
    """Latents and Gaussian kernels, standardised."""

    def __init__(self, scale):
        self.scale = scale

    def fit(self, x):
        self.first = StandardScaler().fit(x)
        z = self.first.transform(x)
        self.kernel = Nystroem(gamma=self.scale ** 2 / (2 * x.shape[1]), n_components=256, random_state=1).fit(z)
        self.second = StandardScaler().fit(np.concatenate([z, self.kernel.transform(z)], -1))
        return self

    def transform(self, x):
        z = self.first.transform(x)
        return self.second.transform(np.concatenate([z, self.kernel.transform(z)], -1))


def r2(y, p):
    return 1 - ((y - p) ** 2).sum((0, 1)) / ((y - y.mean((0, 1))) ** 2).sum((0, 1))


def bootstrap(y, p, draws=2000):
    rng = np.random.default_rng(1)
    n, e = len(y), ((y - p) ** 2).sum(1)
    sums = np.concatenate([e, y.sum(1), (y ** 2).sum(1)], -1)
    times = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)])
    e, s, ss = np.split(times @ sums, 3, -1)
    return np.quantile(1 - e / (ss - s ** 2 / (n * y.shape[1])), [0.025, 0.975], 0)


def peer(latent, y, fold):
    """The whole protocol. Gives linear and non-linear R2."""
    rng = np.random.default_rng(1)
    n, columns = len(latent), y.shape[-1]
    shuffled = np.concatenate([y] + [y[rng.permutation(n)] for _ in range(SHUFFLES)], -1)
    linear, error = cross_fit(StandardScaler, latent, shuffled, fold, PENALTIES)
    bootstrap(y, linear[..., :columns])
    for part in (8, 4, 2):
        fitted = np.zeros(n, bool)
        for f in range(fold.max() + 1):
            members = np.flatnonzero(fold == f)
            fitted[members[:-(-len(members) // part)]] = True
        cross_fit(StandardScaler, latent, y, fold, PENALTIES, fitted)
    past = np.concatenate([np.concatenate([latent[:, :1]] * k + [latent[:, :-k]], 1) for k in range(1, 5)], -1)
    cross_fit(StandardScaler, past @ rng.choice([-1.0, 1.0], (past.shape[-1], latent.shape[-1])), y, fold, PENALTIES)
    best = linear.copy()
    for scale in (1.0, 0.5, 2.0):
        p, other = cross_fit(lambda: Kernels(scale), latent, shuffled, fold, KERNEL_PENALTIES)
        for f, c in zip(*np.nonzero(other < error)):
            best[fold == f, :, c] = p[fold == f, :, c]
        error = np.minimum(error, other)
    bootstrap(y, best[..., :columns])
    return r2(y, linear[..., :columns]), r2(y, best[..., :columns])


def run(path, *options):
    fastest = None
    for _ in range(args.repeats):
        done = subprocess.run([args.plumb, "probe", path, "--json", "--threads", str(args.threads), *options],
                              capture_output=True, text=True, check=True)
        record = json.loads(done.stdout)
        if fastest is None or record["seconds"] < fastest["seconds"]:
            fastest = record
    return fastest


def scores(record, kind):
    return np.array([one[kind]["r2"] for one in record["targets"]])


def ridge_once(latent, y, fold, penalty):
    """One ridge per fold, one penalty. Seconds, predictions."""
    start, out = time.perf_counter(), np.empty(y.shape)
    for f in range(fold.max() + 1):
        scale = StandardScaler().fit(rows(latent, fold != f))
        model = Ridge(alpha=penalty * rows(latent, fold != f).shape[0])
        model.fit(scale.transform(rows(latent, fold != f)), rows(y, fold != f))
        out[fold == f] = model.predict(scale.transform(rows(latent, fold == f))).reshape(-1, *y.shape[1:])
    return time.perf_counter() - start, out


def network(latent, y, fold):
    out = np.empty(y.shape)
    for f in range(fold.max() + 1):
        scale = StandardScaler().fit(rows(latent, fold != f))
        target = StandardScaler().fit(rows(y, fold != f))
        model = MLPRegressor(hidden_layer_sizes=(64,), early_stopping=True, max_iter=300, random_state=1)
        model.fit(scale.transform(rows(latent, fold != f)), target.transform(rows(y, fold != f)))
        p = target.inverse_transform(model.predict(scale.transform(rows(latent, fold == f))))
        out[fold == f] = p.reshape(-1, *y.shape[1:])
    return r2(y, out)


print("| latents | what | plumb, s | scikit-learn, s | times faster | largest difference of R2 |")
print("|---|---|---|---|---|---|")
failed = False
for size in args.sizes.split(","):
    path, latent, y = data(*map(int, size.split("x")))
    record = run(path)
    fold = np.array(record["fold"])
    start = time.perf_counter()
    linear, kernel = peer(latent, y, fold)
    seconds = time.perf_counter() - start
    apart = np.abs(linear - scores(record, "linear")).max()
    worse = (kernel - scores(record, "nonlinear")).max()
    print(f"| {size} | the whole protocol | {record['seconds']:.2f} | {seconds:.1f} | {seconds / record['seconds']:.1f} | "
          f"linear {apart:.1e}, non-linear: at most {worse:.4f} below |", flush=True)
    failed |= apart > 1e-8 or worse > 0.01 or seconds < 5 * record["seconds"]
    one = run(path, "--linear-only", "--no-controls", "--resamples", "0", "--penalties", "1", "--penalty-low", "1e-4")
    seconds, p = ridge_once(latent, y, fold, 1e-4)
    apart = np.abs(r2(y, p) - scores(one, "linear")).max()
    print(f"| {size} | ridge, one penalty, five folds | {one['seconds']:.3f} | {seconds:.3f} | {seconds / one['seconds']:.1f} | "
          f"{apart:.1e} |", flush=True)
    failed |= apart > 1e-8 or seconds < one["seconds"]
    start = time.perf_counter()
    worse = (network(latent, y, fold) - scores(record, "nonlinear")).max()
    seconds = time.perf_counter() - start
    print(f"| {size} | a network of 64 units, five folds | | {seconds:.1f} | | non-linear: at most {worse:.4f} below |", flush=True)
    failed |= worse > 0.01
sys.exit(int(failed))
