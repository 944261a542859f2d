# SPDX-License-Identifier: MIT
"""evaluate_model and Metric: models whose answer is known, given as functions."""
import html
import pickle
import re

import package  # noqa: F401
import numpy as np
import plumb
import pytest

WORLD = plumb.world("mass-spring")
BATCH = WORLD.batch(3, steps=12)
MASS, SPRING = BATCH.parameters["m"][0, 0], BATCH.parameters["k"][0, 0]
OMEGA = np.sqrt(SPRING / MASS)
COS, SIN, SCALE = np.cos(OMEGA * WORLD.dt), np.sin(OMEGA * WORLD.dt), MASS * OMEGA
TURN = np.array([[COS, SIN / SCALE], [-SCALE * SIN, COS]], np.float32)  # one exact step


def height(frames):
    """The row of the disc's centre, in each frame."""
    dark = np.abs(frames - frames[:, :1, :1, :1]).sum(-1)
    return (dark * np.arange(frames.shape[2])[:, None]).sum((2, 3)) / dark.sum((2, 3))


# The row is a linear function of q, which the frames of the world itself give.
SLOPE, SHIFT = np.polyfit(height(BATCH.frames / 255).ravel(), BATCH.state[..., 0].ravel(), 1)


def encode(frames):
    """Position from the frame, momentum from the frame before it: causal and exact."""
    q = SLOPE * height(frames) + SHIFT
    p = SCALE * (q * COS - np.roll(q, 1, 1)) / SIN
    p[:, 0] = p[:, 1]
    return np.stack([q, p], -1)


def step(z):
    return z @ TURN.T


SMALL = {"world": "mass-spring", "count": 24, "steps": 30}


@pytest.fixture(scope="module")
def exact():
    return plumb.evaluate_model(encode, step, **SMALL)


def test_an_exact_model_is_learnt_moves_right_and_uses_its_variables(exact):
    assert exact.verdict == "learnt" and exact.phase_space.passes
    assert exact.probe.target("state")["linear"]["r2"] > 0.999
    assert exact.dynamics.verdict == "right"
    assert [one["used"] for one in exact.interventions] == [True, True]
    assert all(abs(one["slope"] - 1) < 1e-3 and one["cosine"] > 0.999 for one in exact.interventions)
    assert set(exact.left_out) == {"forecast", "surprise"}


def test_a_model_that_stops_is_not_right(exact):
    still = plumb.evaluate_model(encode, lambda z: 0.9 * z, **SMALL)
    assert still.verdict == "learnt"  # the coordinates of its encoder are the same
    assert still.dynamics.verdict != "right"
    assert not any(one["used"] for one in still.interventions)


def test_a_readout_that_the_model_does_not_use_is_seen():
    """The state is there twice: the rollout moves one copy alone, so a move of both does half of the work."""
    def wide(frames):
        z = encode(frames)
        return np.concatenate([z, np.random.default_rng(1).normal(size=(*z.shape[:2], 4)) * 0.1], -1)
    rolled = plumb.evaluate_model(wide, lambda z: np.concatenate([np.zeros_like(z[:, :2]), z[:, 2:]], -1), phase_space=False, **SMALL)
    assert not any(one["used"] for one in rolled.interventions)
    assert rolled.phase_space is None and "phase_space" in rolled.left_out


# ---- actions ----

def driven_arrays(count=16, steps=30):
    """A free particle that is pushed: position and velocity, the push of each step, and a frame that shows nothing but q and v."""
    rng = np.random.default_rng(3)
    action = rng.normal(size=(count, steps, 1))
    state = np.zeros((count, steps, 2))
    state[:, 0] = rng.normal(size=(count, 2))
    for t in range(steps - 1):
        state[:, t + 1, 1] = state[:, t, 1] + action[:, t, 0]
        state[:, t + 1, 0] = state[:, t, 0] + 0.1 * state[:, t + 1, 1]
    return {"frames": np.tile(state[:, :, None, :, None], (1, 1, 2, 1, 3)).astype(np.float32), "state": state, "action": action}


def read_frames(frames):
    return frames[:, :, 0, :, 0]


def push(z, action=None):
    v = z[:, 1:] + (action if action is not None else 0)
    return np.concatenate([z[:, :1] + 0.1 * v, v], 1)


