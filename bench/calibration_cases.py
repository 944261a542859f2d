# SPDX-License-Identifier: MIT
"""The cases of a fresh battery: worlds, maps, and what is expected of each."""
import numpy as np

import planted as maps

# name: (expected, fewest degrees of freedom, maps one after the other, noise in shares of the spread)
CASES = {
    "identity": (1, 1, lambda r, x: x, 0),
    "linear": (1, 1, lambda r, x: maps.linear(r, x, 0.5), 0),
    "squeezed": (1, 1, lambda r, x: maps.columns(x, np.repeat([30.0, 1 / 30.0], x.half)), 0),
    "shears-0.5": (1, 1, lambda r, x: maps.shears(r, x, 0.5), 0),
    "shears-0.8": (1, 1, lambda r, x: maps.linear(r, maps.shears(r, x, 0.8), 0.2), 0),
    "sines": (1, 1, lambda r, x: maps.shears(r, x, 0.4, kind="sine"), 0),
    "cubics": (1, 1, lambda r, x: maps.shears(r, x, 0.4, count=2, kind="cubic"), 0),
    "bumps": (1, 1, lambda r, x: maps.shears(r, x, 0.5, kind="bump"), 0),
    "lift": (1, 1, lambda r, x: maps.lift(r, maps.linear(r, x, 0.1), 0.8), 0),
    "turning": (1, 1, lambda r, x: maps.turning(r, x, 1.2), 0),
    "lift-noise": (1, 1, lambda r, x: maps.lift(r, x, 0.6), 0.03),
    "shears-noise": (1, 1, lambda r, x: maps.shears(r, x, 0.5, count=2), 0.03),
    "shears-padded": (1, 1, lambda r, x: maps.pad(r, maps.shears(r, x, 0.5), 4), 0),
    "shears-16": (1, 1, lambda r, x: maps.pad(r, maps.shears(r, x, 0.5, count=2), 16 - x.half), 0.02),
    "dull-padded": (1, 1, lambda r, x: maps.pad(r, maps.linear(r, x), 2, dull=True), 0),
    "noise": (1, 1, lambda r, x: maps.linear(r, x), 0.05),
    "one-scale": (1, 1, lambda r, x: maps.columns(maps.shears(r, x, 0.4), np.full(2 * x.half, 1e-3)), 0),
    "stretched": (0, 2, lambda r, x: maps.stretch(r, x), 0),
    "mirrored": (0, 2, lambda r, x: maps.shears(r, maps.mirror(r, x), 0.3), 0),
    "exchanged": (0, 2, lambda r, x: maps.linear(r, maps.exchange(r, x)), 0),
    "curl": (0, 2, lambda r, x: maps.curl(r, x), 0),
    "curl-sheared": (0, 2, lambda r, x: maps.curl(r, maps.shears(r, x, 0.3), 1.2), 0),
    "random-linear": (0, 2, maps.random_linear, 0),
    "bent": (0, 1, maps.sqrt_bend, 0),
    "bent-noise": (0, 1, maps.sqrt_bend, 0.03),
    "lean": (0, 1, lambda r, x: maps.lean(r, x), 0),
    "lean-sheared": (0, 1, lambda r, x: maps.shears(r, maps.lean(r, x), 0.3), 0.01),
    "radial": (0, 1, maps.radial, 0),
    "network": (0, 1, lambda r, x: maps.network(r, x, x.half + 1, gain=1.5), 0),
    "network-wide": (0, 1, lambda r, x: maps.network(r, x, 8), 0.01),
    "dead-momenta": (0, 1, maps.dead_momentum, 0),
    "dead-padded": (0, 1, lambda r, x: maps.pad(r, maps.dead_momentum(r, x), 3), 0),
    "half-noise": (0, 1, lambda r, x: maps.linear(r, x), 0.9),
}
# Squeezes by a factor that each trajectory has for itself, told (or not) by a latent that stays constant.
SQUEEZED = {"squeeze-told": 1}


