#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_hgn.py OUT.npz [formula]: a golden case of HGN++ by PyTorch in float64, written from the specification and not from plumb.

Without `formula`: frames of 24 x 16 and lists of channels that differ (models/hgnpp_rectangle.npz). With it: the full default size with
parameters from a hash, as models/README.md says; its clips are noise, so that the file is no copy of the published case. Needs python3-torch.
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
FORMULA = "formula" in sys.argv[2:]
RATE, STEPS = 1.5e-4, 3
if FORMULA:
    H, W, K, T, L, B, BETA, SEED = 32, 32, 5, 60, 32, 2, 1.0, 9
    ENC, DEC, NET = [[64, 64]] * 3, [[64, 64]] * 3, [250] * 4
else:
    H, W, K, T, L, B, BETA, SEED = 24, 16, 3, 4, 4, 2, 0.5, 13
    ENC, DEC, NET = [[3, 5], [4, 6]], [[6, 4], [3, 5]], [7, 9]
LENGTH, MAP = K + T - 1, (H >> len(DEC), W >> len(DEC))  # overlap_by_one


def shapes():
    """{name: shape} of all parameters; convolutions are (height, width, in, out), dense layers (in, out)."""
    out, channels = {}, 3 * K
    for b, widths in enumerate(ENC):
        for i, width in enumerate(widths + [2 * L] * (b == len(ENC) - 1)):
            out[f"enc.block{b}.conv{i}"] = (3, 3, channels, width)
            channels = width
    out["enc.proj"] = (MAP[0] * MAP[1] * 2 * L, 2 * L)
    for name in ("kin", "pot"):
        for i, (a, b) in enumerate(zip([L // 2] + NET, NET + [1])):
            out[f"{name}.ff{i}"] = (a, b)
    out["dec.proj"] = (L // 2, MAP[0] * MAP[1] * L // 2)
    channels = L // 2 + 2
    for b, widths in enumerate(DEC):
        for i, width in enumerate(widths + [3] * (b == len(DEC) - 1)):
            out[f"dec.block{b}.conv{i}"] = (3, 3, channels, width)
            channels = width
    full = {"dec.h": (*MAP, 2)}
    for name, shape in out.items():
        full[name + ".b"], full[name + ".w"] = (shape[-1],), shape
    return {name: full[name] for name in sorted(full)}


def hashed(shape, j, kind):
    """Tensor number j by the hash of models/README.md."""
    mask, i = (1 << 64) - 1, np.arange(math.prod(shape), dtype=np.uint64)
    with np.errstate(over="ignore"):
        x = np.uint64((SEED << 48) + (j << 32) & mask) + i
        x = x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    u = (x >> np.uint64(11)).astype(np.float64) * 2.0 ** -52 - 1
    fan = math.prod(shape[:-1])
    scaled = {"w": u * math.sqrt(3 / fan), "b": 0.1 * u, "h": 1 + 0.1 * u}[kind]
    return scaled.reshape(shape)


def conv(p, name, x, stride=1):
    """(batch, channels, height, width), padding SAME: of an even side with stride 2 none before and one after."""
    pad = (0, 1, 0, 1) if stride == 2 else (1, 1, 1, 1)
    return F.conv2d(F.pad(x, pad), p[name + ".w"].permute(3, 2, 0, 1), p[name + ".b"], stride)


def dense(p, name, x):
    return x @ p[name + ".w"] + p[name + ".b"]


def encode(p, clip):
    """loc and log_scale of clips (batch, K, H, W, 3) in 0 .. 1."""
    x = clip.permute(0, 1, 4, 2, 3).reshape(len(clip), 3 * K, H, W)
    for b, widths in enumerate(ENC):
        depth = len(widths) + (b == len(ENC) - 1)
        for i in range(depth):
            x = conv(p, f"enc.block{b}.conv{i}", x, 1 if i else 2)
            if b < len(ENC) - 1 or i < depth - 1:
                x = F.leaky_relu(x, 0.01)
    return dense(p, "enc.proj", x.permute(0, 2, 3, 1).reshape(len(clip), -1)).chunk(2, 1)


def energy(p, name, x):
    for i in range(len(NET) + 1):
        x = dense(p, f"{name}.ff{i}", x)
        x = x * torch.sigmoid(x) if i < len(NET) else x
    return x[:, 0]


def force(p, name, x):
    return torch.autograd.grad(energy(p, name, x).sum(), x, create_graph=True)[0]


def rollout(p, z, steps, dt=0.125):
    """Leapfrog, momentum first: (batch, steps + 1, L)."""
    q, v = z[:, :L // 2], z[:, L // 2:]
    states = [z]
    for _ in range(steps):
        v = v - dt / 2 * force(p, "pot", q)
        q = q + dt * force(p, "kin", v)
        v = v - dt / 2 * force(p, "pot", q)
        states.append(torch.cat([q, v], 1))
    return torch.stack(states, 1)


def decode(p, q):
    x = dense(p, "dec.proj", q).reshape(len(q), *MAP, L // 2)
    x = torch.cat([p["dec.h"].expand(len(q), -1, -1, -1), x], 3).permute(0, 3, 1, 2)
    for b, widths in enumerate(DEC):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        depth = len(widths) + (b == len(DEC) - 1)
        for i in range(depth):
            x = conv(p, f"dec.block{b}.conv{i}", x)
            if b < len(DEC) - 1 or i < depth - 1:
                x = F.leaky_relu(x, 0.01)
    return torch.sigmoid(x).permute(0, 2, 3, 1)


def forward(p, bytes_, eps):
    """Everything of a step, as the file has it."""
    clip = torch.tensor(bytes_ / 255.0)
    loc, log_scale = encode(p, clip[:, :K])
    z = loc + torch.exp(log_scale) * torch.tensor(eps)
    states, target = rollout(p, z, T - 1), clip[:, K - 1:]
    frames = decode(p, states[:, :, :L // 2].reshape(B * T, L // 2)).reshape(B, T, H, W, 3)
    size = T * H * W * 3
    l2 = ((frames - target) ** 2).sum((2, 3, 4)) / size
    kl = (0.5 * (torch.exp(2 * log_scale) + loc ** 2 - 1) - log_scale).sum(1) / size
    half = 0.5 * math.log(math.pi)
    loss = l2.sum(1) + half + BETA * kl
    level = (energy(p, "pot", states[..., :L // 2].reshape(-1, L // 2)) +
             energy(p, "kin", states[..., L // 2:].reshape(-1, L // 2))).reshape(B, T)
    gap = (level[:, :, None] - level[:, None]).abs()
    norm = l2 / (target ** 2).sum((2, 3, 4))
    return loss, {
        "loc": loc, "log_scale": log_scale, "z_raw": z, "z0": z, "z_traj": states, "x_rec": frames,
        "stat.kl": kl, "stat.l2": l2.sum(1), "stat.l2_norm": norm.sum(1), "stat.neg_log_p_x": l2.sum(1) + half,
        "stat.neg_elbo": l2.sum(1) + half + kl, "stat.loss": loss, "stat.l2_over_time": l2, "stat.l2_over_time_norm": norm,
        "stat.neg_log_p_x_over_time": l2 + half / T, "stat.elbo_beta": torch.tensor(BETA),
        "stat.small_latents": ((torch.exp(2 * log_scale) < 0.5) & (loc.abs() > 0.1)).double().mean() * L,
        "stat.avg_energy_deficit": gap.sum((1, 2)) / (T * (T - 1) / 2), "stat.max_energy_deficit": gap.max()}


def main():
    rng, names = np.random.default_rng(SEED), shapes()
    p = {}
    for j, (name, shape) in enumerate(names.items()):
        value = hashed(shape, j, name[-1])
        p[name] = torch.tensor(value, requires_grad=True)
    out = {"x_u8": rng.integers(0, 256, (STEPS, B, LENGTH, H, W, 3), dtype=np.uint8), "eps": rng.normal(size=(STEPS, B, L))}
    act = "'activation': 'leaky_relu'"
    listed = [f"{{'conv_channels': {c[0][0] if FORMULA else c}, 'num_blocks': {len(c)}, 'blocks_depth': 2, {act}}}" for c in (DEC, ENC)]
    net = f"'num_units': {NET[0] if FORMULA else NET}, 'num_layers': {len(NET) + 1}"
    config = [f"batch={B}", f"beta={BETA}", f"dec={listed[0]}", f"enc={listed[1]}", f"hw=({H}, {W})", f"inf={K}", f"latent={L}",
              f"net={{{net}, 'activation': 'swish'}}", "obj=ELBO", f"seed={SEED}", "split=overlap_by_one", f"tgt={T}"]
    config += ["formula=True"] if FORMULA else []
    out["config"] = np.frombuffer("\n".join(sorted(config)).encode(), np.uint8)
    out["names"] = np.frombuffer("\n".join(names).encode(), np.uint8)
    if not FORMULA:
        out.update({f"p.{name}": x.detach().numpy().copy() for name, x in p.items()})
    m, v, losses = {n: 0.0 for n in names}, {n: 0.0 for n in names}, []
    for step in range(STEPS):
        loss, found = forward(p, out["x_u8"][step], out["eps"][step])
        # The last biases of the energies are not used: only differences of energies matter.
        found_gradients = torch.autograd.grad(loss.mean(), list(p.values()), allow_unused=True)
        gradient = {n: torch.zeros_like(p[n]) if g is None else g for n, g in zip(names, found_gradients)}
        losses.append(loss.mean().item())
        if step == 0:
            found = {key: x.detach().numpy() for key, x in found.items()}
            frames = found.pop("x_rec") if FORMULA else found["x_rec"]
            out.update(found)
            if FORMULA:
                out.update(x_rec_s0_first=frames[0, 0], x_rec_s1_last=frames[1, -1])
                out["g_norm"] = np.array([g.norm().item() for g in gradient.values()])
                out["g_sum"] = np.array([g.sum().item() for g in gradient.values()])
                out.update({f"g8.{n}": g.flatten()[:8].numpy() for n, g in gradient.items()})
            else:
                out["targets_u8"] = out["x_u8"][0][:, K - 1:]
                out.update({f"g.{n}": g.numpy().copy() for n, g in gradient.items()})
        with torch.no_grad():  # Adam
            for n, g in gradient.items():
                m[n], v[n] = 0.9 * m[n] + 0.1 * g, 0.999 * v[n] + 0.001 * g * g
                p[n] -= RATE * (m[n] / (1 - 0.9 ** (step + 1))) / (torch.sqrt(v[n] / (1 - 0.999 ** (step + 1))) + 1e-8)
    out["losses"] = np.array(losses)
    with torch.no_grad():
        if FORMULA:
            out["p3_norm"] = np.array([x.norm().item() for x in p.values()])
            out.update({f"p38.{n}": x.flatten()[:8].numpy() for n, x in p.items()})
        else:
            for n in names:
                out[f"p3.{n}"], out[f"m3.{n}"], out[f"v3.{n}"] = p[n].numpy(), m[n].numpy(), v[n].numpy()
    np.savez_compressed(sys.argv[1], **out)


main()