def test_step_is_given_the_action_between_two_frames():
    found = plumb.evaluate_model(read_frames, push, data=driven_arrays())
    assert found.dynamics.verdict == "right", found.dynamics.verdict_why
    assert found.dynamics.to_dict()["driven"] is True and "driven" not in (found.left_out.get("dynamics") or "")
    # With the actions of the step after, it goes another way.
    late = driven_arrays()
    late["action"] = np.roll(late["action"], 1, axis=1)
    assert plumb.evaluate_model(read_frames, push, data=late).dynamics.verdict != "right"


def test_a_step_without_action_is_refused_where_there_are_actions():
    with pytest.raises(TypeError, match="step is called as step\\(z, action\\)"):
        plumb.evaluate_model(read_frames, lambda z: z, data=driven_arrays())
    wrong = driven_arrays()
    with pytest.raises(ValueError, match="action has shape"):
        plumb.evaluate_model(read_frames, push, data={**wrong, "action": wrong["action"][:, :7]})


def test_a_driven_world_is_evaluated():
    found = plumb.evaluate_model(lambda frames: frames.reshape(*frames.shape[:2], -1)[:, :, ::97], lambda z, action: z + 0 * action,
                                 world="pendulum-torque", count=12, steps=20)
    assert found.dynamics.verdict != "right" and "nothing drives" in found.left_out["interventions"]


def test_an_encoder_that_knows_the_future_is_seen(exact):
    assert exact.causal is True and "causal" not in repr(exact)
    # The momentum from the frame after: exact as well, but for the last one.
    found = plumb.evaluate_model(lambda frames: encode(frames[:, ::-1])[:, ::-1] * [1, -1], step, **SMALL)
    assert found.causal is False and "encode not causal" in repr(found)
    drawn = np.random.default_rng(1)
    assert plumb.evaluate_model(lambda frames: encode(frames) + 0.01 * drawn.normal(size=(*frames.shape[:2], 2)), step, **SMALL).causal is None

    def of_one_length(frames):
        assert frames.shape[1] == SMALL["steps"]
        return encode(frames)
    assert plumb.evaluate_model(of_one_length, step, **SMALL).causal is None


@pytest.mark.parametrize("world", ["rooms/freeform", "mass-spring"])
def test_surprise_on_the_rooms_is_that_of_one_step(world):
    """The next frame is the last one again: a model without memory, for which all tuples are ties, as plumb.surprise says too."""
    found = plumb.evaluate_model(lambda frames: frames[:, :, ::4, ::4].reshape(*frames.shape[:2], -1), lambda z: z,
                                 lambda z: np.repeat(np.repeat(z.reshape(len(z), int((z.shape[1] / 3)**0.5), -1, 3), 4, 1), 4, 2),
                                 world=world, rooms=True, tuples=2, count=20, steps=20)
    plain = found.surprise.scorers["plain"]
    assert found.surprise.tuples == 10 and plain["ties"] == 10 and plain["accuracy"] == 0
    assert (found.dynamics is None) == (world == "rooms/freeform") and "told apart by plain" in repr(found)
    assert set(found.left_out) == ({"phase_space", "probe", "dynamics", "forecast", "interventions"} if world == "rooms/freeform" else {"phase_space"})


class Twins:
    """Two models with the same latents: the state, and a hidden copy that no linear readout finds, the state times a sign that differs
    between trajectories, and the sign. Both roll out exactly, and keep the two alike. One moves by the state that can be read, the other
    by the hidden copy."""

    @staticmethod
    def join(state, sign):
        return np.concatenate([state, state * sign, sign], -1)

    @classmethod
    def encode(cls, frames):
        z = encode(frames)
        return cls.join(z, np.where(np.arange(len(z)) % 2, 1.0, -1.0)[:, None, None] * np.ones_like(z[..., :1]))

    @classmethod
    def step_by_what_is_read(cls, z):
        return cls.join(step(z[:, :2]), z[:, 4:])

    @classmethod
    def step_by_the_copy(cls, z):
        return cls.join(step(z[:, 2:4] * z[:, 4:]), z[:, 4:])


