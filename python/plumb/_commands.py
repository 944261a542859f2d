# SPDX-License-Identifier: MIT
"""The commands of the program as functions: data, training, evaluation, studies."""
import ctypes
import json
import os
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import numpy as np

from ._arrays import numbers, options_struct, whole_number
from ._native import DTYPES, FileError, Handle, PlumbError, call, lib, record, types
from ._options import described, with_options, with_signature_of
from ._program import run_program
from ._report import Figure
from ._results import Audit, Study
from ._runs import Run, load_run
from ._worlds import World

Progress = namedtuple("Progress", "step steps loss steps_per_second seconds seconds_left")
SAVE_SECONDS = 60  # how long Ctrl-C waits for the checkpoint


# ---- files ----

def read(path, name=None):
    """Reads any file that plumb reads: .npy, .npz, .h5, .safetensors, .pth, .csv, .tfrecord, or a folder of them.

    Gives a dict of arrays, or with `name` that array alone. A .npy file has one array, which is called ""; arrays of an .h5 file
    have the names of their groups before them, "group/latent".

    >>> import numpy as np, os, plumb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/model.npz", latent=np.zeros((2, 3)))
    ...     plumb.read(folder + "/model.npz")["latent"].shape
    (2, 3)
    """
    path = os.fspath(path)
    if ".tfrecord" in os.path.basename(path):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy.npz")
            convert(path, copy)
            return read(copy, name)
    file = Handle(lib.plumb_file_close)
    call(lib.plumb_file_open, ctypes.byref(file._as_parameter_), os.fsencode(path))
    names = [lib.plumb_file_array_name(file, i).decode() for i in range(lib.plumb_file_array_count(file))]
    arrays = {}
    for one in names if name is None else [name]:
        array = types["array"]()
        call(lib.plumb_file_read_array, ctypes.byref(array), file, one.encode())
        shape = tuple(array.shape[:array.ndim])
        arrays[one.lstrip("/")] = numbers(array.data, shape, np.dtype(DTYPES[array.dtype]))
    return arrays if name is None else arrays[name.lstrip("/")]


@with_options("dataset_write_options")
def convert(source, to, *, split=None, **options):
    """Copies a dataset into a file of another kind, by the suffix of `to`: .h5, .npz or .tfrecord. Gives the number of items.

    source is x.h5, x.npz, x.tfrecord or a published folder, of which `split` chooses a part, "train" or "test".
    """
    count = ctypes.c_int64()
    opt = options_struct("dataset_write_options", options)
    _write(lib.plumb_dataset_convert, ctypes.byref(count), os.fsencode(to), os.fsencode(source), split.encode() if split else None,
         ctypes.byref(opt))
    return count.value


_OWN = {row[0] for row in described("dataset_simulate_options")}
_WORLD = [row[0] for row in described("world_options") if row[0] not in _OWN]
_WRITE = [row[0] for row in described("dataset_write_options") if row[0] not in _OWN]


@with_options("dataset_simulate_options", "world_options", "dataset_write_options", leave=("world", "write"))
def simulate(world, out=None, **options):
    """Simulates items of a world and writes them to `out`, x.npz, x.h5 or x.tfrecord. Gives the path.

    Without `out` nothing is written, and the result is a Batch: plumb.world(world).batch(count, ...).

    >>> import plumb
    >>> plumb.simulate("pendulum", count=2, steps=5).frames.shape
    (2, 5, 32, 32, 3)
    """
    world = world if isinstance(world, World) else World(world)
    own = {name: value for name, value in options.items() if name in _WORLD}
    write = {name: value for name, value in options.items() if name in _WRITE}
    rest = {name: value for name, value in options.items() if name not in own and name not in write}
    if out is None:
        if write or rest.get("loops"):
            raise TypeError(f"{next(iter(write), 'loops')} is for a file: out is missing")
        rest.pop("loop_states", None)
        return world.batch(rest.pop("count", 100), rest.pop("steps", None) or None, **rest, **own)
    opt = options_struct("dataset_simulate_options", {**rest, "world": own, "write": write})
    _write(lib.plumb_dataset_simulate, os.fsencode(out), world._handle, ctypes.byref(opt))
    return os.fspath(out)


