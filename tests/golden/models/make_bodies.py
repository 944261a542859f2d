# SPDX-License-Identifier: MIT
"""Writes bodies.npz: the model `bodies` written a second time, in JAX and in double. Needs jax.

Potentials are evaluated directly, without tables, and all derivatives are by automatic differentiation.
The formulas are those of the trial from which the model was made. Run: python3 make_bodies.py"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)
WIDTH, DT, FRAMES, R0, R1 = 8, 0.1, 8, 0.15, 1.4
out = {"bodies.dt": DT, "bodies.range": np.array([R0, R1]), "bodies.width": WIDTH}


def weights(features):
    """As one block: w0, b0, w1, b1, w2."""
    sizes = [features * WIDTH, WIDTH, WIDTH * WIDTH, WIDTH, WIDTH]
    return jnp.array((0.4 * rng.normal(size=sum(sizes))).astype(np.float32), jnp.float64)


def network(w, x):
    features, at = x.shape[-1], 0
    parts = []
    for shape in ((features, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH,)):
        size = int(np.prod(shape))
        parts.append(w[at:at + size].reshape(shape))
        at += size
    y = jax.nn.silu(x @ parts[0] + parts[1])
    return jax.nn.silu(y @ parts[2] + parts[3]) @ parts[4]


# ---- points ----

def points_energy(th, q, p):
    d = q[:, None] - q[None]
    i, j = np.triu_indices(3, 1)
    r = jnp.sqrt((d[i, j] ** 2).sum(-1))
    pair = network(th["pair"], jnp.stack([4 * (r - R0) / (R1 - R0) - 2, 2 * R0 / (r + 0.2 * R0) - 1], -1)).sum()
    away = q - th["centre"]
    field = network(th["field"], 3 * away).sum() + 0.5 * th["stiffness"] * (away ** 2).sum()
    return ((p ** 2).sum(-1) / (2 * th["mass"])).sum() + th["strength"] * pair + field


def leapfrog(th, q, p, sign, substeps=2):
    force = jax.grad(lambda q, p: -points_energy(th, q, p))
    h = sign * DT / substeps

    def frame(state, _):
        q, p = state
        for _ in range(substeps):
            p = p + 0.5 * h * force(q, p)
            q = q + h * p / th["mass"][:, None]
            p = p + 0.5 * h * force(q, p)
        return (q, p), (q, p)
    return jax.lax.scan(frame, (q, p), None, length=FRAMES)[1]


points = dict(pair=weights(2), field=weights(2), mass=jnp.array([1.0, 1.7, 0.6]), centre=jnp.array([0.1, -0.2]),
              strength=jnp.array(1.4), stiffness=jnp.array(0.7))
q0 = jnp.array([[-0.5, 0.1], [0.3, 0.4], [0.2, -0.5]])
p0 = jnp.array([[0.4, -0.3], [0.1, 0.5], [-0.6, 0.2]])
w_points = jnp.array(rng.normal(size=(2, FRAMES, 3, 2)))


def points_loss(th, q, p):
    return sum((w_points[k] * leapfrog(th, q, p, sign)[0]).sum() for k, sign in enumerate((1, -1)))


# ---- a chain ----

def places(th, q):
    return th["pivot"] + jnp.cumsum(th["length"][:, None] * jnp.stack([jnp.sin(q), -jnp.cos(q)], -1), 0)


def chain_energy(th, q, p):
    J = jax.jacfwd(lambda q: places(th, q))(q)
    M = jnp.einsum("k,kci,kcj->ij", th["mass"], J, J)
    d = places(th, q) - th["pivot"]
    field = jnp.stack([network(th["field0"], 3 * d[0]), network(th["field1"], 3 * d[1])])
    V = (th["mass"] * ((d * th["gravity"]).sum(-1) + field)).sum()
    return 0.5 * p @ jnp.linalg.solve(M, p) + th["strength"] * V


def runge_kutta(th, q, p, sign):
    def rate(z):
        dq, dp = jax.grad(lambda q, p: chain_energy(th, q, p), (0, 1))(z[0], z[1])
        return jnp.stack([dp, -dq])
    h = sign * DT

    def frame(z, _):
        a = rate(z)
        b = rate(z + 0.5 * h * a)
        c = rate(z + 0.5 * h * b)
        z = z + h / 6 * (a + 2 * b + 2 * c + rate(z + h * c))
        return z, (z[0], z[1])
    return jax.lax.scan(frame, jnp.stack([q, p]), None, length=FRAMES)[1]


chain = dict(field0=weights(2), field1=weights(2), mass=jnp.array([1.0, 0.8]), length=jnp.array([0.5, 0.4]),
             pivot=jnp.array([0.05, -0.1]), strength=jnp.array(1.2), gravity=jnp.array([[0.1, -2.0], [-0.2, -1.5]]))
a0, m0 = jnp.array([0.9, -0.4]), jnp.array([0.5, 0.3])
w_chain = jnp.array(rng.normal(size=(2, FRAMES, 2)))


def chain_loss(th, q, p):
    return sum((w_chain[k] * runge_kutta(th, q, p, sign)[0]).sum() for k, sign in enumerate((1, -1)))


# ---- sprites ----

def picture(xy, radius, edge, colour, background):
    """Sprite 0 in front."""
    y, x = np.mgrid[:background.shape[0], :background.shape[1]]
    image = background
    for k in reversed(range(len(radius))):
        d = jnp.sqrt((x - xy[k, 0]) ** 2 + (y - xy[k, 1]) ** 2 + 1e-4)
        a = jax.nn.sigmoid(edge * (radius[k] - d))[..., None]
        image = image * (1 - a) + a * colour[k]
    return image


background = jnp.array(rng.uniform(0.2, 0.5, (18, 18, 3)).astype(np.float32), jnp.float64)
sprites = dict(xy=jnp.array([[7.3, 8.1], [9.9, 9.2], [15.4, 2.2]]), radius=jnp.array([2.5, 3.1, 1.7]), edge=jnp.array(2.3),
               colour=jnp.array([[1.0, 0.1, 0.0], [0.0, 0.9, 0.8], [0.2, 0.3, 1.0]]))
w_image = jnp.array(rng.normal(size=(18, 18, 3)).astype(np.float32), jnp.float64)
by_xy = jax.grad(lambda xy: (w_image * picture(xy, sprites["radius"], sprites["edge"], sprites["colour"], background)).sum())

for name, th, loss, energy, roll, q, p, w in (("points", points, points_loss, points_energy, leapfrog, q0, p0, w_points),
                                              ("chain", chain, chain_loss, chain_energy, runge_kutta, a0, m0, w_chain)):
    gradient = jax.jit(jax.grad(loss, (0, 1, 2)))(th, q, p)
    for key, value in th.items():
        out[f"{name}.{key}"] = np.array(value)
        out[f"{name}.by.{key}"] = np.array(gradient[0][key])
    path = roll(th, q, p, 1)
    out |= {f"{name}.q0": np.array(q), f"{name}.p0": np.array(p), f"{name}.weight": np.array(w),
            f"{name}.by.q0": np.array(gradient[1]), f"{name}.by.p0": np.array(gradient[2]),
            f"{name}.q": np.array(path[0]), f"{name}.p": np.array(path[1]),
            f"{name}.energy": np.array([energy(th, q, p) - energy(th, path[0][0], path[1][0])])}
out |= {f"sprites.{k}": np.array(v) for k, v in sprites.items()}
out |= {"sprites.background": np.array(background), "sprites.weight": np.array(w_image), "sprites.by.xy": np.array(by_xy(sprites["xy"])),
        "sprites.picture": np.array(picture(background=background, **sprites))}
np.savez_compressed(pathlib.Path(__file__).parent / "bodies.npz", **{k: np.asarray(v, np.float64) for k, v in out.items()})
