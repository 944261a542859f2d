# SPDX-License-Identifier: MIT
"""The trial of `bodies` in JAX, jitted, float32, one thread: a training step, or the search for objects in frames.
bench/bodies starts it; the same sizes as bodies.c.   bodies_jax.py points|box|chain|perception SECONDS"""
import functools
import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
import jax
import jax.numpy as jnp
import numpy as np

DT, SCALE = 0.1, 15.5
rng = np.random.default_rng(0)


def make_network(sizes):
    return [(jnp.array(rng.normal(size=(a, b)) / np.sqrt(a), jnp.float32), jnp.zeros(b)) for a, b in zip(sizes[:-1], sizes[1:])]


def network(layers, x):
    for i, (w, b) in enumerate(layers):
        x = x @ w + b
        if i < len(layers) - 1:
            x = jax.nn.silu(x)
    return x[..., 0]


def window(frames, degree):
    t = np.arange(frames) - (frames - 1) / 2
    inverse = np.linalg.pinv(np.vander(t, degree + 1, increasing=True))
    return jnp.array(inverse[0], jnp.float32), jnp.array(inverse[1], jnp.float32)


def robust(o, target):
    e = ((o - target) * SCALE) ** 2
    return jnp.mean(jnp.log1p(e.sum((-1, -2)) / 0.1) * 0.1)


def tracks(batch, length, count, chain):
    t, k = np.arange(length)[:, None], np.arange(count)[None]
    angle, radius = 1.6 * k + 0.05 * t, 0.3 * (k + 1) if chain else 0.5
    xy = np.stack([radius * np.sin(angle), -radius * np.cos(angle)], -1)
    return jnp.array(np.broadcast_to(xy, (batch, *xy.shape)), jnp.float32)


def points_step(count, batch, width, horizon, substeps, box):
    i, j = np.triu_indices(count, 1)
    th = dict(U=make_network([2 if box else 1, width, width, 1]), mass=jnp.zeros(count - 1))
    value, slope = window(9, 3)

    def potential(th, q):
        d = q[..., i, :] - q[..., j, :]
        if box:
            d = d - box * jax.lax.stop_gradient(jnp.round(d / box))
        r = jnp.sqrt((d * d).sum(-1) + 1e-10)
        x = jnp.stack([jnp.log(r / 0.3) * 2 - 1, 2 * (0.3 / r) ** 2], -1) if box else (4 * (r - 0.3) / 0.7 - 2)[..., None]
        u = network(th["U"], x)
        return jnp.where(r < box / 2, u, 0.0).sum() if box else u.sum()

    def loss(th, clip):
        inverse = jnp.exp(-jnp.concatenate([jnp.zeros(1), th["mass"]]))[:, None]
        middle = clip.shape[1] // 2
        q = jnp.einsum("t,btkc->bkc", value, clip[:, middle - 4:middle + 5])
        p = jnp.einsum("t,btkc->bkc", slope, clip[:, middle - 4:middle + 5]) / DT / inverse
        sign = jnp.concatenate([jnp.ones((batch, 1, 1)), -jnp.ones((batch, 1, 1))])
        h, force = sign * DT / substeps, lambda q: -jax.grad(potential, 1)(th, q)

        def step(state, _):
            q, p, f = state
            for _ in range(substeps):
                p = p + 0.5 * h * f
                q = q + h * p * inverse
                f = force(q)
                p = p + 0.5 * h * f
            return (q, p, f), q
        q, p = jnp.concatenate([q, q]), jnp.concatenate([p, p])
        o = jax.lax.scan(step, (q, p, force(q)), None, length=middle)[1]
        target = jnp.concatenate([jnp.moveaxis(clip[:, middle + 1:], 1, 0), jnp.moveaxis(clip[:, :middle][:, ::-1], 1, 0)], 1)
        return robust(o, target)
    gradient = jax.jit(jax.value_and_grad(loss))
    clip = tracks(batch, 2 * horizon + 9, count, False)
    return lambda: gradient(th, clip)


