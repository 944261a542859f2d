#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the seeds in fuzz/corpus/NAME/ that start with "seed-"; what the fuzzers found stays.

Run by hand: fuzz/make_corpus.py
"""
import gzip
import io
import json
import os
import struct
import zipfile
import zlib

import h5py
import numpy as np

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def seed(target, name, data):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    with open(os.path.join(folder, target, "seed-" + name), "wb") as f:
        f.write(data)


def npy(array, version=(1, 0)):
    f = io.BytesIO()
    np.lib.format.write_array(f, array, version=version, allow_pickle=True)
    return f.getvalue()


for dtype in ("<f8", ">f8", "<f4", "<f2", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", "<u4", ">u8", "|b1"):
    seed("npy", dtype.strip("<>|") + ("-big" if dtype[0] == ">" else ""),
         npy(np.arange(6).reshape(2, 3).astype(dtype)))
seed("npy", "fortran", npy(np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))))
seed("npy", "scalar", npy(np.array(1.5)))
seed("npy", "empty", npy(np.zeros((0, 3))))
seed("npy", "axes", npy(np.zeros((1,) * 32)))
seed("npy", "version2", npy(np.arange(3), (2, 0)))
seed("npy", "version3", npy(np.arange(3), (3, 0)))
seed("npy", "records", npy(np.zeros(2, [("a", "f8"), ("b", "i4")])))
seed("npy", "text", npy(np.array(["ab", "c"])))
seed("npy", "long", npy(np.arange(3)).replace(b"(3,)", b"(3L,)"))


def npz(save, **arrays):
    f = io.BytesIO()
    save(f, **arrays)
    return f.getvalue()


x, y = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))
seed("npz", "stored", npz(np.savez, x=x, y=y))
seed("npz", "deflated", npz(np.savez_compressed, x=x, y=y))
seed("npz", "zeros", npz(np.savez_compressed, x=np.zeros(100000)))
seed("npz", "empty", npz(np.savez))
f = io.BytesIO()
with zipfile.ZipFile(f, "w") as z:
    z.writestr("readme.txt", "hello")
    z.writestr("x.npy", npy(x))
    z.comment = b"a comment"
seed("npz", "comment", f.getvalue())


class Pipe(io.RawIOBase):
    """Cannot seek, so that sizes follow the data."""

    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, b):
        self.bytes += bytes(b)
        return len(b)


for save in (np.savez, np.savez_compressed):
    pipe = Pipe()
    save(pipe, x=x)
    seed("npz", "pipe-" + save.__name__, pipe.bytes)

for library in ("earliest", "latest"):
    path = os.path.join(folder, "h5.tmp")
    with h5py.File(path, "w", libver=library) as h:
        h["x"] = x
    with open(path, "rb") as g:
        seed("h5", "file-" + library, g.read()[:512])
    os.remove(path)

REPLY, BODY = 0x35682D626D756C70, 4096


def reply(status=0, dtype=0, shape=(), swapped=0, count=0, size=0, offset=0, message=b"", body=b""):
    dims = list(shape) + [0] * (32 - len(shape))
    head = struct.pack("<QIIIIQQQ32q512s", REPLY, status, dtype, len(shape), swapped, count, size,
                       offset, *dims, message)
    return head + body


seed("h5", "reply-array", reply(shape=(2, 3), size=48, body=bytes(48)))
seed("h5", "reply-offset", reply(shape=(2, 3), size=48, offset=2048))
seed("h5", "reply-names", reply(count=2, size=8, body=b"/x\0/g/y\0"))
seed("h5", "reply-refusal", reply(status=2, message=b"damaged"))


# ---- TFRecord, protobuf, PNG, features.txt ----

def crc32c(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", crc32c(length)) + data + struct.pack("<I", crc32c(data))


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**lists):
    kinds = {"bytes": 1, "floats": 2, "integers": 3}
    return part(1, b"".join(part(1, part(1, key.encode()) + part(2, part(kinds[kind], data)))
                            for key, (kind, data) in lists.items()))


def png(pixels, kind):
    height = len(pixels)
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], height, 8, kind, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


strip = png(np.arange(24, dtype=np.uint8).reshape(4, 2, 3), 2)
seed("png", "rgb", strip)
seed("png", "grey", png(np.arange(8, dtype=np.uint8).reshape(4, 2), 0))
seed("png", "rgba", png(np.arange(32, dtype=np.uint8).reshape(4, 2, 4), 6))
seed("png", "wide", png(np.zeros((64, 32, 3), np.uint8), 2))

# The length of the first file, then both.
for name, frames in {"same": (strip, strip), "other": (strip, png(np.zeros((2, 2, 3), np.uint8), 2)),
                     "grey": (strip, png(np.arange(8, dtype=np.uint8).reshape(4, 2), 0)), "cut": (strip, strip[:40])}.items():
    seed("image_folder", name, struct.pack("<H", len(frames[0])) + b"".join(frames))

reals = b"".join(varint(n) for n in np.linspace(-1, 1, 4).view(np.int64).tolist())
whole = example(x=("integers", part(1, reals)), image=("bytes", part(1, strip)),
                f=("floats", part(1, struct.pack("<3f", 1, 2, 3))),
                loose=("integers", b"\x08\x01\x08\x96\x01"), raw=("bytes", part(1, b"abc")))
seed("tf_example", "whole", whole)
seed("tf_example", "integers", example(x=("integers", part(1, reals))))
seed("tf_example", "picture", example(image=("bytes", part(1, strip))))
seed("tf_example", "none", b"")
seed("tfrecord", "two", record(whole) + record(b""))
seed("tfrecord", "gzip", gzip.compress(record(whole) + record(b"x"), mtime=0))
seed("tfrecord", "members", gzip.compress(record(b"x"), mtime=0) + gzip.compress(record(b"y"), mtime=0))
seed("tfrecord", "cut", record(whole)[:-3])
seed("features_txt", "toy", b"dx_dt, (10, 2), float64\nimage, (10, 32, 32, 3), uint8\nother/color_index, (1, 1), int64\n"
     b"other/m, (1,), float64\nx, (10, 2), float64\n")
seed("features_txt", "plumb", b"plumb/world, (4,), int64\nplumb/dt, (), float64\nsmall, (2,), int16\nflag, (), bool\n")
seed("features_txt", "class", b"i, (1,), <class 'jax.numpy.int64'>\r\n")


def torch_pickle(thing):
    """As torch.save pickles it; tensors are ("name of the storage class", sizes, strides, offset)."""
    def number(n):
        return b"J" + struct.pack("<i", n)

    def write(x):
        if isinstance(x, dict):
            return b"}(" + b"".join(write(k) + write(v) for k, v in x.items()) + b"u"
        if isinstance(x, list):
            return b"](" + b"".join(map(write, x)) + b"e"
        if isinstance(x, str):
            return b"X" + struct.pack("<I", len(x)) + x.encode()
        if isinstance(x, float):
            return b"G" + struct.pack(">d", x)
        if isinstance(x, tuple):
            kind, sizes, strides, offset = x
            return (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n" + kind.encode() +
                    b"\nX\x01\0\0\x000X\x03\0\0\0cpu" + number(64 // {"F": 4, "L": 8, "B": 2}[kind[0]]) +
                    b"tQ" + number(offset) + b"(" + b"".join(map(number, sizes)) + b"t(" +
                    b"".join(map(number, strides)) + b"t\x89ccollections\nOrderedDict\n)RtR")
        return number(x)

    return b"\x80\x02" + write(thing) + b"."


losses = {"block": "O1", "frame_step": 2, "context_lengths": [2, 4], "losses": ("FloatStorage", (4, 2, 2), (4, 2, 1), 0),
          "labels": ("LongStorage", (4,), (2,), 1), "x": 1.5}
seed("pth", "losses", torch_pickle(losses))
seed("pth", "brain", torch_pickle({"losses": ("BFloat16Storage", (2, 3), (1, 4), 3)}))
seed("pth", "numpy", b"\x80\x02}X\x05\0\0\0namescnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R(K\x01K\x02"
     b"\x85cnumpy\ndtype\nX\x02\0\0\0U1\x89\x88\x87R(K\x03X\x01\0\0\0<NNNK\x04K\x04K\x08tb\x89c_codecs\nencode\nX\x08\0\0\0a\0\0\0b\0\0\0"
     b"X\x06\0\0\0latin1\x86RtbS.".replace(b"S.", b"s."))
seed("pth", "protocol4", b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94]\x94(K\x01G\x3f\xf0\0\0\0\0\0\0eu.")
seed("pth", "nested", torch_pickle({"epoch": 3, "model": {"cell.weight": ("FloatStorage", (2, 3), (3, 1), 0), "deeper": {"bias": (
    "FloatStorage", (3,), (1,), 6)}}, "none": {}, "list": [{"a": ("LongStorage", (2,), (1,), 0)}]}))
f = io.BytesIO()
with zipfile.ZipFile(f, "w") as z:
    z.writestr("archive/data.pkl", torch_pickle(losses))
    z.writestr("archive/byteorder", "little")
    z.writestr("archive/data/0", bytes(64))
    z.writestr("archive/version", "3\n")
seed("pth", "file", f.getvalue())


# ---- JSON and safetensors ----

def safetensors(header, data=b""):
    text = header.encode()
    return struct.pack("<Q", len(text)) + text + data


two = ('{"__metadata__":{"model":"hgn++","step":"12"},"enc.w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
       '"u":{"dtype":"U8","shape":[3],"data_offsets":[16,19]},"none":{"dtype":"I64","shape":[0,4],"data_offsets":[19,19]}} ')
seed("safetensors", "two", safetensors(two, bytes(range(19))))
seed("safetensors", "empty", safetensors("{}"))
seed("safetensors", "brain", safetensors('{"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}', b"\0\x3f\x80\x3f"))
seed("safetensors", "header", b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}')
seed("safetensors", "lie", safetensors('{"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,0]}}'))
seed("json", "record", b'{"step": 1200, "loss": 1.25e-3, "ok": true, "none": null, "list": [1, -2, [], {}], "text": "a\\u00e9\\ud83d\\ude00\\n"}')
seed("json", "number", b"-12.5e+3")
seed("json", "deep", b"[" * 33 + b"]" * 33)
seed("json", "cut", b'{"a": ["x')

STUDY = b"""name: family
defaults: {preset: tiny, steps: 3}
runs:
  - model: [hgn++, hgn]
    world: [mass-spring, pendulum]
    seed: [1, 2]
    set: {pairs: [1, 2], beta: 0.5}
    variants:
      plain: {}
      elbo: {objective: elbo}
  - model: hgn++
    world: rooms/freeform
    draw: 3
    draw_seed: 7
    set:
      rate: {log: [1e-4, 1e-2]}
      dt: {uniform: [0.1, 0.2]}
      pairs: {integer: [1, 8]}
      integrator: {choose: [leap_frog, so4]}