def _write(function, *arguments):
    """Calls a function that writes a dataset; its message names the option as Python does."""
    try:
        call(function, *arguments)
    except FileError as why:
        raise FileError(str(why).replace("the option force replaces it", "replace=True replaces it")) from None


def _open_dataset(path, split):
    data = Handle(lib.plumb_dataset_close)
    call(lib.plumb_dataset_open, ctypes.byref(data._as_parameter_), os.fsencode(path), split.encode() if split else None)
    return data


@with_options("item_figure_options")
def show(source, out=None, *, item=0, split=None, **options):
    """Draws a trajectory as frames and phase portrait, or a tuple as four strips of frames.

    source is a data file, or a Batch or dict of arrays. With `out`, x.png or x.svg, the image is written there; in any case
    the result is a Figure, which a notebook shows.
    """
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(source, (str, os.PathLike)):
            arrays = dict(source if isinstance(source, dict) else source.to_dict())
            world = getattr(source, "world", None)
            if world is not None:  # as in a data file, so that the frames are drawn with the top up
                arrays.update(world=np.frombuffer(world.name.encode(), np.uint8), upright=np.int64(world.upright))
            source = os.path.join(folder, "arrays.npz")
            np.savez(source, **arrays)
        path, size = out if out is not None else os.path.join(folder, "figure.svg"), types["image_size"]()
        opt = options_struct("item_figure_options", options)
        try:
            call(lib.plumb_item_figure_save, ctypes.byref(size), os.fsencode(path), _open_dataset(source, split), item, ctypes.byref(opt))
        except PlumbError as why:
            raise type(why)(str(why).replace(os.path.join(folder, "arrays.npz"), "source")) from None
        return Figure.load(path)


@with_options("audit_options")
def audit(probes, *, split=None, **options):
    """Can the possible and impossible clips of a file be told apart without physics? A good file says no: `clean` is True."""
    out, opt = types["audit"](), options_struct("audit_options", options)
    call(lib.plumb_audit_measure, ctypes.byref(out), _open_dataset(probes, split), ctypes.byref(opt))
    return Audit(record(lib.plumb_audit_record, ctypes.byref(out), ctypes.byref(opt)))


# ---- training ----

class _Line:
    """What is shown without tqdm: one line on stderr, written anew once a second."""

    def __init__(self, total):
        self.n, self._total, self._text, self._shown = 0, total, "", 0.0

    def update(self, steps):
        self.n += steps
        if time.monotonic() - self._shown > 1 or self.n == self._total:
            self._shown = time.monotonic()
            print(f"\rstep {self.n} of {self._total} {self._text}   ", end="", file=sys.stderr, flush=True)

    def set_postfix_str(self, text, refresh=False):
        self._text = text

    def close(self):
        print(file=sys.stderr)


