# SPDX-License-Identifier: MIT
import os
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

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
    def to_frame(self) -> Any: ...
    def _repr_html_(self) -> str: ...

class Published:
    r2: float
    sym: float
    symetric: float
    why: str
    def __getattr__(self, name: str) -> Any: ...
    def to_dict(self) -> Dict[str, Any]: ...

class Measurement(Result):
    verdict: str
    coordinates_verdict: str
    flow_verdict: str
    kappa: Optional[float]
    kappa_ci: Interval
    kappa_constants: Optional[float]
    kappa_score: Optional[float]
    hint: Optional[str]
    canonical: Optional[int]
    r2_state: Optional[float]
    r2_coordinates: Optional[List[float]]
    @property
    def why(self) -> str: ...
    @property
    def passes(self) -> bool: ...
    @property
    def published(self) -> Published: ...

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

class Audit(Result):
    clean: bool
    tuples: int

class Study(Result):
    runs: List[Dict[str, Any]]

class ModelEvaluation(Result):
    phase_space: Optional[Measurement]
    probe: Optional[Probe]
    dynamics: Optional[Dynamics]
    forecast: Optional[Forecast]
    surprise: Optional[Surprise]
    interventions: Optional[List[Dict[str, Any]]]
    left_out: Dict[str, str]
    causal: Optional[bool]
    encoded: NDArray[np.float32]
    @property
    def verdict(self) -> Optional[str]: ...
    @property
    def why(self) -> Optional[str]: ...
    def page(self, out: Any) -> Any: ...

class Metric:
    trajectories: int
    options: Dict[str, Any]
    def __init__(self, trajectories: int = 100, *, lagrangian: bool = False, angles: Optional[Sequence[bool]] = None,
        layout: str = 'positions-first', truth_layout: str = 'positions-first', method: str = 'pr', published_only: bool = False,
        coordinates_only: bool = False, drop_nonfinite: bool = False, resamples: int = 200, seed: int = 1, threads: int = 0,
        symetric: Optional[Mapping[str, Any]] = None, kappa: Optional[Mapping[str, Any]] = None,
        flow: Optional[Mapping[str, Any]] = None) -> None: ...
    def reset(self) -> None: ...
    def update(self, latent: ArrayLike, truth: ArrayLike) -> Metric: ...
    def compute(self) -> Measurement: ...
    def __call__(self, latent: ArrayLike, truth: ArrayLike) -> Measurement: ...
    def __len__(self) -> int: ...

class Progress(NamedTuple):
    step: int
    steps: int
    loss: float
    steps_per_second: float
    seconds: float
    seconds_left: float

class Figure:
    svg: Optional[str]
    png: Optional[bytes]
    def __init__(self, svg: Optional[str] = None, png: Optional[bytes] = None) -> None: ...
    @classmethod
    def load(cls, path: Any) -> Figure: ...
    def save(self, path: Any) -> None: ...

class Batch:
    frames: NDArray[np.uint8]
    state: NDArray[np.float64]
    canonical: NDArray[np.float64]
    derivative: NDArray[np.float64]
    energy: NDArray[np.float64]
    time: NDArray[np.float64]
    parameters: Dict[str, NDArray[np.float64]]
    world: Optional[World]
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
    def batch(self, count: int, steps: Optional[int] = None, *, seed: int = 0, first: int = 0, threads: int = 0, dt: float = 0.0,
        stride: int = 0, image: int = 0, backward: bool = False, colors: Literal['world', 'fixed', 'six', 'white'] = 'world',
        reject_steps: int = 0, background: Literal['plain', 'texture'] = 'plain', profile: Literal['disc', 'ring', 'blob'] = 'disc') -> Batch: ...
    def simulate_from(self, state: ArrayLike, parameters: Union[None, Mapping[str, ArrayLike], ArrayLike] = None, steps: int = 60, *,
        frames: bool = False, dt: float = 0.0, stride: int = 0, image: int = 0, backward: bool = False,
        colors: Literal['world', 'fixed', 'six', 'white'] = 'world', reject_steps: int = 0,
        background: Literal['plain', 'texture'] = 'plain', profile: Literal['disc', 'ring', 'blob'] = 'disc') -> Batch: ...
    def quantities(self, state: ArrayLike, parameters: Union[None, Mapping[str, ArrayLike], ArrayLike] = None) -> Dict[str, NDArray[np.float64]]: ...
    def dataset(self, items: int, steps: Optional[int] = None, *, seed: int = 0, first: int = 0, dt: float = 0.0, stride: int = 0,
        image: int = 0, backward: bool = False, colors: Literal['world', 'fixed', 'six', 'white'] = 'world', reject_steps: int = 0,
        background: Literal['plain', 'texture'] = 'plain', profile: Literal['disc', 'ring', 'blob'] = 'disc') -> Dataset: ...
    def loader(self, batch: int = 32, window: int = 64, *, states: bool = True, copy: bool = True,
        world_options: Optional[Mapping[str, Any]] = None, steps: int = 0, ahead: int = 2, seed: int = 1, first: int = 0,
        threads: int = 0) -> Loader: ...
    def __iter__(self) -> Loader: ...

