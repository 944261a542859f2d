# SPDX-License-Identifier: MIT
"""plumb dynamics on models that were fitted to data: each kind once as it should be and once with the fault it is known for."""
import numpy as np
import pytest

from program import Program

STEP, STEPS, CONTEXT = 0.05, 120, 20


def add_one(x):
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], -1)


def fit(x, y, penalty):
    return np.linalg.solve(x.T @ x + penalty * len(x) * np.eye(x.shape[1]), x.T @ y)


def fit_network(rng, x, y, width):
    """One hidden layer of random units, whose last layer is fitted: a function."""
    first, bias = rng.normal(size=(x.shape[1], width)), rng.uniform(-2, 2, width)

    def units(x):
        return add_one(np.concatenate([np.tanh(x @ first + bias), x], -1))
    last = fit(units(x), y, 1e-8)
    return lambda x: units(x) @ last


def roll(step, x):
    out = [x]
    for _ in range(STEPS - 1):
        out.append(step(out[-1]))
    return np.stack(out, 1)


class World:
    """Trajectories that swing, in ten latents that are a random network of the state; half to fit to, half to test."""

    def __init__(self, folder, name):
        Program().run("simulate", name, "--count", 120, "--steps", STEPS, "--out", folder / f"{name}.npz", "--force")
        with np.load(folder / f"{name}.npz") as file:
            kept = np.abs(file["state"][..., 0]).max(1) < 2.6
            state, energy = file["state"][kept], file["energy"][kept]
        self.folder, self.rng = folder, np.random.default_rng(6)
        first, bias, last = self.rng.normal(size=(2, 24)) / 2, self.rng.normal(size=24), self.rng.normal(size=(24, 10))
        self.encode = lambda x: np.tanh(x @ first + bias) @ last
        half = len(state) // 2
        self.train, self.test, self.energy = state[:half], state[half:], energy[half:]
        self.z, self.z_test = self.encode(self.train), self.encode(self.test)
        middle = self.train[:, 1:-1].reshape(-1, 2)
        self.at, self.rate = middle, ((self.train[:, 2:] - self.train[:, :-2]) / (2 * STEP)).reshape(-1, 2)

    def judge(self, latent):
        np.savez(self.folder / "model.npz", latent=latent, encoded=self.z_test, truth=self.test, energy=self.energy)
        return Program("dynamics").answer(self.folder / "model.npz", "--resamples", 100, "--linear-only")


@pytest.fixture(scope="module")
def pendulum(shared):
    return World(shared, "pendulum")


@pytest.fixture(scope="module")
def spring(shared):
    return World(shared, "mass-spring")


def test_an_ode_net_spirals_by_its_integrator(pendulum):
    rate = fit_network(np.random.default_rng(1), pendulum.at, pendulum.rate, 60)

    def runge_kutta(x):
        a = rate(x); b = rate(x + STEP / 2 * a); c = rate(x + STEP / 2 * b); d = rate(x + STEP * c)  # noqa: E702
        return x + STEP / 6 * (a + 2 * b + 2 * c + d)
    right = pendulum.judge(pendulum.encode(roll(runge_kutta, pendulum.test[:, 0])))
    assert right["verdict"] == "right" and right["vpt"] > 0.95 * STEPS and right["flow_verdict"] == "learnt"
    spiral = pendulum.judge(pendulum.encode(roll(lambda x: x + STEP * rate(x), pendulum.test[:, 0])))
    assert spiral["verdict"] == "drifts" and spiral["energy"]["trend"] > 1 and spiral["flow_verdict"] == "not learnt"


def test_a_symplectic_net_keeps_the_energy(pendulum):
    """The same kind of net by leapfrog; steps of the position alone are no symplectic map."""
    rng = np.random.default_rng(2)
    velocity, force = (fit_network(rng, pendulum.at[:, 1 - i:2 - i], pendulum.rate[:, i:i + 1], 30) for i in range(2))

    def leapfrog(x):
        p = x[:, 1:] + STEP / 2 * force(x[:, :1])
        q = x[:, :1] + STEP * velocity(p)
        return np.concatenate([q, p + STEP / 2 * force(q)], -1)
    right = pendulum.judge(pendulum.encode(roll(leapfrog, pendulum.test[:, 0])))
    assert right["verdict"] == "right" and right["energy"]["rollout"] < 0.3 and right["found"]["rollout"] < 0.3
    lossy = pendulum.judge(pendulum.encode(roll(lambda x: leapfrog(x) * [1, 0.995], pendulum.test[:, 0])))
    assert lossy["verdict"] == "drifts" and lossy["energy"]["trend"] < -0.3


def test_a_koopman_model_is_right_where_the_motion_is_linear(spring, pendulum):
    """A linear map of the latents, fitted by least squares: springs have one frequency, pendulums have many, which it cannot."""
    def follow(world):
        step = fit(add_one(world.z[:, :-1]).reshape(-1, 11), world.z[:, 1:].reshape(-1, 10), 1e-10)
        return world.judge(roll(lambda x: add_one(x) @ step, world.z_test[:, 0]))
    right, wrong = follow(spring), follow(pendulum)
    assert right["verdict"] == "right" and right["found"]["rollout"] < 0.3, right["verdict_why"]
    assert wrong["verdict"] == "drifts" and wrong["found"]["rollout"] > 0.5 and wrong["vpt"] < 0.9 * STEPS


def test_a_recurrent_net_that_forgets_stops(spring):
    """A net of random units that predicts the next latents and then runs on its own output; a large penalty makes it forget."""
    rng = np.random.default_rng(3)
    inward, inner = rng.normal(size=(10, 200)) * 0.1, rng.normal(size=(200, 200))
    inner *= 0.7 / np.abs(np.linalg.eigvals(inner)).max()

    def read(z):
        hidden, out = np.zeros((len(z), 200)), []
        for t in range(z.shape[1]):
            hidden = np.tanh(hidden @ inner + z[:, t] @ inward)
            out.append(hidden)
        return np.stack(out, 1)

    def follow(penalty):
        outward = fit(add_one(read(spring.z)[:, CONTEXT:-1]).reshape(-1, 201), spring.z[:, CONTEXT + 1:].reshape(-1, 10), penalty)
        hidden, out = read(spring.z_test[:, :CONTEXT])[:, -1], []
        for _ in range(CONTEXT, STEPS):
            z = add_one(hidden) @ outward
            out.append(z)
            hidden = np.tanh(hidden @ inner + z @ inward)
        return spring.judge(np.concatenate([spring.z_test[:, :CONTEXT], np.stack(out, 1)], 1))
    right, forgets = follow(1e-9), follow(10)
    assert right["verdict"] == "right" and right["range"] > 0.9, right["verdict_why"]
    assert forgets["verdict"] == "stops" and forgets["range"] < 0.2 and forgets["vpt"] < 0.6 * STEPS
