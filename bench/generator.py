# SPDX-License-Identifier: MIT
"""The published generator's method in Python: SciPy's RK45 at the published tolerance, ten sub-steps a frame, all of
them simulated and drawn and nine of ten dropped; the drawing in NumPy.

In Python's favour: frames are drawn a batch at a time that stays in the cache; mass-spring is its closed form, as
published; nothing is written to disk. Drawing in float64 gives plumb's bytes, which are those of the published
renderer in float64; in float32 it is faster, and some bytes are one level off.
"""
import numpy as np
from scipy.integrate import solve_ivp

SUBSTEPS = 10
CHUNK = 32  # frames drawn at once: larger ones leave the cache and are slower
BACKGROUND = np.array([0.321, 0.349, 0.368])
ARMS = np.sqrt(0.5 / np.pi)

# world: (half size of the canvas, number of colours)
CANVAS = {
    "mass-spring": (1 + ARMS, 1), "mass-spring+c": (1.4 * (1 + np.sqrt(1 / np.pi)), 6),
    "pendulum": (1 + ARMS, 1), "pendulum+c": (1.4 * (1 + np.sqrt(1.5 / np.pi)), 6),
    "double-pendulum": (2 + ARMS, 2), "double-pendulum+c": (1.4 * (2 + np.sqrt(0.6 / np.pi)), 6),
    "two-body": (2.75, 2), "two-body+c": (5.0, 6),
}
PAYOFF = {"matching-pennies": np.array([[1.0, -1], [-1, 1]]),
          "rock-paper-scissors": np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])}
WORLDS = [*CANVAS, *PAYOFF]


def pendulum(p):
    m, l, g = p["m"], p["l"], p["g"]
    return lambda t, y: (y[1] / (m * l * l), -m * g * l * np.sin(y[0]))


def double_pendulum(p):
    m1, m2, l1, l2, g = (p[k] for k in ("m_1", "m_2", "l_1", "l_2", "g"))

    def field(t, y):
        q1, q2, p1, p2 = y
        d = q1 - q2
        s, c = np.sin(d), np.cos(d)
        bottom = m1 + m2 * s * s
        h1 = p1 * p2 * s / (l1 * l2 * bottom)
        h2 = (m2 * l2**2 * p1**2 + (m1 + m2) * l1**2 * p2**2 - 2 * m2 * l1 * l2 * p1 * p2 * c) / (
            2 * l1**2 * l2**2 * bottom**2)
        return ((l2 * p1 - l1 * p2 * c) / (l1**2 * l2 * bottom),
                ((m1 + m2) * l1 * p2 - m2 * l2 * p1 * c) / (m2 * l1 * l2**2 * bottom),
                -(m1 + m2) * g * l1 * np.sin(q1) - h1 + h2 * 2 * s * c,
                -m2 * g * l2 * np.sin(q2) + h1 - h2 * 2 * s * c)

    return field


def two_body(p):
    (m1, m2), g = p["m"], p["g"]

    def field(t, y):
        dx, dy = y[2] - y[0], y[3] - y[1]
        pull = g * m1 * m2 / (dx * dx + dy * dy) ** 1.5
        fx, fy = pull * dx, pull * dy
        return y[4] / m1, y[5] / m1, y[6] / m2, y[7] / m2, fx, fy, -fx, -fy

    return field


def replicator(payoff):
    k = len(payoff)

    def field(t, s):
        x, y = s[:k], s[k:]
        first, second = payoff @ y, payoff.T @ x
        value = x @ first
        return np.concatenate([x * (first - value), y * (value - second)])

    return field


def states(world, x0, p, times):
    if world.startswith("mass-spring"):
        k, m = p["k"], p["m"]
        w = np.sqrt(k / m)
        a, b = np.hypot(x0[0], x0[1] / np.sqrt(k * m)), np.arctan2(-x0[1], m * w * x0[0])
        return np.stack([a * np.cos(w * times + b), -a * m * w * np.sin(w * times + b)], 1)
    tolerance = 1e-12 if world in PAYOFF else 1e-9
    field = (replicator(PAYOFF[world]) if world in PAYOFF else pendulum(p) if world.startswith("pendulum")
             else double_pendulum(p) if world.startswith("double") else two_body(p))
    return solve_ivp(field, (times[0], times[-1]), x0, t_eval=times, rtol=tolerance, atol=tolerance).y.T


def places(world, x, p):
    """(frames, particles, 2)"""
    if world.startswith("mass-spring"):
        at = np.stack([np.zeros(len(x)), x[:, 0]], 1)[:, None]
    elif world.startswith("pendulum"):
        at = p["l"] * np.stack([np.sin(x[:, 0]), -np.cos(x[:, 0])], 1)[:, None]
    elif world.startswith("double"):
        first = p["l_1"] * np.stack([np.sin(x[:, 0]), -np.cos(x[:, 0])], 1)
        at = np.stack([first, first + p["l_2"] * np.stack([np.sin(x[:, 1]), -np.cos(x[:, 1])], 1)], 1)
    else:
        at = x[:, :4].reshape(-1, 2, 2)
    return at + p["offset"]


def draw_particles(world, x, p, dtype):
    half, colours = CANVAS[world]
    if world.startswith("double"):
        mass = np.array([p["m_1"], p["m_2"]])
    else:
        mass = np.atleast_1d(p["m"])
    radius = (np.sqrt(mass / np.pi) / (2 * half)).astype(dtype)
    at = ((places(world, x, p) + half) / (2 * half)).astype(dtype)
    hue = 6 * np.atleast_1d(p["color_index"]) / colours
    rgb = np.clip(np.stack([np.abs(hue - 3) - 1, 2 - np.abs(hue - 2), 2 - np.abs(hue - 4)], 1), 0, 1).astype(dtype)
    grid = (np.arange(32) / 31).astype(dtype)
    out = np.empty((len(x), 32, 32, 3), np.uint8)
    for start in range(0, len(x), CHUNK):
        part = at[start:start + CHUNK]
        image = np.zeros((len(part), 32, 32, 3), dtype)
        left = np.ones((len(part), 32, 32, 1), dtype)
        for k in range(part.shape[1]):
            dx, dy = grid - part[:, k, :1], grid - part[:, k, 1:]
            distance = np.sqrt(dy[:, :, None] ** 2 + dx[:, None, :] ** 2)
            cover = (1 / (1 + np.exp(80 * (distance - radius[k]))))[..., None]
            image += rgb[k] * (cover * left)
            left *= 1 - cover
        image += BACKGROUND.astype(dtype) * left
        out[start:start + CHUNK] = 255 * image
    return out


def draw_game(world, x):
    k = len(PAYOFF[world])
    block = -(-32 // k)
    joint = x[:, :k, None] * x[:, None, k:]
    grey = (255 * joint).astype(np.uint8).repeat(block, 1).repeat(block, 2)[:, :32, :32]
    return np.repeat(grey[..., None], 3, 3)


def trajectory(world, x0, p, steps, dt, dtype):
    """States and frames, as many as steps; `dtype` is what is drawn in."""
    times = np.arange((steps - 1) * SUBSTEPS + 1) * (dt / SUBSTEPS)
    x = states(world, x0, p, times)
    frames = draw_game(world, x) if world in PAYOFF else draw_particles(world, x, p, dtype)
    return x[::SUBSTEPS], frames[::SUBSTEPS]
