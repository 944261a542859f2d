# SPDX-License-Identifier: MIT
"""Violation of expectation: scores of clips in, accuracy out."""
import ctypes
import json

import numpy as np

from ._arrays import fill, numbers, options_struct, pointer
from ._inputs import input_struct, kept_arrays, make_views, run_measure
from ._native import SCORERS, call, lib, new_result, record, types
from ._options import with_options
from ._results import Surprise


@with_options("surprise_options", leave=("error_unit", "gamma_auto", "threshold_rule"))
def surprise(surprise=None, *, truth=None, prediction=None, feature=None, observation=None, surprise_voe=None,
             concept=None, observation_concept=None, motion=None, scorer=None, unit=None, gammas=None, **options):
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
    views = make_views(arrays, **arrays)
    given = input_struct("surprise_input", views)
    opt = options_struct("surprise_options", {})
    for name in [scorer] if isinstance(scorer, str) else scorer or []:
        if name not in SCORERS:
            raise ValueError(f"scorer is {name!r}, wanted {', '.join(SCORERS)}")
        opt.scorers[SCORERS.index(name)] = True
    for name, value in (gammas or {}).items():
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
    out, text = run_measure("surprise", [ctypes.byref(given)], opt)
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
    kept = kept_arrays({name: views[name] for name in ("surprise", "truth")})
    if "frame_surprise" in arrays:
        kept["surprise"] = arrays["frame_surprise"]
    return Surprise(text, arrays, "concepts", kept)


def _copied(array, kind):
    """A copy of an array that a result of the library owns."""
    shape = tuple(array.shape[:array.ndim])
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(ctypes.string_at(array.data, size), kind).reshape(shape).copy()


@with_options("surprise_losses_options")
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


@with_options("surprise_losses_options", leave=("context", "frames", "score", "plausible"))
def surprise_study(folder, **options):
    """The table of a study: a folder of .pth files with the losses of one model on one data set.

    The best context of each property, then the mean over properties, by the mean and by the maximum over windows,
    and each corrected for the choice. With metadata="metadata.csv" (IntPhys 2) a concept of the table is a property;
    concept_by="Difficulty,Camera" makes it from two columns.
    """
    out = new_result("surprise_study")
    call(lib.plumb_surprise_study_measure, ctypes.byref(out), str(folder).encode(),
         ctypes.byref(options_struct("surprise_losses_options", options)))
    return json.loads(record(lib.plumb_surprise_study_record, ctypes.byref(out)))


@with_options("surprise_options", leave=("error_unit", "gamma_auto", "threshold_rule"))
def surprise_clips(score, possible, **options):
    """Labelled clips that belong to no tuple: AUROC, and a threshold for each fifth that is chosen on the others.

    score (clips,) is higher for more surprising clips; possible (clips,) is 0 for an impossible one.
    """
    views = make_views(score=score, possible=np.asarray(possible).astype(np.uint8))
    threshold = options.get("threshold")
    if isinstance(threshold, str):
        options["threshold_rule"] = options.pop("threshold")
    out = types["surprise_clips"]()
    call(lib.plumb_surprise_clips_measure, ctypes.byref(out), pointer(views["score"]), pointer(views["possible"]),
         ctypes.byref(options_struct("surprise_options", options)))
    return json.loads(record(lib.plumb_surprise_clips_record, ctypes.byref(out)))


def surprise_example(prior=0.5):
    """The paper's counter-example and its Gaussian annulus, in numbers: why surprise alone misleads."""
    return json.loads(record(lib.plumb_surprise_example_record, prior))
