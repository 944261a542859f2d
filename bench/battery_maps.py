# SPDX-License-Identifier: MIT
"""Maps of the battery of kappa, from true states (rows, 2n) to latents (rows, 2m).

Each takes complex states, so that jacobian() is exact. `expected` is 1 for a right model, 0 for a wrong one; a map may
decide it by the true kappa (None).
"""
import numpy as np

import battery_systems as systems


def form(n):
    a = np.zeros((2 * n, 2 * n))
    a[:n, n:], a[n:, :n] = np.eye(n), -np.eye(n)
    return a


def jacobian(f, x):
    """(rows, 2m, 2n) by a complex step"""
    out = []
    for i in range(x.shape[1]):
        z = x.astype(complex)
        z[:, i] += 1e-30j
        out.append(f(z).imag / 1e-30)
    return np.stack(out, 2)


def angle_of(y, x):
    """atan2 that also takes complex values"""
    angle = -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return angle if np.iscomplexobj(x) else angle.real


def halves(x):
    n = x.shape[1] // 2
    return x[:, :n], x[:, n:]


def chain(*maps):
    def f(x):
        for m in maps: x = m(x)
        return x
    return f


# --- right maps -----------------------------------------------------------------------------------

def linear(rng, n, squeeze=0.3):
    def turn():
        u, _ = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
        return np.block([[u.real, -u.imag], [u.imag, u.real]])
    z = np.exp(squeeze * rng.normal(size=n))
    matrix = turn() @ np.diag(np.concatenate([z, 1 / z])) @ turn()
    return lambda x: x @ matrix.T


def shear(rng, n, strength, kind, of_momenta):
    terms = 4
    w = rng.normal(size=(terms, n))
    w *= 1.2 / np.linalg.norm(w, axis=1, keepdims=True)
    b, a = rng.normal(size=terms), strength * rng.normal(size=terms)
    slope = {"tanh": np.tanh, "sine": lambda z: np.sin(1.5 * z) / 1.5, "bump": lambda z: -z * np.exp(-z * z / 2)}[kind]

    def f(x):
        q, p = halves(x)
        if of_momenta: return np.concatenate([q + (a * slope(p @ w.T + b)) @ w, p], 1)
        return np.concatenate([q, p + (a * slope(q @ w.T + b)) @ w], 1)
    return f


def shears(rng, n, strength, count=4, kind="tanh"):
    return chain(*[shear(rng, n, strength, kind, bool(i % 2)) for i in range(count)])


def hamiltonian_flow(rng, n, strength):
    """Time one of a random Hamiltonian, by small shears of always the same potentials."""
    steps = 8
    a, b = shear(rng, n, strength / steps, "sine", False), shear(rng, n, strength / steps, "sine", True)
    return chain(*([a, b] * steps))


def lift(rng, n, strength):
    """q -> f(q), p -> p / f'(q), after a turn"""
    b = rng.normal(size=n)

    def f(x):
        q, p = halves(x)
        t = np.tanh(q + b)
        return np.concatenate([q + strength * t, p / (1 + strength * (1 - t * t))], 1)
    return chain(linear(rng, n, 0.1), f)


def twist(rng, n, strength):
    """Turns each pair by an angle that depends on its radius."""
    def f(x):
        q, p = halves(x)
        a = strength / (1 + q * q + p * p)
        return np.concatenate([np.cos(a) * q - np.sin(a) * p, np.sin(a) * q + np.cos(a) * p], 1)
    return f


def pad(rng, n, more):
    """More pairs that hold nothing, mixed in by a linear symplectic map."""
    mix = linear(rng, n + more, 0.2)

    def f(x):
        q, p = halves(x)
        zero = np.zeros((len(x), more))
        return mix(np.concatenate([q, zero, p, zero], 1))
    return f


def embed(rng, n, more):
    """More pairs, each a function of the state and a function of that: together without area."""
    w = rng.normal(size=(more, 2 * n)) / np.sqrt(2 * n)
    mix = linear(rng, n + more, 0.2)

    def f(x):
        q, p = halves(x)
        g = np.tanh(x @ w.T)
        return mix(np.concatenate([q, g, p, g * g], 1))
    return f


