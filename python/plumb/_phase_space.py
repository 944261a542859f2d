# SPDX-License-Identifier: MIT
"""Did the latents learn the phase space? The verdict, and the measures behind it."""
import ctypes
import json
import warnings

import numpy as np

from ._arrays import options_struct, pointer, to_numpy, view
from ._inputs import input_struct, kept_arrays, make_views, run_measure
from ._native import ShapeError, call, lib, new_result, record
from ._options import with_options, with_signature_of
from ._results import Kappa, Measurement, Symetric

METHODS = ("pr", "mlp", "both")


def _kappa_options(given, positions, trajectories):
    """kappa's options; `angles` is a list of flags, one per true position."""
    angles, constants = given.pop("angles", None), given.pop("constants", None)
    opt = options_struct("kappa_options", given)
    if constants is not None:
        values = to_numpy(constants, "constants")
        if values.shape[:1] != (trajectories,) or values.ndim > 2:
            raise ShapeError(f"constants has shape {values.shape}, wanted ({trajectories},) or ({trajectories}, k), one row per trajectory")
        opt.constants = ctypes.pointer(view(values.reshape(len(values), -1)))
    if angles is not None:
        if len(angles) != positions:
            raise ValueError(f"angles has {len(angles)} flags, wanted one for each of {positions} positions")
        opt.angles = ctypes.cast((ctypes.c_bool * len(angles))(*map(bool, angles)), ctypes.POINTER(ctypes.c_bool))
    return opt


def _symetric_options(given, momenta):
    """SyMetric's options; eval_index and momenta are arrays."""
    points = given.pop("eval_index", None)
    opt = options_struct("symetric_options", given)
    if points is not None:
        opt.eval_index = ctypes.pointer(view(to_numpy(points, "eval_index")))
    if momenta is not None:
        opt.momenta = ctypes.pointer(momenta)
    return opt


