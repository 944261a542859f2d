# SPDX-License-Identifier: MIT
"""Newton or Kepler? Two bodies on ellipses, and two models of them with the same predictions.

"kepler" holds the elements of the orbit and where the body is on it. "newton" holds positions, velocities and the force of this
moment. Both know the whole state, so both could predict every frame. Which one holds local forces, and which only the shape of the
orbit? That is one command:

    plumb probe kepler.npz --world two-body+c --target orbit ...

Here from Python, on 200 orbits. Latents are mixed at random and have some noise, as those of a network.
"""
import numpy as np
import plumb

world = plumb.world("two-body+c")
batch = world.batch(200, steps=60, seed=1)
targets = world.quantities(batch.state, batch.parameters)  # velocity, force, energy, orbit
rng = np.random.default_rng(1)

separation = batch.state[..., 0:2] - batch.state[..., 2:4]
angle = np.arctan2(separation[..., 1], separation[..., 0])
kepler = np.concatenate([targets["orbit"], np.cos(angle)[..., None], np.sin(angle)[..., None],
                         np.broadcast_to(batch.parameters["m"][:, None], (200, 60, 2))], -1)
newton = np.concatenate([separation, targets["velocity"], targets["force"]], -1)


def mix(x):
    x = (x - x.mean((0, 1))) / x.std((0, 1))
    return x @ rng.normal(size=(x.shape[-1], 32)) + 0.1 * rng.standard_normal((200, 60, 32))


print("R2, linear (non-linear):   " + "  ".join(f"{name:>15}" for name in targets))
for name, latent in (("kepler", mix(kepler)), ("newton", mix(newton))):
    result = plumb.probe(latent, targets, shuffles=2)
    lines = {one["name"]: one for one in result.groups + result.targets}
    print(f"{name:<27}" + "  ".join(f"{lines[t]['linear']['r2']:7.3f} ({lines[t]['nonlinear']['r2']:.3f})" for t in targets))