def chain_step(batch, width, horizon):
    n = 2
    th = dict(mass=jnp.zeros(n - 1), g=jnp.zeros((n, 2)), W=[make_network([2, width, width, 1]) for _ in range(n)],
              con=jnp.array([0.0, 0.0, np.log(0.3), np.log(0.3)], jnp.float32))
    value, slope = window(5, 4)

    def places(q, c):
        return c[:2] + jnp.cumsum(jnp.exp(c[2:])[:, None] * jnp.stack([jnp.sin(q), -jnp.cos(q)], -1), 0)

    def mass_matrix(q, c, m):
        J = jax.jacfwd(places)(q, c)
        return jnp.einsum("k,kci,kcj->ij", m, J, J)

    def energy(th, q, p, c, m):
        M = mass_matrix(q, c, m)
        det = M[0, 0] * M[1, 1] - M[0, 1] ** 2
        kinetic = 0.5 * (M[1, 1] * p[0] ** 2 - 2 * M[0, 1] * p[0] * p[1] + M[0, 0] * p[1] ** 2) / det
        x = places(q, c) - c[:2]
        return kinetic + sum(m[k] * (x[k] @ th["g"][k] + network(th["W"][k], 3 * x[k])) for k in range(n))

    def roll(th, q, p, c, m, frames, sign):
        def rate(q, p):
            hq, hp = jax.grad(energy, (1, 2))(th, q, p, c, m)
            return hp, -hq
        h = sign * DT

        def step(s, _):
            q, p = s
            a1, b1 = rate(q, p)
            a2, b2 = rate(q + 0.5 * h * a1, p + 0.5 * h * b1)
            a3, b3 = rate(q + 0.5 * h * a2, p + 0.5 * h * b2)
            a4, b4 = rate(q + h * a3, p + h * b3)
            s = q + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), p + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
            return s, s[0]
        return jax.lax.scan(step, (q, p), None, length=frames)[1]

    def loss(th, clip):
        middle = clip.shape[1] // 2
        m, c = jnp.concatenate([jnp.ones(1), jnp.exp(th["mass"])]), th["con"]
        w = clip[:, middle - 2:middle + 3]
        d = w - jnp.concatenate([jnp.broadcast_to(c[:2], w[:, :, :1].shape), w[:, :, :-1]], 2)
        angle = jnp.unwrap(jnp.arctan2(d[..., 0], -d[..., 1]), axis=1)
        q, v = jnp.einsum("t,btk->bk", value, angle), jnp.einsum("t,btk->bk", slope, angle) / DT
        p = jax.vmap(lambda q, v: mass_matrix(q, c, m) @ v)(q, v)
        sign = jnp.concatenate([jnp.ones(batch), -jnp.ones(batch)])
        o = jax.vmap(lambda q, p, s: roll(th, q, p, c, m, middle, s), out_axes=1)(jnp.concatenate([q, q]), jnp.concatenate([p, p]), sign)
        o = jax.vmap(jax.vmap(lambda q: places(q, c)))(o)
        target = jnp.concatenate([jnp.moveaxis(clip[:, middle + 1:], 1, 0), jnp.moveaxis(clip[:, :middle][:, ::-1], 1, 0)], 1)
        return robust(o, target)
    gradient = jax.jit(jax.value_and_grad(loss))
    clip = tracks(batch, 2 * horizon + 5, n, True)
    return lambda: gradient(th, clip)


