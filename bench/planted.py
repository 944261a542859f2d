# SPDX-License-Identifier: MIT
"""Planted models: latents made from true trajectories by a map that is known, with the Jacobian of that map carried
along step by step, so that the true kappa is exact.

A map takes a Point (values and their Jacobian with respect to the true coordinates) to another. A case is a list of
maps with what is expected of it: 1 a right model, 0 a wrong one.
"""
import numpy as np


class Point:
    """value (N, D) and jacobian (N, D, d): what the latents are, and how they depend on the truth."""

    def __init__(self, value, jacobian):
        self.value, self.jacobian = value, jacobian

    @property
    def half(self):
        return self.value.shape[1] // 2

    def linear(self, matrix):
        return Point(self.value @ matrix.T, np.einsum("ab,nbd->nad", matrix, self.jacobian))


def form(n):
    a = np.zeros((2 * n, 2 * n))
    a[:n, n:], a[n:, :n] = np.eye(n), -np.eye(n)
    return a


def balanced(truth):
    """Each pair q -> a q, p -> p / a, so that both spread alike; the factors, and the truth in them (rows)."""
    rows = truth.reshape(-1, truth.shape[-1]).astype(float)
    n = rows.shape[1] // 2
    sd = rows.std(0)
    a = np.sqrt(sd[n:] / sd[:n])
    return rows * np.concatenate([a, 1 / a])


