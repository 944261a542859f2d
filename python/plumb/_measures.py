# SPDX-License-Identifier: MIT
"""Forecasts, probes, dynamics and comparisons: arrays in, a result out."""
import ctypes

import numpy as np

from ._arrays import numbers, options_struct, pointer, to_numpy, view
from ._inputs import input_struct, kept_arrays, make_views, run_measure
from ._native import Handle, ShapeError, call, lib, new_result, record, types
from ._options import with_options
from ._results import Comparison, Dynamics, Forecast, Probe, StateForecast


def _forecast_states(truth, prediction, energy, prediction_energy, options):
    """A forecast of states or fields."""
    views = make_views(["energy", "prediction_energy"], truth=truth, prediction=prediction, energy=energy,
                   prediction_energy=prediction_energy)
    given = input_struct("state_forecast_input", views)
    out, text = run_measure("state_forecast", [ctypes.byref(given)], options_struct("state_forecast_options", options))
    return StateForecast(text, {"errors": numbers(out.errors, (out.trajectories, out.scored))})


@with_options("forecast_options", "state_forecast_options")
def forecast(*, truth, prediction, backward=None, states=None, kind=None, energy=None, prediction_energy=None, **options):
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
    >>> plumb.forecast(truth=truth, prediction=prediction).vpt
    10
    >>> line = np.tile(np.arange(20.0), (5, 1))[..., None]
    >>> plumb.forecast(truth=line, prediction=line + 1).mse
    1
    """
    if kind not in (None, "auto", "frames", "states"):
        raise ValueError(f"kind is {kind!r}, wanted frames or states")
    truth, prediction = to_numpy(truth, "truth", pad=True), to_numpy(prediction, "prediction", pad=True)
    axes = prediction.ndim - bool(options.get("samples_axis"))
    if kind == "states" or kind != "frames" and axes != 5:
        if backward is not None or states is not None:
            raise TypeError("backward and states are for frames, not for states")
        return _forecast_states(truth, prediction, energy, prediction_energy, options)
    if energy is not None or prediction_energy is not None:
        raise TypeError("energy is for states, not for frames")
    views = make_views(["backward", "states"], truth=truth, prediction=prediction, backward=backward, states=states)
    opt = options_struct("forecast_options", options)
    out, text = run_measure("forecast", [pointer(views[n]) for n in ("prediction", "backward", "truth", "states")], opt)
    arrays = {}
    for name, side in (("errors", out.forward), ("errors_backward", out.backward)):
        if side.measured:
            arrays[name] = numbers(side.errors, (out.trajectories, side.frames))
    kept = kept_arrays(views)
    kept.pop("backward", None)
    kept.pop("states", None)
    return Forecast(text, arrays, "film", kept)


def _probe_target(name, value, columns, angles):
    """One plumb_probe_target, and what it must keep alive."""
    one = view(to_numpy(value, name, pad=True))
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


@with_options("probe_options")
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
        latent = to_numpy(latent, "latent")
        rows = len(latent) if latent.ndim else 0
        if latent.ndim != 2 or not 1 <= cut <= rows:
            raise ValueError(f"cut is {cut}, for latents of shape {latent.shape}; wanted pieces of latents (steps, d)")
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
    views = {"latent": view(to_numpy(latent, "latent", pad=True))}
    for name, value in (("lengths", lengths), ("offsets", offsets), ("frames", frames), ("action", action), ("ood", ood)):
        views[name] = None if value is None else view(to_numpy(value, name, pad=True))
    listed = (types["probe_target"] * len(made))(*[target for target, _, _ in made])
    given = input_struct("probe_input", views)
    given.targets, given.target_count = listed, len(made)
    _, text = run_measure("probe", [ctypes.byref(given)], options_struct("probe_options", options))
    return Probe(text)


@with_options("compare_options")
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
    if not isinstance(models, dict):
        raise TypeError(f"models is {type(models).__name__}, wanted a dict of scores by name")
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


@with_options("dynamics_options")
def dynamics(latent, encoded, truth, *, energy=None, angles=(), action=None, **options):
    """Does the model move as the world moves?

    encoded (trajectories, steps, d) are latents of true frames, latent (trajectories, steps, d) the model's own rollouts from the
    first of them, truth (trajectories, steps, k) the true states, energy (trajectories, steps) what the world keeps; angles are the
    numbers of the columns of the truth that are angles, which become sines and cosines; action (trajectories, steps or steps - 1, a)
    is what drives the world, which then keeps nothing. The state is read out of encoded latents by a probe, and the same readout is
    applied to the rollouts. Options are those of plumb_dynamics_options: context=5, deviations=0.5, nonlinear=False ...

    >>> import numpy as np, plumb
    >>> t = np.linspace(0, 12, 60) + np.arange(20)[:, None]
    >>> r = np.linspace(0.5, 1.5, 20)[:, None]
    >>> truth = np.stack([r * np.cos(t), -r * np.sin(t)], -1)
    >>> spiral = truth * np.linspace(1, 0.5, 60)[:, None]
    >>> plumb.dynamics(spiral, truth, truth).verdict
    'drifts'
    """
    views = make_views(["energy", "action"], latent=latent, encoded=encoded, truth=truth, energy=energy, action=action)
    given = input_struct("dynamics_input", views)
    if angles:
        width = views["truth"].shape[views["truth"].ndim - 1]
        if not all(isinstance(k, int) and 0 <= k < width for k in angles):
            raise ValueError(f"angles is {list(angles)}, wanted numbers of columns, 0 to {width - 1}")
        given.angles = (ctypes.c_bool * width)(*[k in angles for k in range(width)])
    _, text = run_measure("dynamics", [ctypes.byref(given)], options_struct("dynamics_options", options))
    return Dynamics(text)


