# SPDX-License-Identifier: MIT
"""What the measures share: arrays as the library reads them, and the call of a measure."""
import ctypes

from ._arrays import to_numpy, view
from ._native import call, lib, new_result, record, types

TEXT = ("concepts", "observation_concepts")  # arrays that may be names


def make_views(optional=(), **given):
    """The arrays as views the library can read, which keep them alive. None stands for one of `optional` that is not given."""
    views = {}
    for name, value in given.items():
        if value is None and name not in optional:
            raise TypeError(f"{name} is None, wanted an array of real numbers")
        views[name] = None if value is None else view(to_numpy(value, name, pad=True, text=name in TEXT))
    return views


def kept_arrays(views):
    """The arrays behind the views, for a figure."""
    return {name: one.owner for name, one in views.items() if one is not None}


def run_measure(kind, arguments, options):
    """Calls plumb_KIND_measure; gives the struct and the record."""
    out = new_result(kind)
    call(getattr(lib, f"plumb_{kind}_measure"), ctypes.byref(out), *arguments, ctypes.byref(options))
    return out, record(getattr(lib, f"plumb_{kind}_record"), ctypes.byref(out), ctypes.byref(options))


def input_struct(kind, views):
    """A struct of pointers to arrays; those that are None stay NULL."""
    given = types[kind](size=ctypes.sizeof(types[kind]))
    for name, array in views.items():
        if array is not None:
            setattr(given, name, ctypes.pointer(array))
    return given
