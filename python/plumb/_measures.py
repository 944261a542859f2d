# SPDX-License-Identifier: MIT
"""The measures: arrays in, a result out."""
import ctypes
import json

import numpy as np

from ._arrays import fill, numbers, options_struct, pointer, to_numpy, view
from ._native import SCORERS, Handle, ShapeError, call, lib, new_result, record, types
from ._results import Comparison, Dynamics, Forecast, Kappa, Probe, StateForecast, Surprise, Symetric


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
    angles, constants = given.pop("angles", None), given.pop("constants", None)
    opt = options_struct("kappa_options", given)
    if constants is not None:
        values = to_numpy(constants, "constants")
        opt.constants = ctypes.pointer(view(values.reshape(len(values), -1)))
    if angles is not None:
        if len(angles) != positions:
            raise ValueError(f"angles has {len(angles)} flags, wanted one for each of {positions} positions")
        opt.angles = ctypes.cast((ctypes.c_bool * len(angles))(*map(bool, angles)), ctypes.POINTER(ctypes.c_bool))
    return opt


def kappa(latent, truth, *, momenta=None, **options):
    """kappa, plumb's own score: is the symplectic form of the latents the true one where the data are?

    Arrays as for symetric. momenta (trajectories, steps, m) is for Lagrangian models, whose latents are (q, velocity).
    angles is a list of flags, one per true position; constants (trajectories,) or (trajectories, k) are those that
    differ between trajectories, such as masses; the other options are those of plumb_kappa_options.

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


def loops(latent, truth, loop, **options):
    """Are the latents canonical? By the actions of closed loops of states, without regression.

    latent (items, 2m) and truth (items, 2n), or with an axis of steps of which the first counts; loop (items,) is the number of
    the loop of each item, as `plumb simulate --loops` writes it. Options: resamples, seed. Gives a dict with loops_cosine, 1
    if canonical, loops_slope, their intervals and all actions.

    >>> import numpy as np, plumb
    >>> angle = np.arange(32) * 2 * np.pi / 32
    >>> truth = np.concatenate([np.stack([r * np.cos(angle), -r * np.sin(angle)], 1) for r in (1, 2)])
    >>> found = plumb.loops(3 * truth, truth, np.repeat([0, 1], 32))
    >>> round(found["loops_cosine"], 6), round(found["loops_slope"], 6)
    (1.0, 9.0)
    """
    views = _views(latent=latent, truth=truth, loop=loop)
    out = new_result("loops")
    call(lib.plumb_loops_measure, ctypes.byref(out), *[pointer(views[n]) for n in ("latent", "truth", "loop")],
         ctypes.byref(options_struct("loops_options", options)))
    return json.loads(record(lib.plumb_loops_record, ctypes.byref(out)))


def _phase_space(views, symetric_options, layouts):
    """SyMetric, kappa and the verdict, as `plumb measure --json` prints them."""
    given = types["phase_space_input"](size=ctypes.sizeof(types["phase_space_input"]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    opt = options_struct("phase_space_options", layouts)
    opt.symetric = ctypes.pointer(symetric_options)
    opt.network = symetric_options.method == 1
    opt.polynomial = not opt.network
    _, text = _measure("phase_space", [ctypes.byref(given)], opt)
    return text


def symetric(latent, truth, variance=None, *, momenta=None, lagrangian=False, kappa=True, layout="positions-first",
             truth_layout="positions-first", **options):
    """Is `latent` the true phase space, up to a change of canonical coordinates?

    latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n), positions first, then momenta;
    variance, the posterior variance of the latents, leaves out those that say nothing. Latents (q, velocity) of a
    Lagrangian model need its momenta (trajectories, steps, m), or lagrangian=True, which fits them. Other orders of the
    columns are named by layout and truth_layout: "momenta-first", "interleaved" (q1, p1, q2, p2), "velocities", "circle"
    (cos, sin, p). Options are those of
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
        text = _phase_space(views, opt, {"layout": layout, "truth_layout": truth_layout})
    elif (layout, truth_layout) != ("positions-first", "positions-first"):
        raise ValueError("kappa=False measures arrays with positions first only")
    else:
        _, text = _measure("symetric", [pointer(views[n]) for n in ("latent", "variance", "truth")], opt)
    views.pop("momenta")
    return Symetric(text, None, "phase-space", _kept(views))