def span(rows):
    """An orthonormal basis (columns) of the directions the rows fill and in which the true form does not vanish."""
    sd = rows.std(0)
    z = (rows - rows.mean(0)) / np.where(sd > 0, sd, 1)
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    if values[0] > 1e-8 * values[-1]: return np.eye(len(sd))
    basis, _ = np.linalg.qr(sd[:, None] * vectors[:, values > 1e-8 * values[-1]])
    area = basis.T @ form(len(sd) // 2) @ basis
    values, vectors = np.linalg.eigh(area.T @ area)
    return basis @ vectors[:, values > 1e-8]


def kappa(jacobian, rows):
    """Of a Jacobian (N, 2m, 2n) with respect to balanced truth, rows (N, 2n), on what the data span."""
    m, basis = jacobian.shape[1] // 2, span(rows)
    area = basis.T @ form(rows.shape[1] // 2) @ basis
    omega = np.stack([b.T @ form(m) @ b for b in jacobian @ basis])
    square = (omega**2).sum((1, 2)).mean()
    along = (omega * area).sum((1, 2)).mean()
    return 0.0 if square < 1e-18 else along**2 / ((area**2).sum() * square)


# --- canonical maps -------------------------------------------------------------------------------


def random_symplectic(rng, n, squeeze=0.3):
    """Rotations of phase space that keep the form, with squeezes between them."""
    def turn():
        u, _ = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
        return np.block([[u.real, -u.imag], [u.imag, u.real]])

    z = np.exp(squeeze * rng.normal(size=n))
    return turn() @ np.diag(np.concatenate([z, 1 / z])) @ turn()


def linear(rng, point, squeeze=0.3):
    return point.linear(random_symplectic(rng, point.half, squeeze))


def shear(rng, point, strength, kind="tanh", of_momentum=False, terms=4):
    """p += dV/dq (or q += dV/dp), V a sum of ridge functions: canonical whatever V is."""
    n = point.half
    source, target = (slice(n, None), slice(n)) if of_momentum else (slice(n), slice(n, None))
    w = rng.normal(size=(terms, n))
    w *= 1.2 / np.linalg.norm(w, axis=1, keepdims=True)  # so that strength is what it says, whatever n
    b = rng.normal(size=terms)
    a = strength * rng.normal(size=terms) * np.sqrt(4 / terms)
    z = point.value[:, source] @ w.T + b
    first, second = {
        "tanh": lambda: (np.tanh(z), 1 - np.tanh(z)**2),
        "sine": lambda: (np.sin(1.5 * z) / 1.5, np.cos(1.5 * z)),
        "cubic": lambda: (0.3 * z**2, 0.6 * z),
        "bump": lambda: (-z * np.exp(-z * z / 2), (z * z - 1) * np.exp(-z * z / 2)),
    }[kind]()
    value, jacobian = point.value.copy(), point.jacobian.copy()
    value[:, target] += (a * first) @ w
    hessian = np.einsum("nk,ka,kb->nab", a * second, w, w)
    jacobian[:, target] += np.einsum("nab,nbd->nad", hessian, point.jacobian[:, source])
    return Point(value, jacobian)


def shears(rng, point, strength, count=4, **how):
    for i in range(count):
        point = shear(rng, point, strength, of_momentum=bool(i % 2), **how)
    return point


def lift(rng, point, strength):
    """A point transformation: each q -> f(q), p -> p / f'(q), after a turn that mixes the pairs."""
    n = point.half
    q, p = point.value[:, :n], point.value[:, n:]
    b = rng.normal(size=n)
    t = np.tanh(q + b)
    slope, bend = 1 + strength * (1 - t**2), -2 * strength * t * (1 - t**2)
    value = np.concatenate([q + strength * t, p / slope], 1)
    dq, dp = point.jacobian[:, :n], point.jacobian[:, n:]
    jacobian = np.concatenate([slope[..., None] * dq,
                               dp / slope[..., None] - (p * bend / slope**2)[..., None] * dq], 1)
    return Point(value, jacobian)


def turning(rng, point, strength):
    """The flow of a function of each pair's radius: turns by an angle that depends on the radius."""
    n = point.half
    q, p = point.value[:, :n], point.value[:, n:]
    radius2 = q * q + p * p
    angle = strength / (1 + radius2)
    fall = -2 * strength / (1 + radius2)**2  # d angle / d q = fall q
    c, s = np.cos(angle), np.sin(angle)
    dq, dp = point.jacobian[:, :n], point.jacobian[:, n:]
    da = fall[..., None] * (q[..., None] * dq + p[..., None] * dp)
    new_q, new_p = c * q - s * p, s * q + c * p
    return Point(np.concatenate([new_q, new_p], 1),
                 np.concatenate([c[..., None] * dq - s[..., None] * dp - new_p[..., None] * da,
                                 s[..., None] * dq + c[..., None] * dp + new_q[..., None] * da], 1))


def pad(rng, point, pairs, mix=True, dull=False):
    """More pairs that hold nothing, or (dull) a function of the state and a function of that one: no area."""
    n, m = point.half, point.half + pairs
    rows, d = len(point.value), point.jacobian.shape[2]
    value, jacobian = np.zeros((rows, 2 * m)), np.zeros((rows, 2 * m, d))
    for old, new in ((slice(n), slice(n)), (slice(n, None), slice(m, m + n))):
        value[:, new], jacobian[:, new] = point.value[:, old], point.jacobian[:, old]
    if dull:
        for i in range(pairs):
            w = rng.normal(size=2 * n) / np.sqrt(2 * n)
            g = np.tanh(point.value @ w)
            dg = ((1 - g**2)[:, None] * w)[:, :, None] * point.jacobian
            value[:, n + i], value[:, m + n + i] = g, g**2
            jacobian[:, n + i] = dg.sum(1)
            jacobian[:, m + n + i] = 2 * g[:, None] * dg.sum(1)
    padded = Point(value, jacobian)
    return linear(rng, padded, 0.2) if mix else padded


# --- maps that are not ----------------------------------------------------------------------------


def columns(point, scale):
    return point.linear(np.diag(scale))


def stretch(rng, point, factor=3.0):
    """One pair against the others."""
    scale = np.ones(2 * point.half)
    scale[[0, point.half]] = factor
    return columns(point, scale)


def mirror(rng, point):
    """One pair the wrong way round."""
    scale = np.ones(2 * point.half)
    scale[point.half] = -1
    return columns(point, scale)


def exchange(rng, point):
    """Each momentum beside the position of another."""
    n = point.half
    return point.linear(np.eye(2 * n)[[*range(n), *(n + (i + 1) % n for i in range(n))]])


def curl(rng, point, strength=1.0):
    """p += R q with R antisymmetric: the gradient of nothing."""
    n = point.half
    r = rng.normal(size=(n, n))
    matrix = np.eye(2 * n)
    r = (r - r.T) / np.linalg.norm(r - r.T) * np.sqrt(2 * n)
    matrix[n:, :n] = strength * r
    return point.linear(matrix)


def sqrt_bend(rng, point, strength=2.0):
    """q -> q + strength q^3, momenta as they were: area grows with |q|."""
    n = point.half
    q = point.value[:, :n]
    value, jacobian = point.value.copy(), point.jacobian.copy()
    value[:, :n] = q + strength * q**3 / 3
    jacobian[:, :n] *= (1 + strength * q**2)[..., None]
    return Point(value, jacobian)


def lean(rng, point, strength=0.85):
    """p -> p (1 + strength tanh 2q): area differs from place to place."""
    n = point.half
    q, p = point.value[:, :n], point.value[:, n:]
    t = np.tanh(2 * q)
    value, jacobian = point.value.copy(), point.jacobian.copy()
    value[:, n:] = p * (1 + strength * t)
    jacobian[:, n:] = (1 + strength * t)[..., None] * point.jacobian[:, n:] + (
        2 * strength * p * (1 - t**2))[..., None] * point.jacobian[:, :n]
    return Point(value, jacobian)


def radial(rng, point, strength=1.0):
    """s -> s (1 + strength |s|^2)"""
    x = point.value
    r = 1 + strength * (x**2).mean(1, keepdims=True)
    dr = 2 * strength * np.einsum("na,nad->nd", x, point.jacobian) / x.shape[1]
    return Point(x * r, point.jacobian * r[..., None] + x[..., None] * dr[:, None])


def network(rng, point, pairs=None, width=32, gain=1.0):
    """A random network with one hidden layer."""
    d, out = point.value.shape[1], 2 * (pairs or point.half)
    w = gain * rng.normal(size=(width, d)) / np.sqrt(d)
    v = rng.normal(size=(out, width)) / np.sqrt(width)
    h = np.tanh(point.value @ w.T + rng.normal(size=width))
    slope = np.einsum("ok,nk,kd->nod", v, 1 - h**2, w)
    return Point(h @ v.T, np.einsum("nod,nde->noe", slope, point.jacobian))


def random_linear(rng, point):
    d = point.value.shape[1]
    return point.linear(rng.normal(size=(d, d)) / np.sqrt(d))


def dead_momentum(rng, point):
    """The momenta hold another function of the positions."""
    n = point.half
    value, jacobian = point.value.copy(), point.jacobian.copy()
    value[:, n:] = np.tanh(value[:, :n])
    jacobian[:, n:] = (1 - value[:, n:]**2)[..., None] * jacobian[:, :n]
    return Point(value, jacobian)
