# SPDX-License-Identifier: MIT
"""The problems the SyMetric benchmark runs on: true states, latents, and where to take the Jacobian.

Everything is a function of the row alone. Values are rounded to binary32 and kept as doubles, so that a last
bit of another libm does not make another problem; RandomState is NumPy's frozen generator.
"""
import sys

import numpy as np

STEPS, POINTS = 60, 10


def mass_spring(rng, count):
    """m 0.5, k 2: a circle of radius 0.1..1 in phase space, angular speed 2."""
    radius, phase = rng.uniform(0.1, 1, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    angle = 2 * 0.05 * np.arange(STEPS) + phase
    return np.stack([radius * np.cos(angle), -radius * np.sin(angle)], -1)


def rk4(f, s, dt, inner):
    """(count, STEPS, dims): the states dt apart, `inner` steps of Runge-Kutta between two of them."""
    out, h = [s], dt / inner
    for _ in range(STEPS - 1):
        for _ in range(inner):
            a = f(s)
            b = f(s + h / 2 * a)
            c = f(s + h / 2 * b)
            d = f(s + h * c)
            s = s + h / 6 * (a + 2 * b + 2 * c + d)
        out.append(s)
    return np.stack(out, 1)


def pendulum(rng, count):
    """m 0.5, l 1, g 3, started on a circle of radius 1.3..2.3: some swing, some go round."""
    radius, angle = rng.uniform(1.3, 2.3, count), rng.uniform(0, 2 * np.pi, count)
    start = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    return rk4(lambda s: np.stack([s[:, 1] / 0.5, -0.5 * 3 * np.sin(s[:, 0])], -1), start, 0.05, 20)


def two_body(rng, count):
    """Unit masses, G 1, in a plane; nearly circular orbits about a centre of mass that drifts."""
    centre, drift = rng.uniform(-0.6, 0.6, (count, 2)), rng.uniform(-0.45, 0.45, (count, 2))
    apart, angle = rng.uniform(1, 1.6, count), rng.uniform(0, 2 * np.pi, count)
    speed = np.sqrt(2 / apart) * rng.uniform(0.9, 1.1, count)  # of one body seen from the other
    half_q = (apart / 2 * np.stack([np.cos(angle), np.sin(angle)])).T
    half_v = (speed / 2 * np.stack([-np.sin(angle), np.cos(angle)])).T

    def f(s):
        d = s[:, 0:2] - s[:, 2:4]
        pull = d / np.sum(d * d, 1, keepdims=True) ** 1.5
        return np.concatenate([s[:, 4:], -pull, pull], 1)

    start = np.concatenate([centre + half_q, centre - half_q, drift + half_v, drift - half_v], 1)
    return rk4(f, start, 0.1, 20)


def padded(rng, q, p, latents):
    """(q, p) and pairs of white noise, q first then p."""
    pairs = latents // 2 - q.shape[-1]
    noise = rng.standard_normal(q.shape[:2] + (2 * pairs,))
    return np.concatenate([q, noise[..., :pairs], p, noise[..., pairs:]], -1)


def linear(rng, count, latents):
    """Two bodies; latent = a Gaussian matrix times the state."""
    truth = two_body(rng, count)
    return truth @ rng.standard_normal((8, latents)), truth


def identity(rng, count, latents):
    """Two bodies; latent = the state, padded."""
    truth = two_body(rng, count)
    return padded(rng, truth[..., :4], truth[..., 4:], latents), truth


def shear(rng, count, latents, world, factor, power):
    """Latent = (q, p + factor q^power), padded: exactly canonical, and undone by a polynomial of that order."""
    truth = world(rng, count)
    q, p = truth[..., :1], truth[..., 1:]
    return padded(rng, q, p + factor * q**power, latents), truth


def noisy(rng, count, latents):
    """Latent = the state and as much noise again, padded: no order is ever enough, so all of them are tried."""
    truth = mass_spring(rng, count)
    seen = truth + 0.4 * rng.standard_normal(truth.shape)
    return padded(rng, seen[..., :1], seen[..., 1:], latents), truth


def make(kind, latents, count, seed):
    rng = np.random.RandomState(seed)
    if kind == "linear":
        latent, truth = linear(rng, count, latents)
    elif kind == "identity":
        latent, truth = identity(rng, count, latents)
    elif kind == "pendulum-cubic":
        latent, truth = shear(rng, count, latents, pendulum, 0.8, 3)
    elif kind == "quadratic":
        latent, truth = shear(rng, count, latents, mass_spring, 3, 2)
    elif kind == "cubic":
        latent, truth = shear(rng, count, latents, mass_spring, 6, 3)
    elif kind == "noisy":
        latent, truth = noisy(rng, count, latents)
    else:
        raise SystemExit(f"problems: no kind called {kind}")
    at = np.stack([rng.permutation(STEPS)[:POINTS] for _ in range(count)]).astype(np.int64)
    exact = lambda x: np.ascontiguousarray(x.astype(np.float32).astype(np.float64))
    return exact(latent), exact(truth), at


if __name__ == "__main__":
    # problems.py KIND LATENTS TRAJECTORIES SEED OUT: writes OUT.npz (latent, truth) and OUT.at.npy
    kind, out = sys.argv[1], sys.argv[5]
    latent, truth, at = make(kind, *map(int, sys.argv[2:5]))
    np.savez(out + ".npz", latent=latent, truth=truth)
    np.save(out + ".at.npy", at)
