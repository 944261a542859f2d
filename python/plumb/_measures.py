# SPDX-License-Identifier: MIT
"""The measures: arrays in, a result out."""
import ctypes
import json

import numpy as np

from ._arrays import fill, numbers, options_struct, pointer, to_numpy, view
from ._native import SCORERS, ShapeError, call, lib, new_result, record, types
from ._results import Forecast, Kappa, Surprise, Symetric


def _views(optional=(), **given):
    """The arrays as views the library can read, which keep them alive. None stands for one of `optional` that is not given."""
    views = {}
    for name, value in given.items():
        if value is None and name not in optional:
            raise TypeError(f"{name} is None, wanted an array")
        views[name] = None if value is None else view(to_numpy(value, name))
    return views


def _kept(views):
    """The arrays behind the views, for a figure."""
    return {name: one.owner for name, one in views.items() if one is not None}


def _measure(kind, arguments, options):
    """Calls plumb_KIND_measure; gives the struct and the record."""
    out = new_result(kind)
    call(getattr(lib, f"plumb_{kind}_measure"), ctypes.byref(out), *arguments, ctypes.byref(options))
    return out, record(getattr(lib, f"plumb_{kind}_record"), ctypes.byref(out), ctypes.byref(options))


def _kappa_options(given, positions):
    """kappa's options; `angles` is a list of flags, one per true position."""
    angles = given.pop("angles", None)
    opt = options_struct("kappa_options", given)
    if angles is not None:
        if len(angles) != positions:
            raise ValueError(f"angles has {len(angles)} flags, wanted one for each of {positions} positions")
        opt.angles = ctypes.cast((ctypes.c_bool * len(angles))(*map(bool, angles)), ctypes.POINTER(ctypes.c_bool))
    return opt