def _add_momenta(views, lagrangian):
    """Fits the momenta of a Lagrangian model if it is one."""
    if not lagrangian:
        return
    if views["momenta"] is not None:
        raise TypeError("momenta and lagrangian=True exclude each other")
    latent = views["latent"].owner
    fitted = np.empty(latent.shape[:-1] + (latent.shape[-1] // 2,))
    call(lib.plumb_phase_space_fit_momenta, fitted.ctypes.data, pointer(views["latent"]))
    views["momenta"] = view(fitted)


def _check_axes(views):
    for name in ("latent", "truth"):
        if views[name].ndim != 3:
            raise ShapeError(f"{name} has {views[name].ndim} axes, wanted (trajectories, steps, {'2m' if name == 'latent' else '2n'})")


def measure(latent, truth, *, variance=None, momenta=None, lagrangian=False, canonical=None, energy=None, action=None,
            angles=None, constants=None, layout="positions-first", truth_layout="positions-first", method="pr", published_only=False,
            coordinates_only=False, drop_nonfinite=False, resamples=2000, seed=1, threads=0, symetric=None, kappa=None, flow=None):
    """Did the model learn the physics? One verdict: "learnt", "not learnt" or "not determined", and the reason.

    latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n), positions first, then momenta. They may be NumPy
    arrays, tensors of PyTorch or JAX, or lists of arrays, one per trajectory.

        variance            posterior variance of the latents, (trajectories, 2m) or (trajectories, steps, 2m)
        momenta             the latents are (q, velocity) of a Lagrangian model; its momenta (trajectories, steps, m)
        lagrangian          the same, but the momenta are fitted
        canonical           the true states in their fewest canonical coordinates, for kappa
        energy              the true energy (trajectories, steps), for the flow
        action              what drives the system (trajectories, steps or steps - 1, a), for the flow
        angles              flags, one per true position that is an angle
        constants           (trajectories,) or (trajectories, k) constants that differ between trajectories, such as masses
        layout              order of the columns of latent: "positions-first", "momenta-first", "interleaved" (q1, p1, q2, p2),
                            "velocities" or "circle" (cos, sin, p)
        truth_layout        the same for truth
        method              SyMetric by polynomials "pr", by a network "mlp", or "both"
        published_only      only SyMetric: no verdict
        coordinates_only    do not measure the flow
        drop_nonfinite      leave out trajectories with NaN or infinity
        resamples           bootstrap draws for the 95 % intervals; 0: none
        seed, threads       threads do not affect the result
        symetric, kappa, flow   dicts of options of these measures

    The result has `verdict`, `why`, `passes`, `kappa` and `kappa_ci`, `coordinates_verdict` and `flow_verdict`, and the published
    numbers under `published`: r2, sym, symetric and more.

    >>> import numpy as np, plumb
    >>> t = np.linspace(0, 6, 60) + np.arange(20)[:, None]
    >>> r = np.linspace(0.5, 1.5, 20)[:, None]
    >>> truth = np.stack([r * np.cos(t), -r * np.sin(t)], -1)
    >>> result = plumb.measure(2 * truth, truth)
    >>> result.verdict, result.passes, f"{result.kappa:.3f}"
    ('learnt', True, '1.000')
    >>> plumb.measure(truth ** [1, 3], truth).verdict
    'not learnt'
    >>> result.published.symetric
    1
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, wanted {', '.join(METHODS)}")
    views = make_views(["variance", "momenta", "canonical", "energy", "action"], latent=latent, variance=variance, momenta=momenta,
                       truth=truth, canonical=canonical, energy=energy, action=action)
    _check_axes(views)
    _add_momenta(views, lagrangian)
    common = {"resamples": resamples, "seed": seed}
    opt = options_struct("phase_space_options", {"published_only": published_only, "coordinates_only": coordinates_only,
                                                 "layout": layout, "truth_layout": truth_layout,
                                                 "polynomial": method != "mlp", "network": method != "pr", "threads": threads})
    nonfinite = {"nonfinite": "drop"} if drop_nonfinite else {}
    published = _symetric_options({**common, **nonfinite, "threads": threads, **(symetric or {})}, views["momenta"])
    common["drop_nonfinite"] = drop_nonfinite
    basis = views["canonical"] or views["truth"]
    own = _kappa_options({**common, "angles": angles, "constants": constants, **(kappa or {})}, basis.shape[2] // 2, views["truth"].shape[0])
    moving = options_struct("flow_options", {**common, **(flow or {})})
    opt.symetric, opt.kappa, opt.flow = ctypes.pointer(published), ctypes.pointer(own), ctypes.pointer(moving)
    _, text = run_measure("phase_space", [ctypes.byref(input_struct("phase_space_input", views))], opt)
    return Measurement(text, None, "phase-space", kept_arrays({name: views[name] for name in ("latent", "truth")}))


@with_options("kappa_options", leave=("angles", "constants"))
def kappa(latent, truth, *, momenta=None, angles=None, constants=None, **options):
    """kappa, plumb's own score: is the symplectic form of the latents the true one where the data are?

    Arrays as for plumb.measure, which also measures the flow and gives the verdict. momenta (trajectories, steps, m) is for
    Lagrangian models, whose latents are (q, velocity). angles is a list of flags, one per true position; constants
    (trajectories,) or (trajectories, k) are those that differ between trajectories, such as masses.

    >>> import plumb
    >>> state = plumb.world("mass-spring").batch(40, seed=1).state
    >>> plumb.kappa(3 * state, state).canonical
    1
    """
    views = make_views(["momenta"], latent=latent, momenta=momenta, truth=truth)
    _check_axes(views)
    opt = _kappa_options({**options, "angles": angles, "constants": constants}, views["truth"].shape[2] // 2, views["truth"].shape[0])
    _, text = run_measure("kappa", [pointer(views[n]) for n in ("latent", "momenta", "truth")], opt)
    views.pop("momenta")
    return Kappa(text, None, "phase-space", kept_arrays(views))


@with_signature_of(kappa)
def canonical(*arguments, **options):
    """Deprecated: the old name of plumb.kappa."""
    warnings.warn("plumb.canonical is now plumb.kappa; plumb.measure gives the verdict", DeprecationWarning, stacklevel=2)
    return kappa(*arguments, **options)


@with_options("loops_options")
def loops(latent, truth, loop, **options):
    """Are the latents canonical? By the actions of closed loops of states, without regression.

    latent (items, 2m) and truth (items, 2n), or with an axis of steps of which the first counts; loop (items,) is the number of
    the loop of each item, as `plumb simulate --loops` writes it. Gives a dict with loops_cosine, 1 if canonical, loops_slope,
    their intervals and all actions.

    >>> import numpy as np, plumb
    >>> angle = np.arange(32) * 2 * np.pi / 32
    >>> truth = np.concatenate([np.stack([r * np.cos(angle), -r * np.sin(angle)], 1) for r in (1, 2)])
    >>> found = plumb.loops(3 * truth, truth, np.repeat([0, 1], 32))
    >>> round(found["loops_cosine"], 6), round(found["loops_slope"], 6)
    (1.0, 9.0)
    """
    views = make_views(latent=latent, truth=truth, loop=loop)
    out = new_result("loops")
    call(lib.plumb_loops_measure, ctypes.byref(out), *[pointer(views[n]) for n in ("latent", "truth", "loop")],
         ctypes.byref(options_struct("loops_options", options)))
    return json.loads(record(lib.plumb_loops_record, ctypes.byref(out)))


def _measure_phase_space(views, symetric_options, layouts):
    """SyMetric, kappa and the verdict, as `plumb measure --json` prints them."""
    opt = options_struct("phase_space_options", layouts)
    opt.symetric = ctypes.pointer(symetric_options)
    opt.network = symetric_options.method == 1
    opt.polynomial = not opt.network
    _, text = run_measure("phase_space", [ctypes.byref(input_struct("phase_space_input", views))], opt)
    return text


@with_options("symetric_options", leave=("eval_index", "momenta"))
def symetric(latent, truth, variance=None, *, momenta=None, lagrangian=False, kappa=True, layout="positions-first",
             truth_layout="positions-first", eval_index=None, **options):
    """R2, Sym and SyMetric, the published measure. plumb.measure gives the verdict.

    latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n), positions first, then momenta;
    variance, the posterior variance of the latents, leaves out those that say nothing. Latents (q, velocity) of a
    Lagrangian model need its momenta (trajectories, steps, m), or lagrangian=True, which fits them. Other orders of the
    columns are named by layout and truth_layout, as for plumb.measure. eval_index
    (trajectories, points) has the steps where the Jacobian is taken. Next to the published numbers stand plumb's own, kappa and
    canonical, unless kappa=False; where they are not defined, canonical_why says so.

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
    views = make_views(["variance", "momenta"], latent=latent, truth=truth, variance=variance, momenta=momenta)
    _add_momenta(views, lagrangian)
    opt = _symetric_options({**options, "eval_index": eval_index}, views["momenta"])
    if kappa:
        text = _measure_phase_space(views, opt, {"layout": layout, "truth_layout": truth_layout})
    elif (layout, truth_layout) != ("positions-first", "positions-first"):
        raise ValueError("kappa=False measures arrays with positions first only")
    else:
        _, text = run_measure("symetric", [pointer(views[n]) for n in ("latent", "variance", "truth")], opt)
    views.pop("momenta")
    return Symetric(text, None, "phase-space", kept_arrays(views))
