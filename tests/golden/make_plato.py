#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_plato.py OUT.npz [LIKE.npz]: PLATO's perception by PyTorch in float64, written from the specification and not from plumb: frames of
20 x 24, so that the map before the dense layer is 2 x 2 (voe/plato_vae_rectangle.npz). With LIKE the sizes, inputs and weights of that file are
used instead, and the largest difference from its numbers is printed: a check of this script. Needs python3-torch."""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
LIKE = dict(np.load(sys.argv[2])) if len(sys.argv) > 2 else None
META = {"H": 20, "W": 24, "K": 3, "B": 2, "dense": 10, "D": 4, "dec": 5, "beta": 0.1, "gamma": 10.0, "sigma": 0.05, "lr": 4e-4,
        "enc_channels": np.array([4, 4, 6, 5])}
if LIKE:
    META = {name[5:]: LIKE[name] if LIKE[name].ndim else LIKE[name].item() for name in LIKE if name.startswith("meta/")}
H, W, K, B, D = META["H"], META.get("W", META["H"]), META["K"], META["B"], META["D"]
rng = np.random.default_rng(3)


def parameters():
    channels, sizes, side = 4, {}, [H, W]
    for i, width in enumerate(META["enc_channels"]):
        sizes[f"enc.{i}"] = (int(width), channels, 3, 3)
        channels, side = int(width), [(n + 1) // 2 for n in side]
    sizes["fc1"], sizes["fc2"] = (META["dense"], channels * side[0] * side[1]), (2 * D, META["dense"])
    for i in range(4):
        sizes[f"dec.{i}"] = (META["dec"], META["dec"] if i else D + 2, 3, 3)
    sizes["out"] = (4, META["dec"], 1, 1)
    out = {}
    for name, size in sizes.items():
        scale = 1 / math.sqrt(math.prod(size[1:]))
        out[name + ".weight"], out[name + ".bias"] = rng.uniform(-scale, scale, size), rng.uniform(-scale, scale, size[0])
    return {n: LIKE["w/" + n] if LIKE else x for n, x in out.items()}


def forward(p, image, mask, eps):
    """The numbers of a step. image (B, 3, H, W); mask (B, K, H, W)."""
    x = torch.cat([image[:, None] * mask[:, :, None], mask[:, :, None]], 2).reshape(B * K, 4, H, W)
    for i in range(4):
        x = F.relu(F.conv2d(x, p[f"enc.{i}.weight"], p[f"enc.{i}.bias"], 2, 1))
    x = F.relu(F.linear(x.flatten(1), p["fc1.weight"], p["fc1.bias"]))  # channel, row, column
    mu, logvar = F.linear(x, p["fc2.weight"], p["fc2.bias"]).reshape(B, K, 2 * D).chunk(2, 2)
    z = (mu + torch.exp(0.5 * logvar) * eps).reshape(B * K, D)
    rows, columns = torch.meshgrid(torch.linspace(-1, 1, H), torch.linspace(-1, 1, W), indexing="ij")
    x = torch.cat([z[:, :, None, None].expand(-1, -1, H, W), torch.stack([columns, rows]).expand(B * K, -1, -1, -1)], 1)
    for i in range(4):
        x = F.relu(F.conv2d(x, p[f"dec.{i}.weight"], p[f"dec.{i}.bias"], 1, 1))
    x = F.conv2d(x, p["out.weight"], p["out.bias"]).reshape(B, K, 4, H, W)
    rgb, logit, sigma = x[:, :, :3], x[:, :, 3], META["sigma"]
    share = torch.log_softmax(logit, 1)
    level = math.log(sigma) + 0.5 * math.log(2 * math.pi)
    nll = (mask[:, :, None] * ((image[:, None] - rgb) ** 2 / (2 * sigma ** 2) + level)).sum((1, 2, 3, 4))
    kl = (0.5 * (mu ** 2 + torch.exp(logvar) - logvar - 1)).sum((1, 2))
    ce = -(mask * share).sum((1, 2, 3))
    loss = (nll + META["beta"] * kl + META["gamma"] * ce).mean()
    return loss, {"mu": mu, "logvar": logvar, "rgb": rgb, "mask_logit": logit, "composite": (torch.exp(share)[:, :, None] * rgb).sum(1),
                  "nll": nll, "kl": kl, "ce": ce, "loss": loss}


def main():
    weights = parameters()
    owner = rng.integers(0, K, (B, H, W))
    data = {"image": rng.uniform(0, 1, (B, 3, H, W)), "mask": np.stack([owner == k for k in range(K)], 1).astype(np.float64),
            "eps": rng.normal(size=(B, K, D))}
    if LIKE:
        data = {name: LIKE[name] for name in data}
    p = {n: torch.tensor(x, dtype=torch.float64, requires_grad=True) for n, x in weights.items()}
    loss, found = forward(p, *(torch.tensor(data[name], dtype=torch.float64) for name in ("image", "mask", "eps")))
    gradient = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
    out = {**data, **{n: x.detach().numpy() for n, x in found.items()}, **{"meta/" + n: np.array(x) for n, x in META.items()}}
    out.update({"w/" + n: x for n, x in weights.items()}, **{"grad/" + n: g.numpy() for n, g in gradient.items()})
    # One step of Adam from zero: both moments are those of one gradient.
    out["step1_norm"] = np.array([(p[n] - META["lr"] * g / (g.abs() + 1e-8)).norm().item() for n, g in gradient.items()])
    if LIKE:
        worst = {n: np.abs(out[n] - LIKE[n]).max() / max(np.abs(LIKE[n]).max(), 1e-30) for n in out if n in LIKE and LIKE[n].dtype.kind == "f"}
        print("largest relative difference", max(worst.items(), key=lambda item: item[1]))
    np.savez_compressed(sys.argv[1], **out)


main()
