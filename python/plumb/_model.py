# SPDX-License-Identifier: MIT
"""Evaluates a model that is given as functions: plumb makes the data, calls them, and measures everything that applies."""
import html
import inspect
import json
import os
import sys

import numpy as np

from ._arrays import to_numpy
from ._measures import dynamics, forecast, probe
from ._native import PlumbError
from ._phase_space import measure
from ._results import Result, number
from ._surprise import surprise
from ._worlds import World

FRAMEWORKS = ("auto", "numpy", "torch", "jax")
CONCEPTS = ("continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness")
MOVED = 0.5  # deviations of a variable that an intervention adds
PLACEBOS = 20  # random directions


# ---- calling the model ----

def _takes_two(function):
    """Whether a function, or the forward of a module, can be called with two arguments."""
    try:
        inspect.signature(getattr(function, "forward", function)).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a builtin whose arguments cannot be told
        return False
    return True


class _Functions:
    """encode, step and decode on NumPy arrays, whatever they are written in."""

    def __init__(self, encode, step, decode, framework, batch):
        if not callable(encode):
            raise TypeError("encode is not a function")
        for name, one in (("step", step), ("decode", decode)):
            if one is not None and not callable(one):
                raise TypeError(f"{name} is not a function")
        if framework not in FRAMEWORKS:
            raise ValueError(f"framework is {framework!r}, wanted {', '.join(FRAMEWORKS)}")
        self._encode, self._step, self._decode, self._batch = encode, step, decode, batch
        self.takes_action = step is not None and _takes_two(step)
        self._guessed = framework == "auto"
        self.framework = self._guess(encode) if self._guessed else framework

    @staticmethod
    def _guess(function):
        """torch if the function is a module of it or a method of one."""
        torch = sys.modules.get("torch")
        owner = getattr(function, "__self__", function)
        return "torch" if torch is not None and isinstance(owner, torch.nn.Module) else "numpy"

    def _call(self, function, *arrays):
        """Calls in parts of `batch` items and joins what comes back."""
        parts = []
        for start in range(0, len(arrays[0]), self._batch):
            given = [None if one is None else one[start:start + self._batch] for one in arrays]
            if self.framework == "torch":
                import torch
                with torch.no_grad():
                    got = function(*[None if one is None else torch.from_numpy(np.ascontiguousarray(one)) for one in given])
            elif self.framework == "jax":
                import jax.numpy as jnp
                got = function(*[None if one is None else jnp.asarray(one) for one in given])
            else:
                got = self._call_numpy(function, given)
            parts.append(np.asarray(to_numpy(got, getattr(function, "__name__", "result")), np.float32))
        return np.concatenate(parts)

    def _call_numpy(self, function, given):
        try:
            return function(*given)
        except (TypeError, AttributeError) as why:
            others = [name for name in ("torch", "jax") if name in sys.modules]
            if self._guessed and others:  # a plain function may hide a module
                name = getattr(function, "__name__", "a function")
                raise TypeError(f"{name} failed on a NumPy array: {why}; if it takes tensors, say framework={' or '.join(map(repr, others))}") from why
            raise

    def encode(self, frames):
        latent = self._call(self._encode, frames)
        if latent.ndim != 3 or latent.shape[:2] != frames.shape[:2]:
            raise ValueError(f"encode gave shape {latent.shape} for frames of shape {frames.shape}, wanted "
                             f"({frames.shape[0]}, {frames.shape[1]}, d)")
        return latent

    def is_causal(self, frames, latent):
        """Whether latents stay when later frames are cut off; None if two calls with the same frames differ already, or encode takes
        videos of one length only."""
        few, half = frames[:4], frames.shape[1] // 2
        again = self.encode(few)
        try:
            cut = self.encode(few[:, :half])
        except Exception:  # the user's function may raise anything
            return None
        limit = 1e-3 * max(float(np.abs(latent).max()), 1e-30)
        # Compared are calls with the same number of trajectories: what is normed over a batch depends on it.
        if not np.allclose(again, self.encode(few), atol=limit):
            return None
        return bool(np.allclose(cut, again[:, :half], atol=limit))

    def step(self, latent, action=None):
        after = self._call(self._step, latent, *([] if action is None else [action]))
        if after.shape != latent.shape:
            raise ValueError(f"step gave shape {after.shape} for latents of shape {latent.shape}, wanted the same")
        return after

    def roll_out(self, start, steps, action=None):
        """start (B, d) and `steps` steps after it: (B, steps + 1, d). action (B, steps, a): action t leads to state t + 1."""
        states = [start]
        for t in range(steps):
            states.append(self.step(states[-1], None if action is None else action[:, t]))
        return np.stack(states, 1)

    def decode(self, latent, frame):
        """latent (..., d) to frames (..., height, width, channels) of the shape `frame`."""
        flat = self._call(self._decode, latent.reshape(-1, latent.shape[-1]))
        if flat.shape[1:] != frame:
            raise ValueError(f"decode gave frames of shape {flat.shape[1:]}, wanted {frame}")
        return flat.reshape(*latent.shape[:-1], *frame)


