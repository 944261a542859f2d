# SPDX-License-Identifier: MIT
"""NumPy and h5py against plumb, both ways: what they write, plumb reads, and what plumb writes, they read, to the last bit."""
import io
import itertools
import os
import struct
import subprocess
import zipfile
import zlib

import pytest

from paths import BUILD, ROUNDTRIP, SANITIZE

np = pytest.importorskip("numpy")
try:
    import h5py
except ImportError:
    h5py = None

TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
HDF5 = (BUILD / "libexec/plumb/plumb-h5").exists()


def sample(dtype, order, shape=(3, 4, 5), fortran=False):
    """Every bit pattern may occur, NaN and infinity among them."""
    dtype = np.dtype(dtype).newbyteorder(order)
    random = np.random.default_rng(abs(hash((dtype.str, shape))) % 1000)
    if dtype.kind == "b":
        array = random.integers(0, 2, shape).astype(dtype)
    else:
        count = int(np.prod(shape))
        array = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape)
    return np.asfortranarray(array) if fortran else np.ascontiguousarray(array)


def zoo():
    arrays = {}
    for dtype, order, fortran in itertools.product(TYPES, "<>", (False, True)):
        name = "%s-%s-%s" % (dtype.replace("?", "bool"), "little" if order == "<" else "big",
                             "F" if fortran else "C")
        arrays[name] = sample(dtype, order, fortran=fortran)
    arrays["scalar"] = np.array(3.5)
    arrays["empty"] = np.zeros((0, 3), "f4")
    arrays["vector"] = np.arange(4)
    arrays["wide"] = sample("f8", "<", (70, 3, 65), True)
    arrays["axes"] = np.zeros((1,) * 32, "u1")
    return arrays


