#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the seeds in fuzz/corpus/NAME/ that start with "seed-"; what the fuzzers found stays.

Run by hand: fuzz/make_corpus.py
"""
import io
import os
import struct
import zipfile

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
