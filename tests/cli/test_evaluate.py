# SPDX-License-Identifier: MIT
"""plumb evaluate as a user runs it, on a run that has learnt nothing yet: what it measures, and on what."""
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from paths import SOURCE
from program import Program, numbers

plumb = Program("evaluate")
FEW = ("--count", 2, "--steps", 5, "--measured", 10)
QUICK = (*FEW, "--updates", 20)


@pytest.fixture(scope="module")
def run(shared):
    Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 2, "--out", shared / "run")
    return shared / "run"


@pytest.fixture(scope="module")
def got(run):
    return plumb.answer(run, *QUICK)


def test_all_keys_are_there(got):
    assert {"rec_mse", "ext_mse", "vpt_forward", "vpt_backward", "vpt", "pr", "mlp"} <= got.keys()
    assert {"r2", "sym", "symetric", "order"} <= got["pr"].keys() and got["pr"]["method"] == "pr"
    assert {"r2", "sym", "symetric", "sym_per_trajectory", "why"} <= got["mlp"].keys() and got["mlp"]["method"] == "mlp"


def test_kappa_has_a_number_and_the_verdict_is_not_a_right_model(got):
    keys = {"kappa", "kappa_ci", "canonical", "canonical_why", "r2_state", "r2_heldout", "symplectic_r2", "sym_floor", "form"}
    assert keys <= got.keys() and 0 <= got["kappa"] <= 1 and got["canonical"] != 1
    assert got["form"]["n"] == 1 and got["sym_floor"] < 1e-9 and got["symplectic_r2"] is None


def test_two_videos_have_no_lyapunov_exponent(got):
    assert got["lyapunov"] is None and got["vpt_lyapunov"] is None


def test_eight_videos_have_a_lyapunov_exponent(run):
    eight = plumb.answer(run, "--count", 8, "--steps", 12, "--measured", 10, "--method", "pr")
    assert eight["lyapunov"] is not None and eight["vpt_lyapunov"] == 0


def test_the_network_gets_the_points_it_wants_and_is_measured_on_50_more(got):
    mlp = got["mlp"]
    assert mlp["points_per_parameter"] >= 1000 and mlp["updates"] == 20 and mlp["steps"] == 60, mlp
    assert mlp["trajectories"] == 50 and (mlp["train_trajectories"] - 1) * 60 < 1000 * mlp["parameters"], mlp
    assert len(mlp["latents_used"]) == len(got["pr"]["latents_used"]), "the two methods see other latents"


def test_the_record_names_the_frames_of_the_model_and_not_a_split(run, got):
    """The preset tiny has a window of 3 and 6 targets from its last input frame on."""
    f = got["forecast"]
    assert (f["frames"], f["split"], f["inference"], f["target"]) == ("overlap-by-one", None, 3, 6)
    kept = json.loads((run / "results.json").read_text())["evaluate"]["forecast"]
    assert (kept["frames"], kept["split"], kept["inference"]) == ("overlap-by-one", None, 3)


@pytest.mark.slow
def test_the_network_can_be_given_fewer_trajectories_than_it_needs(run):
    mlp = plumb.answer(run, *QUICK, "--network-trajectories", 80)["mlp"]
    assert mlp["trajectories"] == 16 and mlp["train_trajectories"] == 64 and mlp["points_per_parameter"] < 1000
    more = plumb.answer(run, *QUICK, "--network-trajectories", 10**6)["mlp"]
    assert more["points_per_parameter"] >= 1000 and more["train_trajectories"] < 10**5


@pytest.mark.slow
def test_a_network_that_needs_far_too_many_trajectories_is_left_out_with_the_number():
    got = plumb.answer(SOURCE / "zoo/bodies-md-16", *QUICK, "--no-save")
    assert got["mlp"]["r2"] is None and "needs 243250 trajectories" in got["mlp"]["why"]
    fewer = plumb.answer(SOURCE / "zoo/bodies-md-16", *QUICK, "--no-save", "--network-trajectories", 30)
    assert fewer["mlp"]["r2"] is not None


