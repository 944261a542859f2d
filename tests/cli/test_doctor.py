# SPDX-License-Identifier: MIT
"""plumb doctor reports what is true, and the program corrects OpenBLAS's choice of kernels: version 0.3.21 takes processors it
does not know for a Prescott of 2004."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from paths import LIBRARY, PLUMB, SANITIZE
from program import Program

plumb = Program("doctor")
KEYS = {"version", "instructions", "threads", "cores", "blas", "blas_version", "blas_remedy", "hdf5", "libsvm", "mpi", "onednn",
        "compiler", "build_type"}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.delenv("PLUMB_THREADS", raising=False)


@pytest.fixture
def fast():
    """Skips where the processor has no AVX2."""
    if plumb.answer()["instructions"] == "portable":
        pytest.skip("this processor has no AVX2")


def test_json_has_all_keys():
    got = plumb.answer()
    assert KEYS <= got.keys()
    assert got["instructions"] in ("avx2", "avx512", "portable")
    assert got["mpi"] in (True, False)


def test_version_is_that_of_the_program():
    version = subprocess.run([PLUMB, "--version"], capture_output=True, text=True).stdout.split()[1]
    assert plumb.answer()["version"] == re.match(r"[0-9.]*[0-9]", version).group()


def test_plumb_threads_is_obeyed(monkeypatch):
    monkeypatch.setenv("PLUMB_THREADS", "3")
    assert plumb.answer()["threads"] == 3


def test_instructions_are_those_of_the_processor(fast):
    assert re.search(r"\bavx2\b", Path("/proc/cpuinfo").read_text())
    assert plumb.answer()["blas"] != "Prescott"


@pytest.mark.parametrize("old", ["Prescott", "Nehalem", "Core2"])
def test_old_kernels_are_replaced_whatever_the_environment_asks_for(fast, old, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", old)
    assert old not in plumb.run().stdout
    got = plumb.answer()
    assert got["blas"] in ("Haswell", "SkylakeX", "Zen", "Cooperlake", "SapphireRapids")
    assert got["blas_remedy"] is None


def test_a_users_choice_of_fast_kernels_stays(fast, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert plumb.answer()["blas"] == "Haswell"


@pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer wants to be loaded first itself")
def test_slow_kernels_that_cannot_be_replaced_are_called_slow(fast):
    # Somebody loaded OpenBLAS first.
    table = plumb.run(timeout=20, env={**os.environ, "OPENBLAS_CORETYPE": "Prescott", "LD_PRELOAD": "libopenblas.so.0"}).stdout
    assert re.search(r"Prescott.*SLOW.*OPENBLAS_CORETYPE=", table, re.S), table


def test_a_name_that_openblas_does_not_know_makes_no_loop(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "NoSuchProcessor")
    plumb.run(timeout=20)


def test_the_table_names_every_part():
    table = plumb.run().stdout
    for word in ("instructions", "threads", "BLAS", "HDF5", "libsvm", "MPI", "oneDNN", plumb.answer()["blas"]):
        assert word in table


@pytest.mark.parametrize("file", [LIBRARY, Path(PLUMB)], ids=["library", "program"])
def test_optional_libraries_are_loaded_only_when_needed(file):
    needs = "".join(subprocess.run([*tool, file], capture_output=True, text=True, check=True).stdout
                    for tool in (["readelf", "-d"], ["ldd"]))
    assert not re.search("hdf5|libmpi|dnnl|mkldnn|openblas", needs, re.I), needs
    assert "libzip" in needs, "the check sees nothing"