def test_interventions_tell_a_model_that_uses_what_can_be_read_from_one_that_does_not():
    used, unused = (plumb.evaluate_model(Twins.encode, one, **{**SMALL, "count": 40}) for one in (Twins.step_by_what_is_read, Twins.step_by_the_copy))
    # Nothing else differs: the readouts are the same, and both move as the world moves.
    assert used.probe.target("state")["linear"]["r2"] == unused.probe.target("state")["linear"]["r2"] > 0.999
    assert used.dynamics.verdict == unused.dynamics.verdict == "right"
    assert [one["used"] for one in used.interventions] == [True, True]
    assert [one["used"] for one in unused.interventions] == [False, False]
    assert all(abs(one["slope"] - 1) < 0.05 and one["cosine"] > 0.99 > one["placebo_cosine_95"] for one in used.interventions)
    assert all(abs(one["cosine"]) < 0.3 for one in unused.interventions)


def test_frames_are_decoded_and_compared():
    """Decodes by looking up the frame of the nearest state."""
    batch = WORLD.batch(24, steps=30, seed=1000)
    table, frames = batch.state.reshape(-1, 2), batch.frames.reshape(-1, 32, 32, 3) / 255

    def decode(z):
        return frames[((z[:, None] - table) ** 2).sum(-1).argmin(1)]
    found = plumb.evaluate_model(encode, step, decode, **SMALL)
    assert found.forecast.vpt == found.forecast.forward["length"]
    assert np.isclose(found.forecast.rec_mse, 0, atol=1e-6)


@pytest.mark.parametrize("functions, message", [
    ((lambda f: f[:, 0],), "encode gave shape"), ((encode, lambda z: z[:, :1]), "step gave shape"), ((encode, step, lambda z: z), "decode gave frames"),
    ((None,), "encode is not a function"), ((encode, 3), "step is not a function")])
