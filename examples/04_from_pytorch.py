#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""4. From a PyTorch model to a verdict and a page, with the Python package (pip install .).

    python3 examples/04_from_pytorch.py

An encoder learns to predict (q, p) from short clips of a mass on a spring. It is trained on the states themselves,
so it should pass. Put your own model in its place.
"""
import sys

import plumb

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch, or apt-get install python3-torch")

torch.manual_seed(1)
torch.set_num_threads(1)
WINDOW = 5  # input frames of the encoder
world = plumb.world("mass-spring")
train, test = world.batch(32, steps=32, seed=1), world.batch(40, steps=64, seed=1, first=1000)


def clips(batch):
    """(trajectories, steps - WINDOW + 1, pixels): every window of grey frames, small."""
    grey = torch.from_numpy(batch.frames[..., 0]).float().div(255)[:, :, ::2, ::2].flatten(2)
    return torch.cat([grey[:, k:grey.shape[1] - WINDOW + 1 + k] for k in range(WINDOW)], -1)


def states(batch):
    return torch.from_numpy(batch.state[:, :batch.state.shape[1] - WINDOW + 1]).float()


x, y = clips(train), states(train)
encoder = torch.nn.Sequential(torch.nn.Linear(x.shape[-1], 64), torch.nn.SiLU(), torch.nn.Linear(64, 2))
optimiser = torch.optim.Adam(encoder.parameters(), 3e-3)
for step in range(250):
    loss = torch.nn.functional.mse_loss(encoder(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

result = plumb.measure(latent=encoder(clips(test)), truth=states(test))  # tensors work as they are, also with gradients
print(f"{result.verdict}: {result.why}")
print(f"kappa {result.kappa:.4f} {result.kappa_ci}; published: R2 {result.published.r2:.4f}, Sym {result.published.sym:.2g}")
if len(sys.argv) > 1:
    print(plumb.report(sys.argv[1], result, name="an encoder in PyTorch"))