class Rollout:
    latent: NDArray[np.float32]
    truth: NDArray[np.float64]
    variance: NDArray[np.float32]
    frames: NDArray[np.uint8]
    prediction: NDArray[np.float32]
    traversal: NDArray[np.float32]
    canonical: NDArray[np.float64]
    tracks: NDArray[np.float32]
    latent_names: NDArray[np.uint8]
    def to_dict(self) -> Dict[str, NDArray[Any]]: ...
    def save(self, path: Any) -> None: ...

class Run:
    path: str
    config: Dict[str, Any]
    result: Dict[str, Any]
    @property
    def results(self) -> Dict[str, Any]: ...
    @property
    def log(self) -> List[Dict[str, Any]]: ...
    @property
    def model(self) -> Optional[str]: ...
    @property
    def world(self) -> Optional[str]: ...
    def rollout(self, count: int = 4, steps: int = 200, *, backward: bool = False, first: int = 0, world: Optional[str] = None,
        data: Optional[str] = None, threads: int = 0, measured: bool = False, traversal_steps: int = 0, encoded: bool = True) -> Rollout: ...
    def evaluate(self, *, probes: Sequence[Union[str, os.PathLike[str]]] = (), symetric: Optional[Mapping[str, Any]] = None,
        kappa: Optional[Mapping[str, Any]] = None, forecast: Optional[Mapping[str, Any]] = None,
        surprise: Optional[Mapping[str, Any]] = None, mode: Optional[str] = None, mask: Optional[str] = None,
        points: Optional[int] = None, average: Optional[str] = None, first: int = 0, world: Optional[str] = None, threads: int = 0,
        count: int = 30, steps: int = 1000, measured: int = 100, data: Optional[str] = None, mlp: bool = True, tuples: int = 250,
        films: int = 64, naive: Optional[str] = None, save: Optional[str] = None, allow_training_data: bool = False,
        protocol: Literal['own', 'paper'] = 'own', best: bool = False, network_trajectories: int = 0, resize: bool = False) -> Evaluation: ...

# ---- functions ----
def measure(latent: ArrayLike, truth: ArrayLike, *, variance: Optional[ArrayLike] = None, momenta: Optional[ArrayLike] = None,
    lagrangian: bool = False, canonical: Optional[ArrayLike] = None, energy: Optional[ArrayLike] = None,
    action: Optional[ArrayLike] = None, angles: Optional[Sequence[bool]] = None, constants: Optional[ArrayLike] = None,
    layout: str = 'positions-first', truth_layout: str = 'positions-first', method: str = 'pr', published_only: bool = False,
    coordinates_only: bool = False, drop_nonfinite: bool = False, resamples: int = 2000, seed: int = 1, threads: int = 0,
    symetric: Optional[Mapping[str, Any]] = None, kappa: Optional[Mapping[str, Any]] = None, flow: Optional[Mapping[str, Any]] = None) -> Measurement: ...
def kappa(latent: ArrayLike, truth: ArrayLike, *, momenta: Optional[ArrayLike] = None, angles: Optional[Sequence[bool]] = None,
    constants: Optional[ArrayLike] = None, estimator: Literal['network', 'gaussian', 'polynomial'] = 'network', kappa_bar: float = 0.9,
    r2_bar: float = 0.9, centres: int = 400, state_centres: int = 250, symplectic: bool = False, drop_nonfinite: bool = False,
    resamples: int = 2000, seed: int = 1) -> Kappa: ...
