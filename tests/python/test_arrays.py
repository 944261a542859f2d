# SPDX-License-Identifier: MIT
"""Any array will do, and is not copied when it need not be."""
import array

import package  # noqa: F401
import numpy as np
import plumb
import pytest
from plumb._arrays import to_numpy, view

BASE = np.arange(24, dtype=np.float64).reshape(2, 3, 4)


class HasArray:
    def __array__(self, dtype=None, copy=None):
        return BASE


class HasDlpack:
    def __dlpack__(self, **how):
        return BASE.__dlpack__()

    def __dlpack_device__(self):
        return BASE.__dlpack_device__()


@pytest.mark.parametrize("value", [BASE, HasArray(), HasDlpack(), memoryview(BASE)], ids=["NumPy", "__array__", "__dlpack__", "buffer"])
def test_an_array_that_fits_is_not_copied(value):
    got = to_numpy(value, "x")
    assert np.shares_memory(got, BASE) and got.shape == BASE.shape
    seen = view(got)
    assert seen.data == BASE.ctypes.data and list(seen.shape[:3]) == [2, 3, 4]


def test_array_array_and_lists_are_taken():
    flat = array.array("d", [1, 2, 3])
    assert np.shares_memory(to_numpy(flat, "x"), np.frombuffer(flat))
    assert to_numpy([[1, 2], [3, 4]], "x").shape == (2, 2)


@pytest.mark.parametrize("value", [BASE.T, BASE[:, ::2], BASE.astype(">f8"), BASE.astype(np.longdouble), np.asfortranarray(BASE)],
                         ids=["transposed", "every second", "big-endian", "long double", "Fortran order"])
def test_an_array_that_does_not_fit_is_copied_right(value):
    got = to_numpy(value, "x")
    assert got.flags.c_contiguous and got.dtype == np.float64 and (got == value).all()


@pytest.mark.parametrize("kind", plumb._native.DTYPES)
def test_every_type_of_plumb_is_kept(kind):
    assert to_numpy(np.ones(3, kind), "x").dtype == np.dtype(kind)


def test_what_is_no_array_of_numbers_is_a_type_error():
    with pytest.raises(TypeError, match="latent is an array of complex128"):
        plumb.symetric(BASE + 1j, BASE)
    with pytest.raises(TypeError, match="wanted real numbers"):
        plumb.symetric(np.array([None]), BASE)
    with pytest.raises(TypeError):
        plumb.symetric(object(), BASE)


def test_text_becomes_code_points():
    text = to_numpy(np.array(["ab", "c"]), "x")
    assert text.shape == (2, 2) and text.dtype == np.uint32 and text[1, 1] == 0


def test_the_form_of_an_array_changes_no_number_and_inputs_stay_as_they_were():
    truth = np.cumsum(np.random.default_rng(1).standard_normal((10, 30, 2)), 1)
    before = truth.copy()
    records = [plumb.symetric(form(truth), truth).to_dict() for form in
               (np.asarray, memoryview, np.asfortranarray, lambda a: a.astype(">f8"), lambda a: a.tolist())]
    for record in records:
        record.pop("seconds")
    assert all(record == records[0] for record in records)
    assert (truth == before).all()


def test_torch_tensors_are_not_copied():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(BASE)
    got = to_numpy(tensor, "x")
    assert (got == BASE).all() and got.ctypes.data == tensor.data_ptr()
    assert (to_numpy(tensor.requires_grad_(), "x") == BASE).all()
    assert (to_numpy(tensor.bfloat16(), "x") == BASE).all()
    loader = torch.utils.data.DataLoader(plumb.world("mass-spring").dataset(8, steps=4), batch_size=4, num_workers=1)
    assert [tuple(b["frames"].shape) for b in loader] == [(4, 4, 32, 32, 3)] * 2


def test_jax_arrays_are_taken():
    jax = pytest.importorskip("jax.numpy")
    assert (to_numpy(jax.asarray(BASE), "x") == BASE).all()
