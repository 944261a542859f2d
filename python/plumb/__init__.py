# SPDX-License-Identifier: MIT
"""Did this model learn the physics, or does it only draw good pictures?

>>> import numpy as np, plumb
>>> batch = plumb.world("mass-spring").batch(50, steps=60, seed=1)
>>> plumb.symetric(latent=batch.state, truth=batch.state).passes
True

Arrays are NumPy's, or anything that has __array__, __dlpack__ or a buffer: tensors of PyTorch and JAX."""
import json as _json

from ._commands import Progress, audit, convert, demo, evaluate, export_weights, import_weights, models, read, rollout, settings, show, simulate, sweep, sweep_plan, sweep_slurm, train, train_plan
from ._measures import compare, dynamics, forecast, probe
from ._metric import Metric
from ._model import ModelEvaluation, evaluate_model
from ._native import (ERRORS, FileError, FormatError, MissingError, NumericError, OutOfMemoryError, PlumbError,
                      RangeError, ShapeError, StoppedError)
from ._native import lib as _lib
from ._native import record as _record
from ._phase_space import canonical, kappa, loops, measure, symetric
from ._report import Figure, figure, report
from ._results import (Audit, Comparison, Dynamics, Evaluation, Forecast, Kappa, Measurement, Probe, Published, Result, StateForecast,
                       Study, Surprise, Symetric)
from ._runs import Rollout, Run, load_run
from ._surprise import load_scores, surprise, surprise_clips, surprise_example, surprise_study
from ._worlds import Batch, Dataset, Loader, World, world, worlds

__version__ = _lib.plumb_version().decode()
__all__ = [
    # measures
    "measure", "kappa", "symetric", "canonical", "loops", "probe", "dynamics", "forecast", "surprise", "surprise_clips",
    "surprise_example", "surprise_study", "load_scores", "compare", "audit", "Metric", "evaluate_model",
    # worlds, data and models
    "world", "worlds", "simulate", "convert", "read", "show", "train", "import_weights", "export_weights", "models", "settings", "train_plan", "load_run", "evaluate", "rollout", "sweep",
    "sweep_plan", "sweep_slurm",
    # pages
    "report", "figure", "demo", "doctor",
    # classes
    "Measurement", "Published", "Symetric", "Kappa", "Forecast", "StateForecast", "Probe", "Dynamics", "Comparison", "Surprise",
    "Evaluation", "ModelEvaluation", "Audit", "Study", "Result", "World", "Batch", "Dataset", "Loader", "Run", "Rollout", "Progress",
    "Figure", "PlumbError", *(kind.__name__ for kind in ERRORS.values()),
]


def doctor():
    """What this build and this machine can do, as `plumb doctor --json` has it."""
    return _json.loads(_record(_lib.plumb_system_record))
