# SPDX-License-Identifier: MIT
"""One training step of HGN++ in JAX, jitted, one core: prints the CPU seconds of the fastest.

    train_jax.py CHANNELS BATCH FRAMES SECONDS     FRAMES decoded of 60; 0 all

The force at the end of a leapfrog step is kept for the next, as in plumb; Adam is written out.
"""
import json
import math
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LATENT, UNITS, LAYERS, WINDOW, TARGETS = 32, 250, 5, 5, 60
HALF = LATENT // 2


def parameters(channels):
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 200))
    p = {}

    def layer(name, *shape):
        w = jax.random.truncated_normal(next(keys), -2.0, 2.0, shape) / math.sqrt(np.prod(shape[:-1]))
        p[name] = (w, jnp.zeros(shape[-1]))

    width = 3 * WINDOW
    for i in range(3):
        for j in range(2):
            layer(f"e{i}{j}", 3, 3, width, channels)
            width = channels
    layer("e22", 3, 3, width, 2 * LATENT)
    layer("ep", 16 * 2 * LATENT, 2 * LATENT)
    for name in "vk":
        sizes = [HALF] + [UNITS] * (LAYERS - 1) + [1]
        for i in range(LAYERS):
            layer(name + str(i), sizes[i], sizes[i + 1])
    layer("dp", HALF, 16 * HALF)
    p["h"] = jnp.ones((4, 4, 2))
    width = HALF + 2
    for i in range(3):
        for j in range(2):
            layer(f"d{i}{j}", 3, 3, width, channels)
            width = channels
    layer("d22", 3, 3, width, 3)
    return p


def leaky(x):
    return jnp.where(x > 0, x, 0.01 * x)


def conv(x, wb, stride=1):
    y = lax.conv_general_dilated(x, wb[0], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + wb[1]


def encode(p, x):
    batch = x.shape[0]
    x = jnp.moveaxis(x, 1, 3).reshape(batch, 32, 32, 3 * WINDOW)
    for i in range(3):
        x = leaky(conv(leaky(conv(x, p[f"e{i}0"], 2)), p[f"e{i}1"]))
    x = conv(x, p["e22"]).reshape(batch, -1) @ p["ep"][0] + p["ep"][1]
    return jnp.split(x, 2, 1)


def decode(p, q):
    n = q.shape[0]
    x = (q @ p["dp"][0] + p["dp"][1]).reshape(n, 4, 4, HALF)
    x = jnp.concatenate([jnp.broadcast_to(p["h"], (n, 4, 4, 2)), x], -1)
    for i in range(3):
        _, h, w, c = x.shape
        x = jnp.broadcast_to(x[:, :, None, :, None], (n, h, 2, w, 2, c)).reshape(n, 2 * h, 2 * w, c)
        x = leaky(conv(leaky(conv(x, p[f"d{i}0"])), p[f"d{i}1"]))
    return jax.nn.sigmoid(conv(x, p["d22"]))


def energy(p, name, x):
    for i in range(LAYERS):
        x = x @ p[name + str(i)][0] + p[name + str(i)][1]
        if i < LAYERS - 1:
            x = jax.nn.silu(x)
    return jnp.sum(x)


def loss(p, x, noise, which, dt=0.125):
    mean, log_scale = encode(p, x[:, :WINDOW])
    q, momentum = jnp.split(mean + jnp.exp(log_scale) * noise, 2, 1)
    dv, dk = jax.grad(lambda q: energy(p, "v", q)), jax.grad(lambda k: energy(p, "k", k))

    def leap(state, _):
        q, k, force = state
        k = k - 0.5 * dt * force
        q = q + dt * dk(k)
        force = dv(q)
        return (q, k - 0.5 * dt * force, force), q

    _, rest = lax.scan(leap, (q, momentum, dv(q)), None, length=TARGETS - 1)
    states = jnp.moveaxis(jnp.concatenate([q[None], rest]), 0, 1)
    target = x[:, WINDOW - 1:]
    if which is not None:
        states, target = states[:, which], target[:, which]
    frames = decode(p, states.reshape(-1, HALF)).reshape(target.shape)
    kl = jnp.sum(0.5 * (jnp.exp(2 * log_scale) + mean * mean - 1) - log_scale, 1)
    error = jnp.sum((frames - target) ** 2, (1, 2, 3, 4)) / np.prod(target.shape[1:])
    return jnp.mean(error + kl / (TARGETS * 32 * 32 * 3)) + 0.5 * math.log(math.pi)


def main():
    channels, batch, decoded, limit = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    p = parameters(channels)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, p)
    which = np.arange(decoded) * TARGETS // decoded if decoded else None
    x = jax.random.uniform(jax.random.PRNGKey(1), (batch, WINDOW + TARGETS - 1, 32, 32, 3))
    noise = jax.random.normal(jax.random.PRNGKey(2), (batch, LATENT))

    @jax.jit
    def step(p, m, v, t):
        value, g = jax.value_and_grad(loss)(p, x, noise, which)
        tree = jax.tree_util.tree_map
        m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = tree(lambda p, m, v: p - 1.5e-4 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), p, m, v)
        return p, m, v, value

    jax.block_until_ready(step(p, zeros, zeros, 1.0))
    best = wall = 1e9
    steps, begun = 0, time.perf_counter()
    while steps < 3 or time.perf_counter() - begun < limit:
        cpu, clock = time.process_time(), time.perf_counter()
        jax.block_until_ready(step(p, zeros, zeros, 1.0))
        best, wall = min(best, time.process_time() - cpu), min(wall, time.perf_counter() - clock)
        steps += 1
    print(json.dumps({"cpu": best, "wall": wall, "version": "JAX " + jax.__version__}))


main()
