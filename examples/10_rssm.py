#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""10. A small recurrent state space model (RSSM) in PyTorch, evaluated as it is: two minutes, the training one of them.

    python3 examples/10_rssm.py [page.html]

The model has a deterministic state h and a stochastic state s, as in Dreamer. It learns from frames alone. plumb.evaluate_model makes
new videos, encodes them, rolls the model out, and asks: what of the true state can be read from the latents, do rollouts move as the
world moves, for how long are the frames right, and does the model use what can be read? Put your own model in its place.
"""
import sys

import plumb

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch, or apt-get install python3-torch")
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
WORLD, STEPS, BATCH, UPDATES = "mass-spring", 24, 16, 700
H, S = 64, 8  # sizes of the two states


class RSSM(nn.Module):
    def __init__(self, pixels):
        super().__init__()
        self.see = nn.Sequential(nn.Linear(pixels, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU())
        self.cell = nn.GRUCell(S, H)
        self.prior = nn.Sequential(nn.Linear(H, 64), nn.SiLU(), nn.Linear(64, 2 * S))
        self.posterior = nn.Sequential(nn.Linear(H + 64, 64), nn.SiLU(), nn.Linear(64, 2 * S))
        self.draw = nn.Sequential(nn.Linear(H + S, 128), nn.SiLU(), nn.Linear(128, pixels))

    def filter(self, frames, noise):
        """Goes through frames (B, T, ...) and gives states (B, T, H + S) and the divergence of posterior and prior."""
        seen = self.see(frames.flatten(2))
        h, s = frames.new_zeros(len(frames), H), frames.new_zeros(len(frames), S)
        states, divergence = [], 0
        for t in range(frames.shape[1]):
            h = self.cell(s, h)
            mean0, log0 = self.prior(h).chunk(2, -1)
            mean, log = self.posterior(torch.cat([h, seen[:, t]], -1)).chunk(2, -1)
            log0, log = log0.clamp(-5, 2), log.clamp(-5, 2)  # logarithms of the deviations
            s = mean + noise * torch.randn_like(mean) * log.exp()
            divergence = divergence + (log0 - log + ((2 * log).exp() + (mean - mean0) ** 2) / (2 * (2 * log0).exp()) - 0.5).sum(-1).mean()
            states.append(torch.cat([h, s], -1))
        return torch.stack(states, 1), divergence / frames.shape[1]

    # What plumb calls. Tensors in, tensors out.
    def encode(self, frames):
        return self.filter(frames, noise=0)[0]

    def step(self, z):
        h = self.cell(z[:, H:], z[:, :H])
        return torch.cat([h, self.prior(h).chunk(2, -1)[0]], -1)

    def decode(self, z):
        return self.draw(z).reshape(-1, *frame_shape)


videos = plumb.world(WORLD).batch(200, steps=STEPS, seed=1)  # evaluate_model makes videos of another seed
frame_shape = videos.frames.shape[2:]
frames = torch.from_numpy(videos.frames).float().div(255)
model = RSSM(frames[0, 0].numel())
optimiser = torch.optim.Adam(model.parameters(), 1e-3)
for update in range(UPDATES):
    clips = frames[torch.randint(len(frames), (BATCH,))]
    states, divergence = model.filter(clips, noise=1)
    error = ((model.draw(states) - clips.flatten(2)) ** 2).sum(-1).mean()
    optimiser.zero_grad()
    (error + 0.1 * divergence).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10)
    optimiser.step()
    if update % 100 == 99:
        print(f"update {update + 1}: error of a frame {error.item():.3f}, divergence {divergence.item():.3f}", flush=True)

result = plumb.evaluate_model(model.encode, model.step, model.decode, world=WORLD, count=60, steps=40, context=8)
print(f"dynamics: {result.dynamics.verdict}: {result.dynamics.verdict_why}")
print("read from the latents, R2:", {one["name"]: round(one["linear"]["r2"], 3) for one in result.probe.targets})
print(f"frames right for {result.forecast.vpt:.3g} of {result.forecast.forward['length']}")
for one in result.interventions:
    print(f"moved {one['name']}: {'used' if one['used'] else 'not used'}, cosine {one['cosine']:.2f}, slope {one['slope']:.2f}, "
          f"random directions {one['placebo_cosine_95']:.2f}")
if len(sys.argv) > 1:
    print(result.page(sys.argv[1]))
