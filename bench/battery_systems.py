# SPDX-License-Identifier: MIT
"""Hamiltonian systems of the battery of kappa: vector fields, initial states and trajectories.

A system has n pairs of canonical coordinates, q first. Its vector field is written so that it also takes complex states:
then the Jacobian of its flow, and of any map of its states, follows from a complex step, exact to rounding.
"""
import numpy as np


def pairs(x):
    n = x.shape[1] // 2
    return x[:, :n], x[:, n:]


def join(*columns):
    return np.stack(columns, 1)


def separable(force, inverse_mass=None):
    """dq/dt = p / m, dp/dt = force(q)"""
    def field(x):
        q, p = pairs(x)
        return np.concatenate([p if inverse_mass is None else p * inverse_mass, force(q)], 1)
    return field


def box(low, high):
    """Initial states, uniform in a box."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    return lambda rng, count: rng.uniform(low, high, (count, len(low)))


def symmetric_box(*half):
    return box([-h for h in half], half)


def annulus(inner, outer):
    """One pair, uniform in radius and angle."""
    def draw(rng, count):
        r, a = rng.uniform(inner, outer, count), rng.uniform(0, 2 * np.pi, count)
        return join(r * np.cos(a), r * np.sin(a))
    return draw


# --- one pair -------------------------------------------------------------------------------------

def pendulum(x):
    return join(x[:, 1], -np.sin(x[:, 0]))


def morse(x):
    e = np.exp(-x[:, 0])
    return join(x[:, 1], -2 * (1 - e) * e)


def lotka_volterra(x):
    """log populations: H = e^q - q + e^p - p"""
    return join(np.exp(x[:, 1]) - 1, 1 - np.exp(x[:, 0]))


def spin(x):
    """(angle, z) of a spin of length 1 in a field along z and x: H = z + z^2 / 2 + 0.2 sqrt(1 - z^2) cos(angle)"""
    angle, z = x[:, 0], x[:, 1]
    s = np.sqrt(1 - z * z)
    return join(1 + z - 0.2 * z / s * np.cos(angle), 0.2 * s * np.sin(angle))


# --- two pairs ------------------------------------------------------------------------------------

def henon_heiles(q):
    x, y = q[:, 0], q[:, 1]
    return join(-x - 2 * x * y, -y - x * x + y * y)


def quartic_pair(q):
    x, y = q[:, 0], q[:, 1]
    return join(-x - 0.4 * x * y * y, -1.5 * y - 0.4 * x * x * y)


def kepler(q):
    r3 = (q[:, 0]**2 + q[:, 1]**2)**1.5
    return join(-q[:, 0] / r3, -q[:, 1] / r3)


def draw_kepler(rng, count):
    """Orbits with eccentricity up to 0.5 and any orientation."""
    a, e, turn = rng.uniform(0.8, 1.3, count), rng.uniform(0, 0.5, count), rng.uniform(0, 2 * np.pi, count)
    r, speed = a * (1 - e), np.sqrt((1 + e) / (a * (1 - e)))
    c, s = np.cos(turn), np.sin(turn)
    state = join(r * c, r * s, -speed * s, speed * c)
    steps = rng.integers(0, 60, count)
    field = separable(kepler)
    for k in range(60):
        moved = step(field, state, 0.1, 4)
        state = np.where((k < steps)[:, None], moved, state)
    return state


def kepler_polar(x):
    r, p, l = x[:, 0], x[:, 2], x[:, 3]
    return join(p, l / r**2, l * l / r**3 - 1 / r**2, 0 * l)


def magnetic(x):
    """A charge in a constant field of strength 1.2 and a weak quartic well, canonical momenta."""
    b = 0.6
    q1, q2, p1, p2 = x.T
    v1, v2 = p1 + b * q2, p2 - b * q1
    r2 = q1 * q1 + q2 * q2
    return join(v1, v2, b * v2 - 0.2 * r2 * q1, -b * v1 - 0.2 * r2 * q2)


def spin_pair(x):
    """Two spins that are coupled: H = z1 - z2 + 0.4 (z1 z2 + s1 s2 cos(a1 - a2))"""
    a1, a2, z1, z2 = x.T
    s1, s2 = np.sqrt(1 - z1 * z1), np.sqrt(1 - z2 * z2)
    c, s = np.cos(a1 - a2), np.sin(a1 - a2)
    return join(1 + 0.4 * (z2 - z1 / s1 * s2 * c), -1 + 0.4 * (z1 - z2 / s2 * s1 * c),
                0.4 * s1 * s2 * s, -0.4 * s1 * s2 * s)


def elastic_pendulum(q):
    x, y = q[:, 0], q[:, 1] - 1
    r = np.sqrt(x * x + y * y)
    return join(-6 * (r - 0.8) * x / r, -6 * (r - 0.8) * y / r - 1)


def double_pendulum(x):
    a, b, p, q = x.T
    c, s = np.cos(a - b), np.sin(a - b)
    d = 1 + s * s
    va, vb = (p - q * c) / d, (2 * q - p * c) / d
    h = (p * p + 2 * q * q - 2 * p * q * c) / (2 * d)
    slope = (p * q * s - 2 * h * s * c) / d  # dH/d(a - b) without the weights
    return join(va, vb, -slope - 2 * np.sin(a), slope - np.sin(b))


def vortices(x):
    """Point vortices of equal strength in the plane; q are the x, p the y coordinates."""
    q, p = pairs(x)
    out_q, out_p = 0 * q, 0 * p
    for i in range(q.shape[1]):
        for j in range(q.shape[1]):
            if i == j: continue
            u, v = q[:, i] - q[:, j], p[:, i] - p[:, j]
            r2 = u * u + v * v
            out_q[:, i] -= v / r2
            out_p[:, i] += u / r2
    return np.concatenate([out_q, out_p], 1)


def draw_vortices(count_of):
    def draw(rng, count):
        angle = 2 * np.pi * np.arange(count_of) / count_of + rng.uniform(-0.35, 0.35, (count, count_of))
        r = rng.uniform(0.8, 1.4, (count, count_of))
        centre = rng.uniform(-0.4, 0.4, (count, 2))
        return np.concatenate([r * np.cos(angle) + centre[:, :1], r * np.sin(angle) + centre[:, 1:]], 1)
    return draw


# --- three pairs and more -------------------------------------------------------------------------

def penning(x):
    """A trap: magnetic field along z, quadrupole that holds z and pushes x, y outwards."""
    b, w = 1.0, 0.4
    q1, q2, q3, p1, p2, p3 = x.T
    v1, v2 = p1 + b * q2, p2 - b * q1
    return join(v1, v2, p3, b * v2 + 0.5 * w * q1, -b * v1 + 0.5 * w * q2, -w * q3)


def toda(q):
    ahead, behind = np.exp(q - np.roll(q, -1, 1)), np.exp(np.roll(q, 1, 1) - q)
    return behind - ahead


def fput(q):
    padded = np.concatenate([0 * q[:, :1], q, 0 * q[:, :1]], 1)
    d = padded[:, 1:] - padded[:, :-1]
    f = d + 0.25 * d * d + 0.1 * d**3
    return f[:, 1:] - f[:, :-1]


def three_bodies(q):
    """Equal masses in the plane, softened."""
    out = 0 * q
    for i in range(3):
        for j in range(3):
            if i == j: continue
            u, v = q[:, 2 * j] - q[:, 2 * i], q[:, 2 * j + 1] - q[:, 2 * i + 1]
            r3 = (u * u + v * v + 0.1)**1.5
            out[:, 2 * i] += u / r3
            out[:, 2 * i + 1] += v / r3
    return out


def draw_three_bodies(rng, count):
    angle = 2 * np.pi * np.arange(3) / 3 + rng.uniform(-0.2, 0.2, (count, 3)) + rng.uniform(0, 2 * np.pi, (count, 1))
    r = rng.uniform(0.9, 1.2, (count, 3))
    speed = rng.uniform(0.55, 0.75, (count, 3))
    q = np.stack([r * np.cos(angle), r * np.sin(angle)], 2)
    p = np.stack([-speed * np.sin(angle), speed * np.cos(angle)], 2)
    q -= q.mean(1, keepdims=True)
    p -= p.mean(1, keepdims=True)
    return np.concatenate([q.reshape(count, 6), p.reshape(count, 6)], 1)


def yukawa(q):
    r = np.sqrt(q[:, 0]**2 + q[:, 1]**2)
    f = np.exp(-r / 2) * (1 + r / 2) / r**3
    return -2 * q * f[:, None]


def log_well(q):
    weight = np.array([1.0, 1.3])
    return -q * weight / (0.2 + (q * q * weight).sum(1, keepdims=True))


# name: (field, initial states, time step)
SYSTEMS = {
    "oscillator": (separable(lambda q: -q), annulus(0.4, 1.5), 0.12),
    "duffing": (separable(lambda q: -q - q**3), annulus(0.3, 1.4), 0.1),
    "double-well": (separable(lambda q: q - q**3), box([-1.6, -0.8], [1.6, 0.8]), 0.12),
    "pendulum": (pendulum, symmetric_box(1.6, 1.0), 0.15),
    "rotor": (pendulum, box([-3, 2.2], [3, 3.5]), 0.1),
    "morse": (morse, box([-0.4, -0.7], [0.9, 0.7]), 0.12),
    "lotka-volterra": (lotka_volterra, symmetric_box(1.0, 1.0), 0.12),
    "spin": (spin, box([-3, -0.5], [3, 0.3]), 0.1),
    "two-oscillators": (separable(lambda q: -q * np.array([1.0, 2.1])), symmetric_box(1, 1, 1, 1.4), 0.12),
    "henon-heiles": (separable(henon_heiles), symmetric_box(0.3, 0.3, 0.25, 0.25), 0.15),
    "quartic-pair": (separable(quartic_pair), symmetric_box(1, 1, 1, 1), 0.12),
    "kepler": (separable(kepler), draw_kepler, 0.1),
    "kepler-polar": (kepler_polar, box([0.85, -3, -0.2, 0.9], [1.3, 3, 0.2, 1.1]), 0.1),
    "magnetic": (magnetic, symmetric_box(1, 1, 0.8, 0.8), 0.12),
    "spin-pair": (spin_pair, box([-3, -3, -0.6, -0.6], [3, 3, 0.6, 0.6]), 0.1),
    "elastic-pendulum": (separable(elastic_pendulum), box([-0.5, -0.1, -0.4, -0.4], [0.5, 0.2, 0.4, 0.4]), 0.1),
    "double-pendulum": (double_pendulum, symmetric_box(0.8, 0.8, 0.4, 0.4), 0.1),
    "log-well": (separable(log_well), symmetric_box(1, 1, 0.6, 0.6), 0.12),
    "yukawa": (separable(yukawa), box([0.9, -0.4, -0.2, 1.1], [1.3, 0.4, 0.2, 1.35]), 0.1),
    "vortices-2": (vortices, draw_vortices(2), 0.15),
    "vortices-3": (vortices, draw_vortices(3), 0.12),
    "penning": (penning, symmetric_box(0.8, 0.8, 0.8, 0.6, 0.6, 0.6), 0.12),
    "toda": (separable(toda), symmetric_box(0.6, 0.6, 0.6, 0.6, 0.6, 0.6), 0.12),
    "three-oscillators": (separable(lambda q: -q * np.array([1.0, 1.7, 2.6])), symmetric_box(1, 1, 1, 1, 1.3, 1.6), 0.1),
    "fput": (separable(fput), symmetric_box(0.7, 0.7, 0.7, 0.7, 0.5, 0.5, 0.5, 0.5), 0.12),
    "three-bodies": (separable(three_bodies), draw_three_bodies, 0.08),
}


def step(field, x, dt, substeps):
    """Runge-Kutta of order four; also for complex states and negative dt."""
    h = dt / substeps
    for _ in range(substeps):
        a = field(x)
        b = field(x + 0.5 * h * a)
        c = field(x + 0.5 * h * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))
    return x


SUBSTEPS = 4


def flow(name, x, steps):
    """The states `steps` time steps later; negative: earlier."""
    field, _, dt = SYSTEMS[name]
    for _ in range(abs(steps)):
        x = step(field, x, np.sign(steps) * dt, SUBSTEPS)
    return x


def simulate(name, first, steps):
    """(trajectories, steps, 2n) from first states (trajectories, 2n)"""
    field, _, dt = SYSTEMS[name]
    states = [first]
    for _ in range(steps - 1):
        states.append(step(field, states[-1], dt, SUBSTEPS))
    return np.stack(states, 1)


def draw(name, rng, count):
    return SYSTEMS[name][1](rng, count)
