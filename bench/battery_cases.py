# SPDX-License-Identifier: MIT
"""The cases of the battery of kappa: which map on which system, and what is expected.

make(seed, number) draws case `number`: system, map, noise and number of trajectories are random, so that the cases of one
seed share nothing with those of another. `expected` is 1 (right), 0 (wrong) or None (the data do not determine it, or the
true kappa is near the bar, in which case only kappa itself is compared).
"""
from dataclasses import dataclass, field

import numpy as np

import battery_maps as maps
import battery_systems as systems
import planted

STEPS = 60
COUNTS = [10, 20, 50, 100, 1000]
COUNT_SHARE = [0.2, 0.2, 0.2, 0.3, 0.1]


@dataclass
class Case:
    name: str
    kind: str
    system: str
    count: int
    latent: np.ndarray
    truth: np.ndarray
    expected: object = None         # 1, 0, None
    kappa: float = np.nan           # the true value; NaN: not defined
    undetermined: bool = False      # null is the only right answer
    constants: dict = field(default_factory=dict)


@dataclass
class Draw:
    """What a kind of case works on: the system, its states, and the map to balanced, centred states of size 1."""
    rng: np.random.Generator
    name: str
    truth: np.ndarray  # (count, STEPS, 2n)

    @property
    def n(self):
        return self.truth.shape[2] // 2

    @property
    def rows(self):
        return self.truth.reshape(-1, 2 * self.n)

    def unit(self):
        rows = self.rows
        sd = rows.std(0)
        a = np.sqrt(sd[self.n:] / sd[:self.n])
        scale = np.concatenate([a, 1 / a])
        mean, size = rows.mean(0), np.sqrt((rows * scale).var(0).mean())
        return lambda x: (x - mean) * (scale / size)


