# SPDX-License-Identifier: MIT
"""Did this model learn the physics, or does it only draw good pictures?

>>> import numpy as np, plumb
>>> batch = plumb.world("mass-spring").batch(50, steps=60, seed=1)
>>> plumb.symetric(latent=batch.state, truth=batch.state).passes
True

Arrays are NumPy's, or anything that has __array__, __dlpack__ or a buffer: tensors of PyTorch and JAX."""
import json as _json

from ._measures import compare, dynamics, forecast, kappa, load_scores, loops, probe, surprise, surprise_clips, symetric
from ._native import (ERRORS, FileError, FormatError, MissingError, NumericError, OutOfMemoryError, PlumbError,
                      RangeError, ShapeError, StoppedError)
from ._native import lib as _lib
from ._native import record as _record
from ._report import report
from ._results import Comparison, Dynamics, Evaluation, Forecast, Kappa, Probe, Result, StateForecast, Surprise, Symetric
from ._runs import Rollout, Run, load_run
from ._worlds import Batch, Dataset, Loader, World, world, worlds

__version__ = _lib.plumb_version().decode()
__all__ = ["symetric", "kappa", "loops", "forecast", "probe", "dynamics", "compare", "surprise", "surprise_clips", "surprise_example", "load_scores",
           "world", "worlds", "load_run", "report", "doctor",
           "Symetric", "Kappa", "Forecast", "StateForecast", "Probe", "Dynamics", "Comparison", "Surprise", "Evaluation", "Result", "World", "Batch", "Dataset", "Loader", "Run",
           "Rollout", "PlumbError", *(kind.__name__ for kind in ERRORS.values())]


def surprise_example(prior=0.5):
    """The paper's counter-example and its Gaussian annulus, in numbers: why surprise alone misleads."""
    return _json.loads(_record(_lib.plumb_surprise_example_record, prior))


def doctor():
    """What this build and this machine can do, as `plumb doctor --json` has it."""
    return _json.loads(_record(_lib.plumb_system_record))
