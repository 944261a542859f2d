# SPDX-License-Identifier: MIT
"""Pages and figures, of results and of whatever a path holds."""
import ctypes
import os

from ._arrays import options_struct, to_numpy, view
from ._native import Handle, _check, call, lib, types
from ._results import Result


class _Report:
    """The library's report."""

    def __init__(self):
        self.handle = Handle(lib.plumb_report_free)
        _check(lib.plumb_report_create(ctypes.byref(self.handle._as_parameter_)), None)

    def record(self, name, text):
        call(lib.plumb_report_add_record, self.handle, name.encode(), text.encode())

    def arrays(self, name, arrays):
        rows = (types["named_array"] * max(len(arrays), 1))()
        views = [view(to_numpy(value, key)) for key, value in arrays.items()]
        for row, key, one in zip(rows, arrays, views):
            row.name, row.array = key.encode(), one
        call(lib.plumb_report_add_arrays, self.handle, name.encode(), rows, len(arrays))

    def add(self, path, options):
        opt = options_struct("report_options", options)
        call(lib.plumb_report_add_path, self.handle, os.fsencode(path), ctypes.byref(opt))

    def svg(self, figure):
        text = ctypes.c_char_p()
        call(lib.plumb_report_figure_svg, ctypes.byref(text), self.handle, figure.encode())
        return text.value.decode()


def drawing(figure, text, arrays):
    """A function that draws a figure of a result and its arrays, when somebody looks."""
    def draw():
        report = _Report()
        report.record("model", text)
        report.arrays("model", arrays)
        return report.svg(figure)
    return draw


def report(out, *sources, name=None, figure=None, **options):
    """Writes one HTML page about models, or with figure="film" that figure alone as .svg or .png.

    A source is a path (a run, a directory of runs, results.jsonl, arrays in .npz or .h5), a result of
    plumb.symetric, forecast, surprise or Run.evaluate, or arrays: a Rollout, a Batch or a dict. Results and
    arrays belong to the model called `name`. Options have the names of `plumb report`: steps=1000.

    >>> import numpy as np, os, plumb, tempfile
    >>> state = plumb.world("mass-spring").batch(20, seed=1).state
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = plumb.report(folder + "/report.html", plumb.symetric(state, state), name="the truth itself")
    ...     os.path.getsize(page) > 1000
    True
    """
    if not sources and figure != "example":
        raise TypeError("wants at least one source: a path, a result or arrays")
    options = {"videos" if option == "films" else option: value for option, value in options.items()}
    page = _Report()
    for source in sources:
        if isinstance(source, Result):
            page.record(name or type(source).__name__.lower(), source._text)
            for arrays in source._kept:
                page.arrays(name or type(source).__name__.lower(), arrays)
        elif isinstance(source, (str, os.PathLike)):
            page.add(source, dict(options, name=name) if name else options)
        elif hasattr(source, "to_dict") or isinstance(source, dict):
            arrays = source if isinstance(source, dict) else source.to_dict()
            page.arrays(name or "model", arrays)
        else:
            raise TypeError(f"{source!r} is neither a path, nor a result, nor arrays")
    if figure:
        call(lib.plumb_report_save_figure, page.handle, figure.encode(), os.fsencode(out))
    else:
        call(lib.plumb_report_save, page.handle, os.fsencode(out))
    return out