# ---- interventions ----

def _fit_readout(latent, state):
    """A linear map from latents to states by ridge regression: weights (k, d), and the covariance of the latents."""
    z, s = latent.reshape(-1, latent.shape[-1]).astype(np.float64), state.reshape(-1, state.shape[-1])
    centred, target = z - z.mean(0), s - s.mean(0)
    covariance = centred.T @ centred / len(z)
    ridge = 1e-6 * np.trace(covariance) / len(covariance)
    return np.linalg.solve(covariance + ridge * np.eye(len(covariance)), centred.T @ target / len(z)).T, covariance


def _response(found, wanted):
    """How much of the wanted change is there (slope), and how well the two agree (cosine)."""
    product, size = float(np.sum(found * wanted)), float(np.sum(wanted * wanted))
    norm = float(np.sqrt(np.sum(found * found) * size))
    return {"slope": product / size if size else None, "cosine": product / norm if norm else 0.0}


def _intervene(functions, world, encoded, batch, context, horizon, names, seed):
    """Moves one variable at a time in the latents, rolls out, and compares with the world started from the moved state."""
    rng = np.random.default_rng(seed)
    half = len(encoded) // 2
    # The readout is fitted to one half of the trajectories and used on the other.
    weights, covariance = _fit_readout(encoded[:half, context:], batch.state[:half, context:])
    start, state = encoded[half:, context], batch.state[half:, context]
    parameters = {name: value[half:] for name, value in batch.parameters.items()}
    deviation = batch.state.reshape(-1, batch.state.shape[-1]).std(0)
    plain = functions.roll_out(start, horizon) @ weights.T
    truth = world.simulate_from(state, parameters, horizon + 1).state
    # The smallest change of the latents, in units of their covariance, that changes one readout and no other.
    gain = weights @ covariance @ weights.T
    change = np.linalg.lstsq(gain, weights @ covariance, rcond=1e-9)[0]  # (k, d)
    rows = []
    for k, name in enumerate(names):
        if deviation[k] <= 1e-12:
            continue
        size = MOVED * deviation[k]
        moved_state = state.copy()
        moved_state[:, k] += size
        wanted = (world.simulate_from(moved_state, parameters, horizon + 1).state - truth) / deviation
        move = (change[k] * size).astype(np.float32)
        answer = _response((functions.roll_out(start + move, horizon) @ weights.T - plain) / deviation, wanted)
        placebos = []
        for _ in range(PLACEBOS):
            other = rng.multivariate_normal(np.zeros(len(covariance)), covariance)
            other = (other * np.linalg.norm(move) / max(np.linalg.norm(other), 1e-300)).astype(np.float32)
            placebos.append(_response((functions.roll_out(start + other, horizon) @ weights.T - plain) / deviation, wanted)["cosine"])
        limit = float(np.quantile(placebos, 0.95))
        rows.append({"name": name, **answer, "placebo_cosine_95": limit,
                     "used": bool(answer["cosine"] > max(limit, 0.5) and answer["slope"] is not None and answer["slope"] > 0.5)})
    return rows


# ---- the evaluation ----

