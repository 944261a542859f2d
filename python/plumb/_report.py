# SPDX-License-Identifier: MIT
"""Pages and figures, of results and of whatever a path holds."""
import ctypes
import os

from ._arrays import options_struct, to_numpy, view
from ._native import Handle, _check, call, lib, types
from ._options import with_options
from ._results import Result


class Figure:
    """An image that a notebook shows: `svg` text or `png` bytes."""

    def __init__(self, svg=None, png=None):
        self.svg, self.png = svg, png

    @classmethod
    def load(cls, path):
        with open(path, "rb") as file:
            data = file.read()
        return cls(png=data) if data.startswith(b"\x89PNG") else cls(svg=data.decode())

    def save(self, path):
        """Writes the image to a file of its own kind, x.svg or x.png."""
        suffix, kind = os.path.splitext(os.fspath(path))[1], ".svg" if self.svg is not None else ".png"
        if suffix != kind:
            raise ValueError(f"{os.fspath(path)} does not end in {kind}")
        with open(path, "wb") as file:
            file.write(self.svg.encode() if self.svg is not None else self.png)

    def _repr_svg_(self):
        return self.svg

    def _repr_png_(self):
        return self.png

    def __repr__(self):
        return f"<Figure: {len(self.svg)} characters of SVG>" if self.svg is not None else f"<Figure: {len(self.png)} bytes of PNG>"


class _Report:
    """The library's report."""

    def __init__(self):
        self.handle = Handle(lib.plumb_report_free)
        _check(lib.plumb_report_create(ctypes.byref(self.handle._as_parameter_)), None)

    def record(self, name, text):
        call(lib.plumb_report_add_record, self.handle, name.encode(), text.encode())

    def arrays(self, name, arrays):
        rows = (types["named_array"] * max(len(arrays), 1))()
        views = [view(to_numpy(value, key, pad=True, text=True)) for key, value in arrays.items()]
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


def _fill(page, sources, name, options):
    """Adds results, arrays and paths to a page."""
    options = {"videos" if option == "films" else option: value for option, value in options.items()}
    for source in sources:
        if isinstance(source, Result):
            page.record(name or type(source).__name__.lower(), source._text)
            for arrays in source._kept:
                page.arrays(name or type(source).__name__.lower(), arrays)
        elif isinstance(source, (str, os.PathLike)):
            page.add(source, dict(options, name=name) if name else options)
        elif hasattr(source, "path"):  # a Run
            page.add(source.path, dict(options, name=name) if name else options)
        elif hasattr(source, "to_dict") or isinstance(source, dict):
            arrays = source if isinstance(source, dict) else source.to_dict()
            page.arrays(name or "model", arrays)
        else:
            raise TypeError(f"{source!r} is neither a path, nor a result, nor arrays")


@with_options("report_options", leave=("name",))
def figure(figure, *sources, name=None, **options):
    """One figure of a page, such as "phase-space" or "film", as a Figure that a notebook shows. Sources as for plumb.report.

    >>> import plumb
    >>> state = plumb.world("mass-spring").batch(20, seed=1).state
    >>> plumb.figure("phase-space", plumb.measure(state, state)).svg[:4]
    '<svg'
    """
    page = _Report()
    _fill(page, sources, name, options)
    return Figure(svg=page.svg(figure))


@with_options("report_options", leave=("name",))
def report(out, *sources, name=None, figure=None, **options):
    """Writes one HTML page about models, or with figure="film" that figure alone as .svg or .png.

    A source is a path (a run, a directory of runs, results.jsonl, arrays in .npz or .h5), a result of
    plumb.measure, forecast, surprise or Run.evaluate, a Run, or arrays: a Rollout, a Batch or a dict. Results and
    arrays belong to the model called `name`. Options have the names of `plumb report`: steps=1000.

    >>> import numpy as np, os, plumb, tempfile
    >>> state = plumb.world("mass-spring").batch(20, seed=1).state
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = plumb.report(folder + "/report.html", plumb.measure(state, state), name="the truth itself")
    ...     os.path.getsize(page) > 1000
    True
    """
    if not sources and figure != "example":
        raise TypeError("wants at least one source: a path, a result or arrays")
    page = _Report()
    _fill(page, sources, name, options)
    if figure:
        call(lib.plumb_report_save_figure, page.handle, figure.encode(), os.fsencode(out))
    else:
        call(lib.plumb_report_save, page.handle, os.fsencode(out))
    return out