# Of every world: five images of the true state, and a fault of each kind after a mild image.
STRENGTH = {"md-4": 0.3, "md-16": 0.2}
FAULTS = {
    "fault-stretched": (2, maps.stretch), "fault-mirrored": (2, maps.mirror), "fault-exchanged": (2, maps.exchange),
    "fault-curl": (2, lambda r, x: maps.curl(r, x, 1.5)), "fault-bent": (1, lambda r, x: maps.sqrt_bend(r, x, 4.0)),
    "fault-lean": (1, maps.lean), "fault-radial": (1, lambda r, x: maps.radial(r, x, 3.0)),
    "fault-dead": (1, maps.dead_momentum), "fault-noise": (1, lambda r, x: x),
}


def image(number, rng, point, strength):
    """Five kinds, the stronger the less data they need."""
    kinds = ["tanh", "bump", "sine"]
    if number < 3: point = maps.shears(rng, point, strength, count=2 + number, kind=kinds[number])
    elif number == 3: point = maps.lift(rng, maps.linear(rng, point, 0.1), strength)
    else: point = maps.pad(rng, maps.shears(rng, point, strength, count=2), 2)
    return maps.linear(rng, point, 0.2)


def names():
    return [*CASES, *SQUEEZED]


def thirteen(world):
    # On circular orbits the data determine one pair only; molecules are too many for what is not linear.
    few = world in ("two-body", "room-circle")
    linear = ("fault-stretched", "fault-mirrored", "fault-exchanged", "fault-curl", "fault-dead", "fault-noise")
    faults = [f for f, (fewest, _) in FAULTS.items() if not (few and fewest > 1)]
    if world.startswith("md"): faults = [f for f in faults if f in linear]
    return ["truth", *(f"image-{i + 1}" for i in range(5)), *faults]


def build(case, rng, start, shape, world):
    """point, expected, noise; None if the world has too few pairs."""
    strength = STRENGTH.get(world, 0.5)
    if case in SQUEEZED: return squeeze_told(rng, maps.shears(rng, start, 0.3, count=2), shape), SQUEEZED[case], 0
    if case == "truth": return start, 1, 0
    if case.startswith("image-"): return image(int(case[6:]) - 1, rng, start, strength), 1, 0
    if case in FAULTS:
        fewest, fault = FAULTS[case]
        if start.half < fewest: return None
        noise = 0.9 if case == "fault-noise" else 0
        return fault(rng, maps.linear(rng, start, 0.1) if fewest == 1 else start), 0, noise
    expected, fewest, chain, noise = CASES[case]
    return None if start.half < fewest else (chain(rng, start), expected, noise)


def make(case, truth, seed, world=""):
    """latent (trajectories, steps, 2m), kappa of the map, expected; None if the world has too few pairs."""
    rng = np.random.default_rng(seed)
    rows = maps.balanced(truth)
    mean, size = rows.mean(0), np.sqrt(rows.var(0).mean())
    d = rows.shape[1]
    start = maps.Point((rows - mean) / size, np.broadcast_to(np.eye(d) / size, (len(rows), d, d)))
    built = build(case, rng, start, truth.shape, world)
    if built is None: return None
    point, expected, noise = built
    value = point.value
    if noise: value = value + noise * value.std(0).max() * rng.normal(size=value.shape)
    kappa = maps.kappa(point.jacobian, rows)
    # What the random draw made nearly right is no fair question.
    if not expected and kappa > 0.85 and noise < 0.5: return None
    return value.reshape(*truth.shape[:2], -1).astype(np.float32), kappa, expected


def squeeze_told(rng, point, shape):
    n = point.half
    factor = np.exp(rng.uniform(-0.7, 0.7, shape[0]))
    each = np.repeat(factor, shape[1])[:, None]
    value = np.concatenate([point.value[:, :n] * each, np.log(each), point.value[:, n:] / each, 0 * each], 1)
    zero = np.zeros((len(value), 1, point.jacobian.shape[2]))
    jacobian = np.concatenate([point.jacobian[:, :n] * each[..., None], zero,
                               point.jacobian[:, n:] / each[..., None], zero], 1)
    return maps.Point(value, jacobian)