def test_results_json_holds_the_same_numbers(run):
    here = plumb.answer(run, *QUICK)
    kept = json.loads((run / "results.json").read_text())["evaluate"]
    assert numbers(kept)["mlp"] == numbers(here)["mlp"]


def test_a_measured_rollout_has_the_trajectories_of_r2_and_sym(run, got, tmp_path):
    out = tmp_path / "measured.npz"
    Program("rollout").run(run, "--measured", "--count", 10, "--steps", 60, "--out", out)
    with np.load(out) as arrays:
        assert set(arrays.files) == {"latent", "truth", "energy", "variance", "canonical", "parameters", "constants"}
        assert arrays["latent"].shape[:2] == (10, 60)
    answer = Program("measure").answer(out)
    for key in ("r2", "sym", "symetric", "input_hash", "order"):
        assert answer[key] == got["pr"][key], key
    assert answer["kappa"] == pytest.approx(got["kappa"])
    Program("rollout").refused("not rolled out backward", run, "--measured", "--backward", "--out", out, code=2)


def test_threads_change_no_number(run, got):
    assert numbers(plumb.answer(run, *QUICK, "--threads", 1)) == numbers(got)


@pytest.mark.slow
def test_one_thread_is_one_thread_in_every_measure(run):
    process = subprocess.Popen(plumb.command(run, *QUICK, "--threads", 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:  # it has just ended
            continue
        most = max(most, *map(int, re.findall(r"Threads:\s*(\d+)", status) or [0]))
    assert process.returncode == 0 and most <= 1


def test_a_required_bar_that_is_not_met_exits_3(run):
    done = plumb.run(run, *FEW, "--method", "pr", "--require", "canonical", code=3)
    assert "canonical is 0, required at least 1" in done.stderr


def test_the_table_shows_kappa_and_the_network(run):
    table = plumb.run(run, *QUICK).stdout
    assert "kappa" in table and "of the true state" in table
    assert "phase space by a network, 50 trajectories" in table


def test_method_pr_leaves_the_network_out_and_changes_nothing_else(run, got):
    alone = plumb.answer(run, *FEW, "--method", "pr")
    assert alone["mlp"]["symetric"] is None and alone["mlp"]["why"] == "not asked for"
    assert numbers(alone["pr"]) == numbers(got["pr"]), "pr depends on mlp"


@pytest.mark.slow
def test_a_file_with_too_few_trajectories_says_what_the_network_lacks(run, tmp_path):
    data = tmp_path / "data.npz"
    Program("simulate").run("mass-spring", "--count", 4, "--steps", 70, "--seed", 9, "--out", data)
    lacks = plumb.run(run, *QUICK, "--data", data)
    assert "phase space by a network: 180 points to train a network of" in lacks.stdout
    assert plumb.answer(run, *QUICK, "--data", data, "--few-points")["mlp"]["train_points"] == 180


# ---- the protocol of the paper ----

def test_the_paper_has_its_row_beside_ours(run, got):
    assert got["paper"]["hgn++"]["vpt"] == 937 and got["paper"]["hgn++"]["rec_mse"] == pytest.approx(5e-9)
    assert got["paper"]["hgn++"]["pr"] == {"r2": 1, "sym": 0, "symetric": 1} and got["paper"]["hgn"]["mlp"]["r2"] == 0.88
    table = plumb.run(run, *FEW, "--method", "pr").stdout
    rows = {line.split("  ")[1]: line for line in table[table.index("published [Higgins21, Table 1]"):].splitlines() if line.startswith("  ")}
    assert rows["HGN++"].split() == ["HGN++", "0.05", "0.18", "937", "0.00*", "/", "0.00*", "0.99*", "/", "1.00*"]
    assert rows["this run"].split()[-3] == "-"  # no network


def test_a_file_has_no_row_in_the_paper(run, tmp_path):
    data = tmp_path / "data.npz"
    Program("simulate").run("mass-spring", "--count", 4, "--steps", 70, "--seed", 9, "--out", data)
    assert plumb.answer(run, *FEW, "--method", "pr", "--data", data)["paper"] is None
    assert "Higgins21, Table 1" not in plumb.run(run, *FEW, "--method", "pr", "--data", data).stdout


@pytest.mark.slow
def test_protocol_paper_is_as_published_and_options_still_count(run):
    few = ("--steps", 5, "--method", "pr")
    paper = plumb.answer(run, *few, "--protocol", "paper")
    assert paper["protocol"] == "paper" and paper["forecast"]["n"] == 10
    assert paper["pr"]["mode"] == "reference" and paper["pr"]["fits"] == 20 and paper["pr"]["trajectories"] == 100
    assert paper["vpt"] == paper["vpt_mean"]
    # Before or after it.
    for words in ("--count", 2, "--mode", "converged", "--protocol", "paper"), ("--protocol", "paper", "--mode", "converged", "--count", 2):
        other = plumb.answer(run, *few, *words)
        assert other["forecast"]["n"] == 2 and other["pr"]["mode"] == "converged" and other["protocol"] == "paper"


@pytest.mark.slow
def test_mode_mask_points_and_average_are_those_of_measure_and_forecast(run, got, tmp_path):
    reference = plumb.answer(run, *FEW, "--method", "pr", "--mode", "reference", "--points", 7, "--mask", "none", "--average", "median")
    out = tmp_path / "measured.npz"
    Program("rollout").run(run, "--measured", "--count", 10, "--steps", 60, "--out", out)
    measured = Program("measure").answer(out, "--mode", "reference", "--points", 7, "--mask", "none")
    assert numbers(reference["pr"]) == {key: value for key, value in numbers(measured).items() if key in reference["pr"]}
    assert reference["pr"]["mode"] == "reference" and got["pr"]["mode"] == "converged"
    assert reference["forecast"]["average"] == "median" and reference["vpt"] == reference["vpt_median"]
    assert got["forecast"]["average"] == "mean" and got["vpt"] == got["vpt_mean"]


def test_the_divergence_is_that_of_the_inferred_frame(run, tmp_path):
    """The tiny preset infers a frame in the middle of its window; its posterior belongs to that step."""
    out = tmp_path / "measured.npz"
    Program("rollout").run(run, "--measured", "--count", 10, "--steps", 60, "--out", out)
    config = json.loads((run / "config.json").read_text())["settings"]
    step = config["window"] // 2 if config["direction"] == "forward_backward" else config["window"] - 1
    assert step > 0
    by_kl = plumb.answer(run, *FEW, "--method", "pr", "--mask", "kl")["pr"]
    right = Program("measure").answer(out, "--mask", "kl", "--inferred-step", step)
    assert by_kl["informative_dimensions"] == right["informative_dimensions"] and by_kl["latents_used"] == right["latents_used"]
    assert by_kl["r2"] == right["r2"]


def test_wrong_usage_is_one_line(run):
    plumb.refused("not 0; see plumb evaluate --help", code=2)
    plumb.refused("did you mean both", run, "--method", "bth", code=2)


@pytest.mark.slow
def test_loops_go_through_the_encoder(run):
    """The zoo's model of mass-spring is canonical up to a sign; a run of two steps is not."""
    small = ("--loops", 8, "--loop-states", 16)
    found = plumb.answer("hgn++-mass-spring", *small)
    assert abs(found["loops_cosine"]) > 0.99 and found["run"] == "hgn++-mass-spring"
    assert "through the encoder" in plumb.run("hgn++-mass-spring", *small, "--require", "loops").stdout
    assert abs(plumb.answer(run, *small)["loops_cosine"]) < 0.9
    plumb.refused("loop_states 3", "hgn++-mass-spring", "--loops", 8, "--loop-states", 3, code=2)
