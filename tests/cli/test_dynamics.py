# SPDX-License-Identifier: MIT
"""plumb dynamics as a user runs it: models whose motion is known, right and wrong in every way that has a word."""
import numpy as np
import pytest

from program import Program, numbers

plumb = Program("dynamics")
run, answer, refused = plumb.run, plumb.answer, plumb.refused
STEPS = 120


class Data:
    """Springs of one frequency, in ten latents that are a random network of the state."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(6)
        self.radius, self.phase = rng.uniform(0.5, 1.5, (40, 1)), rng.uniform(0, 6.28, (40, 1))
        self.first, self.bias, self.second = rng.normal(size=(2, 24)) / 2, rng.normal(size=24), rng.normal(size=(24, 10))
        self.noise = 0.01 * rng.normal(size=(2, 40, STEPS, 10))
        self.t = 0.15 * np.arange(STEPS)
        self.truth = self.orbit()
        self.energy = (self.truth ** 2).sum(-1) / 2
        self.encoded = self.encode(self.truth) + self.noise[0]

    def orbit(self, rate=1.0, decay=0.0):
        angle = rate * self.t + self.phase
        return np.exp(-decay * self.t)[None, :, None] * np.stack([self.radius * np.cos(angle), -self.radius * np.sin(angle)], -1)

    def encode(self, state):
        return np.tanh(state @ self.first + self.bias) @ self.second

    def save(self, motion, name="model.npz", **more):
        """A file of the model whose rollout is this motion."""
        arrays = dict(latent=self.encode(motion) + self.noise[1], encoded=self.encoded, truth=self.truth, energy=self.energy)
        np.savez(self.folder / name, **{**arrays, **more})
        return self.folder / name


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


def test_a_right_model(data):
    got = answer(data.save(data.truth))
    assert got["verdict"] == "right" and got["r2"] > 0.99 and got["vpt"] == STEPS
    assert abs(got["motion"]["vrmse"] - got["floor"]["vrmse"]) < 0.02
    assert got["energy"]["rollout"] < 0.1 and got["found"]["rollout"] < 0.1 and got["found"]["share"] < 1e-6
    assert got["histogram"] < 0.05 and got["spectrum"] < 0.05 and abs(got["range"] - 1) < 0.05 and got["phase_rate"] < 0.005


def test_a_model_that_spirals_in(data):
    got = answer(data.save(data.orbit(decay=0.03)))
    assert got["verdict"] == "drifts" and got["energy"]["trend"] < -0.2 and got["found"]["rollout"] > 0.3
    assert got["energy"]["encoded"] < 0.1


def test_the_flow_is_that_of_the_readout(data):
    spiral, right = (answer(data.save(motion))["flow"] for motion in (data.orbit(decay=0.03), data.truth))
    # Areas shrink by exp(-2 * 0.03 * 0.15) per step.
    assert abs(spiral["area_rate"] - np.exp(-0.009)) < 1e-3 and abs(right["area_rate"] - 1) < 1e-3
    assert spiral["area_change"] < -0.3 and abs(right["area_change"]) < 0.1
    late = answer(data.save(data.orbit(rate=0.95)))["flow"]
    assert abs(late["clock"] - 0.95) < 0.02
    odd = answer(data.save(data.truth, truth=np.concatenate([data.truth, data.truth[..., :1]], -1)))
    assert odd["flow"] is None and odd["flow_verdict"] is None


def test_a_model_that_spirals_out(data):
    got = answer(data.save(data.orbit(decay=-0.03)))
    assert got["verdict"] == "drifts" and got["energy"]["trend"] > 0.2


def test_a_model_that_is_late(data):
    got = answer(data.save(data.orbit(rate=0.93)))
    assert got["verdict"] == "out-of-step"
    assert abs(got["phase_rate"] - 0.07 * 0.15) < 0.003
    assert got["energy"]["rollout"] < 0.15 and got["histogram"] < 0.2 and 20 < got["vpt"] < 90


@pytest.mark.slow
def test_a_clock_that_is_off_is_named_where_the_rollout_is_still_right(data):
    slow, fast, right = (answer(data.save(data.orbit(rate=rate))) for rate in (0.98, 1.015, 1))
    assert slow["verdict"] == "right" and "its time runs 2 % slow" in slow["verdict_why"]
    assert fast["verdict"] == "right" and "its time runs 1.5 % fast" in fast["verdict_why"]
    assert "its time" not in right["verdict_why"]


def test_a_model_that_forgets(data):
    got = answer(data.save(data.orbit(decay=0.6)))
    assert got["verdict"] == "stops" and got["range"] < 0.1
    still = answer(data.save(np.repeat(data.truth[:, :1], STEPS, 1)))
    assert still["verdict"] == "stops"


def test_a_model_that_diverges(data):
    latent = data.encode(data.truth)
    latent[:, 60:] *= np.exp(0.3 * np.arange(60))[None, :, None]
    got = answer(data.save(data.truth, latent=latent))
    assert got["verdict"] == "diverges"
    latent[:, 100:] = np.nan
    got = answer(data.save(data.truth, latent=latent))
    assert got["verdict"] == "diverges" and got["diverged"] == 40


def test_latents_that_hold_no_state(data):
    rng = np.random.default_rng(3)
    got = answer(data.save(data.truth, encoded=rng.normal(size=(40, STEPS, 10)), latent=rng.normal(size=(40, STEPS, 10))))
    assert got["verdict"] == "unknown" and "cannot be read out" in got["verdict_why"]


def test_an_angle_that_jumps_is_read_as_sine_and_cosine(data):
    rng = np.random.default_rng(8)
    speed, angle = rng.uniform(0.1, 0.3, (40, 1)), rng.uniform(-3, 3, (40, 1))
    turned = np.stack([(angle + speed * np.arange(STEPS) + np.pi) % (2 * np.pi) - np.pi, np.repeat(speed, STEPS, 1)], -1)
    z = np.stack([np.sin(turned[..., 0]), np.cos(turned[..., 0]), turned[..., 1]], -1) @ rng.normal(size=(3, 6))
    file = data.folder / "turned.npz"
    np.savez(file, latent=z, encoded=z, truth=turned)
    got, without = answer(file, "--angle", "0"), answer(file, "--linear-only")
    assert got["verdict"] == "right" and got["dims"] == 3 and got["r2"] > 0.999 > without["r2"]
    refused("0 to 1, not \"2\"", file, "--angle", "2", code=2)


def test_a_readout_that_is_poor_says_so(data):
    rng = np.random.default_rng(9)
    noisy = data.encoded + 2.3 * rng.normal(size=data.encoded.shape)
    got = answer(data.save(data.truth, encoded=noisy, latent=noisy))
    assert got["verdict"] == "unknown" and got["r2"] > 0.6 and "more cannot be told" in got["verdict_why"]


def test_a_motion_of_another_kind(data):
    rng = np.random.default_rng(4)
    walk = data.truth[:, :1] + 0.3 * np.cumsum(rng.normal(size=(40, STEPS, 2)), 1) * 0.5
    got = answer(data.save(np.clip(walk, -1.6, 1.6)))
    assert got["verdict"] in ("other", "drifts") and got["spectrum"] > 0.3


def test_chaos_sets_the_growth_of_the_error(data):
    def lorenz(x):
        return np.stack([10 * (x[..., 1] - x[..., 0]), x[..., 0] * (28 - x[..., 2]) - x[..., 1], x[..., 0] * x[..., 1] - 8 / 3 * x[..., 2]], -1)

    def walk(x, steps):
        out = []
        for _ in range(steps):
            for _ in range(5):
                a = lorenz(x); b = lorenz(x + 0.005 * a); c = lorenz(x + 0.005 * b); d = lorenz(x + 0.01 * c)  # noqa: E702
                x = x + 0.01 / 6 * (a + 2 * b + 2 * c + d)
            out.append(x)
        return np.stack(out, 1)
    rng = np.random.default_rng(1)
    start = walk(rng.normal(size=(60, 3)) + [0, 0, 20], 200)[:, -1]
    truth, twin = walk(start, 200), walk(start + 1e-2 * rng.normal(size=start.shape), 200)
    mix = rng.normal(size=(3, 6))
    np.savez(data.folder / "lorenz.npz", latent=twin @ mix, encoded=truth @ mix, truth=truth)
    got = answer(data.folder / "lorenz.npz", "--linear-only")
    # The exponent of the Lorenz system is 0.906 per unit of time, here 0.045 per step.
    assert abs(got["growth"] / 0.0453 - 1) < 0.25 and 0.6 < got["growth_lyapunov"] < 1.6
    assert got["verdict"] == "out-of-step" and got["vpt_lyapunov"] > 4


def test_the_mean_of_energy_is_what_numpy_says(data):
    # A linear readout of linear latents is exact, so its energy is that of the rollout.
    spiral = data.orbit(decay=0.03)
    got = answer(data.save(spiral, latent=spiral @ data.first, encoded=data.truth @ data.first), "--linear-only")
    energy = (spiral ** 2).sum(-1) / 2
    change = energy[:, -40:].mean(1) - energy[:, :40].mean(1)
    spread = data.energy.mean(1).std()
    assert abs(got["energy"]["rollout"] - np.sqrt((change ** 2).mean()) / spread) < 1e-6
    assert abs(got["energy"]["trend"] - change.mean() / spread) < 1e-6
    error = np.sqrt((((spiral - data.truth) / data.truth.std((0, 1))) ** 2).mean(-1))
    vpt = np.where((error > 0.5).any(1), (error > 0.5).argmax(1), STEPS).mean()
    assert abs(got["vpt"] - vpt) < 1e-9


def test_a_context_and_threads(data):
    file = data.save(data.orbit(rate=0.93))
    got = answer(file, "--context", "30", "--threads", "1")
    assert got["scored"] == 90 and numbers(got) == numbers(answer(file, "--context", "30", "--threads", "3"))


def test_text_and_requirements(data):
    good, bad = data.save(data.truth, "good.npz"), data.save(data.orbit(decay=0.03), "bad.npz")
    text = run(good, "--require", "right").stdout
    for word in ("right:", "VPT", "energy", "histogram", "spectrum", "range", "without a model"):
        assert word in text
    assert "right" in run(bad, "--require", "right", code=3).stderr


def test_mistakes_are_one_line(data):
    np.savez(data.folder / "a.npz", latent=data.encoded, truth=data.truth)
    refused("no array \"encoded\"", data.folder / "a.npz")
    refused("latent has 119 steps and encoded 120: --align", data.save(data.truth, latent=data.encoded[:, 1:]))
    refused("latent has 120 steps and truth 119", data.save(data.truth, truth=data.truth[:, 1:]))
    refused("latent has 120 steps and energy 119", data.save(data.truth, energy=data.energy[:, 1:]))
    refused("12 must be left", data.save(data.truth), "--context", "110", code=2)
    refused("3 trajectories", data.save(data.truth, latent=data.encoded[:3], encoded=data.encoded[:3], truth=data.truth[:3],
                                        energy=data.energy[:3]), code=2)
    encoded = data.encoded.copy()
    encoded[1, 2, 3] = np.inf
    refused("trajectory 1, step 2", data.save(data.truth, encoded=encoded))
    refused("takes one file", code=2)


def test_steps_without_encoded_latents_are_left_out(data):
    encoded = data.encoded.copy()
    encoded[:, :5], encoded[:, 110:] = np.nan, np.nan
    got = answer(data.save(data.orbit(rate=0.93), encoded=encoded))
    part = slice(5, 110)
    latent = data.encode(data.orbit(rate=0.93)) + data.noise[1]
    wanted = answer(data.save(data.truth, latent=latent[:, part], encoded=data.encoded[:, part], truth=data.truth[:, part], energy=data.energy[:, part]))
    assert (got["unencoded_before"], got["unencoded_after"]) == (5, 10) and (wanted["unencoded_before"], wanted["unencoded_after"]) == (0, 0)
    without = ("input_hash", "unencoded_before", "unencoded_after")
    assert numbers(got, *without) == numbers(wanted, *without)
    # The context counts from the first step of the file.
    file = data.save(data.orbit(rate=0.93), encoded=encoded)
    assert answer(file, "--context", "25")["motion"]["step_vrmse"] != got["motion"]["step_vrmse"]
    encoded[0, 50] = np.nan
    refused("encoded has NaN", data.save(data.truth, encoded=encoded))
    refused("encoded is NaN everywhere", data.save(data.truth, encoded=np.full_like(encoded, np.nan)))


@pytest.mark.parametrize("model", ["hgn++", "hgn", "lgn", "ode", "rgn", "ar"])
def test_a_rollout_has_what_dynamics_needs(tmp_path, model):
    program = Program()
    program.run("train", model, "--world", "mass-spring", "--preset", "tiny", "--steps", 1, "--out", tmp_path / "run")
    program.run("rollout", tmp_path / "run", "--count", 5, "--steps", 40, "--out", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        x = {name: arrays[name] for name in arrays}
    assert x["encoded"].shape == x["latent"].shape
    # Around the state that is inferred, both are the same inference; it is the first one that has frames before it.
    finite = np.isfinite(x["encoded"]).all((0, 2))
    first = finite.argmax()
    assert finite[first:].all() and (x["encoded"][:, first] == x["latent"][:, first]).all() and first < 30
    # Energy belongs to its own step: k q^2 / 2 + p^2 / 2m with the parameters k, m.
    q, p = x["truth"][..., 0], x["truth"][..., 1]
    k, m = x["parameters"][:, :1], x["parameters"][:, 1:2]
    assert np.allclose(x["energy"], k * q ** 2 / 2 + p ** 2 / (2 * m), rtol=1e-12)
    assert answer(tmp_path / "x.npz")["unencoded_before"] == first
    program.run("rollout", tmp_path / "run", "--count", 5, "--steps", 40, "--out", tmp_path / "y.npz", "--no-encoded")
    with np.load(tmp_path / "y.npz") as arrays:
        assert "encoded" not in arrays and (arrays["latent"] == x["latent"]).all()


@pytest.fixture(scope="module")
def driven(shared):
    """Pendulums driven by a known torque, those that swing, and their motion under another torque."""
    Program().run("simulate", "pendulum-torque", "--count", 80, "--steps", 50, "--seed", 4, "--out", shared / "torque.npz")
    with np.load(shared / "torque.npz") as file:
        truth, energy, action = file["state"], file["energy"], file["action"]
    kept = np.flatnonzero(np.abs(truth[..., 0]).max(1) < 3)[:30]

    def follow(torque):
        def rate(x):
            return np.stack([2 * x[:, 1], torque * u - 1.5 * np.sin(x[:, 0])], -1)
        x, out, h = truth[kept, 0], [], 0.05
        for u in action[kept, :, 0].T:
            out.append(x)
            a = rate(x); b = rate(x + h / 2 * a); c = rate(x + h / 2 * b); d = rate(x + h * c)  # noqa: E702
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return np.stack(out, 1)
    assert np.abs(follow(1) - truth[kept]).max() < 1e-4
    return dict(truth=truth[kept], energy=energy[kept], action=action[kept]), follow


@pytest.mark.slow
def test_the_energy_of_a_driven_world_is_not_held_against_a_model(data, driven):
    """The same arrays with and without `action`, in every layout."""
    arrays, follow = driven
    file = data.folder / "driven.npz"
    encoded = data.encode(arrays["truth"])
    right = dict(arrays, encoded=encoded, latent=encoded)
    np.savez(file, **right)
    got = answer(file)
    assert got["verdict"] == "right" and got["driven"] and got["flow"]["driven"] and got["energy"]["truth"] > 0.3
    assert abs(got["flow"]["area_rate"] - 1) < 0.01
    # Three times the torque: another motion, whose energy does not count.
    wrong = dict(right, latent=data.encode(follow(3)))
    np.savez(file, **{k: v for k, v in wrong.items() if k != "action"})
    assert answer(file)["verdict"] == "drifts"
    np.savez(file, **wrong)
    first = answer(file)
    assert first["verdict"] == "other" and first["driven"] and first["baselines"]["last"]["vpt"] > 0
    assert "An action drives the world" in run(file).stdout
    # No last step, no last axis, flat rows, another type: the same numbers.
    right, n = {k: v[:16] for k, v in right.items()}, 16
    np.savez(file, **right)
    first = answer(file, "--linear-only")
    for action in (right["action"][:, :-1, 0], right["action"].astype(">f8")):
        np.savez(file, **dict(right, action=action))
        assert numbers(answer(file, "--linear-only"), "input_hash") == numbers(first, "input_hash")
    np.savez(file, **{k: v.reshape(n * 50, -1) for k, v in right.items()}, ep_len=np.full(n, 50))
    assert numbers(answer(file, "--linear-only"), "input_hash") == numbers(first, "input_hash")
    # Actions that are all 0 drive nothing.
    np.savez(file, **dict(right, action=0 * right["action"]))
    assert not answer(file, "--linear-only")["driven"]


def test_actions_that_do_not_fit_are_refused(data, driven):
    arrays, _ = driven
    file, encoded = data.folder / "driven.npz", data.encode(arrays["truth"])
    for action in (arrays["action"][:-1], arrays["action"][0]):
        np.savez(file, **dict(arrays, encoded=encoded, latent=encoded, action=action))
        refused("action has shape", file)
    np.savez(file, **dict(arrays, encoded=encoded, latent=encoded, action=arrays["action"][:, :40]))
    refused("latent has 50 steps and action 40: --align", file)


@pytest.mark.slow
def test_arrays_that_were_exchanged_are_noticed(data):
    """A hint beside the result, which it does not change; a right use has none."""
    spiral = data.encode(data.orbit(decay=0.03)) + data.noise[1]
    right = answer(data.save(data.truth, latent=spiral))
    exchanged = answer(data.save(data.truth, latent=data.encoded, encoded=spiral))
    assert right["hint"] is None and "were latent and encoded exchanged?" in exchanged["hint"]
    few = slice(16)
    swapped = answer(data.save(data.truth, latent=data.truth[few], encoded=data.truth[few], truth=data.encoded[few], energy=data.energy[few]),
                     "--linear-only")
    assert swapped["hint"] is None  # ten numbers of noise and waves do not follow from a line
    linear = data.truth @ np.random.default_rng(2).normal(size=(2, 5))
    file = data.save(data.truth, latent=data.truth, encoded=data.truth, truth=linear)
    assert "were latents and truth exchanged?" in answer(file)["hint"] and "Note: the truth has 5 columns" in run(file).stdout


def test_an_angle_that_jumps_is_noticed(data):
    rng = np.random.default_rng(8)
    speed, angle = rng.uniform(0.1, 0.3, (40, 1)), rng.uniform(-3, 3, (40, 1))
    unwrapped = angle + speed * np.arange(STEPS)
    for column, noticed in (((unwrapped + np.pi) % (2 * np.pi) - np.pi, True), (unwrapped, False), (np.sin(unwrapped), False)):
        truth = np.stack([np.repeat(speed, STEPS, 1), column], -1)
        z = np.stack([np.sin(column), np.cos(column), truth[..., 0]], -1) @ rng.normal(size=(3, 6))
        np.savez(data.folder / "turned.npz", latent=z, encoded=z, truth=truth)
        hint = answer(data.folder / "turned.npz", "--linear-only")["hint"]
        probed = Program("probe").answer(data.folder / "turned.npz", "--linear-only", "--no-controls")["hint"]
        assert ("column 1 of the truth jumps by a turn" in (hint or "")) == noticed == ("truth[1] jumps by a turn" in (probed or ""))
        assert answer(data.folder / "turned.npz", "--angle", "1")["hint"] is None


def two_springs():
    """Springs of two frequencies, (q1, q2, p1, p2), and the same with 3 % less area per step."""
    rng = np.random.default_rng(11)
    radius, phase = rng.uniform(0.5, 1.5, (2, 60, 1)), rng.uniform(0, 6.28, (2, 60, 1))
    rate = np.array([0.15, 0.26])[:, None, None]
    angle = rate * np.arange(STEPS) + phase
    truth = np.concatenate([radius * np.cos(angle), -radius * np.sin(angle)]).transpose(1, 2, 0)
    return truth, truth * np.exp(-0.0075 * np.arange(STEPS))[:, None]


@pytest.mark.slow
def test_pairs_that_stand_together_are_noticed_and_read(data):
    """(q1, p1, q2, p2): a hint where nothing is said, and with --truth-layout the numbers of the plain layout."""
    truth, spiral = two_springs()
    mix = np.random.default_rng(12).normal(size=(4, 7))
    file, pairs = data.folder / "springs.npz", [0, 2, 1, 3]
    np.savez(file, latent=spiral @ mix, encoded=truth @ mix, truth=truth)
    plain = answer(file, "--linear-only")
    assert plain["hint"] is None and abs(plain["flow"]["area_rate"] - np.exp(-0.015)) < 1e-3
    said = run(file, "--linear-only").stdout
    assert "area  " in said and "determined: not determined" not in said
    for layout, columns in (("interleaved", pairs), ("momenta-first", [2, 3, 0, 1])):
        np.savez(file, latent=spiral @ mix, encoded=truth @ mix, truth=truth[..., columns])
        got = answer(file, "--linear-only", "--truth-layout", layout)
        assert got["flow"]["area_rate"] == pytest.approx(plain["flow"]["area_rate"], abs=1e-9) and got["hint"] is None
        assert got["vpt"] == plain["vpt"] and got["truth_layout"] == layout
        hint = answer(file, "--linear-only")["hint"]
        assert ("looks like (q1, p1, q2, p2)" in (hint or "")) == (layout == "interleaved")
    refused("truth_layout velocities", file, "--truth-layout", "velocities", code=2)
    np.savez(file, latent=spiral @ mix, encoded=truth @ mix, truth=truth[..., :3])
    refused("truth has 3 columns; truth_layout interleaved needs an even number", file, "--truth-layout", "interleaved")


@pytest.mark.slow
def test_the_flow_of_angles(data):
    """Two pendulums that turn: sine and cosine are read out, and the flow is that of angle and momentum."""
    rng = np.random.default_rng(13)
    p0, phase = rng.uniform(0.1, 0.3, (2, 60, 1)), rng.uniform(-3, 3, (2, 60, 1))
    t = np.arange(STEPS)
    shrink = np.exp(-0.004 * t)

    def turning(fade):
        """Free rotors; with fade the momenta decay and the angles follow them."""
        p = p0 * (shrink if fade else np.ones(STEPS))
        q = phase + np.concatenate([np.zeros((2, 60, 1)), np.cumsum(p[..., :-1], -1)], -1)
        return np.concatenate([q, p]).transpose(1, 2, 0)

    def features(state):
        return np.concatenate([np.sin(state[..., :2]), np.cos(state[..., :2]), 10 * state[..., 2:]], -1) @ mix

    mix, truth = rng.normal(size=(6, 9)), turning(False)
    wrapped = truth.copy()
    wrapped[..., :2] = (truth[..., :2] + np.pi) % (2 * np.pi) - np.pi
    for states in (truth, wrapped):
        np.savez(data.folder / "rotors.npz", latent=features(turning(True)), encoded=features(truth), truth=states)
        flow = answer(data.folder / "rotors.npz", "--linear-only", "--angle", "0", "--angle", "1")["flow"]
        # Two pairs, each loses exp(-0.004) per step: the mean area rate.
        assert flow is not None and abs(flow["area_rate"] - np.exp(-0.004)) < 1e-3 and abs(flow["true_area_rate"] - 1) < 1e-3
