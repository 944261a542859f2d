# SPDX-License-Identifier: MIT
"""plumb measure as a user runs it: files of every kind, both faces of the result, one line for every
mistake."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import h5py
except ImportError:
    h5py = None

PLUMB = os.environ["PLUMB"]
KEYS = {"method", "mode", "r2", "sym", "symetric", "order", "alpha", "sym_per_trajectory",
        "latents_used", "degenerate", "n", "m", "r2_heldout", "seconds", "version", "r2_ci", "sym_ci",
        "symetric_ci", "r2_heldout_ci", "why", "rho", "trajectories", "dropped", "steps", "seed",
        "input_hash", "measure_version", "unconverged", "sym_floor", "kappa", "kappa_ci", "canonical",
        "canonical_why", "r2_state", "r2_latent", "r2_local", "symplectic_r2", "form"}
sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests/support"))
from program import Program  # noqa: E402

plumb = Program("measure")
check, run, answer, complaint = plumb.check, plumb.run, plumb.answer, plumb.complaint


def numbers(record, *but):
    return {k: v for k, v in record.items() if k not in ("seconds", *but)}


def springs(n, trajectories, steps, rng):
    radius = rng.uniform(0.1, 1, (trajectories, 1, n))
    angle = rng.uniform(0, 2 * np.pi, (trajectories, 1, n)) + \
        0.1 * np.arange(steps)[None, :, None] * (1 + 0.618 * np.arange(n))
    return np.concatenate([radius * np.cos(angle), -radius * np.sin(angle)], 2)


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    rng = np.random.default_rng(1)
    truth = springs(1, 12, 40, rng).astype(np.float32).astype(float)
    q, p = truth[..., :1], truth[..., 1:]
    turned = np.concatenate([0.8 * q + 0.6 * p, -0.6 * q + 0.8 * p], 2)
    noisy = (turned + rng.normal(0, 0.2, turned.shape)).astype(np.float32).astype(float)
    np.savez(folder / "right.npz", latent=turned, truth=truth)
    np.savez_compressed(folder / "noisy.npz", latent=noisy, truth=truth)
    pad = rng.normal(0, 1, (12, 40, 3))
    np.savez(folder / "crossed.npz", truth=truth,
             latent=np.concatenate([q, pad[..., :1], pad[..., 1:2], p], 2))

    # For people: the verdict and its reason; for programs: one line with all the keys.
    table = run(folder / "right.npz")
    check("SyMetric 1: " in table.stdout and "passes as canonical" in table.stdout
          and "12 trajectories of 40 steps" in table.stdout, f"the table {table.stdout}")
    check(table.stderr == "", f"a good run says {table.stderr!r}")
    right = answer(folder / "right.npz")
    check(KEYS <= right.keys(), f"keys {KEYS - right.keys()}")
    check(right["symetric"] == 1 and right["r2"] > 0.9999 and right["sym"] < 1e-6, "the right latents")
    check(right["method"] == "pr" and right["mode"] == "converged" and right["degenerate"] is False,
          "method, mode")
    check(right["n"] == 1 and right["m"] == 1 and right["order"] == 1 and right["seed"] == 1
          and right["latents_used"] == [0, 1] and len(right["sym_per_trajectory"]) == 12, "n, m, ...")
    check(right["symetric_ci"] == [1, 1] and len(right["input_hash"]) == 32, "symetric_ci, input_hash")

    crossed = answer(folder / "crossed.npz")
    check(crossed["symetric"] == 0 and crossed["degenerate"] is True and crossed["r2"] > 0.999,
          "p in the wrong pair")
    check("degenerate" in run(folder / "crossed.npz").stdout, "the table says degenerate")
    # plumb's own: right is right, wrong is wrong, and what is not determined is null, with the reason.
    check(right["canonical"] == 1 and right["kappa"] > 0.999 and right["kappa_ci"][0] > 0.99
          and right["r2_state"] > 0.99 and right["symplectic_r2"] is None, "canonical, right")
    check(crossed["canonical"] == 0 and crossed["kappa"] < 0.1, "canonical, p in the wrong pair")
    check("canonical 1: " in table.stdout and "kappa" in table.stdout, "the table has kappa")
    check(right["sym_floor"] < 1e-6, "sym_floor of springs")
    still = np.concatenate([q, -q, p, -p], 2)
    np.savez(folder / "still.npz", latent=still, truth=still)
    redundant = answer(folder / "still.npz")
    check(redundant["sym_floor"] > 0.05 and redundant["symetric"] == 0, "a centre at rest has a floor")
    check(redundant["canonical"] == 1 and redundant["form"]["n"] == 1 and "2 dimensions" in redundant["form"]["reduced"],
          "and is reduced")
    quick = answer(folder / "right.npz", "--published")
    check(quick["kappa"] is None and quick["canonical"] is None and "published" in quick["canonical_why"]
          and set(quick) == set(right), "--published")
    np.savez(folder / "few.npz", latent=turned[:3], truth=truth[:3])
    few = answer(folder / "few.npz")
    check(few["kappa"] is None and "at least 4" in few["canonical_why"] and few["r2"] > 0.9, "three trajectories")
    run(folder / "right.npz", "--require", "canonical,kappa=0.99")
    run(folder / "crossed.npz", "--require", "canonical", code=3)
    run(folder / "few.npz", "--require", "canonical", code=3)
    complaint("wanted positions counted from 0", folder / "right.npz", "--angles", "0;1", code=2)
    check(answer(folder / "right.npz", "--angles", "none")["canonical"] == 1, "--angles none")
    check(answer(folder / "right.npz", "--estimator", "polynomial")["canonical"] == 1, "--estimator")

    published = answer(folder / "crossed.npz", "--mode", "reference")
    check(published["symetric"] == 1 and published["degenerate"] is True
          and published["mode"] == "reference" and published["fits"] == 2
          and len(published["batches"]) == 2, "p in the wrong pair, as published")
    left = run(folder / "crossed.npz", "--mode", "reference")
    check("10 of 12 trajectories are measured, 5 a batch" in left.stderr, "what is left out is said")
    check("up to 1" in left.stdout and "all the same" in left.stdout, "the table of several fits")

    noise = answer(folder / "noisy.npz")
    check(noise["symetric"] == 0 and noise["order"] == 5 and "R2" in noise["why"], "noisy latents")
    check(noise["r2_ci"][0] < noise["r2"] < noise["r2_ci"][1], "r2_ci")
    check(answer(folder / "noisy.npz", "--resamples", 0)["r2_ci"] is None, "--resamples 0")
    check(set(noise) == set(right), "keys come and go")

    # The same arrays by every door, of every type and order, on any number of threads.
    np.save(folder / "noisy.npy", noisy)
    np.save(folder / "turned.npy", np.asfortranarray(noisy))
    np.save(folder / "narrow.npy", noisy.astype(np.float32))
    np.savez(folder / "states.npz", state=truth, other=truth[:3])
    np.savez(folder / "narrow.npz", latent=np.asfortranarray(noisy.astype(np.float32)),
             truth=truth.astype(np.float32))
    state = f"{folder / 'states.npz'}:state"
    for latent in ("noisy.npy", "turned.npy", "noisy.npz:latent"):
        got = answer("--latent", folder / latent, "--truth", state)
        check(numbers(got) == numbers(noise), f"{latent} and states.npz:state")
    for arguments in (("--latent", folder / "narrow.npy", "--truth", state), (folder / "narrow.npz",)):
        got = answer(*arguments)
        check(numbers(got, "input_hash") == numbers(noise, "input_hash"), f"float32: {arguments}")
    for mode in ("converged", "reference"):
        one = answer(folder / "noisy.npz", "--mode", mode, "--threads", 1)
        check(numbers(one) == numbers(answer(folder / "noisy.npz", "--mode", mode, "--threads", 2)),
              f"threads change numbers in mode {mode}")
    if h5py:
        with h5py.File(folder / "run.h5", "w") as f:
            f["model/z"] = noisy
            f["state"] = truth
        h5 = folder / "run.h5"
        got = subprocess.run([PLUMB, "measure", "--latent", f"{h5}:/model/z", "--truth", f"{h5}:/state",
                              "--json"], capture_output=True, text=True)
        if "without HDF5" in got.stderr or "HDF5 is not" in got.stderr:
            print("this build has no HDF5: not tried")
        else:
            check(got.returncode == 0 and numbers(json.loads(got.stdout)) == numbers(noise),
                  f"HDF5: {got.stderr}")
    else:
        print("h5py is not here: HDF5 was not tried")

    # The mask, from a file of its own or with the rest.
    variance = np.tile([0.01, 1.0, 1.0, 0.01, 1.0, 1.0], (12, 1))
    wide = np.concatenate([turned[..., :1], pad[..., :2], turned[..., 1:], pad[..., 1:]], 2)
    np.savez(folder / "masked.npz", latent=wide, truth=truth, variance=variance)
    np.savez(folder / "wide.npz", latent=wide, truth=truth)
    np.save(folder / "variance.npy", variance)
    masked = answer(folder / "masked.npz")
    check(masked["latents_used"] == [0, 3] and masked["m"] == 3, "the mask")
    check(numbers(answer(folder / "wide.npz", "--variance", folder / "variance.npy"))
          == numbers(masked), "--variance")
    check(answer(folder / "masked.npz", "--mask", "none")["latents_used"] == list(range(6)), "no mask")

    # Points given, points all.
    np.save(folder / "points.npy", np.tile(np.arange(40), (12, 1)))
    every = answer(folder / "noisy.npz", "--points", 0)
    check(numbers(answer(folder / "noisy.npz", "--points-at", folder / "points.npy")) == numbers(every),
          "--points-at")
    check(every["sym"] != noise["sym"] and every["r2"] == noise["r2"], "--points 0")

    answer(folder / "noisy.npz", "--items", folder / "items.jsonl")
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    check([i["trajectory"] for i in items] == list(range(12)), "--items: one line a trajectory")
    check([i["sym"] for i in items] == noise["sym_per_trajectory"], "--items: sym")
    check(set(items[0]) == {"trajectory", "batch", "r2", "r2_heldout", "sym"}, "--items: keys")

    # Bars.
    run(folder / "right.npz", "--require", "symetric")
    run(folder / "right.npz", "--require", "symetric,r2=0.99,r2_heldout,sym")
    bad = run(folder / "noisy.npz", "--require", "symetric", code=3)
    check("symetric is 0, required at least 1" in bad.stderr and "SyMetric 0" in bad.stdout,
          "--require says what is missing, and prints all the same")
    run(folder / "noisy.npz", "--require", "r2=0.5")
    run(folder / "crossed.npz", "--require", "sym=1e-40", code=3)
    complaint("not \"nonsense\"", folder / "right.npz", "--require", "nonsense", code=2)
    complaint("the bar is not a number", folder / "right.npz", "--require", "r2=good", code=2)

    # By a network: it wants many points, says so, and can be told to go on.
    mlp = ("--method", "mlp", "--few-points", "--updates", 600)
    complaint("right.npz: 400 points to train a network of 62 parameters on; wanted 1000 a parameter, that is 1600 trajectories "
              "of 40 steps, not 12 (--few-points goes on all the same)", folder / "right.npz", "--method", "mlp")
    net = answer(folder / "right.npz", *mlp)
    check(KEYS <= net.keys(), f"keys of mlp {KEYS - net.keys()}")
    check(net["method"] == "mlp" and net["mode"] == "own" and net["order"] is None and net["alpha"] is None, f"mlp {net}")
    check(net["symetric"] == 1 and net["r2"] > 0.95 and net["parameters"] == 62 and net["width"] == 4
          and net["train_points"] == 400 and net["train_trajectories"] == 10 and net["updates"] == 600
          and len(net["sym_per_trajectory"]) == net["trajectories"] == 2, f"mlp {net}")
    check(numbers(answer(folder / "right.npz", *mlp, "--threads", 1)) == numbers(net), "threads change a network")
    check(answer(folder / "right.npz", *mlp, "--seed", 2)["sym"] != net["sym"], "--seed and the network")
    both = answer(folder / "right.npz", *mlp, "--method", "both")
    # kappa stands once, beside the polynomials.
    alone = {key: value for key, value in numbers(net).items() if key in both["mlp"]}
    check(numbers(both["mlp"]) == alone and "sym" in alone and numbers(both, "mlp") == numbers(right), "both are not the two")
    check("mlp" not in right and "mlp" not in net, "mlp unasked for")
    table = run(folder / "right.npz", *mlp, "--method", "both")
    check(table.stdout.count("SyMetric 1: ") == 2 and "62 parameters, best of 2" in table.stdout
          and "10 other trajectories, 400 points" in table.stdout, f"the table of both {table.stdout}")
    run(folder / "right.npz", *mlp, "--method", "both", "--require", "symetric")
    lazy = run(folder / "right.npz", *mlp, "--method", "both", "--updates", 1, "--require", "symetric", code=3)
    check("symetric is 0, required at least 1" in lazy.stderr, "a bar holds for both methods")
    run(folder / "right.npz", "--method", "pr", "--updates", 1, "--require", "symetric")
    check(answer(folder / "right.npz", *mlp, "--method", "both", "--mode", "reference")["mlp"]["mode"] == "own", "both in reference mode")
    complaint("no code of the network was published", folder / "right.npz", *mlp, "--mode", "reference")
    complaint("network_layers is 1", folder / "right.npz", *mlp, "--layers", 1)
    complaint("did you mean mlp", folder / "right.npz", "--method", "mpl", code=2)
    complaint("did you mean --few-points", folder / "right.npz", "--few-pionts", code=2)

    # What is not finite.
    broken = turned.copy()
    broken[3, 7, 1] = np.nan
    broken[5, 0, 0] = np.inf
    np.savez(folder / "broken.npz", latent=broken, truth=truth)
    complaint("latent has 2 values that are not finite, the first a NaN at (3, 7, 1); "
              "--drop-nonfinite", folder / "broken.npz")
    complaint("latent has 2 values that are not finite", folder / "broken.npz", *mlp)
    dropped = answer(folder / "broken.npz", "--drop-nonfinite")
    check(dropped["dropped"] == 2 and dropped["trajectories"] == 10 and dropped["symetric"] == 1,
          "--drop-nonfinite")
    said = run(folder / "broken.npz", "--drop-nonfinite")
    check("2 trajectories not finite throughout" in said.stdout, f"dropped is said: {said.stdout}")
    check("10 trajectories of 40 steps" in said.stdout, "how many are left")
    broken[5, 0, 0] = 0
    np.savez(folder / "broken.npz", latent=broken, truth=truth)
    check(answer(folder / "broken.npz", "--mode", "reference")["dropped"] == 0, "NaN as published")
    lost = truth.copy()
    lost[0, 0, 0] = np.nan
    np.savez(folder / "lost.npz", latent=turned, truth=lost)
    complaint("truth has 1 value that is not finite", folder / "lost.npz", "--mode", "reference")

    # kappa looks at the canonical coordinates beside a truth that is no phase space; a number of that name is none.
    bent = np.concatenate([q, p + q**3, q**2, p], 2)
    np.savez(folder / "bent.npz", latent=turned, truth=bent, canonical=1)
    np.savez(folder / "beside.npz", latent=turned, truth=bent, canonical=truth)
    np.save(folder / "coordinates.npy", truth)
    beside, given = answer(folder / "beside.npz"), answer(folder / "bent.npz", "--canonical", folder / "coordinates.npy")
    check(beside["canonical"] == 1 and answer(folder / "bent.npz")["canonical"] != 1, f"canonical beside truth: {beside}")
    check(numbers(beside) == numbers(given), "--canonical is not the array beside truth")
    check("2 canonical coordinates instead of the truth" in run(folder / "beside.npz").stdout, "which truth kappa sees")

    np.save(folder / "fewer.npy", truth[:5])
    complaint("canonical is (5, 40, 2) for a truth (12, 40, 4)", folder / "bent.npz", "--canonical", folder / "fewer.npy")
    complaint("nowhere.npy", folder / "bent.npz", "--canonical", folder / "nowhere.npy")

    # One line each.
    np.savez(folder / "odd.npz", latent=wide[..., :5], truth=truth)
    complaint("odd.npz: latent is (12, 40, 5); phase space needs an even last axis",
              folder / "odd.npz")
    np.savez(folder / "short.npz", latent=turned[:, :30], truth=truth)
    complaint("the latents end before the truth", folder / "short.npz")
    np.savez(folder / "one.npz", latent=turned[:1], truth=truth[:1])
    complaint("at least two trajectories", folder / "one.npz")
    np.savez(folder / "still.npz", latent=turned, truth=np.ones_like(truth))
    complaint("truth is constant", folder / "still.npz")
    np.savez(folder / "brief.npz", latent=turned[:, :5], truth=truth[:, :5])
    complaint("10 points a trajectory are asked for and there are 5 steps; --points 5",
              folder / "brief.npz")
    complaint("\"latent\"", folder / "states.npz")
    complaint("state, other", folder / "states.npz")
    complaint("other", "--latent", folder / "noisy.npy", "--truth", f"{folder / 'states.npz'}:staet")
    complaint("not-there.npz: No such file", folder / "not-there.npz")
    complaint("max_order is 9", folder / "right.npz", "--max-order", 9)
    complaint("batch is 1", folder / "right.npz", "--batch", 1)
    complaint("--truth is missing", "--latent", folder / "noisy.npy", code=2)
    complaint("--latent is missing", "--truth", folder / "noisy.npy", code=2)
    complaint("not both", folder / "right.npz", "--truth", folder / "noisy.npy", code=2)
    complaint("takes one file, not 2", folder / "right.npz", folder / "noisy.npz", code=2)
    complaint("wants F.npz", code=2)
    complaint("did you mean reference", folder / "right.npz", "--mode", "refrence", code=2)
    complaint("did you mean --drop-nonfinite", folder / "right.npz", "--drop-nonfinate", code=2)
    complaint("a whole number", folder / "right.npz", "--points", "many", code=2)
    complaint("items", folder / "right.npz", "--items", folder / "no" / "items.jsonl")

sys.exit(plumb.failures > 0)
