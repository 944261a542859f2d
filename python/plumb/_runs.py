# SPDX-License-Identifier: MIT
"""Run directories: what `plumb train` leaves, looked into."""
import ctypes
import difflib
import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np

from ._arrays import fill, options_struct
from ._native import FileError, FormatError, PlumbError, call, lib, new_result, record
from ._options import with_options
from ._results import Evaluation


class Rollout:
    """Rollouts of a run: latent (count, steps, 2m), truth (count, steps, 2n), variance (count, 2m),
    frames and prediction (count, steps, height, width, channels), and canonical where the world has it. Of a model that knows where
    objects are also tracks (count, steps, objects, 2), their places in pixels, and latent_names."""

    def __init__(self, arrays):
        self.__dict__.update(arrays)
        self._names = list(arrays)

    def to_dict(self):
        return {name: getattr(self, name) for name in self._names}

    def save(self, path):
        """As a file that plumb measure, forecast and report read."""
        np.savez(path, **self.to_dict())

    def __repr__(self):
        return "<Rollout: " + ", ".join(f"{n} {getattr(self, n).shape}" for n in self._names) + ">"


# What `plumb evaluate` calls these members of plumb_evaluation_options.
_EVALUATION_NAMES = {"count": "forecast_videos", "steps": "forecast_steps", "measured": "phase_trajectories",
                     "films": "free_clips", "mlp": "network"}
_PYTHON_NAMES = {name: given for given, name in _EVALUATION_NAMES.items() if name != "network"}
# And these of the options of SyMetric and of the forecast.
_NESTED_NAMES = {"mode": "symetric", "mask": "symetric", "points": "symetric", "average": "forecast"}


def _zoos():
    """The folders of trained models: $PLUMB_ZOO, and what is installed."""
    share = os.environ.get("PLUMB_SHARE")
    up = list(Path(lib._name).resolve().parents)
    places = [Path(share)] if share else [folder / "share/plumb" for folder in up[1:3]]
    zoo = os.environ.get("PLUMB_ZOO")
    return [*([Path(zoo)] if zoo else []), *(place / "zoo" for place in places)]


def find_run(path):
    """A path that exists as it is; else that of a trained model of this name, as the program looks for it."""
    given = os.fspath(path)
    if not os.path.exists(given):
        name = given.removeprefix("zoo/").rstrip("/").replace("/", "-")
        for zoo in _zoos():
            if name and (zoo / name / "config.json").exists():
                return str(zoo / name)
    return given


class Run:
    """A run directory: config (all settings), log (one dict a line), results (what was measured)."""

    def __init__(self, path):
        self.path = find_run(path)
        self.config = self._json("config.json")

    def _json(self, name, fallback=None):
        path = Path(self.path) / name
        try:
            return json.loads(path.read_text())
        except OSError as why:
            if fallback is not None:
                return fallback
            raise FileError(f"{path}: {why.strerror}; a run directory is what plumb train writes"
                            f"{self._known()}") from None
        except ValueError as why:
            raise FormatError(f"{path}: {why}") from None

    @staticmethod
    def _known():
        names = sorted({folder.name for zoo in _zoos() for folder in zoo.glob("*/") if (folder / "config.json").exists()})
        return f"; trained models are {', '.join(names)}" if names else ""

    @property
    def results(self):
        return self._json("results.json", {})

    @property
    def log(self):
        try:
            lines = (Path(self.path) / "log.jsonl").read_text().splitlines()
        except OSError:
            return []
        return [json.loads(line) for line in lines if line.strip()]

    @property
    def model(self):
        return self.config.get("model")

    @property
    def world(self):
        return self.config.get("data", {}).get("world")

    @with_options("rollout_options")
    def rollout(self, count=4, steps=200, *, backward=False, **options):
        """Takes the first frames (or the last) of videos that training never used as input and predicts the rest. A video model gives
        truth and prediction (tuples, 4, frames, height, width, channels), feature, concept and surprise of probes."""
        opt = options_struct("rollout_options", dict(options, count=count, steps=steps, backward=backward))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rollout.npz")
            call(lib.plumb_rollout_save, path.encode(), os.fsencode(self.path), ctypes.byref(opt))
            with np.load(path) as arrays:
                return Rollout({name: arrays[name] for name in arrays.files})

    @with_options("evaluation_options", leave=("probe_count",),
                  names={"forecast_videos": "count", "forecast_steps": "steps", "phase_trajectories": "measured", "free_clips": "films", "network": "mlp"})
    def evaluate(self, *, probes=(), symetric=None, kappa=None, forecast=None, surprise=None, mode=None, mask=None, points=None,
                 average=None, **options):
        """Evaluates the run by every measure that applies to its model, on data it has never seen.

        Options have the names of `plumb evaluate`. probes=["probes.npz"] are files of test tuples. symetric={"resamples": 0}, kappa={...},
        forecast={...} and surprise={...} are dicts of options of those measures; mode, mask and points of SyMetric and average of
        the forecast are also options of their own, None being what the protocol says."""
        known = [row[0] for row in Run.evaluate.option_rows]
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise TypeError(f"no option {name}" + (f", did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"))
        more = {"symetric": symetric, "kappa": kappa, "forecast": forecast, "surprise": surprise, "mode": mode, "mask": mask,
                "points": points, "average": average}
        options = {**options, **{name: value for name, value in more.items() if value is not None}}
        given = {_EVALUATION_NAMES.get(name, name): value for name, value in options.items()}
        nested = {"symetric": dict(given.pop("symetric", None) or {}), "forecast": dict(given.pop("forecast", None) or {})}
        for name, struct in _NESTED_NAMES.items():
            if name in given:
                nested[struct][name] = given.pop(name)
        opt = options_struct("evaluation_options", {"protocol": given.pop("protocol", "own")})
        symetric, forecast = options_struct("symetric_options", {}), options_struct("forecast_options", {})
        # The protocol first; what the caller wrote replaces what it sets.
        call(lib.plumb_evaluation_set_protocol, ctypes.byref(opt), ctypes.byref(symetric), ctypes.byref(forecast), opt.protocol)
        fill(symetric, "symetric_options", nested["symetric"])
        fill(forecast, "forecast_options", nested["forecast"])
        if given.get("naive") is not None:
            given["naive"] = find_run(given["naive"])
        fill(opt, "evaluation_options", given)
        paths = [os.fsencode(path) for path in probes]
        opt.probes, opt.probe_count = (ctypes.c_char_p * max(len(paths), 1))(*paths), len(paths)
        out = new_result("evaluation")
        try:
            call(lib.plumb_evaluation_measure, ctypes.byref(out), os.fsencode(self.path), ctypes.byref(opt))
        except PlumbError as why:  # with the names that the caller wrote
            raise type(why)(re.sub("|".join(_PYTHON_NAMES), lambda found: _PYTHON_NAMES[found[0]], str(why))) from None
        return Evaluation(record(lib.plumb_evaluation_record, ctypes.byref(out), ctypes.byref(opt)))

    def __repr__(self):
        return f"<Run {self.path}: {self.model} on {self.world or 'a file'}>"


def load_run(path):
    """A run directory of `plumb train`, or the name of a model that comes with plumb, to be looked into.

    >>> import plumb
    >>> plumb.load_run("hgn++-mass-spring").rollout(count=2, steps=10).prediction.shape
    (2, 10, 32, 32, 3)
    """
    return Run(path)
