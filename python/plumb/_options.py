# SPDX-License-Identifier: MIT
"""Explicit signatures: the options of a function are the members of a C struct, with their defaults and help texts."""
import ctypes
import functools
import inspect

from ._arrays import options_struct
from ._native import KINDS, WORDS, OptionInfo, lib


def _default(options, name):
    """The library's default of a member, as a caller would write it."""
    value = getattr(options, name)
    words = WORDS.get((type(options).__name__, name))
    if words:
        return words[value]
    return value.decode() if isinstance(value, bytes) else value


def _range(info):
    if info.low == info.high == 0:
        return ""
    if info.high >= 1e15:
        return f", at least {info.low:g}" if info.low > -1e15 else ""
    return f", {info.low:g} to {info.high:g}"


def described(struct, leave=()):
    """Members of a struct that a caller can write: (name, ctype letter, words, default, help). Pointers are left out."""
    found, info, defaults = [], OptionInfo(), options_struct(struct, {})
    for index in range(1000):
        if not lib.plumb_option_info_at(ctypes.byref(info), struct.encode(), index):
            return found
        name = info.name.decode()
        if info.kind < len(KINDS) and name not in leave:
            words = WORDS.get((struct, name), ())
            found.append((name, KINDS[info.kind], words, _default(defaults, name), info.help.decode() + _range(info)))
    return found


def with_options(*structs, leave=(), names=None):
    """Gives a function that ends in **options the signature and the text of the members of `structs`.

    `leave` are members that the function sets itself; `names` gives a member another name."""
    names = names or {}

    def decorate(function):
        plain = inspect.signature(function)
        fixed = [one for one in plain.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        rows = {}
        for struct in structs:
            for name, *rest in described(struct, leave):
                if names.get(name, name) not in plain.parameters:
                    rows.setdefault(names.get(name, name), rest)
        rows = [(name, *rest) for name, rest in rows.items()]

        @functools.wraps(function)
        def call(*arguments, **options):
            return function(*arguments, **options)

        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, _, _, default, _ in rows]
        call.__signature__ = plain.replace(parameters=[*fixed, *more])
        call.option_rows = rows
        lines = [f"{name}: {text}{' (' + ', '.join(words) + ')' if words else ''} [{default}]" for name, _, words, default, text in rows]
        indent = " " * 4
        call.__doc__ = inspect.cleandoc(function.__doc__ or "") + "\n\nOptions:\n\n" + "\n".join(indent + line for line in lines) + "\n"
        return call

    return decorate


def with_signature_of(other, leave=(), **defaults):
    """Gives a function that passes **options on to `other` the keyword arguments of that one, and the text that describes them.

    `leave` are arguments that it sets itself; `defaults` replaces default values."""
    def decorate(function):
        plain = inspect.signature(function)
        fixed = [one for one in plain.parameters.values() if one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]
        names = [one.name for one in fixed]
        more = [one.replace(default=defaults.get(one.name, one.default)) for one in inspect.signature(other).parameters.values()
                if one.name not in (*names, *leave, "self") and (function.__name__ == "canonical" or one.kind is inspect.Parameter.KEYWORD_ONLY)]

        @functools.wraps(function)
        def call(*arguments, **options):
            return function(*arguments, **options)

        call.__signature__ = plain.replace(parameters=[*fixed, *more])
        call.option_rows = getattr(other, "option_rows", [])
        found = (inspect.getdoc(other) or "").partition("\nOptions:\n")[2]
        call.__doc__ = inspect.cleandoc(function.__doc__ or "") + (f"\n\nOptions:\n{found}" if found else "")
        return call

    return decorate