def scaled(factor):
    return lambda x: factor * x


def exchange_qp(x):
    q, p = halves(x)
    return np.concatenate([-p, q], 1)


# --- wrong maps -----------------------------------------------------------------------------------

def columns(scale):
    return lambda x: x * np.asarray(scale)


def stretch(rng, n):
    scale = np.ones(2 * n)
    scale[[0, n]] = rng.choice([2.5, 3.5])
    return columns(scale)


def mirror(rng, n):
    scale = np.ones(2 * n)
    scale[n] = -1
    return columns(scale)


def exchange_momenta(rng, n):
    order = [*range(n), *(n + (i + 1) % n for i in range(n))]
    return lambda x: x[:, order]


def curl(rng, n, strength=1.2):
    r = rng.normal(size=(n, n))
    r = (r - r.T) / np.linalg.norm(r - r.T) * np.sqrt(2 * n)

    def f(x):
        q, p = halves(x)
        return np.concatenate([q, p + strength * q @ r.T], 1)
    return f


def cubic(rng, n, strength=2.0):
    def f(x):
        q, p = halves(x)
        return np.concatenate([q + strength * q**3 / 3, p], 1)
    return f


def lean(rng, n, strength=0.85):
    def f(x):
        q, p = halves(x)
        return np.concatenate([q, p * (1 + strength * np.tanh(2 * q))], 1)
    return f


def radial(rng, n, strength=1.5):
    return lambda x: x * (1 + strength * (x * x).mean(1, keepdims=True))


def network(rng, n, pairs, gain=1.2, width=32):
    w, b = gain * rng.normal(size=(width, 2 * n)) / np.sqrt(2 * n), rng.normal(size=width)
    v = rng.normal(size=(2 * pairs, width)) / np.sqrt(width)
    return lambda x: np.tanh(x @ w.T + b) @ v.T


def dead_momenta(rng, n):
    def f(x):
        q, _ = halves(x)
        return np.concatenate([q, np.tanh(q)], 1)
    return f


def cover(rng, n, turns=2):
    """(r, angle) of the first pair -> (r / sqrt k, k angle): keeps areas, many to one."""
    def f(x):
        q, p = halves(x)
        u, v = q[:, 0], p[:, 0]
        r, a = np.sqrt(u * u + v * v), angle_of(v, u) * turns
        q, p = q + 0, p + 0
        q[:, 0], p[:, 0] = r * np.cos(a) / np.sqrt(turns), r * np.sin(a) / np.sqrt(turns)
        return np.concatenate([q, p], 1)
    return f


def ripple(rng, n, waves, amplitude):
    """A short wave in each position; `waves` per deviation times 2 pi"""
    phase = rng.uniform(0, 2 * np.pi, n)

    def f(x):
        q, p = halves(x)
        return np.concatenate([q + amplitude * np.sin(waves * q + phase), p], 1)
    return f


# --- maps of the system's own motion --------------------------------------------------------------

def lag(name, steps):
    """The state some steps earlier: canonical, because the flow is."""
    return lambda x: systems.flow(name, x, -steps)


def delays(name, steps):
    """Positions now and some steps earlier, in the place of momenta."""
    def f(x):
        return np.concatenate([halves(x)[0], halves(systems.flow(name, x, -steps))[0]], 1)
    return f


def velocities(name):
    """Positions and their rates of change."""
    def f(x):
        return np.concatenate([halves(x)[0], halves(systems.SYSTEMS[name][0](x))[0]], 1)
    return f


def reservoir(rng, name, n, pairs):
    """A random recurrent network that has seen the last states."""
    seen, d = 8, 2 * pairs
    w = rng.normal(size=(d, d))
    w *= 0.7 / np.abs(np.linalg.eigvals(w)).max()
    v, b = rng.normal(size=(d, 2 * n)) / np.sqrt(2 * n), 0.3 * rng.normal(size=d)

    def f(x):
        states = [x]
        for _ in range(seen): states.append(systems.flow(name, states[-1], -1))
        h = np.zeros((len(x), d), x.dtype)
        for s in states[::-1]: h = np.tanh(h @ w.T + s @ v.T + b)
        return h
    return f