def _forecast_states(truth, prediction, energy, prediction_energy, options):
    """A forecast of states or fields."""
    views = _views(["energy", "prediction_energy"], truth=truth, prediction=prediction, energy=energy,
                   prediction_energy=prediction_energy)
    given = types["state_forecast_input"](size=ctypes.sizeof(types["state_forecast_input"]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    out, text = _measure("state_forecast", [ctypes.byref(given)], options_struct("state_forecast_options", options))
    return StateForecast(text, {"errors": numbers(out.errors, (out.trajectories, out.scored))})


def forecast(truth, prediction, backward=None, *, states=None, kind=None, energy=None, prediction_energy=None, **options):
    """How close are predicted frames to true ones, and for how long?

    All are (trajectories, steps, height, width, channels) in increasing time; backward is the prediction of a
    model run back from the last frames; states, the true states (trajectories, steps, dimension), give the Lyapunov
    exponent. Options are those of plumb_forecast_options: split=60,
    threshold=0.025, frames="no-overlap" ...

    Arrays with another number of axes, or kind="states", are states (trajectories, steps, columns) or fields with axes of space
    between: MSE, RMSE, NRMSE, VRMSE, sMAPE, VPT in standard deviations, and what needs no model. energy and prediction_energy
    (trajectories, steps) give its drift. Options are those of plumb_state_forecast_options: context=10, deviations=0.5,
    samples_axis=1.

    >>> import numpy as np, plumb
    >>> truth = np.full((3, 80, 4, 4, 1), 0.5)
    >>> prediction = truth.copy()
    >>> prediction[:, 70:] = 0
    >>> plumb.forecast(truth, prediction).vpt
    10
    >>> line = np.tile(np.arange(20.0), (5, 1))[..., None]
    >>> plumb.forecast(line, line + 1).mse
    1
    """
    if kind not in (None, "auto", "frames", "states"):
        raise ValueError(f"kind is {kind!r}, wanted frames or states")
    axes = np.ndim(prediction) - bool(options.get("samples_axis"))
    if kind == "states" or kind != "frames" and axes != 5:
        if backward is not None or states is not None:
            raise TypeError("backward and states are for frames, not for states")
        return _forecast_states(truth, prediction, energy, prediction_energy, options)
    if energy is not None or prediction_energy is not None:
        raise TypeError("energy is for states, not for frames")
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


def _padded(value, name):
    """Arrays as they are; a list of arrays of different lengths as one array with NaN after the end of each."""
    if not isinstance(value, (list, tuple)) or not value or isinstance(value[0], (int, float)):
        return to_numpy(value, name)
    rows = [to_numpy(one, name) for one in value]
    if len({one.shape for one in rows}) == 1:
        return np.stack(rows)
    if len({one.shape[1:] for one in rows}) > 1:
        raise ShapeError(f"{name}: its arrays differ in more than their first axis")
    out = np.full((len(rows), max(map(len, rows))) + rows[0].shape[1:], np.nan)
    for i, one in enumerate(rows):
        out[i, :len(one)] = one
    return out


def _probe_target(name, value, columns, angles):
    """One plumb_probe_target, and what it must keep alive."""
    one = view(_padded(value, name))
    target = types["probe_target"](name=name.encode(), array=ctypes.pointer(one))
    known = columns.get(name)
    width = one.shape[one.ndim - 1] if one.ndim > 1 else 1
    names = list(known) if known else [f"{name}[{k}]" for k in range(width)]
    if known:
        if len(names) != width:
            raise ValueError(f"columns of {name} are {len(names)}, wanted {width}")
        target.columns = (ctypes.c_char_p * width)(*[str(word).encode() for word in names])
    flags = [name in angles or word in angles for word in names]
    target.angles = (ctypes.c_bool * width)(*flags)
    return target, one, [name, *names]


def probe(latent, targets, *, frames=None, action=None, lengths=None, offsets=None, cut=None, ood=None, angles=(), columns=None,
          **options):
    """What of the physics is in these latents? Linear and non-linear readouts, tested on other trajectories.

    latent (trajectories, steps, d), any d; trajectories that end early have NaN after their end, or are a list of arrays.
    targets is a dict of arrays, or one array, which is then called "truth": (trajectories, steps, k) or (trajectories, steps),
    a value per step; (trajectories, k) or (trajectories,), a value per trajectory. angles names targets in radians, "truth"
    or "truth[0]"; columns gives names, {"truth": ["q", "p"]}. Flat rows, latent (rows, d), need lengths and offsets, the first row
    of each trajectory, as ep_len and ep_offset of a dataset; one long trajectory (steps, d) needs cut=60, pieces of 60 steps. frames (trajectories, steps, height, width, channels) and
    action (trajectories, steps, a) are for controls. ood, a name or an array: fit to its low half, test on its high half.
    Options are those of plumb_probe_options: folds=5, shuffles=5, nonlinear=False ...

    >>> import numpy as np, plumb
    >>> state = plumb.world("mass-spring").batch(40, seed=1).state
    >>> result = plumb.probe(state @ [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]], state, columns={"truth": ["q", "p"]})
    >>> [(one["name"], f'{one["linear"]["r2"]:.3f}', one["found"]) for one in result.targets]
    [('q', '1.000', 'linear'), ('p', '1.000', 'linear')]
    """
    targets = targets if isinstance(targets, dict) else {"truth": targets}
    if cut is not None:
        rows = np.shape(latent)[0]
        if np.ndim(latent) != 2 or not 1 <= cut <= rows:
            raise ValueError(f"cut is {cut}, for latents of shape {np.shape(latent)}; wanted pieces of latents (steps, d)")
        offsets = np.arange(0, rows - cut + 1, cut)
        lengths = np.full(len(offsets), cut)
    if not targets:
        raise ValueError("targets is empty, wanted at least one array")
    made = [_probe_target(str(name), value, columns or {}, angles) for name, value in targets.items()]
    known = {word for _, _, words in made for word in words}
    for word in angles:
        if word not in known:
            raise ValueError(f"angles has {word!r}, wanted some of {', '.join(sorted(known))}")
    if isinstance(ood, str):
        if ood not in targets:
            raise ValueError(f"ood is {ood!r}, wanted an array or one of {', '.join(targets)}")
        ood = targets[ood]
    views = {"latent": view(_padded(latent, "latent"))}
    for name, value in (("lengths", lengths), ("offsets", offsets), ("frames", frames), ("action", action), ("ood", ood)):
        views[name] = None if value is None else view(_padded(value, name))
    listed = (types["probe_target"] * len(made))(*[target for target, _, _ in made])
    given = types["probe_input"](size=ctypes.sizeof(types["probe_input"]), targets=listed, target_count=len(made))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    _, text = _measure("probe", [ctypes.byref(given)], options_struct("probe_options", options))
    return Probe(text)


def compare(models, **options):
    """Is one model better than another, on the same items?

    models is a dict of scores by name: (items,) of one run, or (runs, items). For every pair the mean difference, its interval by a
    paired bootstrap, and p by changes of sign, corrected for the number of pairs. Options are those of plumb_compare_options:
    lower_is_better=True, resamples=2000, flips=10000, seed=1.

    >>> import numpy as np, plumb
    >>> result = plumb.compare({"a": np.arange(10.0), "b": np.arange(10.0) + 1})
    >>> result.pairs[0]["difference"], round(result.pairs[0]["p"], 4)
    (-1, 0.002)
    """
    handle = Handle(lib.plumb_compare_free)
    call(lib.plumb_compare_create, ctypes.byref(handle._as_parameter_))
    for name, value in models.items():
        scores = np.atleast_2d(np.ascontiguousarray(to_numpy(value, name), np.float64))
        if scores.ndim != 2:
            raise ShapeError(f"scores of {name} have shape {scores.shape}, wanted (items,) or (runs, items)")
        for one in scores:
            call(lib.plumb_compare_add, handle, str(name).encode(), one.ctypes.data, len(one))
    opt, out = options_struct("compare_options", options), new_result("compare_result")
    call(lib.plumb_compare_measure, ctypes.byref(out), handle, ctypes.byref(opt))
    return Comparison(record(lib.plumb_compare_record, ctypes.byref(out), ctypes.byref(opt)))


def dynamics(latent, encoded, truth, *, energy=None, angles=(), **options):
    """Does the model move as the world moves?

    encoded (trajectories, steps, d) are latents of true frames, latent (trajectories, steps, d) the model's own rollouts from the
    first of them, truth (trajectories, steps, k) the true states, energy (trajectories, steps) what the world keeps; angles are the
    numbers of the columns of the truth that are angles, which become sines and cosines. The state is read out of encoded latents by a probe, and the same readout is applied to the rollouts. Options are those of
    plumb_dynamics_options: context=5, deviations=0.5, nonlinear=False ...

    >>> import numpy as np, plumb
    >>> t = np.linspace(0, 12, 60) + np.arange(20)[:, None]
    >>> r = np.linspace(0.5, 1.5, 20)[:, None]
    >>> truth = np.stack([r * np.cos(t), -r * np.sin(t)], -1)
    >>> spiral = truth * np.linspace(1, 0.5, 60)[:, None]
    >>> plumb.dynamics(spiral, truth, truth).verdict
    'drifts'
    """
    views = _views(["energy"], latent=latent, encoded=encoded, truth=truth, energy=energy)
    given = types["dynamics_input"](size=ctypes.sizeof(types["dynamics_input"]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    if angles:
        width = views["truth"].shape[views["truth"].ndim - 1]
        if not all(isinstance(k, int) and 0 <= k < width for k in angles):
            raise ValueError(f"angles is {list(angles)}, wanted numbers of columns, 0 to {width - 1}")
        given.angles = (ctypes.c_bool * width)(*[k in angles for k in range(width)])
    _, text = _measure("dynamics", [ctypes.byref(given)], options_struct("dynamics_options", options))
    return Dynamics(text)


def surprise(surprise=None, *, truth=None, prediction=None, feature=None, observation=None, surprise_voe=None,
             concept=None, observation_concept=None, motion=None, scorer=None, unit=None, **options):
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
              "error_unit": None if isinstance(unit, str) else unit, "motion": motion,
              "observation_concepts": observation_concept}
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
