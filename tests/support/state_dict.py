# SPDX-License-Identifier: MIT
"""PredRNN in NumPy under the names of its published code, and files of state dicts without PyTorch."""
import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def convolve(x, w):
    """x (channels, height, width), w (out, in, kernel, kernel): cross-correlation, zeros outside, the same size."""
    k = w.shape[2]
    padded = np.pad(x, ((0, 0), (k // 2, k // 2), (k // 2, k // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), (1, 2))
    return np.einsum("ihwab,oiab->ohw", windows, w, optimize=True)


class PredRNN:
    """The network of [Wang17] from its formulas; float64."""

    def __init__(self, seed, layers=2, hidden=4, patch=4, kernel=3, layer_norm=False, adapter=False, image=0):
        rng, self.layers, self.hidden, self.patch, self.norm = np.random.default_rng(seed), layers, hidden, patch, layer_norm
        pixels, side, n, self.state = patch * patch * 3, image // patch if image else 0, hidden, collections.OrderedDict()

        def add(name, out, into, size):
            bound = (into * size * size) ** -0.5
            self.state[name] = rng.uniform(-bound, bound, (out, into, size, size)).astype(np.float32)

        for layer in range(layers):
            for name, out, into in (("conv_x", 7 * n, n if layer else pixels), ("conv_h", 4 * n, n), ("conv_m", 3 * n, n), ("conv_o", n, 2 * n)):
                add(f"cell_list.{layer}.{name}.0.weight", out, into, kernel)
                if layer_norm:
                    for part, middle in (("weight", 1), ("bias", 0)):
                        self.state[f"cell_list.{layer}.{name}.1.{part}"] = (middle + 0.2 * rng.normal(size=(out, side, side))).astype(np.float32)
            add(f"cell_list.{layer}.conv_last.weight", n, 2 * n, 1)
        add("conv_last.weight", pixels, n, 1)
        if adapter:
            add("adapter.weight", n, n, 1)

    def conv(self, layer, name, x):
        y = convolve(x, self.state[f"cell_list.{layer}.{name}.0.weight"].astype(float))
        if not self.norm:
            return y
        y = (y - y.mean()) / np.sqrt(y.var() + 1e-5)
        return y * self.state[f"cell_list.{layer}.{name}.1.weight"] + self.state[f"cell_list.{layer}.{name}.1.bias"]

    def step(self, layer, x, h, c, m):
        n = self.hidden
        i, f, g, i2, f2, g2, o = self.conv(layer, "conv_x", x).reshape(7, n, *x.shape[1:])
        hi, hf, hg, ho = self.conv(layer, "conv_h", h).reshape(4, n, *x.shape[1:])
        mi, mf, mg = self.conv(layer, "conv_m", m).reshape(3, n, *x.shape[1:])
        c = sigmoid(f + hf + 1) * c + sigmoid(i + hi) * np.tanh(g + hg)
        m = sigmoid(f2 + mf + 1) * m + sigmoid(i2 + mi) * np.tanh(g2 + mg)
        both = np.concatenate([c, m])
        out = sigmoid(o + ho + self.conv(layer, "conv_o", both))
        return out * np.tanh(convolve(both, self.state[f"cell_list.{layer}.conv_last.weight"].astype(float))), c, m

    def predict(self, frames):
        """frames (t, height, width, 3) in [0, 1]: predictions of all but the first, and the top h after the last input."""
        p, (t, height, width, colours) = self.patch, frames.shape
        rows, columns = height // p, width // p
        x = frames.reshape(t, rows, p, columns, p, colours).transpose(0, 2, 4, 5, 1, 3).reshape(t, p * p * colours, rows, columns)
        zero = np.zeros((self.hidden, rows, columns))
        h, c, m, out = [zero] * self.layers, [zero] * self.layers, zero, []
        for frame in x[:-1]:
            value = frame
            for layer in range(self.layers):
                h[layer], c[layer], m = self.step(layer, value, h[layer], c[layer], m)
                value = h[layer]
            y = convolve(value, self.state["conv_last.weight"].astype(float))
            out.append(y.reshape(p, p, colours, rows, columns).transpose(3, 0, 4, 1, 2).reshape(height, width, colours))
        return np.array(out), h[-1]


# ---- files ----

def save_safetensors(path, state):
    header, at = {}, 0
    for name, x in state.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(x.tobytes() for x in state.values()))
    return path


def read_safetensors(path):
    """Arrays in the order of the file, and the metadata."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    notes = header.pop("__metadata__", {})
    ordered = sorted(header.items(), key=lambda entry: entry[1]["data_offsets"])
    return {name: np.frombuffer(data[8 + size:][slice(*e["data_offsets"])], np.float32).reshape(e["shape"]) for name, e in ordered}, notes


def _global(module, name):
    """A name in a pickle that is nothing but a name here."""
    for parent in ("torch", module):
        sys.modules.setdefault(parent, types.ModuleType(parent)).__dict__.setdefault("__path__", [])
    made = sys.modules[module]
    if not hasattr(made, name):
        thing = type(name, (), {}) if name[0].isupper() else lambda *_: None
        thing.__module__, thing.__qualname__, thing.__name__ = module, name, name
        setattr(made, name, thing)
    return getattr(made, name)


class _Storage:
    def __init__(self, array):
        self.array = array


class _Tensor:
    """Pickled as torch.save does: a view of a storage that is a member of its own."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)

    def __reduce__(self):
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return _global("torch._utils", "_rebuild_tensor_v2"), (_Storage(self.array), 0, self.array.shape, strides, False, collections.OrderedDict())


class _StateDict(collections.OrderedDict):
    """An OrderedDict with the attribute _metadata, as nn.Module.state_dict() gives it."""

    def __reduce__(self):
        return collections.OrderedDict, (), {"_metadata": collections.OrderedDict([("", {"version": 1})])}, None, iter(self.items())


class _Pickler(pickle.Pickler):
    def __init__(self, file):
        super().__init__(file, 2)
        self.storages = []

    def persistent_id(self, thing):
        if not isinstance(thing, _Storage):
            return None
        self.storages.append(thing)
        return ("storage", _global("torch", "FloatStorage"), str(len(self.storages) - 1), "cpu", thing.array.size)


def save_pth(stem, thing):
    """torch.save(thing): dictionaries of arrays become state dicts."""
    def convert(value):
        return _StateDict((k, _Tensor(v)) for k, v in value.items()) if isinstance(value, dict) else value

    file, path = io.BytesIO(), stem.with_suffix(".pth")
    pickler = _Pickler(file)
    pickler.dump({name: convert(value) for name, value in thing.items()})
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", file.getvalue())
        for i, storage in enumerate(pickler.storages):
            z.writestr(f"archive/data/{i}", storage.array.tobytes())
    return path