class ModelEvaluation(Result):
    """What evaluate_model found: phase_space, probe, dynamics, forecast and surprise are results or None, interventions a list
    of dicts; `left_out` says why a part was not measured; `causal` is False if encode uses later frames, None if that cannot be told."""

    PARTS = ("phase_space", "probe", "dynamics", "forecast", "surprise")

    def __init__(self, text, parts, arrays=None):
        super().__init__(text, {**{name: None for name in self.PARTS}, **parts, **(arrays or {})})
        self._parts = {name: one for name, one in parts.items() if isinstance(one, Result)}

    def __reduce__(self):
        return type(self), (self._text, {name: self._arrays.get(name) for name in self.PARTS},
                            {name: value for name, value in self._arrays.items() if name not in self.PARTS})

    @property
    def verdict(self):
        """That of the phase space if it was measured, else that of the dynamics, else None."""
        for name in ("phase_space", "dynamics"):
            if name in self._parts:
                return self._parts[name].verdict
        return None

    @property
    def why(self):
        """The reason of the verdict, one sentence, which begins with what was measured."""
        for name in ("phase_space", "dynamics"):
            if name in self._parts:
                one = self._parts[name]
                return one.why if name == "phase_space" else f"dynamics: {one.verdict_why}"
        return None

    def _verdict(self):
        rows = [(name.replace("_", " "), one._verdict()[0], "") for name, one in self._parts.items()]
        rows += [(f"intervention on {one['name']}", "used" if one["used"] else "not used",
                  f"cosine {number(one['cosine'])}, random directions {number(one['placebo_cosine_95'])}") for one in self.interventions or []]
        if self.causal is False:
            rows.append(("encode", "not causal", "latents change when later frames are cut off, so they know the future"))
        rows += [(name, "not measured", why) for name, why in self.left_out.items()]
        words = f"{self.verdict}: {self.why}" if self.verdict else self._parts["surprise"]._verdict()[0] if "surprise" in self._parts else ""
        return words, rows

    def _repr_html_(self):
        parts = "".join(f"<h4>{html.escape(name.replace('_', ' '))}</h4>{one._repr_html_()}" for name, one in self._parts.items())
        return super()._repr_html_() + parts

    def page(self, out):
        """Writes one HTML page with every part. Gives its path."""
        body = self._repr_html_()
        title = html.escape(f"plumb: {self.world or 'a model'}")
        with open(out, "w") as file:
            file.write(f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><meta name='viewport' "
                       "content='width=device-width, initial-scale=1'><style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;"
                       "padding:0 1em}td{padding:.2em .8em .2em 0;vertical-align:top}svg{max-width:100%;height:auto}</style></head>"
                       f"<body><h1>{title}</h1>{body}</body></html>\n")
        return out


class _Collected:
    """Results of the parts, and why others are missing."""

    def __init__(self):
        self.parts, self.left_out, self.record = {}, {}, {}

    def add(self, name, work):
        try:
            self.parts[name] = work()
        except PlumbError as why:
            self.left_out[name] = str(why)


def _make_batch(world, data, count, steps, seed):
    """The frames, and what is known of them: a Batch of the world, or the arrays that were given."""
    if (world is None) == (data is None):
        raise TypeError("wants a world or data, one of them")
    if world is not None:
        world = world if isinstance(world, World) else World(world)
        if world.kind != "trajectory":  # a room: surprise makes its own clips
            return world, None
        return world, world.batch(count, steps, seed=seed).to_dict()
    arrays = data if isinstance(data, dict) else data.to_dict() if hasattr(data, "to_dict") else None
    if arrays is None and isinstance(data, (str, os.PathLike)):
        from ._commands import read
        arrays = read(data)
    elif arrays is None:
        arrays = {"frames": to_numpy(data, "data")}  # frames alone
    if "frames" not in arrays:
        raise ValueError(f"data has no array frames; there are {', '.join(arrays)}")
    return None, arrays


def _frames(values):
    values = to_numpy(values, "frames")
    if values.ndim != 5:
        raise ValueError(f"frames has shape {values.shape}, wanted (trajectories, steps, height, width, channels)")
    return values.astype(np.float32) / 255 if values.dtype == np.uint8 else values.astype(np.float32)


