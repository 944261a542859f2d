# SPDX-License-Identifier: MIT
"""Any array will do, and is not copied when it need not be."""
import array
import pathlib

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
    text = to_numpy(np.array(["ab", "c"]), "x", text=True)
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


STATE = np.random.default_rng(1).normal(size=(10, 12, 2))
# name: a call with one array replaced. None is nonsense for each of these.
CALLS = {
    "symetric latent": lambda x: plumb.symetric(x, STATE), "symetric truth": lambda x: plumb.symetric(STATE, x),
    "kappa latent": lambda x: plumb.kappa(x, STATE), "kappa truth": lambda x: plumb.kappa(STATE, x),
    "forecast truth": lambda x: plumb.forecast(truth=x, prediction=STATE), "forecast prediction": lambda x: plumb.forecast(truth=STATE, prediction=x),
    "report": lambda x: plumb.report("/tmp/never.html", {"latent": x}),
}
NONSENSE = {
    "None": None, "str": "text", "bytes": b"text", "a number": 3, "a list of text": ["a", "b"], "object": object(), "a function": len,
    "objects": np.array([None, 1], object), "complex": STATE + 1j, "dates": np.array(["2020-01-01"], "M8[D]"),
    "ragged": [[1.0, 2.0], [3.0]], "empty": [], "no rows": np.empty((0, 12, 2)), "no columns": np.empty((10, 12, 0)), "no steps": np.empty((10, 0, 2)),
    "flat": np.ones(5), "a dict": {"latent": STATE}, "a generator": (x for x in range(3)),
    "all NaN": np.full((10, 12, 2), np.nan), "infinite": np.full((10, 12, 2), np.inf), "masked": np.ma.masked_less(STATE, 0),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("name", CALLS)
def test_nonsense_is_an_exception_and_never_a_crash(name, nonsense):
    with pytest.raises((TypeError, ValueError, plumb.PlumbError)) as raised:
        CALLS[name](NONSENSE[nonsense])
        if name == "report": raise TypeError("arrays of any kind may be in a report")
    assert str(raised.value)


def ragged(shortest=8):
    return [one[:shortest + k % 5] for k, one in enumerate(STATE)]


def objects(rows):
    out = np.empty(len(rows), object)
    out[:] = rows
    return out


# What is refused, and the sentence.
REFUSED = {
    "None": (None, "latent is None, wanted an array of real numbers"), "path": (pathlib.Path("z.npz"), r"plumb.read\(path\) reads a file"),
    "name": ("z.npz", r"latent is str, .*plumb.read"), "dict": ({"a": STATE}, "latent is dict"), "set": ({1}, "latent is set"),
    "generator": ((x for x in STATE), "latent is generator"), "text": (np.array(["a"]), "latent is an array of text"),
    "list of text": (["a", "b"], "latent is an array of text"), "list with None": ([STATE[0], None], r"latent\[1\] is None"),
    "numbers and None": (np.array([1.0, None], object), "latent has None among its values"), "object": (np.array([object()]), "latent has object among its values"),
    "complex objects": (np.array([1j], object), "latent has complex among its values"),
    "list with masked values": ([np.ma.masked_less(one, 0) for one in STATE], r"latent\[0\] has \d+ masked values"),
    "different widths": ([STATE[0], STATE[1][:, :1]], "latent: its arrays differ in more than their first axis"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_named_in_a_sentence(case):
    value, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=message):
        plumb.measure(value, STATE)
    for pad in (False, True):
        with pytest.raises((TypeError, ValueError)):
            to_numpy(value, "latent", pad=pad)


@pytest.mark.parametrize("value", [STATE.astype(object), objects(list(STATE)), list(STATE), STATE.tolist(), tuple(map(tuple, STATE.tolist())), np.ma.array(STATE)],
                         ids=["objects", "array of arrays", "list of arrays", "lists", "tuples", "masked"])
def test_other_forms_are_the_same_numbers(value):
    assert (to_numpy(value, "x") == STATE).all()


def test_ragged_lists_have_nan_after_their_end_where_that_is_known_and_are_refused_elsewhere():
    for value in (ragged(), [one.tolist() for one in ragged()], objects(ragged())):
        joined = to_numpy(value, "x", pad=True)
        assert joined.shape == (10, 12, 2) and np.isnan(joined[0, 8:]).all() and not np.isnan(joined[4]).any()
        with pytest.raises(ValueError, match="x: its arrays differ in length, 8 to 12"):
            to_numpy(value, "x")
    assert plumb.probe(ragged(), ragged()).n == 10
    with pytest.raises(ValueError, match="a: its arrays differ in length"):
        plumb.compare({"a": ragged()})
    with pytest.raises(ValueError, match="latent: its arrays differ in length"):
        plumb.Metric().update(ragged(), STATE)


def test_lists_of_tensors_with_gradients_are_taken():
    torch = pytest.importorskip("torch")
    rows = [torch.tensor(one, requires_grad=True) for one in STATE]
    assert (to_numpy(rows, "x") == STATE).all()
    losses = [row.sum() for row in rows]
    assert np.allclose(to_numpy(losses, "x"), STATE.sum((1, 2)))
    assert to_numpy([[row.sum() for row in rows]] * 2, "x").shape == (2, 10)


def test_data_frames_are_arrays_or_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STATE[0], columns=["q", "p"])
    assert (to_numpy(frame, "x") == STATE[0]).all()
    assert to_numpy([frame] * 3, "x").shape == (3, 12, 2)
    with pytest.raises(TypeError, match="x has str among its values"):
        to_numpy(pandas.DataFrame({"q": [1.0, 2.0], "name": ["a", "b"]}), "x")
    assert plumb.compare({"a": pandas.Series(np.arange(10.0)), "b": pandas.Series(np.arange(10.0) + 1)}).pairs[0]["difference"] == -1


def test_surprise_takes_none_and_no_nonsense():
    with pytest.raises((TypeError, ValueError)):
        plumb.surprise(None)
    with pytest.raises(TypeError, match="feature is str"):
        plumb.surprise(np.ones((5, 4)), feature="text")


def test_a_masked_array_without_masked_values_is_an_array():
    assert plumb.symetric(np.ma.array(STATE), STATE).symetric == plumb.symetric(STATE, STATE).symetric
    with pytest.raises(ValueError, match="latent has 1 masked value"):
        plumb.symetric(np.ma.array(STATE, mask=np.arange(STATE.size).reshape(STATE.shape) == 7), STATE)


def test_a_misaligned_array_is_copied():
    store = np.zeros(STATE.nbytes + 1, np.uint8)
    odd = store[1:].view(np.float64).reshape(STATE.shape)
    odd[...] = STATE
    assert not odd.flags.aligned and to_numpy(odd, "x").flags.aligned
    assert plumb.symetric(odd, STATE).r2 == plumb.symetric(STATE, STATE).r2