def perception_step(frames=1000, size=32):
    """Colour, centroid, four Gauss-Newton steps and the error of the picture, for two discs."""
    gy, gx = jnp.meshgrid(jnp.arange(size, dtype=jnp.float32), jnp.arange(size, dtype=jnp.float32), indexing="ij")
    radius, edge = 3.18, 2.58
    colour, background = jnp.array([[1.0, 0, 0], [0, 1.0, 1.0]]), jnp.full((size, size, 3), 0.35)
    direction = colour - 0.35
    direction = direction / jnp.linalg.norm(direction, axis=1, keepdims=True)

    def cover(xy):
        dx, dy = gx - xy[:, 0, None, None], gy - xy[:, 1, None, None]
        d = jnp.sqrt(dx * dx + dy * dy + 1e-4)
        return jax.nn.sigmoid(edge * (radius - d)), dx / d, dy / d

    def terms(frame, xy):
        a, ux, uy = cover(xy)
        before = jnp.stack([jnp.ones_like(a[0]), 1 - a[0]])
        under = jnp.stack([background * (1 - a[1][..., None]) + a[1][..., None] * colour[1], background])
        image = under[0] * (1 - a[0][..., None]) + a[0][..., None] * colour[0]
        residual, contrast = frame - image, colour[:, None, None] - under
        g = edge * a * (1 - a) * before
        product, square = jnp.einsum("yxc,kyxc->kyx", residual, contrast), jnp.einsum("kyxc,kyxc->kyx", contrast, contrast)
        J = jnp.stack([g * ux, g * uy], 1)
        return jnp.einsum("kiyx,kjyx,kyx->kij", J, J, square), jnp.einsum("kiyx,kyx->ki", J, product), jnp.mean(residual ** 2)

    def one(frame):
        f = frame - background
        c = jnp.sqrt(jnp.sum(f * f, -1) + 1e-8)
        cosine = jnp.einsum("yxc,kc->kyx", f, direction) / c
        w = jax.nn.softmax(30 * cosine, axis=0) * jnp.maximum(c - 0.06, 0) * (cosine > 0.8)
        m = w.sum((-1, -2)) + 1e-6
        xy = jnp.stack([(w * gx).sum((-1, -2)) / m, (w * gy).sum((-1, -2)) / m], -1)
        for _ in range(4):
            A, b, _ = terms(frame, xy)
            A = A + (0.02 * (A[:, 0, 0] + A[:, 1, 1]) + 1e-3)[:, None, None] * jnp.eye(2)
            det = A[:, 0, 0] * A[:, 1, 1] - A[:, 0, 1] ** 2
            dx, dy = (A[:, 1, 1] * b[:, 0] - A[:, 0, 1] * b[:, 1]) / det, (A[:, 0, 0] * b[:, 1] - A[:, 0, 1] * b[:, 0]) / det
            xy = xy + jnp.clip(jnp.stack([dx, dy], -1), -1, 1)
        return xy, terms(frame, xy)[2]
    centres = rng.uniform(6, 26, (frames, 2, 2))
    x = np.array(jax.vmap(lambda xy: (lambda a: (background * (1 - a[1][..., None]) + a[1][..., None] * colour[1])
                                      * (1 - a[0][..., None]) + a[0][..., None] * colour[0])(cover(xy)[0]))(jnp.array(centres, jnp.float32)))
    x = jnp.array(np.floor(x * 255) / 255, jnp.float32)
    # A video of 120 frames at a time, as the trial did.
    find = jax.jit(jax.vmap(one))
    return lambda: [find(x[i:i + 125]) for i in range(0, frames, 125)]


STEPS = {"points": functools.partial(points_step, 2, 64, 64, 30, 1, 0.0), "box": functools.partial(points_step, 4, 24, 32, 30, 2, 2.0),
         "chain": functools.partial(chain_step, 32, 32, 25), "perception": perception_step}


def main():
    step, seconds, least = STEPS[sys.argv[1]](), float(sys.argv[2]), 1e9
    jax.block_until_ready(step())
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        start = time.process_time()
        jax.block_until_ready(step())
        least = min(least, time.process_time() - start)
    print(json.dumps({"cpu": least}))


if __name__ == "__main__":
    main()
