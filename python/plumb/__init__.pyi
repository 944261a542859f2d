# SPDX-License-Identifier: MIT
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

ArrayLike = Any  # NumPy, or anything with __array__, __dlpack__ or a buffer
Interval = Optional[List[float]]

__version__: str

class PlumbError(Exception): ...
class FileError(PlumbError, OSError): ...
class FormatError(PlumbError, ValueError): ...
class ShapeError(PlumbError, ValueError): ...
class RangeError(PlumbError, ValueError): ...
class NumericError(PlumbError, ArithmeticError): ...
class OutOfMemoryError(PlumbError, MemoryError): ...
class MissingError(PlumbError, NotImplementedError): ...
class StoppedError(PlumbError, RuntimeError): ...

class Result:
    version: str
    seconds: float
    def __getattr__(self, name: str) -> Any: ...
    def to_dict(self) -> Dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

class Symetric(Result):
    r2: float
    r2_ci: Interval
    r2_heldout: float
    r2_heldout_ci: Interval
    sym: float
    sym_ci: Interval
    symetric: float
    symetric_ci: Interval
    why: str
    order: int
    alpha: Optional[float]
    sym_per_trajectory: List[float]
    latents_used: List[int]
    informative_dimensions: Optional[int]
    degenerate: bool
    n: int
    m: int
    seed: int
    input_hash: str
    sym_floor: Optional[float]
    kappa: Optional[float]
    kappa_ci: Interval
    canonical: Optional[int]
    canonical_why: str
    hint: Optional[str]
    @property
    def passes(self) -> bool: ...

class Kappa(Result):
    kappa: float
    kappa_ci: Interval
    canonical: Optional[int]
    canonical_why: str
    hint: Optional[str]
    r2_state: float

class Forecast(Result):
    rec_mse: Optional[float]
    ext_mse: Optional[float]
    vpt: float
    vpt_ci: Interval
    vpt_per_trajectory: List[float]
    errors: NDArray[np.float64]
    errors_backward: NDArray[np.float64]

class StateForecast(Result):
    mse: Optional[float]
    vrmse: Optional[float]
    vpt: float
    vpt_ci: Interval
    baselines: Dict[str, Dict[str, Optional[float]]]
    errors: NDArray[np.float64]

class Dynamics(Result):
    verdict: str
    verdict_why: str
    r2: float
    vpt: float
    vpt_ci: Interval

class Comparison(Result):
    models: List[Dict[str, Any]]
    pairs: List[Dict[str, Any]]
    items: int

class Probe(Result):
    r2: float
    r2_nonlinear: Optional[float]
    targets: List[Dict[str, Any]]
    groups: List[Dict[str, Any]]
    fold: List[int]
    def target(self, name: str) -> Dict[str, Any]: ...

class Surprise(Result):
    scorers: Dict[str, Dict[str, Any]]
    concepts: Optional[List[Dict[str, Any]]]
    uniformity: Optional[Dict[str, Any]]
    score: Dict[str, NDArray[np.float64]]
    distance: Dict[str, Optional[NDArray[np.float64]]]
    frame_surprise: NDArray[np.float64]

class Evaluation(Result):
    model: str
    world: str
    vpt: float
    vpt_ci: Interval
    pr: Dict[str, Any]
    forecast: Dict[str, Any]

class Batch:
    frames: NDArray[np.uint8]
    state: NDArray[np.float64]
    canonical: NDArray[np.float64]
    derivative: NDArray[np.float64]
    energy: NDArray[np.float64]
    time: NDArray[np.float64]
    parameters: Dict[str, NDArray[np.float64]]
    def to_dict(self) -> Dict[str, NDArray[Any]]: ...
    def __len__(self) -> int: ...

class Dataset(Sequence[Dict[str, NDArray[Any]]]):
    world: World
    items: int
    steps: int
    seed: int
    first: int
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...

class Loader(Iterator[Batch]):
    def __next__(self) -> Batch: ...
    def close(self) -> None: ...
    def __enter__(self) -> Loader: ...
    def __exit__(self, *_: Any) -> None: ...

