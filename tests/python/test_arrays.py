# SPDX-License-Identifier: MIT
"""Any array will do, and is not copied when it need not be."""
import array
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
import numpy as np  # noqa: E402
import plumb  # noqa: E402
from plumb._arrays import to_numpy, view  # noqa: E402

check = support.Checks()
base = np.arange(24, dtype=np.float64).reshape(2, 3, 4)


class HasArray:
    def __array__(self, dtype=None, copy=None):
        return base


class HasDlpack:
    def __dlpack__(self, **how):
        return base.__dlpack__()

    def __dlpack_device__(self):
        return base.__dlpack_device__()


for what, value in (("NumPy", base), ("__array__", HasArray()), ("__dlpack__", HasDlpack()), ("a buffer", memoryview(base))):
    got = to_numpy(value, "x")
    check(np.shares_memory(got, base) and got.shape == base.shape, f"{what} is copied")
    seen = view(got)
    check(seen.data == base.ctypes.data and list(seen.shape[:3]) == [2, 3, 4], f"{what}: the view is of other memory")
flat = array.array("d", [1, 2, 3])
check(np.shares_memory(to_numpy(flat, "x"), np.frombuffer(flat)), "array.array is copied")
check(to_numpy([[1, 2], [3, 4]], "x").shape == (2, 2), "a list")

# What must be copied is, and right.
for what, value in (("transposed", base.T), ("every second", base[:, ::2]), ("big-endian", base.astype(">f8")),
                    ("long double", base.astype(np.longdouble)), ("Fortran order", np.asfortranarray(base))):
    got = to_numpy(value, "x")
    check(got.flags.c_contiguous and got.dtype == np.float64 and (got == value).all(), what)
for kind in plumb._native.DTYPES:
    check(to_numpy(np.ones(3, kind), "x").dtype == np.dtype(kind), f"{kind} changes its type")
check.raises(TypeError, "latent is an array of complex128", plumb.symetric, base + 1j, base)
check.raises(TypeError, "wanted real numbers", plumb.symetric, np.array([None]), base)
check.raises(TypeError, "", plumb.symetric, object(), base)
text = to_numpy(np.array(["ab", "c"]), "x")
check(text.shape == (2, 2) and text.dtype == np.uint32 and text[1, 1] == 0, "text")

# The same numbers in every form give the same result; the measured arrays stay as they were.
rng = np.random.default_rng(1)
truth = np.cumsum(rng.standard_normal((10, 30, 2)), 1)
before = truth.copy()
numbers = [plumb.symetric(form(truth), truth).to_dict() for form in
           (np.asarray, memoryview, np.asfortranarray, lambda a: a.astype(">f8"), lambda a: a.tolist())]
for n in numbers:
    n.pop("seconds")
check(all(n == numbers[0] for n in numbers), "the form of an array changes the result")
check((truth == before).all(), "an input was changed")

for name in ("torch", "jax.numpy"):
    try:
        module = __import__(name, fromlist=["x"])
    except ImportError:
        print(f"{name} is not here: its tensors were not tried")
        continue
    tensor = module.tensor(base) if name == "torch" else module.asarray(base)
    got = to_numpy(tensor, "x")
    check((got == base).all(), f"{name}: other numbers")
    if name == "torch":
        check(got.ctypes.data == tensor.data_ptr(), "a torch tensor is copied")
        check((to_numpy(tensor.requires_grad_(), "x") == base).all(), "a tensor with a gradient")
        check((to_numpy(tensor.bfloat16(), "x") == base).all(), "bfloat16")
        loader = module.utils.data.DataLoader(plumb.world("mass-spring").dataset(8, steps=4), batch_size=4, num_workers=1)
        check([tuple(b["frames"].shape) for b in loader] == [(4, 4, 32, 32, 3)] * 2, "a DataLoader")
check.end()
