#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes tests/io/malformed/*.h5, small HDF5 files that plumb must refuse, with h5py.

Run by hand: tests/io/make_malformed.py; the files are kept in the tree.
"""
import os

import h5py
import numpy as np

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "malformed")
os.makedirs(folder, exist_ok=True)


def lie(name, **options):
    return h5py.File(os.path.join(folder, name + ".h5"), "w", **options)


with lie("honest") as f:
    f["x"] = np.arange(6.0).reshape(2, 3)
with lie("huge") as f:
    f.create_dataset("x", shape=(1 << 34,), dtype="f8")
with lie("huge-chunked") as f:
    f.create_dataset("x", shape=(1 << 20, 1 << 20), dtype="f8", chunks=(1024, 16))
with lie("overflow") as f:
    f.create_dataset("x", shape=(1 << 40, 1 << 40), dtype="f8", chunks=(1, 16))
with lie("external-storage") as f:
    f.create_dataset("x", shape=(4,), dtype="u1", external=[("/etc/passwd", 0, 4)])
with lie("external-link") as f:
    f["x"] = h5py.ExternalLink("/etc/passwd", "/x")
with lie("soft-link") as f:
    f["x"] = h5py.SoftLink("/x")
with lie("virtual", libver="latest") as f:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "x", shape=(4,))
    f.create_virtual_dataset("x", layout)
with lie("text") as f:
    f["x"] = "words"
with lie("fixed-text") as f:
    f["x"] = np.array([b"abc", b"de"])
with lie("complex") as f:
    f["x"] = np.zeros(3, "c16")
with lie("records") as f:
    f["x"] = np.zeros(3, [("a", "f8"), ("b", "i4")])
with lie("enumeration") as f:
    f.create_dataset("x", data=[0, 1, 2], dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "i4"))
with lie("ragged") as f:
    d = f.create_dataset("x", (2,), dtype=h5py.vlen_dtype("f8"))
    d[0] = [1.0, 2.0]
with lie("reference") as f:
    f["y"] = 1.0
    f.create_dataset("x", data=f["y"].ref, dtype=h5py.ref_dtype)
with lie("lzf") as f:
    f.create_dataset("x", data=np.zeros(100), compression="lzf")
with lie("scaleoffset") as f:
    f.create_dataset("x", data=np.arange(100), scaleoffset=0)
with lie("no-data") as f:
    f["x"] = h5py.Empty("f8")
with lie("no-dataset") as f:
    f.create_group("a/b/c")
with lie("damaged-gzip") as f:
    d = f.create_dataset("x", data=np.arange(1000.0), compression="gzip", chunks=(1000,))
    d.id.write_direct_chunk((0,), b"\x78\x9c" + b"\xa5" * 200)
with lie("wrong-sum") as f:
    d = f.create_dataset("x", data=np.arange(100.0), fletcher32=True, chunks=(100,))
    d.id.write_direct_chunk((0,), b"\x55" * 800 + b"\1\2\3\4")
with lie("loop") as f:
    f.create_group("a")["back"] = f["/"]