def _bar(total):
    """A progress bar of tqdm, or a line if it is not installed; None if nobody looks."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(total)
    return tqdm(total=total, unit="step")


def import_weights(model, path, out, *, world=None, data=None, preset=None, settings=None, force=False):
    """Makes a run of a PyTorch state dict, a .safetensors or .pth file. Gives the Run.

    For "predrnn" the names and layouts are those of its published code, and sizes follow from the file; for the
    other models those that export_weights writes. The run has no checkpoint, so it cannot be resumed.
    """
    if model == "predrnn" and world is None and data is None:
        world = "rooms/freeform"
    opt = options_struct("training_options", {"model": model, "world": world, "data": os.fspath(data) if data is not None else None,
                                              "out": os.fspath(out), "preset": preset, "steps": -1, "force": force})
    texts = [f"{name}={_setting_text(value)}".encode() for name, value in (settings or {}).items()]
    opt.set, opt.set_count = (ctypes.c_char_p * max(len(texts), 1))(*texts), len(texts)
    call(lib.plumb_weights_import, os.fspath(path).encode(), ctypes.byref(opt))
    return load_run(out)


def export_weights(run, path):
    """Writes the weights of a run as a PyTorch state dict: .safetensors, .npz or .h5. Gives the path."""
    folder = run.path if hasattr(run, "path") else run
    call(lib.plumb_weights_export, os.fspath(path).encode(), os.fspath(folder).encode())
    return path


def train(model=None, *, world=None, data=None, out=None, preset=None, settings=None, steps=None, minutes=0, resume=False,
          force=False, threads=0, callback=None, progress=True):
    """Trains a model on videos of a world or of a file. Gives the Run.

        model       "hgn++", "hgn", "lgn", "ode", "rgn", "ar", "predrnn", "plato", "bodies"; with resume=True that of the run
        world, data the world's name, or a file of frames; one of them
        out         the run directory [MODEL-WORLD]
        preset      "cpu", "tiny", "paper" and others of the model ["cpu"]
        settings    a dict of settings of the model: {"learning_rate": 1e-3}
        steps       updates [those of the preset]
        minutes     save and stop after this time; 0: no limit
        resume      continue the run in `out`; the result has the same bits as a run without a stop
        force       overwrite a run in `out`
        callback    called after every step with a Progress: step, steps, loss, steps_per_second, seconds, seconds_left.
                    What it raises saves the run, stops it and is raised here
        progress    show a bar of tqdm, or a line if it is not installed, if this is a terminal or a notebook

    Ctrl-C saves the run, which can be resumed, and raises KeyboardInterrupt.

    >>> import os, plumb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = plumb.train("hgn++", world="mass-spring", preset="tiny", steps=2, out=folder + "/run")
    ...     run.model, run.result["steps"]
    ('hgn++', 2)
    """
    if data is not None and not isinstance(data, (str, os.PathLike)):
        raise TypeError(f"data is {type(data).__name__}, wanted the path of a file: numpy.savez('frames.npz', frames=...)")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {type(callback).__name__}, wanted a function")
    if steps is not None and whole_number(steps, "steps") < 0:
        raise ValueError(f"steps is {steps}, wanted at least 0, or None for those of the preset")
    opt = options_struct("training_options", {"model": model, "world": world, "data": os.fspath(data) if data is not None else None,
                                              "out": os.fspath(out) if out is not None else None, "preset": preset,
                                              "steps": -1 if steps is None else steps, "minutes": minutes, "resume": resume,
                                              "force": force, "threads": threads})
    texts = [f"{name}={_setting_text(value)}".encode() for name, value in (settings or {}).items()]
    opt.set, opt.set_count = (ctypes.c_char_p * max(len(texts), 1))(*texts), len(texts)
    stop, raised, bar = ctypes.c_int(0), [], []

    def after_step(_, given):
        now = Progress(*(getattr(given.contents, name) for name in Progress._fields))
        try:
            if progress:
                if not bar:
                    bar.append(_bar(now.steps))
                if bar[0] is not None:
                    bar[0].set_postfix_str(f"loss {now.loss:.4g}", refresh=False)
                    bar[0].update(now.step - bar[0].n)
            if callback is not None:
                callback(now)
        except BaseException as why:  # it cannot pass through the library
            raised.append(why)
            stop.value = 1

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(types["training_progress"]))(after_step)
    opt.progress = ctypes.cast(function, ctypes.c_void_p)
    result = types["training"]()
    try:
        call(lib.plumb_training_run, ctypes.byref(result), ctypes.byref(opt), stop=stop, patience=SAVE_SECONDS)
    except Exception:
        if raised:
            raise raised[0] from None
        raise
    finally:
        if bar and bar[0] is not None:
            bar[0].close()
    run = Run(bytes(result.run).split(b"\0")[0].decode("utf-8", "surrogateescape"))
    warning = bytes(result.warning).split(b"\0")[0].decode()
    run.result = {"steps": result.steps, "finished": result.finished, "loss": result.loss, "seconds": result.seconds,
                  "input_dependence": result.input_dependence, "warning": warning or None,
                  "best_validation": result.best_validation, "best_step": result.best_step}
    if warning:
        import warnings
        warnings.warn(warning, stacklevel=2)
    return run


def settings(model):
    """The settings of a model, a dict of dicts: what each takes, its value in every preset, and its meaning.

    >>> import plumb
    >>> plumb.settings("hgn++")["trajectories"]["cpu"]
    '200'
    """
    rows = json.loads(run_program("train", str(model), "--settings", "--json"))["settings"]
    return {row.pop("name"): row for row in rows}


def train_plan(model, *, world=None, data=None, preset=None, settings=None, threads=0):
    """What training would take, without training: memory and arithmetic of a step, as `plumb train --plan`. Arguments as for train."""
    arguments = ["train", str(model), "--plan", "--json", "--threads", str(threads)]
    for name, value in (("world", world), ("data", data), ("preset", preset)):
        arguments += [f"--{name}", os.fspath(value)] if value is not None else []
    for name, value in (settings or {}).items():
        arguments += ["--set", f"{name}={_setting_text(value)}"]
    return json.loads(run_program(*arguments))


def _setting_text(value):
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_setting_text, value))
    return str(value)


@with_signature_of(Run.evaluate)
def evaluate(run, **options):
    """Evaluates a run directory by every measure that applies; the same as plumb.load_run(run).evaluate(...)."""
    return (run if isinstance(run, Run) else load_run(run)).evaluate(**options)


@with_signature_of(Run.rollout)
def rollout(run, count=4, steps=200, **options):
    """Rollouts of a run directory; the same as plumb.load_run(run).rollout(...)."""
    return (run if isinstance(run, Run) else load_run(run)).rollout(count, steps, **options)


def sweep(study, out, *, workers=1, threads=0, retry=False, done=None):
    """Trains and evaluates all models of a study file, which lists them in YAML. Gives a Study.

    Runs that are done are not repeated, so a sweep that was stopped continues. Each run has a process of its own, so this
    calls the program. `done` is a file of records of an earlier sweep, its results.jsonl: their runs are copied, not trained.
    """
    arguments = ["sweep", study, "--out", out, "--workers", str(workers), "--threads", str(threads), "--json"]
    text = run_program(*arguments, *(["--retry"] if retry else []), *(["--done", done] if done else []))
    return Study(text, {"runs": _read_records(Path(out) / "results.jsonl")})


def sweep_plan(study, out, *, workers=1, threads=0):
    """What a sweep would run and what it would cost, by a short timing, as `plumb sweep --plan`. Gives a dict."""
    return json.loads(run_program("sweep", study, "--out", out, "--workers", str(workers), "--threads", str(threads), "--plan", "--json"))


def sweep_slurm(study, out, *, tasks=0, cores=2, minutes=240):
    """Writes a sweep as a job array of Slurm, which `sbatch` takes. Gives the path of the script.

    tasks of the array, 0: one per run; cores per task; minutes per task, after which it is queued again."""
    text = run_program("sweep", study, "--out", out, "--slurm", "--tasks", str(tasks), "--cores", str(cores), "--minutes", str(minutes), "--json")
    return json.loads(text)["script"]


def _read_records(path):
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except OSError as why:
        raise FileError(f"{path}: {why.strerror}") from None


def demo(out=None, report=None):
    """Measures three models whose answer is known, as `plumb demo`. Gives what it prints as JSON."""
    more = [*(["--out", out] if out else []), *(["--report", report] if report else [])]
    return json.loads(run_program("demo", "--json", *more))


def models():
    """The names of all models that can be trained.

    >>> import plumb
    >>> "hgn++" in plumb.models()
    True
    """
    found = []
    while True:
        name = lib.plumb_model_name(len(found))
        if not name:
            return found
        found.append(name.decode())