def symetric(latent: ArrayLike, truth: ArrayLike, variance: Optional[ArrayLike] = None, *, momenta: Optional[ArrayLike] = None,
    lagrangian: bool = False, kappa: bool = True, layout: str = 'positions-first', truth_layout: str = 'positions-first',
    eval_index: Optional[ArrayLike] = None, mode: Literal['converged', 'reference'] = 'converged', batch: int = -1,
    max_batches: int = 0, max_order: int = 5, order_one_above: int = 32, r2_bar: float = 0.9, sym_bar: float = 0.05,
    sym_cap: float = 1000.0, degenerate_bar: float = 0.0001, points: int = 10, shift: float = 1e-06, weight_tolerance: float = 0.001,
    alphas: int = 10, alpha_min: float = 0.0001, alpha_max: float = 0.31622776601683794, max_sweeps: int = 1000,
    tolerance: float = 0.0001, gap: float = 1e-11, mask: Literal['variance', 'kl', 'none'] = 'variance', variance_bar: float = 0.5,
    kl_bar: float = 0.01, inferred_step: int = 0, r2: Literal['residual', 'explained'] = 'residual',
    scale: Literal['mean-max', 'minimise'] = 'mean-max', nonfinite: Literal['by-mode', 'refuse', 'drop', 'mean'] = 'by-mode',
    resamples: int = 2000, seed: int = 1, threads: int = 0, method: Literal['pr', 'mlp'] = 'pr', network_width: int = 0,
    network_layers: int = 4, network_updates: int = 6000, network_rows: int = 3840, network_rate: float = 0.01,
    network_ridge: float = 0.0, network_starts: int = 2, network_heldout: int = 50, network_points_per_parameter: int = 1000,
    network_few_points: bool = False, network_components: int = 32, max_features: int = 10000, max_cells: int = 4000000,
    network_l1: float = 0.0) -> Symetric: ...
def canonical(latent: ArrayLike, truth: ArrayLike, *, momenta: Optional[ArrayLike] = None, angles: Optional[Sequence[bool]] = None,
    constants: Optional[ArrayLike] = None, estimator: Literal['network', 'gaussian', 'polynomial'] = 'network', kappa_bar: float = 0.9,
    r2_bar: float = 0.9, centres: int = 400, state_centres: int = 250, symplectic: bool = False, drop_nonfinite: bool = False,
    resamples: int = 2000, seed: int = 1) -> Kappa: ...
def loops(latent: ArrayLike, truth: ArrayLike, loop: ArrayLike, *, resamples: int = 2000, seed: int = 1) -> Dict[str, Any]: ...
def probe(latent: ArrayLike, targets: Union[ArrayLike, Mapping[str, Any]], *, frames: Optional[ArrayLike] = None,
    action: Optional[ArrayLike] = None, lengths: Optional[ArrayLike] = None, offsets: Optional[ArrayLike] = None,
    cut: Optional[int] = None, ood: Union[None, str, ArrayLike] = None, angles: Sequence[str] = (),
    columns: Optional[Mapping[str, Sequence[str]]] = None, folds: int = 5, penalties: int = 10, penalty_low: float = 1e-08,
    penalty_high: float = 10.0, nonlinear: bool = True, centres: int = 256, controls: bool = True, shuffles: int = 5, window: int = 4,
    resamples: int = 2000, seed: int = 1, threads: int = 0) -> Probe: ...
def dynamics(latent: ArrayLike, encoded: ArrayLike, truth: ArrayLike, *, energy: Optional[ArrayLike] = None, angles: Sequence[int] = (),
    action: Optional[ArrayLike] = None, context: int = 0, deviations: float = 0.5, folds: int = 5, nonlinear: bool = True,
    resamples: int = 2000,
    truth_layout: Literal['positions-first', 'momenta-first', 'interleaved', 'velocities', 'circle'] = 'positions-first', seed: int = 1,
    threads: int = 0) -> Dynamics: ...
def forecast(*, truth: ArrayLike, prediction: ArrayLike, backward: Optional[ArrayLike] = None, states: Optional[ArrayLike] = None,
    kind: Optional[str] = None, energy: Optional[ArrayLike] = None, prediction_energy: Optional[ArrayLike] = None,
    frames: Literal['plain', 'overlap-by-one', 'no-overlap', 'include-inference', 'autoregressive'] = 'plain', split: int = 60,
    extrapolate: int = 60, inference: int = 5, target: int = 60, threshold: float = 0.025,
    backward_count: Literal['inferred', 'published'] = 'inferred', average: Literal['median', 'mean'] = 'median', batch: int = 5,
    resamples: int = 2000, seed: int = 1, threads: int = 0, context: int = 0, deviations: float = 0.5, samples_axis: int = 0) -> Union[Forecast, StateForecast]: ...
