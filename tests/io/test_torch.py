# SPDX-License-Identifier: MIT
"""Files as torch.save writes them, made by Python's own pickle and zipfile with stand-ins for the
classes of PyTorch, and judged by plumb surprise; then the same files damaged at every byte."""
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path

import numpy as np

PLUMB = os.environ["PLUMB"]
failures = 0


def check(right, what):
    global failures
    if not right:
        failures += 1
        print("FAILED:", what)


# What a pickle of a tensor names. The modules exist only here.
torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules["torch"], sys.modules["torch._utils"] = torch, utils
torch._utils = utils
KINDS = {"f8": "DoubleStorage", "f4": "FloatStorage", "f2": "HalfStorage", "i8": "LongStorage",
         "i4": "IntStorage", "i2": "ShortStorage", "i1": "CharStorage", "u1": "ByteStorage",
         "b1": "BoolStorage"}
for kind in KINDS.values():
    setattr(torch, kind, type(kind, (), {"__module__": "torch"}))


def _rebuild_tensor_v2(*arguments):
    raise AssertionError("never called")


_rebuild_tensor_v2.__module__ = "torch._utils"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2


class Storage:
    def __init__(self, array):
        self.array = array


class Tensor:
    """A view of a storage, as torch has it."""

    def __init__(self, array, strides=None, shape=None, offset=0, storage=None):
        self.storage = storage or Storage(np.ascontiguousarray(array).reshape(-1))
        self.shape = tuple(array.shape if shape is None else shape)
        self.strides = strides or tuple(s // array.itemsize for s in np.ascontiguousarray(array).strides)
        self.offset = offset

    def __reduce__(self):
        return (utils._rebuild_tensor_v2,
                (self.storage, self.offset, self.shape, self.strides, False, __import__("collections").OrderedDict()))


class Pickler(pickle.Pickler):
    def __init__(self, file, protocol=2):
        super().__init__(file, protocol)
        self.storages = []

    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        if thing not in self.storages:
            self.storages.append(thing)
        kind = KINDS[thing.array.dtype.str[1:]]
        return ("storage", getattr(torch, kind), str(self.storages.index(thing)), "cpu", thing.array.size)


def save(path, thing, protocol=2, pickled=None, order=b"little"):
    f = io.BytesIO()
    p = Pickler(f, protocol)
    p.dump(thing)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("losses/data.pkl", pickled or f.getvalue())
        z.writestr("losses/byteorder", order)
        for i, storage in enumerate(p.storages):
            z.writestr(f"losses/data/{i}", storage.array.tobytes())
        z.writestr("losses/version", "3\n")


def run(*arguments):
    return subprocess.run([PLUMB, "surprise", *map(str, arguments)], capture_output=True, text=True)


def answer(*arguments):
    done = run(*arguments, "--json")
    check(done.returncode == 0, f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


def refused(words, *arguments):
    done = run(*arguments)
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and not done.stdout and len(lines) == 1 and words in lines[0],
          f"{arguments}: {done.returncode}, {done.stderr!r}, wanted {words!r}")


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    rng = np.random.default_rng(3)
    clips, contexts, windows = 40, 3, 11
    loss = rng.gamma(3.0, 0.1, (clips, contexts, windows)).astype(np.float32)
    labels = np.tile([1, 0, 0, 1], clips // 4)  # the second pair the other way round
    loss[labels == 0] += 0.05
    study = {"block": "O2", "frame_step": 2, "context_lengths": [2, 4, 6], "losses": Tensor(loss),
             "labels": Tensor(labels)}
    possible, impossible = loss[labels == 1].astype(float), loss[labels == 0].astype(float)

    # The V-JEPA study's layout, and its own relative accuracy (avg) and (max).
    for protocol in (2, 4):
        save(folder / "losses.pth", study, protocol)
        for context in (-1, 0, 2):
            got = answer(folder / "losses.pth", "--context", context)["scorers"]["plain"]
            p, q = ((x.min(1) if context < 0 else x[:, context]) for x in (possible, impossible))
            check(abs(got["benchmarks"]["vjepa"]["relative_accuracy"] -
                      (p.mean(1) < q.mean(1)).mean()) < 1e-12, "relative accuracy (avg)")
            check(abs(got["maximum"]["benchmarks"]["vjepa"]["relative_accuracy"] -
                      (p.max(1) < q.max(1)).mean()) < 1e-12, "relative accuracy (max)")
            check(abs(got["auroc"] - (q.mean(1)[:, None] > p.mean(1)).mean()) < 1e-12, "AUROC")
            sums = [x.mean(1).reshape(-1, 2).sum(1) for x in (p, q)]
            check(abs(got["accuracy"] - (sums[1] > sums[0]).mean()) < 1e-12, "tuples of four")
    # Every type of number, and a tensor that is a transposed view of a larger storage.
    wide = np.zeros((windows + 1, contexts, clips), np.float32)
    wide[1:] = loss.transpose(2, 1, 0)
    view = Tensor(wide, shape=loss.shape, strides=(1, clips, clips * contexts), offset=clips * contexts)
    save(folder / "view.pth", {**study, "losses": view, "labels": Tensor(labels.astype(np.int8))})
    save(folder / "plain.pth", study)

    def numbers(record):
        if not isinstance(record, dict):
            return record
        return {k: numbers(v) for k, v in record.items() if k != "seconds"}

    check(numbers(answer(folder / "view.pth")) == numbers(answer(folder / "plain.pth")), "strides")
    for kind in ("i4", "i2", "u1", "b1", "f8", "f4"):
        save(folder / "kind.pth", {**study, "labels": Tensor(labels.astype(kind))})
        check(numbers(answer(folder / "kind.pth")) == numbers(answer(folder / "plain.pth")), kind)

    # What PyTorch 1.13 itself saved: two layouts, one of them with a view of a storage and NumPy text.
    real = Path(os.environ["PLUMB_SOURCE"]) / "fuzz/corpus/pth"
    for name in ("losses", "names"):
        (folder / f"{name}.pth").write_bytes((real / f"torch-1.13-{name}").read_bytes())
    got = answer(folder / "losses.pth")
    check(got["scorers"]["plain"]["accuracy"] == 1 and got["n"] == 2 and got["frames"] == 5, "PyTorch's own file")
    (folder / "real.csv").write_text("file_name,SceneIndex,type,condition\n" + "".join(
        f"a{i}.mp4,{i // 4},{i // 2 % 2 + 1}_{'Imp' if i % 2 else 'P'}ossible,solidity\n" for i in range(8)))
    got = answer(folder / "names.pth", "--metadata", folder / "real.csv")
    check(got["scorers"]["plain"]["accuracy"] == 1 and got["n"] == 2 and got["frames"] == 4, "and the other")

    # Pairs: data sets other than IntPhys. Padding at the end does not count.
    padded = np.concatenate([loss, np.zeros((clips, contexts, 4), np.float32)], 2)
    padded[0, :, windows:] = 0.7
    save(folder / "pairs.pth", {**study, "block": "gravity", "losses": Tensor(padded)})
    done = run(folder / "pairs.pth", "--json")
    got = json.loads(done.stdout)["scorers"]["plain"]
    check("39 clips are shorter" in done.stderr, "padding is said")
    p = np.array([x[x != 0].mean() for x in padded[labels == 1].min(1).astype(float)])
    q = np.array([x[x != 0].mean() for x in padded[labels == 0].min(1).astype(float)])
    check(got["tuples"] == clips // 2 and abs(got["accuracy"] - (q > p).mean()) < 1e-12, "pairs")

    # IntPhys 2: names of clips, and a table. NumPy text, in the protocol PyTorch uses.
    kinds = ["1_Possible", "1_Impossible", "2_Possible", "2_Impossible"]
    names = [f"clip{i:03d}.mp4" for i in range(clips)]
    order = rng.permutation(clips)
    table = "file_name,SceneIndex,type,condition,Difficulty\n" + "".join(
        f'Videos/{names[i]},{i // 4},{kinds[i % 4]},"{["solidity", "permanence"][i // 20]}",Easy\n' for i in range(clips))
    (folder / "metadata.csv").write_text(table)
    second = {"frame_step": 2, "num_frames_to_pred": 8, "context_lengths": [2], "losses": Tensor(loss[order]),
              "names": np.array(names)[order]}
    save(folder / "second.pth", second)
    got = answer(folder / "second.pth", "--metadata", folder / "metadata.csv")
    by_clip = loss.min(1).astype(float).mean(1).reshape(-1, 2, 2)  # scene, pair, possible or not
    each = (by_clip[:, :, 1].sum(1) > by_clip[:, :, 0].sum(1))
    check(abs(got["scorers"]["plain"]["accuracy"] - (each[:5].mean() + each[5:].mean()) / 2) < 1e-12, "IntPhys 2")
    check(sorted(c["name"] for c in got["concepts"]) == ["permanence", "solidity"], "conditions")
    refused("say what its clips are by --metadata", folder / "second.pth")
    (folder / "short.csv").write_text(table.rsplit("\n", 5)[0] + "\n")
    refused("is not in the table", folder / "second.pth", "--metadata", folder / "short.csv")
    (folder / "bare.csv").write_text("name,type\na,b\n")
    refused("has no column", folder / "second.pth", "--metadata", folder / "bare.csv")

    # Nothing is called, and nothing reaches beyond what is there.
    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + str(folder / "owned"),)

    save(folder / "evil.pth", {**study, "x": Evil()})
    refused("names posix.system, which no dictionary of scores needs", folder / "evil.pth")
    check(not (folder / "owned").exists(), "code was run")
    save(folder / "bad.pth", {**study, "losses": Tensor(loss, shape=(1 << 40, 1, 1), strides=(0, 0, 0))})
    refused("reaches beyond its storage", folder / "bad.pth")
    save(folder / "bad.pth", {**study, "losses": Tensor(loss, shape=loss.shape, offset=1)})
    refused("reaches beyond its storage", folder / "bad.pth")
    save(folder / "bad.pth", {**study, "losses": Tensor(loss, shape=(1 << 40, 1 << 40), strides=(1, 1))})
    refused("too large", folder / "bad.pth")
    save(folder / "bad.pth", {**study, "labels": Tensor(np.ones(clips, np.int64))})
    refused("a pair has one 1", folder / "bad.pth")
    save(folder / "bad.pth", {**study, "labels": Tensor(labels[:-1])})
    refused("40 clips, but 39 labels", folder / "bad.pth")
    save(folder / "bad.pth", study, order=b"bigend")
    refused("is not little-endian", folder / "bad.pth")
    refused("context is 3", folder / "losses.pth", "--context", 3)
    with zipfile.ZipFile(folder / "bad.pth", "w") as z:
        z.writestr("x", "y")
    refused("holds no data.pkl", folder / "bad.pth")
    with zipfile.ZipFile(folder / "bad.pth", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02}." * 100)
    refused("compressed", folder / "bad.pth")

    # Bytes changed one at a time: an answer or one line, never a crash.
    small = {"block": "O1", "losses": Tensor(loss[:4, :1, :2]), "labels": Tensor(labels[:4]), "names": np.array(["a", "b"])}
    f = io.BytesIO()
    p = Pickler(f)
    p.dump(small)
    honest = f.getvalue()
    for at in range(0, len(honest), 3):
        for change in (0x00, 0xff, ord("R"), ord("u")):
            bent = honest[:at] + bytes([change]) + honest[at + 1:]
            save(folder / "bent.pth", small, pickled=bent)
            done = run(folder / "bent.pth", "--json", "--resamples", 0)
            check(done.returncode in (0, 1) and len(done.stderr.splitlines()) <= 1,
                  f"byte {at} = {change}: {done.returncode} {done.stderr!r}")

sys.exit(failures > 0)
