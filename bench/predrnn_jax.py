# SPDX-License-Identifier: MIT
"""PredRNN in JAX, jitted: the network of predrnn_peer.py, with a scan over time.

    predrnn_jax.py train|watch IMAGE PATCH LAYERS HIDDEN KERNEL BATCH ROUNDS

Prints the least CPU seconds of a step (forward and backward, no optimiser) or of watching the clips, on one thread.
"""
import json
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LENGTH = 15


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def parameters(channels, layers, hidden, kernel):
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 100))

    def weights(k, i, o):
        return jax.random.normal(next(keys), (k, k, i, o)) / np.sqrt(k * k * i)

    cells = [{"x": weights(kernel, hidden if layer else channels, 7 * hidden), "h": weights(kernel, hidden, 4 * hidden),
              "m": weights(kernel, hidden, 3 * hidden), "o": weights(kernel, 2 * hidden, hidden), "last": weights(1, 2 * hidden, hidden)}
             for layer in range(layers)]
    return {"cells": cells, "last": weights(1, hidden, channels)}


def cell_step(p, x, h, c, m):
    i_x, f_x, g_x, i2_x, f2_x, g2_x, o_x = jnp.split(conv(x, p["x"]), 7, -1)
    i_h, f_h, g_h, o_h = jnp.split(conv(h, p["h"]), 4, -1)
    i_m, f_m, g_m = jnp.split(conv(m, p["m"]), 3, -1)
    sigmoid, tanh = jax.nn.sigmoid, jnp.tanh
    c = sigmoid(f_x + f_h + 1) * c + sigmoid(i_x + i_h) * tanh(g_x + g_h)
    m = sigmoid(f2_x + f_m + 1) * m + sigmoid(i2_x + i_m) * tanh(g2_x + g_m)
    both = jnp.concatenate((c, m), -1)
    return sigmoid(o_x + o_h + conv(both, p["o"])) * tanh(conv(both, p["last"])), c, m


def error(p, frames, hidden):
    """(clips): the mean squared error of each clip. frames: (time, clip, height, width, channels)"""
    layers = len(p["cells"])
    zero = jnp.zeros(frames.shape[1:4] + (hidden,))

    def advance(state, x):
        h, c, m = state
        h, c = list(h), list(c)
        for i, cell in enumerate(p["cells"]):
            h[i], c[i], m = cell_step(cell, x, h[i], c[i], m)
            x = h[i]
        return (tuple(h), tuple(c), m), conv(x, p["last"])

    _, out = lax.scan(advance, ((zero,) * layers, (zero,) * layers, zero), frames[:-1])
    return jnp.mean((out - frames[1:]) ** 2, (0, 2, 3, 4))


def main():
    what, (image, patch, layers, hidden, kernel, batch, rounds) = sys.argv[1], map(int, sys.argv[2:9])
    side, channels = image // patch, patch * patch * 3
    p = parameters(channels, layers, hidden, kernel)
    frames = jax.random.uniform(jax.random.PRNGKey(1), (LENGTH, batch, side, side, channels))
    if what == "train":
        step = jax.jit(jax.value_and_grad(lambda p, x: jnp.mean(error(p, x, hidden))))
    else:
        step = jax.jit(lambda p, x: error(p, x, hidden))
    jax.block_until_ready(step(p, frames))
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        jax.block_until_ready(step(p, frames))
        best = min(best, time.process_time() - start)
    print(json.dumps({"cpu": best, "version": "JAX " + jax.__version__}))


main()
