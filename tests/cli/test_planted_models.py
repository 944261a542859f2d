# SPDX-License-Identifier: MIT
"""Planted models of bench/battery that kappa once misjudged: (seed, number) says which. A wrong model is never learnt, a right
one never refused; where the data are few, "not determined" is right too."""
import sys

import numpy as np
import pytest

from paths import SOURCE
from program import Program

sys.path.insert(0, str(SOURCE / "bench"))
import battery_cases  # noqa: E402

plumb = Program("measure")

# Momenta that are 0 and padding that holds the state, of 10 trajectories: the map that is symplectic by design predicts them from
# the truth better than a free one does, and cannot be found from them to the truth.
MISJUDGED = [(5, 103)]


@pytest.mark.parametrize("seed, number", MISJUDGED)
def test_a_planted_model_is_not_misjudged_again(seed, number, tmp_path):
    case = battery_cases.make(seed, number)
    np.savez(tmp_path / "case.npz", latent=case.latent.astype(np.float32), truth=case.truth.astype(np.float32))
    got = plumb.answer(tmp_path / "case.npz", "--coordinates-only", "--max-order", 1)
    assert got["canonical"] in (case.expected, None), (case.name, got["kappa"], got["canonical_why"])