def true_kappa(f, truth, rng, normals=None):
    """kappa of the map f on the states, within the surface with these normals (rows, k, 2n)."""
    x = truth.reshape(-1, truth.shape[-1])
    rng.permutation(len(x))  # once chose some of the states; what is drawn after it stays the same
    n = x.shape[1] // 2
    sd = x.std(0)
    a = np.sqrt(sd[n:] / sd[:n])
    balance = np.concatenate([a, 1 / a])
    j = maps.jacobian(f, x) / balance
    if normals is None: return planted.kappa(j, x * balance)
    normal = normals(x) / balance
    q, _ = np.linalg.qr(np.swapaxes(normal, 1, 2))
    project = np.eye(2 * n) - q @ np.swapaxes(q, 1, 2)
    omega = project @ (np.swapaxes(j, 1, 2) @ maps.form(j.shape[1] // 2) @ j) @ project
    area = project @ maps.form(n) @ project
    dot, square, whole = (omega * area).sum((1, 2)).mean(), (omega**2).sum((1, 2)).mean(), (area**2).sum((1, 2)).mean()
    return dot**2 / (square * whole)


# --- kinds: each returns the map, from raw states to latents ---------------------------------------

def curved(rng, n, s=None):
    """One of the bent canonical maps, of random strength."""
    s = rng.uniform(0.3, 0.7) if s is None else s
    return [lambda: maps.shears(rng, n, s), lambda: maps.shears(rng, n, s, 2, "sine"), lambda: maps.shears(rng, n, s, 3, "bump"),
            lambda: maps.hamiltonian_flow(rng, n, 2 * s), lambda: maps.lift(rng, n, 1.2 * s),
            lambda: maps.twist(rng, n, 2 * s)][rng.integers(6)]()


RIGHT = {
    "linear": lambda d: maps.linear(d.rng, d.n, 0.5),
    "squeezed": lambda d: maps.columns(np.repeat([20.0, 1 / 20.0], d.n)),
    "scaled": lambda d: maps.chain(curved(d.rng, d.n, 0.3), maps.scaled(1e-3)),
    "exchanged-qp": lambda d: maps.exchange_qp,
    "shears": lambda d: maps.shears(d.rng, d.n, d.rng.uniform(0.3, 0.8)),
    "sines": lambda d: maps.shears(d.rng, d.n, d.rng.uniform(0.3, 0.6), 3, "sine"),
    "bumps": lambda d: maps.shears(d.rng, d.n, d.rng.uniform(0.3, 0.6), 3, "bump"),
    "flow": lambda d: maps.hamiltonian_flow(d.rng, d.n, d.rng.uniform(0.6, 1.6)),
    "lift": lambda d: maps.lift(d.rng, d.n, d.rng.uniform(0.4, 1.0)),
    "twist": lambda d: maps.twist(d.rng, d.n, d.rng.uniform(0.6, 1.5)),
    "pad": lambda d: maps.chain(curved(d.rng, d.n), maps.pad(d.rng, d.n, d.rng.integers(1, 6))),
    "pad-16": lambda d: maps.chain(curved(d.rng, d.n), maps.pad(d.rng, d.n, 16 - d.n)),
    "embed": lambda d: maps.chain(curved(d.rng, d.n), maps.embed(d.rng, d.n, d.rng.integers(1, 4))),
}
WRONG = {
    "stretch": (2, lambda d: maps.chain(maps.stretch(d.rng, d.n), curved(d.rng, d.n, 0.3))),
    "mirror": (2, lambda d: maps.chain(maps.mirror(d.rng, d.n), curved(d.rng, d.n, 0.3))),
    "exchange": (2, lambda d: maps.chain(maps.exchange_momenta(d.rng, d.n), maps.linear(d.rng, d.n))),
    "curl": (2, lambda d: maps.chain(maps.curl(d.rng, d.n), curved(d.rng, d.n, 0.3))),
    "cubic": (1, lambda d: maps.chain(maps.cubic(d.rng, d.n, d.rng.uniform(1.5, 3)), curved(d.rng, d.n, 0.2))),
    "lean": (1, lambda d: maps.chain(maps.lean(d.rng, d.n), curved(d.rng, d.n, 0.2))),
    "radial": (1, lambda d: maps.radial(d.rng, d.n, d.rng.uniform(1, 2.5))),
    "network": (1, lambda d: maps.network(d.rng, d.n, d.n + d.rng.integers(0, 3))),
    "network-wide": (1, lambda d: maps.network(d.rng, d.n, 16)),
    "dead-momenta": (1, lambda d: maps.dead_momenta(d.rng, d.n)),
    "dead-padded": (1, lambda d: maps.chain(maps.dead_momenta(d.rng, d.n), maps.pad(d.rng, d.n, 3))),
    "cover": (1, lambda d: maps.cover(d.rng, d.n, d.rng.integers(2, 4))),
    "ripple": (1, lambda d: maps.ripple(d.rng, d.n, d.rng.uniform(5, 12), d.rng.uniform(0.12, 0.2))),
}
COVERED = ("oscillator", "duffing", "pendulum", "morse", "lotka-volterra", "two-oscillators", "three-oscillators")
# Of raw states; the true kappa decides what is expected.
MOTION = {
    "lag": lambda d: maps.lag(d.name, d.rng.integers(2, 15)),
    "delays": lambda d: maps.delays(d.name, d.rng.integers(2, 8)),
    "velocities": lambda d: maps.velocities(d.name),
    "reservoir": lambda d: maps.reservoir(d.rng, d.name, d.n, d.n + d.rng.integers(1, 8)),
}


def truth_of(rng, name, count):
    return systems.simulate(name, systems.draw(name, rng, count), STEPS)


def decide(kappa):
    return 1 if kappa > 0.95 else 0 if kappa < 0.85 else None


def plain_case(rng, kind, name, count):
    d = Draw(rng, name, truth_of(rng, name, count))
    if kind in RIGHT: f, expected = maps.chain(d.unit(), RIGHT[kind](d)), 1
    elif kind in MOTION: f, expected = maps.chain(MOTION[kind](d)), None
    else:
        fewest, made = WRONG[kind]
        # Elsewhere the other pairs tell the branches of a cover apart, and the map has an inverse.
        if d.n < fewest or (kind == "cover" and name not in COVERED): return None
        f, expected = maps.chain(d.unit(), made(d)), 0
    noise = rng.choice([0, 0, 0, 0.01, 0.03]) if kind != "ripple" else 0
    kappa = true_kappa(f, d.truth, rng)
    # A cover keeps the form; it is wrong because the state cannot be recovered.
    if kind in MOTION or (kind in WRONG and kind != "cover"): expected = decide(kappa)
    z = f(d.rows)
    # A squeezed latent would drown in noise of the largest one.
    size = z.std(0) if kind == "squeezed" else z.std(0).max()
    if noise: z = z + noise * size * rng.normal(size=z.shape)
    case = Case("", kind, name, count, z.reshape(count, STEPS, -1), d.truth, expected, kappa)
    if kind == "cover": case.kappa = np.nan
    return case


# --- kinds with data of their own ------------------------------------------------------------------

def action_angle(rng, kind, name, count):
    """(angle, action) of an oscillator, wrapped or not, in one of two units."""
    truth = truth_of(rng, "oscillator", count)
    q, p = truth[..., 0], truth[..., 1]
    angle = np.arctan2(q, p) + rng.uniform(-1, 1)
    angle = np.unwrap(angle, axis=1) if kind == "angle-unwrapped" else (angle + np.pi) % (2 * np.pi) - np.pi
    unit = rng.choice([1.0, 180 / np.pi])
    return Case("", kind, "oscillator", count, np.stack([angle * unit, 0.5 * (q * q + p * p)], 2), truth, 1, 1.0)


def angle_wrong(rng, kind, name, count):
    """(angle, radius^4): areas are not kept."""
    truth = truth_of(rng, "oscillator", count)
    q, p = truth[..., 0], truth[..., 1]
    r2 = q * q + p * p
    angle = np.arctan2(q, p)
    mean = (r2**2).mean()
    kappa = (r2.mean())**2 / mean
    return Case("", kind, "oscillator", count, np.stack([angle, r2**2], 2), truth, decide(kappa), kappa)


def diverged(rng, kind, name, count):
    """A right model of which one trajectory diverges."""
    if count < 20: return None
    case = plain_case(rng, "shears", name, count)
    bad = rng.integers(count)
    case.latent[bad] *= np.exp(np.linspace(0, rng.uniform(4, 9), STEPS))[:, None]
    case.kind = kind
    return case


def partly_right(rng, kind, name, count):
    """Right on four fifths of the trajectories, another canonical map on the others. Not a model of the system."""
    if count < 20: return None
    d = Draw(rng, name, truth_of(rng, name, count))
    f, g = (maps.chain(d.unit(), maps.linear(rng, d.n, 0.4), curved(rng, d.n)) for _ in range(2))
    z = np.where((np.arange(count) % 5 == 0)[:, None, None], g(d.rows).reshape(count, STEPS, -1),
                 f(d.rows).reshape(count, STEPS, -1))
    return Case("", kind, name, count, z, d.truth, 0)


def one_energy(rng, kind, name, count):
    """One pair, all trajectories on one orbit: nothing determines the form."""
    name = rng.choice(["oscillator", "duffing", "pendulum", "morse"])
    first = np.repeat({"oscillator": [[1.1, 0.0]], "duffing": [[1.0, 0.3]], "pendulum": [[1.3, 0.2]],
                       "morse": [[0.6, 0.2]]}[name], count, 0)
    for k in range(STEPS):
        first = np.where((rng.uniform(size=count) < 0.7)[:, None], systems.flow(name, first, 1), first)
    d = Draw(rng, name, systems.simulate(name, first, STEPS))
    f = maps.chain(d.unit(), curved(rng, 1) if rng.uniform() < 0.5 else maps.lean(rng, 1))
    return Case("", kind, name, count, f(d.rows).reshape(count, STEPS, -1), d.truth, None, np.nan, True)


def one_torus(rng, kind, name, count):
    """Two or three oscillators whose actions are the same in all trajectories."""
    name = rng.choice(["two-oscillators", "three-oscillators"])
    n = 2 if name.startswith("two") else 3
    w = np.sqrt(np.array([1.0, 2.1] if n == 2 else [1.0, 1.7, 2.6]))
    a = rng.uniform(0, 2 * np.pi, (count, n))
    first = np.concatenate([np.cos(a) / np.sqrt(w), np.sin(a) * np.sqrt(w)], 1)
    d = Draw(rng, name, systems.simulate(name, first, STEPS))
    f = maps.chain(d.unit(), curved(rng, n))
    return Case("", kind, name, count, f(d.rows).reshape(count, STEPS, -1), d.truth, None, np.nan, True)


def henon_energy(x):
    q, p, k, l = x.T
    return 0.5 * (q * q + p * p + k * k + l * l) + q * q * p - p**3 / 3


def energy_shell(rng, kind, name, count):
    """Henon-Heiles with one energy, exactly or within some per cent: the form on the shell is determined."""
    spread = rng.choice([0.0, 0.01, 0.05])
    first = systems.draw("henon-heiles", rng, count)
    energy = 0.06 * (1 + spread * rng.uniform(-1, 1, count))
    for _ in range(60):  # Newton along the ray
        grad = np.stack([maps.jacobian(lambda x: henon_energy(x)[:, None], first)[:, 0, i] for i in range(4)], 1)
        first = first * (1 + (energy - henon_energy(first)) / (grad * first).sum(1))[:, None]
    d = Draw(rng, "henon-heiles", systems.simulate("henon-heiles", first, STEPS))
    if not np.isfinite(d.truth).all(): return None  # the ray met the shell outside of the well
    wrong = rng.uniform() < 0.4
    f = maps.chain(d.unit(), *([maps.stretch(rng, 2)] if wrong else []), curved(rng, 2, 0.4))
    normals = None if spread else lambda x: maps.jacobian(lambda y: henon_energy(y)[:, None], x)
    kappa = true_kappa(f, d.truth, rng, normals)
    return Case("", kind, "henon-heiles", count, f(d.rows).reshape(count, STEPS, -1), d.truth,
                decide(kappa) if wrong else 1, kappa if not wrong or not spread else np.nan)


def masses(rng, kind, name, count):
    """Oscillators whose masses differ. told: velocities with the mass given, or momenta squeezed by it; wrong: c(E)."""
    if count < 20: return None
    m = rng.uniform(0.5, 2.0, count)
    w = np.sqrt(1 / m)
    r, a, t = rng.uniform(0.5, 1.5, count), rng.uniform(0, 2 * np.pi, count), 0.12 * np.arange(STEPS)
    phase = w[:, None] * t + a[:, None]
    q, p = r[:, None] * np.cos(phase), -(m * w * r)[:, None] * np.sin(phase)
    truth = np.stack([q, p], 2)
    if kind == "mass-velocity": z, expected = np.stack([q, p / m[:, None]], 2), 1
    else:  # c grows with the energy, whatever the mass
        e = 0.5 * (q * q + p * p / m[:, None])
        z, expected = np.stack([q, p * (0.2 + 2 * e)], 2), 0
    return Case("", kind, "oscillator-masses", count, z, truth, expected, np.nan, False, {"m": m})


OWN = {"angle-wrapped": action_angle, "angle-unwrapped": action_angle, "angle-wrong": angle_wrong, "diverged": diverged,
       "partly-right": partly_right, "one-energy": one_energy, "one-torus": one_torus, "energy-shell": energy_shell,
       "mass-velocity": masses, "mass-wrong": masses}
KINDS = [*RIGHT, *WRONG, *MOTION, *OWN]


def make(seed, number, count=None):
    """Case `number` of a seed, or None if the system has too few pairs for the map. count: of trajectories; None: random."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    name = rng.choice(list(systems.SYSTEMS))
    drawn = int(rng.choice(COUNTS, p=COUNT_SHARE))
    count = count or drawn
    case = OWN[kind](rng, kind, name, count) if kind in OWN else plain_case(rng, kind, name, count)
    if case is not None: case.name = f"{number}.{case.system}.{kind}.{count}"
    return case