def test_a_wrong_function_is_named(functions, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plumb.evaluate_model(*functions, **SMALL)


@pytest.mark.parametrize("framework, plain", [("torch", False), ("torch", True), ("jax", True)])
def test_tensors_of_other_frameworks_give_the_same_numbers(exact, framework, plain):
    """A module of PyTorch is found by itself; a plain function that takes tensors needs a word, which the message says."""
    other = pytest.importorskip("torch" if framework == "torch" else "jax.numpy")

    def encode_tensors(frames):
        assert not isinstance(frames, np.ndarray) or frames.unsqueeze  # what NumPy does not have
        return other.as_tensor(encode(np.asarray(frames))) if framework == "torch" else other.asarray(encode(np.asarray(frames)))

    def step_tensors(z):
        return z @ (other.tensor(TURN).T if framework == "torch" else other.asarray(TURN).T)
    given = encode_tensors
    if not plain:
        given = other.nn.Module()
        given.forward = encode_tensors
    how = {"framework": framework} if plain else {}
    found = plumb.evaluate_model(given, step_tensors, **SMALL, **how)
    assert found.verdict == "learnt" and np.allclose(found.phase_space.kappa, exact.phase_space.kappa)
    if plain:
        with pytest.raises(TypeError, match=f"encode_tensors failed on a NumPy array: .*framework=.*'{framework}'"):
            plumb.evaluate_model(given, step_tensors, **SMALL)


def test_own_data_need_frames():
    batch = WORLD.batch(12, steps=20)
    found = plumb.evaluate_model(encode, data={"frames": batch.frames, "state": batch.state, "energy": batch.energy})
    assert found.probe.target("state")["linear"]["r2"] > 0.99 and found.dynamics is None
    alone = plumb.evaluate_model(encode, step, data=batch.frames)
    assert alone.probe is None and alone.left_out["probe"] == "the data have no arrays but frames" and alone.encoded.shape == (12, 20, 2)
    with pytest.raises(TypeError, match=r"data\[0\] is None"):
        plumb.evaluate_model(encode, data=[None])
    with pytest.raises(ValueError, match="no array frames"):
        plumb.evaluate_model(encode, data={"state": batch.state})
    with pytest.raises(TypeError, match="one of them"):
        plumb.evaluate_model(encode)


def test_the_result_can_be_kept_and_shown(exact, tmp_path):
    again = pickle.loads(pickle.dumps(exact))
    assert again.verdict == exact.verdict and again.to_dict() == exact.to_dict()
    page = exact.page(tmp_path / "page.html")
    text = page.read_text()
    assert "learnt" in text and "<svg" in text and "intervention on q" in text
    # One sentence everywhere: that of the verdict.
    assert exact.why == exact.phase_space.why and exact.why in text and exact.why in repr(exact)


# ---- Metric ----

def test_a_metric_is_the_measure_of_all_batches():
    metric, state = plumb.Metric(trajectories=30), WORLD.batch(40, seed=2).state
    for start in range(0, 40, 10):
        metric.update(3 * state[start:start + 10], state[start:start + 10])
    assert len(metric) == 30
    found, wanted = metric.compute(), plumb.measure(3 * state[:30], state[:30], resamples=200)
    assert found.verdict == wanted.verdict == "learnt" and found.kappa == wanted.kappa
    metric.reset()
    with pytest.raises(ValueError, match="no batch"):
        metric.compute()
    with pytest.raises(ValueError, match="wanted"):
        metric.update(state, state[:, :-1])
    metric.update(state[:, :50], state[:, :50])
    with pytest.raises(ValueError, match="batches before"):
        metric.update(state, state)


# ---- measure ----

def test_measure_says_one_thing_everywhere():
    state = WORLD.batch(30, seed=3).state
    for latent, verdict in ((2 * state, "learnt"), (state ** [1, 3], "not learnt")):
        found = plumb.measure(latent, state)
        assert found.verdict == verdict and found.passes == (verdict == "learnt")
        assert verdict in repr(found) and verdict in found._repr_html_() and found.why in found.to_dict()["verdict_why"]
        assert verdict in repr(plumb.symetric(latent, state))
        assert found.published.symetric == plumb.symetric(latent, state, kappa=False).symetric
    with pytest.raises(AttributeError, match="there are"):
        found.published.nothing
    with pytest.raises(ValueError, match="method"):
        plumb.measure(state, state, method="polynomial")


LATENTS = {"learnt": lambda state: 2 * state, "not learnt": lambda state: np.stack([state[..., 0] * np.exp(0.8 * state[..., 0]), state[..., 1]], -1),
           "not learnt, by its motion": lambda state: state * np.linspace(1, 0.3, state.shape[1])[:, None], "not determined": lambda state: 2 * state[:3]}


@pytest.mark.parametrize("name", LATENTS)
def test_the_page_and_the_notebook_show_the_sentence_of_the_verdict(name, tmp_path):
    state = WORLD.batch(30, seed=3).state
    latent = LATENTS[name](state)
    found = plumb.measure(latent, state[:len(latent)])
    assert found.verdict == name.partition(",")[0]
    sentence = f"{found.verdict}: {found.why}"
    page = re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", plumb.report(tmp_path / "page.html", found).read_text())))
    assert sentence in repr(found) and html.escape(sentence) in found._repr_html_() and sentence in page
    # What stays for those who want one measure alone says of itself that it is no verdict, or gives this one.
    assert sentence in repr(plumb.symetric(latent, state[:len(latent)]))
    assert "<b>no verdict: SyMetric alone" in plumb.symetric(latent, state[:len(latent)], kappa=False)._repr_html_()


def test_measure_takes_lists_and_leaves_out_what_is_not_finite():
    state = WORLD.batch(30, seed=3).state
    assert plumb.measure(list(2 * state), list(state)).verdict == "learnt"
    broken = 2 * state
    broken[4, 10] = np.nan
    with pytest.raises(plumb.PlumbError):
        plumb.measure(broken, state)
    assert plumb.measure(broken, state, drop_nonfinite=True).verdict == "learnt"


def test_canonical_is_a_deprecated_name_of_kappa():
    state = WORLD.batch(20, seed=3).state
    with pytest.warns(DeprecationWarning, match="plumb.kappa"):
        assert plumb.canonical(state, state).canonical == 1


def test_results_become_tables():
    pytest.importorskip("pandas")
    state = WORLD.batch(20, seed=3).state
    assert plumb.measure(state, state).to_frame().loc[0, "verdict"] == "learnt"
    assert list(plumb.probe(state, state, columns={"truth": ["q", "p"]}).to_frame()["name"]) == ["q", "p"]
