# SPDX-License-Identifier: MIT
"""One training step of HGN++ in PyTorch, tuned, one core: prints the CPU seconds of the fastest.

    train_torch.py [--compile] CHANNELS BATCH FRAMES SECONDS     FRAMES decoded of 60; 0 all

Tuned: channels last, the force of the energies in closed form (so that autograd is needed once only),
and the force at the end of a leapfrog step kept for the next. With --compile torch.compile compiles the encoder, the decoder and a
leapfrog step, each with its gradient.
"""
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

LATENT, UNITS, LAYERS, WINDOW, TARGETS = 32, 250, 5, 5, 60
HALF = LATENT // 2


def parameters(channels):
    generator = torch.Generator().manual_seed(0)
    p = {}

    def layer(name, out, *rest):
        fan = math.prod(rest)
        p[name + ".w"] = torch.randn(out, *rest, generator=generator) / math.sqrt(fan)
        p[name + ".b"] = torch.zeros(out)

    width = 3 * WINDOW
    for i in range(3):
        for j in range(2):
            layer(f"e{i}{j}", channels, width, 3, 3)
            width = channels
    layer("e22", 2 * LATENT, width, 3, 3)
    layer("ep", 2 * LATENT, 16 * 2 * LATENT)
    for name in "vk":
        sizes = [HALF] + [UNITS] * (LAYERS - 1) + [1]
        for i in range(LAYERS):
            layer(name + str(i), sizes[i + 1], sizes[i])
    layer("dp", 16 * HALF, HALF)
    p["h"] = torch.ones(2, 4, 4)
    width = HALF + 2
    for i in range(3):
        for j in range(2):
            layer(f"d{i}{j}", channels, width, 3, 3)
            width = channels
    layer("d22", 3, width, 3, 3)
    last = torch.channels_last
    return {k: (v.contiguous(memory_format=last) if v.dim() == 4 else v).requires_grad_() for k, v in p.items()}


def conv(p, name, x, stride=1):
    if stride == 2:  # SAME on an even size: one row and one column of zeros, after
        return F.conv2d(F.pad(x, (0, 1, 0, 1)), p[name + ".w"], p[name + ".b"], 2)
    return F.conv2d(x, p[name + ".w"], p[name + ".b"], 1, 1)


def encode(p, x):
    x = x.flatten(1, 2).contiguous(memory_format=torch.channels_last)
    for i in range(3):
        x = F.leaky_relu(conv(p, f"e{i}1", F.leaky_relu(conv(p, f"e{i}0", x, 2), 0.01)), 0.01)
    return F.linear(conv(p, "e22", x).flatten(1), p["ep.w"], p["ep.b"]).chunk(2, 1)


def decode(p, q):
    n = q.shape[0]
    x = F.linear(q, p["dp.w"], p["dp.b"]).view(n, HALF, 4, 4)
    x = torch.cat([p["h"][None].expand(n, -1, -1, -1), x], 1).contiguous(memory_format=torch.channels_last)
    for i in range(3):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = F.leaky_relu(conv(p, f"d{i}1", F.leaky_relu(conv(p, f"d{i}0", x), 0.01)), 0.01)
    return torch.sigmoid(conv(p, "d22", x))


def force(p, name, x):
    slopes = []
    for i in range(LAYERS - 1):
        a = F.linear(x, p[f"{name}{i}.w"], p[f"{name}{i}.b"])
        s = torch.sigmoid(a)
        x = a * s
        slopes.append(s + x * (1 - s))
    g = p[f"{name}{LAYERS - 1}.w"]
    for i in reversed(range(LAYERS - 1)):
        g = (g * slopes[i]) @ p[f"{name}{i}.w"]
    return g


def leap(p, q, k, f, dt):
    k = k - 0.5 * dt * f
    q = q + dt * force(p, "k", k)
    f = force(p, "v", q)
    return q, k - 0.5 * dt * f, f


def loss(p, x, noise, which, dt=0.125):
    mean, log_scale = encode(p, x[:, :WINDOW])
    q, k = (mean + torch.exp(log_scale) * noise).chunk(2, 1)
    states, f = [q], force(p, "v", q)
    for _ in range(TARGETS - 1):
        q, k, f = leap(p, q, k, f, dt)
        states.append(q)
    states, target = torch.stack(states, 1), x[:, WINDOW - 1:]
    if which is not None:
        states, target = states[:, which], target[:, which]
    frames = decode(p, states.flatten(0, 1)).view(target.shape)
    kl = (0.5 * (torch.exp(2 * log_scale) + mean * mean - 1) - log_scale).sum(1)
    error = ((frames - target) ** 2).flatten(1).mean(1)
    return (error + kl / (TARGETS * 32 * 32 * 3)).mean() + 0.5 * math.log(math.pi)


def main():
    global encode, decode, leap
    compiled = "--compile" in sys.argv
    if compiled:
        sys.argv.remove("--compile")
        encode, decode, leap = torch.compile(encode), torch.compile(decode), torch.compile(leap)
    channels, batch, decoded, limit = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(1)
    p = parameters(channels)
    optimiser = torch.optim.Adam(list(p.values()), lr=1.5e-4)
    which = torch.arange(decoded) * TARGETS // decoded if decoded else None
    x, noise = torch.rand(batch, WINDOW + TARGETS - 1, 3, 32, 32), torch.randn(batch, LATENT)
    best = wall = 1e9
    steps, begun = 0, time.perf_counter()
    while steps < 4 or time.perf_counter() - begun < limit:
        cpu, clock = time.process_time(), time.perf_counter()
        optimiser.zero_grad()
        loss(p, x, noise, which).backward()
        optimiser.step()
        if steps:
            best, wall = min(best, time.process_time() - cpu), min(wall, time.perf_counter() - clock)
        steps += 1
    print(json.dumps({"cpu": best, "wall": wall, "version": "PyTorch " + torch.__version__.split("+")[0]}))


main()