def _targets(world, arrays):
    """Everything a probe can be asked for: state, quantities and constants of the world, or the arrays of the data."""
    if world is None:
        return {name: value for name, value in arrays.items() if name not in ("frames", "time", "action", "derivative")
                and np.asarray(value).dtype.kind in "fiu" and np.ndim(value) in (1, 2, 3) and len(value) == len(arrays["frames"])}
    targets = {"state": arrays["state"], **world.quantities(arrays["state"], {name: arrays[name] for name in world.parameters})}
    for name in world.parameters:  # constants that differ between trajectories
        if np.ptp(arrays[name], axis=0).max() > 1e-9 and name != "color_index":
            targets[name] = arrays[name]
    return targets


def _judge_rooms(functions, frame, tuples, seed):
    """Surprise of one-step predictions on the five concepts."""
    scores, concepts = [], []
    for concept in CONCEPTS:
        clips = World(f"rooms/{concept}").batch(tuples, seed=seed, image=frame[0]).frames
        flat = _frames(clips.reshape(-1, *clips.shape[2:]))
        latent = functions.encode(flat)
        ahead = functions.step(latent[:, :-1].reshape(-1, latent.shape[-1])).reshape(latent[:, :-1].shape)
        errors = ((functions.decode(ahead, frame) - flat[:, 1:]) ** 2).sum((2, 3, 4))
        scores.append(errors.reshape(tuples, 4, -1))
        concepts += [concept] * tuples
    return surprise(np.concatenate(scores), concept=np.array(concepts))


def evaluate_model(encode, step=None, decode=None, *, world=None, data=None, count=100, steps=60, context=5, phase_space=None,
                   rooms=None, tuples=50, framework="auto", batch=50, seed=1000):
    """Evaluates a model given as functions, by everything that applies to it.

        encode(frames)      frames (B, T, height, width, channels), float32, 0 to 1, to latents (B, T, d). Causal: latent t may
                            depend on frames 0 to t only, which is checked. A recurrent model keeps its state inside
        step(z)             latents (B, d) to the latents of the next frame (B, d). Where the world or the data have an array
                            action, step(z, action) is called with the action (B, a) between the two frames
        decode(z)           latents (B, d) to frames (B, height, width, channels)
        world, data         the name of a world, which plumb simulates; or frames, or a dict or a file with frames and, for the
                            probe, state, energy or any other arrays
        count, steps        trajectories and frames of the world; videos of this seed should not be in the training data
        context             frames that the model sees before it rolls out
        phase_space         whether the latents are positions, then momenta, so that kappa gives a verdict.
                            None: if there are as many as the world has
        rooms, tuples       also measure surprise on the rooms, `tuples` of each concept; None: if the world is one of rooms
        framework           what the functions take: "numpy", "torch" or "jax". "auto": torch for a module of it, else NumPy
        batch               trajectories per call
        seed                of the simulated videos

    Measured are, where possible: the phase space (plumb.measure), what can be read from the latents (plumb.probe), how they
    move (plumb.dynamics), predicted frames (plumb.forecast), surprise (plumb.surprise), and interventions: the latents are
    moved so that the readout of one variable changes by half its standard deviation and the others stay; the rollout is
    compared with the world started from the changed state, and with moves in random directions of the same length. A
    variable is `used` if the change is at least half of the true one, and more like it than 95 % of the random moves are.
    """
    functions = _Functions(encode, step, decode, framework, batch)
    world, arrays = _make_batch(world, data, count, steps, seed)
    found = _Collected()
    if world is not None and world.kind != "trajectory":
        rooms, frames, encoded = True, None, None
        frame = (world.image[0],) * 2 + (world.image[2],)
        found.left_out.update({name: "rooms have no states" for name in ("phase_space", "probe", "dynamics", "interventions")})
        found.left_out["forecast"] = "in rooms surprise judges the predicted frames"
    else:
        frames = _frames(arrays["frames"])
        frame = frames.shape[2:]
        if not 0 < context < frames.shape[1] - 5:
            raise ValueError(f"context is {context}, wanted 1 to {frames.shape[1] - 6} for {frames.shape[1]} steps")
        encoded = functions.encode(frames)
        found.record["causal"] = functions.is_causal(frames, encoded)
        _measure_states(found, functions, world, arrays, frames, encoded, context, phase_space, seed)
    if rooms and step is not None and decode is not None:
        found.add("surprise", lambda: _judge_rooms(functions, frame, tuples, seed))
    else:
        found.left_out["surprise"] = "rooms=True asks for it; it needs step and decode" if not rooms else "it needs step and decode"
    record = {"world": world.name if world else None, "latents": None if encoded is None else int(encoded.shape[2]),
              "context": context, **{name: one.to_dict() for name, one in found.parts.items() if isinstance(one, Result)},
              "causal": found.record.get("causal"), "interventions": found.record.get("interventions"), "left_out": found.left_out}
    kept = {"encoded": encoded} if encoded is not None else {}
    return ModelEvaluation(json.dumps(record), found.parts, kept)