evaluate: {count: 4, steps: 20, measured: 8, method: pr, updates: 10, tuples: 2, films: 2, k: 1, first: 0}
"""
seed("study", "whole", STUDY)
seed("study", "typo", STUDY.replace(b"world", b"wrold", 1))
seed("study", "twice", STUDY.replace(b"seed: [1, 2]", b"seed: [1, 1]"))
seed("study", "anchor", STUDY.replace(b"seed: [1, 2]", b"seed: &a [1, 2]"))
seed("study", "alias", b"runs: [&a {model: hgn}, *a]\n")
seed("study", "tag", b"!!map {runs: !!seq []}\n")
seed("study", "deep", b"runs: " + b"[" * 40 + b"]" * 40)
seed("study", "many", b"runs: [{model: hgn, world: x, seed: [" + b",".join(b"%d" % i for i in range(200)) +
     b"], steps: [" + b",".join(b"%d" % i for i in range(200)) + b"]}]\n")
seed("study", "documents", b"a: 1\n---\nb: 2\n")
seed("study", "odd", b"? [a]\n: b\n")
seed("study", "zero", b'runs: [{model: "a\\0b", world: "\\x01"}]\n')
seed("study", "empty", b"")


# ---- run directories and results ----

source = os.path.dirname(os.path.dirname(folder))
for model in ("hgn++-mass-spring", "predrnn-rooms", "plato-rooms"):
    for name, target in (("config.json", "config"), ("results.json", "results")):
        with open(os.path.join(source, "zoo", model, name), "rb") as g:
            seed(target, model, g.read())
with open(os.path.join(source, "zoo/hgn++-mass-spring/results.json")) as g:
    EVALUATED = {key: value for key, value in json.load(g)["evaluate"].items() if not isinstance(value, (list, dict)) or len(value) < 3}
LINES = [{"run": "a-%d" % i, **dict(list(EVALUATED.items())[:40]), "vpt": 10.0 * i, "kappa": 0.5 + 0.1 * i, "canonical": i % 2} for i in range(1, 5)]
seed("results", "lines", "".join(json.dumps(line) + "\n" for line in LINES).encode())
seed("results", "cut", "".join(json.dumps(line) + "\n" for line in LINES).encode()[:-20])
seed("results", "failed", b'{"run": "a", "failed": "NaN at step 3"}\n{"run": "b", "seconds": 1}\n')
seed("log", "lines", b"".join(b'{"step": %d, "loss": 0.5, "seconds": %d.5}\n' % (i, i) for i in range(30, 60, 5)))
seed("log", "wrong", b'{"step": 5}\n{"step": 4}\n{"loss": null, "step": 8}\n')


def event(wall, step, tag=None, value=0.0):
    text = b"\x09" + struct.pack("<d", wall) + b"\x10" + varint(step)
    return text + (part(5, part(1, part(1, tag) + b"\x15" + struct.pack("<f", value))) if tag else part(3, b"brain.Event:2"))


seed("log", "events", record(event(1.5, 0)) + record(event(2.5, 7, b"loss", 0.5)) + record(event(3.5, 200, b"rate", 1.0)))
seed("log", "event", event(2.5, 7, b"loss", 0.5))
TABLE = b"file_name,SceneIndex,type,condition\n" + b"".join(
    b"%c.mp4,%d,%d_%s,\"solid, %d\"\n" % (97 + i, i // 4, i // 2 % 2 + 1, (b"Possible", b"Impossible")[i % 2], i // 4) for i in range(8))
seed("losses", "table", TABLE)
seed("losses", "quotes", TABLE.replace(b"solid", b'so""lid'))
seed("losses", "labels", b"O1\1\0\0\1\1\0\1\0")
seed("losses", "pairs", b"GR\1\0\1\0\1\0\1\0")
seed("losses", "long", b"name,scene,role,concept\n" + b"x" * 5000)

# The first byte of a file of scores: csv, tsv, json or jsonl; 4 plausible, 8 concept_by.
seed("scores", "table", b"0clip,group,possible,concept,score\na,1,1,x,2\nb,1,0,x,3\nc,2,true,y,1\nd,2,invalid,y,4\n")
seed("scores", "frames", b"1clip\tgroup\tlabel\tt0\tt1\na\t1\t1\t1\t2\nb\t1\t0\t3\t\n")
seed("scores", "single", b"0clip,label,score\na,1,1\nb,0,2\nc,1,\"0.5\"\n")
seed("scores", "inflevel", b"0camera_loc,cover,obj,trial_type,score\na,b,c,vv,1\na,b,c,ii,1\na,b,c,iv,2\na,b,c,vi,3\nz,b,c,vv,1\n")
seed("scores", "names", b'2{"O1/01/1": {"score": 0.1}, "O1/01/2": 0.2}\0name,label\nO1/01/1.mp4,1\nO1/01/2,0\n')
seed("scores", "lists", b'6{"possible": [1, 2], "impossible": [[3, 4], 5]}')
seed("scores", "likephys", b'2{"scene_evaluations": {"s": {"valid": {"a": {"loss_array": [1, 2]}}, "t": {"b": {"loss_array": [3]}}}}}')
seed("scores", "lines", b'3{"clip": "a", "group": 1, "possible": true, "score": [1, 2]}\n\n{"clip": "b", "group": 1, "possible": 0, "score": 3}\n')
seed("scores", "joined", b"8clip,group,possible,concept,score\na,1,1,x,2\nb,1,0,x,3\n")

clips = {"frames": np.arange(2 * 3 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 4, 3), "state": np.zeros((2, 3, 2)),
         "canonical": np.ones((2, 3, 2), np.float16), "world": np.array("pendulum"), "dt": np.array(0.1)}
seed("dataset", "npz", npz(np.savez, **clips))
seed("dataset", "shapes", npz(np.savez, frames=clips["frames"], state=np.zeros((5, 3)), mask=np.zeros((2, 3), np.uint8)))
seed("dataset", "tuples", npz(np.savez, frames=np.zeros((1, 4, 3, 4, 4, 3), np.uint8), mask=np.zeros((1, 4, 3, 4, 4), np.uint8)))
seed("dataset", "records", b"dx_dt, (2, 2), float64\nimage, (2, 2, 2, 3), uint8\nx, (2, 2), float64\n\0" +
     example(x=("integers", part(1, reals)), dx_dt=("integers", part(1, reals)), image=("bytes", part(1, strip))))
