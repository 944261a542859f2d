# SPDX-License-Identifier: MIT
"""Arrays in, without a copy where none is needed; options in, by name."""
import ctypes
import decimal
import difflib
import numbers as numbers_abc
import os
import warnings

import numpy as np

from ._native import DTYPES, WORDS, ShapeError, lib, types

KINDS = {np.dtype(name): index for index, name in enumerate(DTYPES)}


def to_numpy(value, name, *, pad=False, text=False):
    """NumPy arrays as they are; else __array__, __dlpack__ or a buffer, which share memory where they can.

    A list of arrays becomes one array, with `pad` also if they differ in length: then NaN stands after the end of each. Text is
    allowed with `text` only, and becomes its code points."""
    array = _join_list(value, name, pad) if isinstance(value, (list, tuple)) else _one_array(value, name)
    if array.dtype.kind == "O":
        array = _without_objects(array, name, pad)
    if array.dtype.kind in "US" and not text:
        raise TypeError(f"{name} is an array of text, wanted real numbers")
    if array.dtype.kind == "U":
        wide = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        array = wide.view(np.uint32).reshape(wide.shape + (-1,))
    elif array.dtype.kind == "S":
        array = np.ascontiguousarray(array).view(np.uint8).reshape(array.shape + (-1,))
    if array.dtype not in KINDS:
        native = array.dtype.newbyteorder("=")
        if native in KINDS:
            array = array.astype(native)
        elif array.dtype.kind == "f" or array.dtype.name == "bfloat16":
            array = array.astype(np.float64)
        else:
            raise TypeError(f"{name} is an array of {array.dtype}, wanted real numbers")
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"]) if array.ndim else array


def _one_array(value, name):
    """What is no list as an array of any type."""
    if value is None or isinstance(value, (str, bytes, bytearray, os.PathLike, dict, set, frozenset)):
        hint = "; plumb.read(path) reads a file" if isinstance(value, (str, os.PathLike)) else ""
        raise TypeError(f"{name} is {'None' if value is None else type(value).__name__}, wanted an array of real numbers{hint}")
    if np.ma.isMaskedArray(value):
        if np.ma.is_masked(value):
            raise ValueError(f"{name} has {np.ma.count_masked(value)} masked values; fill them or leave their trajectories out")
        return value.data
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):  # torch: NumPy is refused where there is a gradient, and has no bfloat16
        value = value.detach()
        value = value.cpu() if getattr(value, "is_cuda", False) else value
        return np.asarray(value.float() if "bfloat16" in str(value.dtype) else value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        pass
    if not isinstance(value, (numbers_abc.Number, range)):
        raise TypeError(f"{name} is {type(value).__name__}, wanted an array of real numbers")
    return np.asarray(value)


def _join_list(value, name, pad):
    """A list of numbers or text as NumPy makes an array of it; a list of arrays or lists one by one."""
    first = value
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, (numbers_abc.Number, str, bytes, list, tuple)):  # at last an empty list
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # before NumPy 1.24 lists of different lengths were a warning
                array = np.asarray(value)
            if array.dtype.kind != "O":
                return array
        except (ValueError, TypeError, RuntimeError, Warning):
            pass
    rows = [to_numpy(one, f"{name}[{i}]", pad=False, text=True) for i, one in enumerate(value)]
    shapes = {one.shape for one in rows}
    if len(shapes) == 1:
        return np.stack(rows)
    if len({shape[1:] for shape in shapes}) > 1 or () in shapes:
        raise ShapeError(f"{name}: its arrays differ in more than their first axis: {', '.join(map(str, sorted(shapes)[:3]))}")
    if not pad:
        raise ShapeError(f"{name}: its arrays differ in length, {min(map(len, rows))} to {max(map(len, rows))}; wanted arrays of one length")
    out = np.full((len(rows), max(map(len, rows))) + rows[0].shape[1:], np.nan)
    for i, one in enumerate(rows):
        out[i, :len(one)] = one
    return out


def _without_objects(array, name, pad):
    """An array of objects that are numbers, or of arrays."""
    flat = array.ravel()
    odd = next((one for one in flat if isinstance(one, complex) or not isinstance(one, (numbers_abc.Real, np.bool_, decimal.Decimal))), None)
    if odd is None and not any(one is None for one in flat):
        return array.astype(np.float64)
    if array.ndim == 1 and isinstance(odd, (np.ndarray, list, tuple)):
        return _join_list(list(array), name, pad)
    raise TypeError(f"{name} has {'None' if odd is None else type(odd).__name__} among its values, wanted real numbers")


def view(array):
    """A plumb_array over the memory of `array`, which it keeps alive."""
    if array is None:
        return None
    out = types["array"](array.ctypes.data, KINDS[array.dtype], array.ndim)
    if array.ndim > len(out.shape):
        raise TypeError(f"an array of {array.ndim} axes, at most {len(out.shape)} are allowed")
    for axis, size in enumerate(array.shape):
        out.shape[axis] = size
    out.owner = array
    return out


def pointer(array):
    return ctypes.byref(array) if array is not None else None


def whole_number(value, name):
    """A value that a caller gave where a whole number is wanted."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}, wanted a whole number")
    return value.__index__()


def fill(options, struct, given):
    """Sets fields of an options struct by name; `given` names what the caller wrote."""
    fields = {name: kind for name, kind in types[struct]._fields_ if name != "size"}
    for name, value in given.items():
        if name not in fields:
            near = difflib.get_close_matches(name, fields, 1)
            hint = f", did you mean {near[0]}?" if near else f"; there are {', '.join(fields)}"
            raise TypeError(f"no option {name}{hint}")
        if isinstance(value, dict) and issubclass(fields[name], ctypes.Structure):
            fill(getattr(options, name), fields[name].__name__, value)
            continue
        if isinstance(value, dict) and hasattr(fields[name], "_type_"):  # a pointer to other options
            setattr(options, name, ctypes.pointer(options_struct(fields[name]._type_.__name__, value)))
            continue
        words = WORDS.get((struct, name))
        if words and isinstance(value, str):
            if value not in words:
                raise ValueError(f"{name} is {value!r}, wanted {', '.join(words)}")
            value = words.index(value)
        if fields[name] is ctypes.c_char_p and value is not None:
            value = str(value).encode()
        elif fields[name] in (ctypes.c_int64, ctypes.c_int, ctypes.c_uint64):
            whole = whole_number(value, name)
            bits = 8 * ctypes.sizeof(fields[name])
            low = 0 if fields[name] is ctypes.c_uint64 else -(1 << bits - 1)
            if not low <= whole < low + (1 << bits):
                raise ValueError(f"{name} is {whole}, which does not fit")
            value = whole
        try:
            setattr(options, name, value)
        except (TypeError, ValueError):
            wanted = {ctypes.c_double: "a number", ctypes.c_bool: "True or False"}.get(fields[name], fields[name].__name__.replace("c_", ""))
            raise TypeError(f"{name} is {value!r}, wanted {wanted}") from None
    return options


def options_struct(struct, given):
    """An options struct with the library's defaults, and then what the caller wrote."""
    options = types[struct]()
    getattr(lib, f"plumb_{struct}_init")(ctypes.byref(options), ctypes.sizeof(options))
    return fill(options, struct, given)


def numbers(address, shape, kind=np.float64):
    """A copy of the library's numbers; None if there are none."""
    if not address:
        return None
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.empty(shape, kind)
    text = ctypes.string_at(address, size * np.dtype(kind).itemsize)
    return np.frombuffer(text, kind).reshape(shape).copy()