def _read_action(found, functions, arrays, frames):
    """The actions (trajectories, steps, a), or None if nothing drives the system."""
    if "action" not in arrays:
        return None
    action = np.asarray(to_numpy(arrays["action"], "action"), np.float32)
    action = action[..., None] if action.ndim == 2 else action
    if action.ndim != 3 or action.shape[0] != frames.shape[0] or action.shape[1] not in (frames.shape[1] - 1, frames.shape[1]):
        raise ValueError(f"action has shape {action.shape} for frames of shape {frames.shape}, wanted "
                         f"({frames.shape[0]}, {frames.shape[1]} or {frames.shape[1] - 1}, a)")
    if functions._step is not None and not functions.takes_action:
        raise TypeError("the data have an array action, so step is called as step(z, action); it takes one argument only")
    return action


def _measure_states(found, functions, world, arrays, frames, encoded, context, phase_space, seed):
    """All measures of latents beside true states."""
    state = arrays.get("state", arrays.get("truth"))
    action = _read_action(found, functions, arrays, frames)
    truth = arrays.get("canonical", state)
    if phase_space is None:
        phase_space = truth is not None and encoded.shape[2] == np.shape(truth)[2]
    if phase_space and truth is not None:
        found.add("phase_space", lambda: measure(encoded[:, context:], truth[:, context:],
                                                 action=None if action is None else action[:, context:],
                                                 energy=arrays["energy"][:, context:] if "energy" in arrays else None))
    else:
        found.left_out["phase_space"] = "phase_space=True asks for it: the latents must be positions, then momenta"
    targets = _targets(world, arrays)
    if targets:
        angles = [f"state[{k}]" for k, flag in enumerate(world.angles) if flag] if world and world.n == world.canonical_n else []
        found.add("probe", lambda: probe(encoded, targets, angles=angles, action=action))
    else:
        found.left_out["probe"] = "the data have no arrays but frames"
    if functions._step is None:
        found.left_out.update({name: "it needs step" for name in ("dynamics", "forecast", "interventions")})
        return
    driven = None if action is None else action[:, context - 1:]
    rolled = functions.roll_out(encoded[:, context - 1], frames.shape[1] - context, driven)
    if state is not None:
        angles = [k for k, flag in enumerate(world.angles) if flag] if world and world.n == world.canonical_n else ()
        found.add("dynamics", lambda: dynamics(rolled, encoded[:, context - 1:], state[:, context - 1:], angles=angles, action=driven,
                                               energy=arrays["energy"][:, context - 1:] if "energy" in arrays else None))
    else:
        found.left_out["dynamics"] = "the data have no array state"
    if functions._decode is not None:
        predicted = functions.decode(rolled[:, 1:], frames.shape[2:])
        found.add("forecast", lambda: forecast(truth=frames[:, context:], prediction=predicted, split=max(1, predicted.shape[1] // 2)))
    else:
        found.left_out["forecast"] = "it needs decode"
    if world is None:
        found.left_out["interventions"] = "they need a world that can be started from a changed state"
        return
    if action is not None:
        found.left_out["interventions"] = "they need a world that nothing drives"
        return
    from ._worlds import Batch
    items = Batch({"state": arrays["state"]}, {name: arrays[name] for name in world.parameters})
    horizon = min(20, frames.shape[1] - context - 1)
    found.record["interventions"] = _intervene(functions, world, encoded, items, context, horizon, world.state_names, seed)