class World:
    name: str
    summary: str
    n: int
    canonical_n: int
    dt: float
    image: Tuple[int, int, int]
    upright: bool
    reversible: bool
    state_names: List[str]
    canonical_names: List[str]
    angles: List[bool]
    parameters: Dict[str, int]
    def __init__(self, name: str) -> None: ...
    def batch(self, count: int, steps: int = 60, *, seed: int = 0, first: int = 0, threads: int = 0, **options: Any) -> Batch: ...
    def quantities(self, state: ArrayLike, parameters: Union[None, Mapping[str, ArrayLike], ArrayLike] = None) -> Dict[str, NDArray[np.float64]]: ...
    def dataset(self, items: int, steps: int = 60, *, seed: int = 0, first: int = 0, **options: Any) -> Dataset: ...
    def loader(self, batch: int = 32, window: int = 64, *, states: bool = True, copy: bool = True,
               world_options: Optional[Mapping[str, Any]] = None, **options: Any) -> Loader: ...
    def __iter__(self) -> Loader: ...

class Rollout:
    latent: NDArray[np.float32]
    truth: NDArray[np.float64]
    variance: NDArray[np.float32]
    frames: NDArray[np.uint8]
    prediction: NDArray[np.float32]
    traversal: NDArray[np.float32]
    canonical: NDArray[np.float64]
    def to_dict(self) -> Dict[str, NDArray[Any]]: ...
    def save(self, path: Any) -> None: ...

class Run:
    path: str
    config: Dict[str, Any]
    @property
    def results(self) -> Dict[str, Any]: ...
    @property
    def log(self) -> List[Dict[str, Any]]: ...
    @property
    def model(self) -> Optional[str]: ...
    @property
    def world(self) -> Optional[str]: ...
    def rollout(self, count: int = 4, steps: int = 200, *, backward: bool = False, **options: Any) -> Rollout: ...
    def evaluate(self, *, probes: Sequence[str] = (), **options: Any) -> Evaluation: ...

def symetric(latent: ArrayLike, truth: ArrayLike, variance: Optional[ArrayLike] = None, *,
             momenta: Optional[ArrayLike] = None, lagrangian: bool = False, kappa: bool = True, layout: str = ...,
             truth_layout: str = ..., **options: Any) -> Symetric: ...
def loops(latent: ArrayLike, truth: ArrayLike, loop: ArrayLike, **options: Any) -> Dict[str, Any]: ...
def kappa(latent: ArrayLike, truth: ArrayLike, *, momenta: Optional[ArrayLike] = None, **options: Any) -> Kappa: ...
def forecast(truth: ArrayLike, prediction: ArrayLike, backward: Optional[ArrayLike] = None, *,
             states: Optional[ArrayLike] = None, kind: Optional[str] = None, energy: Optional[ArrayLike] = None,
             prediction_energy: Optional[ArrayLike] = None, **options: Any) -> Union[Forecast, StateForecast]: ...
def probe(latent: Union[ArrayLike, Sequence[ArrayLike]], targets: Union[ArrayLike, Mapping[str, Any]], *,
          frames: Optional[ArrayLike] = None, action: Optional[ArrayLike] = None, lengths: Optional[ArrayLike] = None,
          offsets: Optional[ArrayLike] = None, cut: Optional[int] = None, ood: Union[None, str, ArrayLike] = None, angles: Sequence[str] = (),
          columns: Optional[Mapping[str, Sequence[str]]] = None, **options: Any) -> Probe: ...
def dynamics(latent: ArrayLike, encoded: ArrayLike, truth: ArrayLike, *, energy: Optional[ArrayLike] = None,
             angles: Sequence[int] = (), **options: Any) -> Dynamics: ...
def compare(models: Mapping[str, ArrayLike], **options: Any) -> Comparison: ...
def surprise(surprise: Optional[ArrayLike] = None, *, truth: Optional[ArrayLike] = None,
             prediction: Optional[ArrayLike] = None, feature: Optional[ArrayLike] = None,
             observation: Optional[ArrayLike] = None, surprise_voe: Optional[ArrayLike] = None,
             concept: Optional[ArrayLike] = None, observation_concept: Optional[ArrayLike] = None, motion: Optional[ArrayLike] = None, scorer: Union[None, str, Sequence[str]] = None,
             unit: Union[None, str, ArrayLike] = None, **options: Any) -> Surprise: ...
def surprise_clips(score: ArrayLike, possible: ArrayLike, **options: Any) -> Dict[str, Any]: ...
def load_scores(path: Any, **options: Any) -> Dict[str, NDArray[Any]]: ...
def surprise_example(prior: float = 0.5) -> Dict[str, Any]: ...
def doctor() -> Dict[str, Any]: ...
def world(name: str) -> World: ...
def worlds() -> List[str]: ...
def load_run(path: Any) -> Run: ...
def report(out: Any, *sources: Any, name: Optional[str] = None, figure: Optional[str] = None, **options: Any) -> Any: ...
