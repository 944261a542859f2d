#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""11. A small joint-embedding predictive model (JEPA-like) in PyTorch, evaluated as it is: two minutes, the training one of them.

    python3 examples/11_jepa.py [page.html]

An encoder gives a latent for each frame and the one before it, and a predictor gives the next latent. No pixel is ever predicted: the
target is the latent of a slow copy of the encoder, and variances and covariances keep the latents from collapsing. There is no decoder,
so plumb measures what needs none: what can be read from the latents, how rollouts move, and whether the model uses what can be read.
"""
import sys

import plumb

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch, or apt-get install python3-torch")
import copy

from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
WORLD, STEPS, BATCH, UPDATES, D = "mass-spring", 20, 16, 1500, 4


class Encoder(nn.Module):
    def __init__(self, pixels):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * pixels, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU(), nn.Linear(64, D))

    def forward(self, frames):
        """frames (B, T, height, width, channels) to latents (B, T, D); a latent depends on its frame and the one before it."""
        flat = frames[:, :, ::2, ::2].flatten(2) - 0.5
        return self.body(torch.cat([torch.cat([flat[:, :1], flat[:, :-1]], 1), flat], -1))


def regularise(z):
    """Every column should have deviation 1, and no two of them should be correlated [VICReg]."""
    z = z.flatten(0, 1)
    z = z - z.mean(0)
    covariance = z.T @ z / len(z)
    deviation = (covariance.diagonal() + 1e-4).sqrt()
    return nn.functional.relu(1 - deviation).mean() + (covariance - covariance.diagonal().diag()).pow(2).sum() / D


videos = plumb.world(WORLD).batch(200, steps=STEPS, seed=1)  # evaluate_model makes videos of another seed
AHEAD = 8
frames = torch.from_numpy(videos.frames).float().div(255)
encoder = Encoder(frames[0, 0, ::2, ::2].numel())
predictor = nn.Sequential(nn.Linear(D, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, D))
slow = copy.deepcopy(encoder).requires_grad_(False)
parameters = [*encoder.parameters(), *predictor.parameters()]
optimiser = torch.optim.Adam(parameters, 1e-3)
for update in range(UPDATES):
    clips = frames[torch.randint(len(frames), (BATCH,))]
    z, target = encoder(clips)[:, 1:], slow(clips)[:, 1:]
    # Several steps ahead, each from the latent predicted before it.
    ahead, error = z[:, :-AHEAD], 0
    for k in range(1, AHEAD + 1):
        ahead = ahead + predictor(ahead)
        error = error + (ahead - target[:, k:k - AHEAD or None]).pow(2).mean() / AHEAD
    loss = 10 * error + regularise(z)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    with torch.no_grad():
        for old, new in zip(slow.parameters(), encoder.parameters()):
            old.lerp_(new, 0.02)
    if update % 250 == 249:
        print(f"update {update + 1}: error of a prediction {error.item():.4f}", flush=True)

result = plumb.evaluate_model(encoder, lambda z: z + predictor(z), world=WORLD, count=60, steps=40, context=5)
print(f"dynamics: {result.dynamics.verdict}: {result.dynamics.verdict_why}")
print("read from the latents, R2:", {one["name"]: round(one["linear"]["r2"], 3) for one in result.probe.targets})
for one in result.interventions:
    print(f"moved {one['name']}: {'used' if one['used'] else 'not used'}, cosine {one['cosine']:.2f}, slope {one['slope']:.2f}, "
          f"random directions {one['placebo_cosine_95']:.2f}")
if len(sys.argv) > 1:
    print(result.page(sys.argv[1]))