class Case:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.tmp_path = tmp_path

    def path(self, name):
        return str(self.tmp_path / name)

    def run_plumb(self, source, target, compress=False):
        done = subprocess.run([ROUNDTRIP] + ["-z"] * compress + [source, target], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def refused(self, source, words):
        done = subprocess.run([ROUNDTRIP, source], capture_output=True, text=True)
        assert done.returncode == 1, done.stdout
        assert done.stderr.count("\n") == 1 and words in done.stderr

    def same(self, got, want, what=""):
        native = np.dtype(want.dtype).newbyteorder("=")
        assert got.dtype == native and got.dtype.isnative, what
        assert got.shape == want.shape, what
        assert got.tobytes() == want.astype(native).tobytes(), what


class TestNumPy(Case):
    def test_npy_of_every_type_order_and_version(self):
        for (name, array), version in itertools.product(zoo().items(), [(1, 0), (2, 0), (3, 0)]):
            with open(self.path("in.npy"), "wb") as f:
                np.lib.format.write_array(f, array, version=version)
            self.run_plumb(self.path("in.npy"), self.path("out.npy"))
            self.same(np.load(self.path("out.npy")), array, (name, version))

    def test_npy_is_written_to_the_byte_as_numpy_does(self):
        for array in (np.arange(12.0).reshape(3, 4), np.zeros(7, "u1"), np.array(2.0)):
            np.save(self.path("in.npy"), array)
            self.run_plumb(self.path("in.npy"), self.path("out.npy"))
            with open(self.path("in.npy"), "rb") as a, open(self.path("out.npy"), "rb") as b:
                assert a.read() == b.read()

    def test_npz_stored_and_deflated(self):
        arrays = zoo()
        for save, compress in itertools.product((np.savez, np.savez_compressed), (False, True)):
            save(self.path("in.npz"), **arrays)
            self.run_plumb(self.path("in.npz"), self.path("out.npz"), compress)
            with np.load(self.path("out.npz")) as back:
                assert back.files == list(arrays)
                for name in arrays:
                    self.same(back[name], arrays[name], name)
            with zipfile.ZipFile(self.path("out.npz")) as z:
                assert z.testzip() is None
                kinds = {i.compress_type for i in z.infolist()}
                assert kinds == {zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED}

    def test_npz_written_to_a_pipe_has_data_descriptors(self):
        class Pipe(io.RawIOBase):
            def __init__(self, f):
                self.f = f

            def writable(self):
                return True

            def write(self, b):
                return self.f.write(b)

        for save in (np.savez, np.savez_compressed):
            with open(self.path("in.npz"), "wb") as f:
                save(Pipe(f), x=np.arange(1000.0), y=np.arange(5))
            with zipfile.ZipFile(self.path("in.npz")) as z:
                assert all(i.flag_bits & 8 for i in z.infolist())
            self.run_plumb(self.path("in.npz"), self.path("out.npz"))
            with np.load(self.path("out.npz")) as back:
                self.same(back["x"], np.arange(1000.0))

    def test_names_outside_ascii(self):
        np.savez(self.path("in.npz"), **{"größe": np.arange(3), "位置": np.arange(4)})
        self.run_plumb(self.path("in.npz"), self.path("out.npz"))
        with np.load(self.path("out.npz")) as back:
            assert sorted(back.files) == sorted(["größe", "位置"])

    def test_zeros_that_pack_well_are_read(self):
        np.savez_compressed(self.path("in.npz"), x=np.zeros(4_000_000))
        self.run_plumb(self.path("in.npz"), self.path("out.npz"))
        with np.load(self.path("out.npz")) as back:
            self.same(back["x"], np.zeros(4_000_000))

    def test_a_bomb_that_numpy_made_is_refused(self):
        np.savez_compressed(self.path("in.npz"), x=np.zeros(20_000_000))
        self.refused(self.path("in.npz"), "uncompressed")

    def test_objects_are_refused(self):
        np.save(self.path("in.npy"), np.array([{}, []], dtype=object), allow_pickle=True)
        self.refused(self.path("in.npy"), "Python objects")


@pytest.mark.skipif(h5py is None or not HDF5, reason="no h5py, or no HDF5 in this build")
class TestHDF5(Case):
    LAYOUTS = {
        "contiguous": {},
        "chunked": {"chunks": True},
        "gzip": {"compression": "gzip"},
        "shuffle": {"compression": "gzip", "shuffle": True},
        "sums": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    }

    def write(self, arrays, library="earliest", **options):
        with h5py.File(self.path("in.h5"), "w", libver=library, **options.pop("file", {})) as f:
            for name, array in arrays.items():
                plain = array.ndim == 0 or array.size == 0
                f.create_dataset(name, data=array, **({} if plain else options))

    def compare(self, arrays, where="out.h5"):
        with h5py.File(self.path(where)) as back:
            for name in arrays:
                self.same(back[name][()], arrays[name], name)

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("library", ["earliest", "latest"])
    def test_every_type_and_layout(self, layout, library):
        arrays = {"group/" + name: array for name, array in zoo().items()}
        arrays["top"] = np.arange(3)
        self.write(arrays, library, **dict(self.LAYOUTS[layout]))
        self.run_plumb(self.path("in.h5"), self.path("out.h5"), layout == "gzip")
        self.compare(arrays)

    def test_from_hdf5_to_npz_and_back(self):
        arrays = {"a": sample("f4", "<"), "b/c": sample("?", "<")}
        self.write(arrays)
        self.run_plumb(self.path("in.h5"), self.path("out.npz"))
        self.run_plumb(self.path("out.npz"), self.path("out.h5"))
        self.compare(arrays)

    def test_compressed_files_are_chunked_and_small(self):
        self.write({"x": np.zeros((300, 64, 64, 3), "u1"), "y": np.arange(3_000_000.0)})
        self.run_plumb(self.path("in.h5"), self.path("out.h5"), True)
        with h5py.File(self.path("out.h5")) as f:
            assert f["x"].compression == "gzip"
            assert np.prod(f["x"].chunks) <= 1 << 20
            self.same(f["y"][()], np.arange(3_000_000.0))

    def test_chunks_larger_than_usual(self):
        whole = {"x": np.arange(2_000_000.0) // 7}
        self.write(whole, chunks=(2_000_000,), compression="gzip", shuffle=True, fletcher32=True)
        self.run_plumb(self.path("in.h5"), self.path("out.h5"))
        self.compare(whole)
        part = {"x": sample("f4", "<", (3, 64, 64))}  # as a file that was meant to grow
        self.write(part, chunks=(1000, 64, 64), maxshape=(None, 64, 64), compression="gzip")
        self.run_plumb(self.path("in.h5"), self.path("out.h5"))
        self.compare(part)

    def test_thousands_of_small_datasets(self):
        arrays = {"g%d/x%d" % (i % 50, i): np.float32(i) for i in range(3000)}
        for library in ("earliest", "latest"):
            self.write({k: np.asarray(v) for k, v in arrays.items()}, library)
            done = subprocess.run([ROUNDTRIP, "-l", self.path("in.h5")], capture_output=True,
                                  text=True)
            assert done.returncode == 0, done.stderr
            assert sorted(done.stdout.split()) == sorted("/" + k for k in arrays)

    def test_a_user_block_in_front(self):
        self.write({"x": np.arange(9.0)}, file={"userblock_size": 512})
        self.run_plumb(self.path("in.h5"), self.path("out.h5"))
        self.compare({"x": np.arange(9.0)})

    def test_a_dataset_that_was_never_written_is_its_fill_value(self):
        with h5py.File(self.path("in.h5"), "w") as f:
            f.create_dataset("x", (10,), "f8", fillvalue=2.5)
        self.run_plumb(self.path("in.h5"), self.path("out.h5"))
        self.compare({"x": np.full(10, 2.5)})

    def test_two_hard_links_are_two_names(self):
        with h5py.File(self.path("in.h5"), "w") as f:
            f["x"] = np.arange(3)
            f["g/again"] = f["x"]
        self.run_plumb(self.path("in.h5"), self.path("out.h5"))
        self.compare({"x": np.arange(3), "g/again": np.arange(3)})

    def test_a_bomb_is_refused(self):
        with h5py.File(self.path("in.h5"), "w") as f:
            f.create_dataset("x", data=np.zeros(10_000_000), compression="gzip",
                             compression_opts=9, chunks=(10_000_000,))
        self.refused(self.path("in.h5"), "uncompressed")

    # HDF5 takes the first bytes of such a chunk and drops the rest without a word; only the wall
    # on its memory refuses a large one, and the sanitizers leave no room for that wall.
    @pytest.mark.skipif(bool(SANITIZE), reason="no wall on memory under the sanitizers")
    def test_a_chunk_that_unpacks_to_far_more_than_a_chunk_is_refused_cheaply(self):
        with h5py.File(self.path("in.h5"), "w") as f:
            d = f.create_dataset("x", data=np.arange(1000.0), compression="gzip", chunks=(1000,))
            d.id.write_direct_chunk((0,), zlib.compress(bytes(200_000_000), 9))
        done = subprocess.run([ROUNDTRIP, self.path("in.h5")], capture_output=True, text=True,
                              env=dict(os.environ, PLUMB_ROUNDTRIP_MEMORY="1"))
        assert done.returncode == 1, done.stdout
        assert done.stderr.count("\n") == 1, done.stderr
        assert int(done.stdout.split()[-1]) < 24 * 1024

    def test_an_address_beyond_the_end_is_refused(self):
        self.write({"x": np.arange(100.0)})
        with open(self.path("in.h5"), "rb") as f:
            b = f.read()
        with h5py.File(self.path("in.h5")) as f:
            at = f["x"].id.get_offset()
        wrong = b.replace(struct.pack("<Q", at), struct.pack("<Q", len(b) - 8))
        assert b != wrong
        with open(self.path("in.h5"), "wb") as f:
            f.write(wrong)
        self.refused(self.path("in.h5"), "in.h5")