def kappa(latent, truth, *, momenta=None, **options):
    """kappa, plumb's own score: is the symplectic form of the latents the true one where the data are?

    Arrays as for symetric. momenta (trajectories, steps, m) is for Lagrangian models, whose latents are (q, velocity).
    angles is a list of flags, one per true position; the other options are those of plumb_kappa_options.

    >>> import plumb
    >>> state = plumb.world("mass-spring").batch(40, seed=1).state
    >>> plumb.kappa(3 * state, state).canonical
    1
    """
    views = _views(["momenta"], latent=latent, momenta=momenta, truth=truth)
    if views["truth"].ndim != 3:
        raise ShapeError("truth has %d axes, wanted (trajectories, steps, 2n)" % views["truth"].ndim)
    opt = _kappa_options(options, views["truth"].shape[2] // 2)
    _, text = _measure("kappa", [pointer(views[n]) for n in ("latent", "momenta", "truth")], opt)
    views.pop("momenta")
    return Kappa(text, None, "phase-space", _kept(views))


def _phase_space(views, symetric_options):
    """SyMetric, kappa and the verdict, as `plumb measure --json` prints them."""
    given = types["phase_space_input"](size=ctypes.sizeof(types["phase_space_input"]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    opt = options_struct("phase_space_options", {})
    opt.symetric = ctypes.pointer(symetric_options)
    opt.network = symetric_options.method == 1
    opt.polynomial = not opt.network
    _, text = _measure("phase_space", [ctypes.byref(given)], opt)
    return text


def symetric(latent, truth, variance=None, *, momenta=None, lagrangian=False, kappa=True, **options):
    """Is `latent` the true phase space, up to a change of canonical coordinates?

    latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n), positions first, then momenta;
    variance, the posterior variance of the latents, leaves out those that say nothing. Latents (q, velocity) of a
    Lagrangian model need its momenta (trajectories, steps, m), or lagrangian=True, which fits them. Options are those of
    plumb_symetric_options, enums by their words: mode="reference", method="mlp", seed=2, resamples=0 ... Beside the
    published numbers stand plumb's own, kappa and canonical, unless kappa=False; where they are not defined,
    canonical_why says so.

    >>> import numpy as np, plumb
    >>> t = np.linspace(0, 6, 60) + np.arange(20)[:, None]
    >>> r = np.linspace(0.5, 1.5, 20)[:, None]
    >>> truth = np.stack([r * np.cos(t), -r * np.sin(t)], -1)
    >>> result = plumb.symetric(2 * truth, truth)
    >>> result.symetric, result.order
    (1, 1)
    >>> round(result.r2, 3), result.sym < 1e-6
    (1.0, True)
    """
    views = _views(["variance", "momenta"], latent=latent, truth=truth, variance=variance, momenta=momenta)
    if lagrangian:
        if momenta is not None:
            raise TypeError("momenta and lagrangian=True exclude each other")
        fitted = np.empty(views["latent"].owner.shape[:-1] + (views["latent"].owner.shape[-1] // 2,))
        call(lib.plumb_phase_space_fit_momenta, fitted.ctypes.data, pointer(views["latent"]))
        views["momenta"] = view(fitted)
    points = options.pop("eval_index", None)
    opt = options_struct("symetric_options", options)
    if points is not None:
        index = view(to_numpy(points, "eval_index"))
        opt.eval_index = ctypes.pointer(index)
    if views["momenta"] is not None:
        opt.momenta = ctypes.pointer(views["momenta"])
    if kappa:
        text = _phase_space(views, opt)
    else:
        _, text = _measure("symetric", [pointer(views[n]) for n in ("latent", "variance", "truth")], opt)
    views.pop("momenta")
    return Symetric(text, None, "phase-space", _kept(views))


def forecast(truth, prediction, backward=None, *, states=None, **options):
    """How close are predicted frames to true ones, and for how long?

    All are (trajectories, steps, height, width, channels) in increasing time; backward is the prediction of a
    model run back from the last frames; states, the true states (trajectories, steps, dimension), give the Lyapunov
    exponent. Options are those of plumb_forecast_options: split=60,
    threshold=0.025, frames="no-overlap" ...

    >>> import numpy as np, plumb
    >>> truth = np.full((3, 80, 4, 4, 1), 0.5)
    >>> prediction = truth.copy()
    >>> prediction[:, 70:] = 0
    >>> plumb.forecast(truth, prediction).vpt
    10
    """
    views = _views(["backward", "states"], truth=truth, prediction=prediction, backward=backward, states=states)
    opt = options_struct("forecast_options", options)
    out, text = _measure("forecast", [pointer(views[n]) for n in ("prediction", "backward", "truth", "states")], opt)
    arrays = {}
    for name, side in (("errors", out.forward), ("errors_backward", out.backward)):
        if side.measured:
            arrays[name] = numbers(side.errors, (out.trajectories, side.frames))
    kept = _kept(views)
    kept.pop("backward", None)
    kept.pop("states", None)
    return Forecast(text, arrays, "film", kept)


def surprise(surprise=None, *, truth=None, prediction=None, feature=None, observation=None, surprise_voe=None,
             concept=None, motion=None, scorer=None, unit=None, **options):
    """Is a model more surprised by impossible clips than by possible ones?

    surprise (tuples, 4) or, frame by frame, (tuples, 4, frames); or truth and prediction (tuples, 4, frames,
    height, width, channels). Clips 0 and 1 are possible, 2 and 3 impossible. feature (tuples, 4, d) and
    observation (N, d) are for the scorers that weigh likelihoods, surprise_voe for the naive one, concept
    (tuples,) numbers or text, motion (tuples, 4) or (tuples, 4, numbers) how much the clips move. scorer is a name or a list of them; by default all that the arrays allow.
    unit is "sum" or "mean" where errors are computed from truth and prediction, or the array unit of a file
    that plumb evaluate saved. Options are those of plumb_surprise_options: k=5, gamma=0.01
    or "auto", threshold="best", "level" or a score ...

    >>> import numpy as np, plumb
    >>> s = np.tile([1.0, 1.1, 1.5, 1.4], (10, 1))
    >>> result = plumb.surprise(s)
    >>> result.scorers["plain"]["accuracy"]
    1
    """
    arrays = {"surprise": surprise, "truth": truth, "prediction": prediction, "feature": feature,
              "observation": observation, "surprise_naive": surprise_voe, "concepts": concept,
              "error_unit": None if isinstance(unit, str) else unit, "motion": motion}
    views = _views(arrays, **arrays)
    given = types["surprise_input"](size=ctypes.sizeof(types["surprise_input"]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    opt = options_struct("surprise_options", {})
    for name in [scorer] if isinstance(scorer, str) else scorer or []:
        if name not in SCORERS:
            raise ValueError(f"scorer is {name!r}, wanted {', '.join(SCORERS)}")
        opt.scorers[SCORERS.index(name)] = True
    gammas = options.pop("gammas", {})
    for name, value in gammas.items():
        if name not in SCORERS:
            raise ValueError(f"gammas has {name!r}, wanted {', '.join(SCORERS)}")
        opt.gammas[SCORERS.index(name)] = value
    if isinstance(unit, str):
        options["error_unit"] = unit
    if options.get("gamma") == "auto":
        options["gamma_auto"] = bool(options.pop("gamma"))
    if isinstance(options.get("threshold"), str):
        options["threshold_rule"] = options.pop("threshold")
    fill(opt, "surprise_options", options)
    out, text = _measure("surprise", [ctypes.byref(given)], opt)
    arrays = {"score": {}, "distance": {}}
    for index, name in enumerate(SCORERS):
        s = out.scorers[index]
        if s.measured:
            arrays["score"][name] = numbers(s.score, (out.tested, 4))
            arrays["distance"][name] = numbers(s.distance, (out.tested, 4))
    if out.ratio.measured:
        arrays["log_ratio"] = numbers(out.ratio.log_ratio, (out.tested, 4))
        arrays["posterior"] = numbers(out.ratio.posterior, (out.tested, 4))
    if out.frames:
        arrays["frame_surprise"] = numbers(out.frame_surprise, (out.tested, 4, out.frames))
    kept = _kept({name: views[name] for name in ("surprise", "truth")})
    if "frame_surprise" in arrays:
        kept["surprise"] = arrays["frame_surprise"]
    return Surprise(text, arrays, "concepts", kept)


def _copied(array, kind):
    """A copy of an array that a result of the library owns."""
    shape = tuple(array.shape[:array.ndim])
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(ctypes.string_at(array.data, size), kind).reshape(shape).copy()


def load_scores(path, **options):
    """Reads a score file of another benchmark: .csv, .tsv, .json, .jsonl, .pth or .npz.

    Gives a dict for surprise(**scores): "surprise" (tuples, 4) or (tuples, 4, frames) and, where the file has
    them, "concept". Clips without groups give "score" and "possible" (clips,) for surprise_clips. Options are those of
    plumb_surprise_losses_options: metadata="metadata.csv", score="column", plausible=True ...
    """
    out = new_result("surprise_losses")
    call(lib.plumb_surprise_losses_read, ctypes.byref(out), str(path).encode(),
         ctypes.byref(options_struct("surprise_losses_options", options)))
    if out.single:
        return {"score": _copied(out.clips, np.float64), "possible": _copied(out.possible, np.uint8)}
    found = {"surprise": _copied(out.surprise, np.float64)}
    if out.has_motion:
        found["motion"] = _copied(out.motion, np.float64)
    if out.has_concepts:
        found["concept"] = np.array([bytes(row).rstrip(b"\0").decode(errors="replace") for row in _copied(out.concepts, np.uint8)])
    return found


def surprise_clips(score, possible, **options):
    """Labelled clips that belong to no tuple: AUROC, and a threshold for each fifth that is chosen on the others.

    score (clips,) is higher for more surprising clips; possible (clips,) is 0 for an impossible one.
    """
    views = _views(score=score, possible=np.asarray(possible).astype(np.uint8))
    threshold = options.get("threshold")
    if isinstance(threshold, str):
        options["threshold_rule"] = options.pop("threshold")
    out = types["surprise_clips"]()
    call(lib.plumb_surprise_clips_measure, ctypes.byref(out), pointer(views["score"]), pointer(views["possible"]),
         ctypes.byref(options_struct("surprise_options", options)))
    return json.loads(record(lib.plumb_surprise_clips_record, ctypes.byref(out)))