def surprise(surprise: Optional[ArrayLike] = None, *, truth: Optional[ArrayLike] = None, prediction: Optional[ArrayLike] = None,
    feature: Optional[ArrayLike] = None, observation: Optional[ArrayLike] = None, surprise_voe: Optional[ArrayLike] = None,
    concept: Optional[ArrayLike] = None, observation_concept: Optional[ArrayLike] = None, motion: Optional[ArrayLike] = None,
    scorer: Union[None, str, Sequence[str]] = None, unit: Union[None, str, ArrayLike] = None,
    gammas: Optional[Mapping[str, float]] = None, k: int = 0, gamma: Union[float, str] = 0.01, normalise: bool = True,
    share: float = 0.2, frames: Literal['mean', 'max', 'sum', 'auto'] = 'auto', pca: Literal['recon', 'shyu'] = 'recon',
    nu: float = 0.5, tolerance: float = 1e-06, trees: int = 100, sample: int = 256, temperature: float = 0.0, prior: float = 0.5,
    type1: float = 0.05, resamples: int = 2000, seed: int = 1, threads: int = 0, threshold: Union[float, str] = ...) -> Surprise: ...
def surprise_clips(score: ArrayLike, possible: ArrayLike, *, k: int = 0, gamma: float = 0.01, normalise: bool = True,
    share: float = 0.2, frames: Literal['mean', 'max', 'sum', 'auto'] = 'auto', pca: Literal['recon', 'shyu'] = 'recon',
    nu: float = 0.5, tolerance: float = 1e-06, trees: int = 100, sample: int = 256, temperature: float = 0.0, prior: float = 0.5,
    type1: float = 0.05, resamples: int = 2000, seed: int = 1, threads: int = 0, threshold: Union[float, str] = ...) -> Dict[str, Any]: ...
def surprise_example(prior: float = 0.5) -> Dict[str, Any]: ...
def surprise_study(folder: Union[str, os.PathLike[str]], *, metadata: Optional[str] = None, concept_by: Optional[str] = None) -> Dict[str, Any]: ...
def load_scores(path: Union[str, os.PathLike[str]], *, metadata: Optional[str] = None, context: int = -1,
    frames: Literal['mean', 'max', 'sum', 'auto'] = 'mean', score: Optional[str] = None, plausible: bool = False,
    concept_by: Optional[str] = None) -> Dict[str, NDArray[Any]]: ...
def compare(models: Mapping[str, ArrayLike], *, lower_is_better: bool = False, resamples: int = 2000, flips: int = 10000, seed: int = 1) -> Comparison: ...
def audit(probes: Union[str, os.PathLike[str]], *, split: Optional[str] = None, max_tuples: int = 500, resamples: int = 2000,
    seed: int = 1) -> Audit: ...
def evaluate_model(encode: Callable[..., Any], step: Optional[Callable[..., Any]] = None, decode: Optional[Callable[..., Any]] = None,
    *, world: Union[None, str, World] = None, data: Any = None, count: int = 100, steps: int = 60, context: int = 5,
    phase_space: Optional[bool] = None, rooms: Optional[bool] = None, tuples: int = 50, framework: str = 'auto', batch: int = 50,
    seed: int = 1000) -> ModelEvaluation: ...
def world(name: str) -> World: ...
def worlds() -> List[str]: ...
def simulate(world: Union[str, World], out: Union[None, Union[str, os.PathLike[str]]] = None, *, count: int = 100, steps: int = 0,
    seed: int = 1, first: int = 0, threads: int = 0, loops: int = 0, loop_states: int = 0, dt: float = 0.0, stride: int = 0,
    image: int = 0, backward: bool = False, colors: Literal['world', 'fixed', 'six', 'white'] = 'world', reject_steps: int = 0,
    background: Literal['plain', 'texture'] = 'plain', profile: Literal['disc', 'ring', 'blob'] = 'disc', compress: bool = False,
    published: bool = False, narrow: bool = False, replace: bool = False) -> Any: ...
def convert(source: Any, to: Union[str, os.PathLike[str]], *, split: Optional[str] = None, compress: bool = False,
    published: bool = False, narrow: bool = False, replace: bool = False) -> int: ...
