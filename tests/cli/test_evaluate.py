# SPDX-License-Identifier: MIT
"""plumb evaluate as a user runs it, on a run that has learnt nothing yet: what it measures, and on what."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from program import Program  # noqa: E402

PLUMB = os.environ["PLUMB"]
plumb = Program("evaluate")
check = plumb.check


def numbers(record):
    return {k: numbers(v) if isinstance(v, dict) else v for k, v in record.items() if k != "seconds"}


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    run = folder / "run"
    subprocess.run([PLUMB, "train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "2", "--out", run],
                   check=True, capture_output=True)
    few = (run, "--count", 2, "--steps", 5, "--measured", 10)
    quick = (*few, "--updates", 20)

    got = plumb.answer(*quick)
    check({"rec_mse", "ext_mse", "vpt_forward", "vpt_backward", "vpt", "pr", "mlp"} <= got.keys(), f"keys {list(got)}")
    check({"r2", "sym", "symetric", "order"} <= got["pr"].keys() and got["pr"]["method"] == "pr", f"pr {got['pr']}")
    # A model that has learnt nothing: kappa has a number and an interval, and the verdict is not a right model.
    own = {"kappa", "kappa_ci", "canonical", "canonical_why", "r2_state", "r2_heldout", "symplectic_r2", "sym_floor", "form"}
    check(own <= got.keys() and 0 <= got["kappa"] <= 1 and got["canonical"] != 1, f"kappa {got}")
    check(got["form"]["n"] == 1 and got["sym_floor"] < 1e-9 and got["symplectic_r2"] is None, f"form {got['form']}")
    check(got["lyapunov"] is None and got["vpt_lyapunov"] is None, "an exponent of two films")
    mlp = got["mlp"]
    check({"r2", "sym", "symetric", "sym_per_trajectory", "why"} <= mlp.keys() and mlp["method"] == "mlp", f"mlp {mlp}")
    # As many trajectories as the network wants, and no more than the 50 it is measured on besides.
    check(mlp["points_per_parameter"] >= 1000 and mlp["updates"] == 20 and mlp["steps"] == 60, f"mlp {mlp}")
    check(mlp["trajectories"] == 50 and (mlp["train_trajectories"] - 1) * 60 < 1000 * mlp["parameters"], f"mlp {mlp}")
    check(len(mlp["latents_used"]) == len(got["pr"]["latents_used"]), "the two see other latents")
    kept = json.loads((run / "results.json").read_text())["evaluate"]
    check(numbers(kept)["mlp"] == numbers(got)["mlp"], "results.json")
    check(numbers(plumb.answer(*quick, "--threads", 1)) == numbers(got), "threads change numbers")

    eight = plumb.answer(run, "--count", 8, "--steps", 12, "--measured", 10, "--method", "pr")
    check(eight["lyapunov"] is not None and eight["vpt_lyapunov"] == 0, f"eight films, an exponent {eight['lyapunov']}")
    strict = plumb.run(*few, "--method", "pr", "--require", "canonical", code=3)
    check("canonical is 0, required at least 1" in strict.stderr, f"a bar {strict}")

    table = plumb.run(*quick)
    check("kappa" in table.stdout and "of the true state" in table.stdout, f"the table {table.stdout}")
    check("phase space by a network, 50 trajectories" in table.stdout, f"the table {table.stdout}")

    alone = plumb.answer(*few, "--method", "pr")
    check(alone["mlp"]["symetric"] is None and alone["mlp"]["why"] == "not asked for", f"mlp {alone['mlp']}")
    check(numbers(alone["pr"]) == numbers(got["pr"]), "pr depends on mlp")

    # A file has as many films as it has; the network then says what it lacks.
    films = folder / "films.npz"
    subprocess.run([PLUMB, "simulate", "mass-spring", "--count", "4", "--steps", "70", "--seed", "9", "--out", films],
                   check=True, capture_output=True)
    lacks = plumb.run(*quick, "--data", films)
    check("phase space by a network: 180 points to train a network of" in lacks.stdout, f"too few films {lacks.stdout}")
    check(plumb.answer(*quick, "--data", films, "--few-points")["mlp"]["train_points"] == 180, "--few-points")

    plumb.complaint("not 0; see plumb evaluate --help", code=2)
    plumb.complaint("did you mean both", run, "--method", "bth", code=2)

sys.exit(plumb.failures > 0)