def read(path: Union[str, os.PathLike[str]], name: Optional[str] = None) -> Any: ...
def show(source: Any, out: Union[None, Union[str, os.PathLike[str]]] = None, *, item: int = 0, split: Optional[str] = None,
    frames: int = 0, steps: int = 0) -> Figure: ...
def train(model: Optional[str] = None, *, world: Optional[str] = None, data: Union[None, Union[str, os.PathLike[str]]] = None,
    out: Union[None, Union[str, os.PathLike[str]]] = None, preset: Optional[str] = None, settings: Optional[Mapping[str, Any]] = None,
    steps: Optional[int] = None, minutes: float = 0, resume: bool = False, force: bool = False, threads: int = 0,
    callback: Optional[Callable[[Progress], Any]] = None, progress: bool = True) -> Run: ...
def import_weights(model: str, path: Union[str, os.PathLike[str]], out: Union[str, os.PathLike[str]], *, world: Optional[str] = None,
    data: Union[None, Union[str, os.PathLike[str]]] = None, preset: Optional[str] = None, settings: Optional[Mapping[str, Any]] = None,
    force: bool = False) -> Run: ...
def export_weights(run: Union[Run, Union[str, os.PathLike[str]]], path: Union[str, os.PathLike[str]]) -> Union[str, os.PathLike[str]]: ...
def models() -> List[str]: ...
def settings(model: str) -> Dict[str, Dict[str, str]]: ...
def train_plan(model: str, *, world: Optional[str] = None, data: Union[None, Union[str, os.PathLike[str]]] = None,
    preset: Optional[str] = None, settings: Optional[Mapping[str, Any]] = None, threads: int = 0) -> Dict[str, Any]: ...
def load_run(path: Union[str, os.PathLike[str]]) -> Run: ...
def evaluate(run: Union[Run, Union[str, os.PathLike[str]]], *, probes: Sequence[Union[str, os.PathLike[str]]] = (),
    symetric: Optional[Mapping[str, Any]] = None, kappa: Optional[Mapping[str, Any]] = None,
    forecast: Optional[Mapping[str, Any]] = None, surprise: Optional[Mapping[str, Any]] = None, mode: Optional[str] = None,
    mask: Optional[str] = None, points: Optional[int] = None, average: Optional[str] = None, first: int = 0,
    world: Optional[str] = None, threads: int = 0, count: int = 30, steps: int = 1000, measured: int = 100, data: Optional[str] = None,
    mlp: bool = True, tuples: int = 250, films: int = 64, naive: Optional[str] = None, save: Optional[str] = None,
    allow_training_data: bool = False, protocol: Literal['own', 'paper'] = 'own', best: bool = False, network_trajectories: int = 0,
    resize: bool = False) -> Evaluation: ...
def rollout(run: Union[Run, Union[str, os.PathLike[str]]], count: int = 4, steps: int = 200, *, backward: bool = False, first: int = 0,
    world: Optional[str] = None, data: Optional[str] = None, threads: int = 0, measured: bool = False, traversal_steps: int = 0,
    encoded: bool = True) -> Rollout: ...
def sweep(study: Union[str, os.PathLike[str]], out: Union[str, os.PathLike[str]], *, workers: int = 1, threads: int = 0,
    retry: bool = False, done: Union[None, Union[str, os.PathLike[str]]] = None) -> Study: ...
def sweep_plan(study: Union[str, os.PathLike[str]], out: Union[str, os.PathLike[str]], *, workers: int = 1, threads: int = 0) -> Dict[str, Any]: ...
def sweep_slurm(study: Union[str, os.PathLike[str]], out: Union[str, os.PathLike[str]], *, tasks: int = 0, cores: int = 2,
    minutes: int = 240) -> str: ...
def report(out: Union[str, os.PathLike[str]], *sources: Any, name: Optional[str] = None, figure: Optional[str] = None, videos: int = 4,
    steps: int = 0, threads: int = 0, traversal_steps: int = 0, data: Optional[str] = None) -> Any: ...
def figure(figure: str, *sources: Any, name: Optional[str] = None, videos: int = 4, steps: int = 0, threads: int = 0,
    traversal_steps: int = 0, data: Optional[str] = None) -> Figure: ...
def demo(out: Union[None, Union[str, os.PathLike[str]]] = None, report: Union[None, Union[str, os.PathLike[str]]] = None) -> Dict[str, Any]: ...
def doctor() -> Dict[str, Any]: ...
