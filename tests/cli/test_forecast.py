# SPDX-License-Identifier: MIT
"""plumb forecast as a user runs it: numbers against NumPy's, files of every kind, one line for every
mistake."""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests/support"))
from program import Program  # noqa: E402

plumb = Program("forecast")
check, run, answer, complaint = plumb.check, plumb.run, plumb.answer, plumb.complaint


def valid(errors, threshold=0.025):
    above = errors > threshold
    return np.where(above.any(1), above.argmax(1), errors.shape[1]).astype(float)


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 256, (5, 130, 4, 6, 3)).astype(np.uint8)
    x = truth / 255.0
    growth = np.linspace(0, 0.25, 130)[None, :, None, None, None]
    prediction = (x + growth * rng.normal(0, 0.5, x.shape)).astype(np.float32)
    backward = (x + growth[:, ::-1] * rng.normal(0, 0.5, x.shape)).astype(np.float32)
    np.savez(folder / "all.npz", truth=truth, prediction=prediction, prediction_backward=backward)
    np.savez_compressed(folder / "short.npz", truth=truth, prediction=prediction, backward=backward)
    np.savez(folder / "rollout.npz", latent=x[:, :, 0, 0, :2], truth=x[:, :, 0, 0, :2], frames=truth,
             prediction=prediction)
    np.save(folder / "truth.npy", truth)

    def errors(y):
        return ((x - y.astype(float)) ** 2).sum((2, 3, 4)) / (x ** 2).sum((2, 3, 4))

    got = answer(folder / "all.npz")
    e, b = errors(prediction), errors(backward)
    check(abs(got["rec_mse"] - e[:, :60].mean() / 72) < 1e-15, "rec_mse")
    check(abs(got["ext_mse"] - e[:, 60:120].mean() / 72) < 1e-15, "ext_mse")
    check(abs(got["ext_mse_relative"] - e[:, 60:120].mean()) < 1e-13, "ext_mse_relative")
    check(got["ext_mse_ci"][0] < got["ext_mse"] < got["ext_mse_ci"][1], "ext_mse_ci")
    ahead, back = valid(e[:, 60:]), valid(b[:, :70][:, ::-1])
    check(0 < np.median(ahead) < 70 and 0 < np.median(back) < 70, "the test says nothing")
    check(got["forward"]["vpt_per_trajectory"] == ahead.tolist(), "forward vpt_per_trajectory")
    check(got["backward"]["vpt_per_trajectory"] == back.tolist(), "backward vpt_per_trajectory")
    check(got["vpt_per_trajectory"] == ((ahead + back) / 2).tolist(), "vpt_per_trajectory")
    check(got["vpt_forward"] == np.median(ahead), "vpt_forward")
    check(got["vpt"] == (np.median(ahead) + np.median(back)) / 2, "vpt")
    check(got["vpt_backward_published"] == np.median(valid(b[:, :70])), "vpt_backward_published")
    check(got["n"] == 5 and got["seed"] == 1 and got["measure_version"] == 1, "n, seed, version")
    check(len(got["input_hash"]) == 32, "input_hash")

    # In Lyapunov times: states of the logistic map, whose exponent is log 2 a step.
    check(got["lyapunov"] is None and got["vpt_lyapunov"] is None, "no states, no exponent")
    state = np.empty((60, 130, 1))
    state[:, 0, 0] = rng.uniform(0.1, 0.9, 60)
    for t in range(129): state[:, t + 1] = 4 * state[:, t] * (1 - state[:, t])
    np.save(folder / "state.npy", state)
    chaos = answer(folder / "all.npz", "--state", folder / "state.npy")
    check(0.4 < chaos["lyapunov"] < 0.9, f"lyapunov {chaos['lyapunov']}")
    check(abs(chaos["vpt_lyapunov"] - chaos["vpt"] * chaos["lyapunov"]) < 1e-9, "vpt_lyapunov")
    check("in Lyapunov times" in run(folder / "all.npz", "--state", folder / "state.npy").stdout, "the table")
    complaint("16 steps", folder / "all.npz", "--state", folder / "rollout.npz")

    mean = answer(folder / "all.npz", "--average", "mean", "--backward-count", "published")
    check(abs(mean["vpt"] - (ahead.mean() + valid(b[:, :70]).mean()) / 2) < 1e-12, "mean, published")

    def numbers(record):
        return {k: v for k, v in record.items() if k != "seconds"}

    check(numbers(answer(folder / "short.npz")) == numbers(got), "the key backward, deflated")
    check(numbers(answer(folder / "all.npz", "--threads", 1)) ==
          numbers(answer(folder / "all.npz", "--threads", 3)), "threads change numbers")
    apart = answer("--truth", folder / "truth.npy", "--prediction", f"{folder / 'all.npz'}:prediction",
                   "--backward", f"{folder / 'short.npz'}:backward")
    check(numbers(apart) == numbers(got), "files apart")
    rolled = answer(folder / "rollout.npz")
    check(rolled["ext_mse"] == got["ext_mse"] and rolled["backward"] is None, "a rollout's frames")
    check(rolled["vpt"] == rolled["vpt_forward"] and rolled["vpt_backward"] is None, "forward only")
    check(rolled.keys() == got.keys(), "keys come and go")

    short = answer(folder / "all.npz", "--split", 10, "--threshold", 0.01, "--extrapolate", 0)
    check(abs(short["ext_mse_relative"] - e[:, 10:].mean()) < 1e-13, "--extrapolate 0")
    check(short["forward"]["vpt_per_trajectory"] == valid(e[:, 10:], 0.01).tolist(), "--split 10")

    overlap = answer(folder / "all.npz", "--frames", "overlap-by-one")
    check(overlap["forward"]["rec_frames"] == [4, 64] and overlap["forward"]["vpt_frames"] == [64, 130]
          and overlap["backward"]["rec_frames"] == [66, 126]
          and overlap["backward"]["ext_frames"] == [6, 66]
          and overlap["backward"]["vpt_frames"] == [0, 66], "frames of overlap-by-one")
    check(abs(overlap["rec_mse_relative"] - e[:, 4:64].mean()) < 1e-13, "overlap-by-one")

    answer(folder / "all.npz", "--items", folder / "items.jsonl")
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    check(len(items) == 5 and [i["trajectory"] for i in items] == list(range(5)), "--items")
    check(np.allclose([i["forward"]["error"] for i in items], e, rtol=1e-12), "--items error")

    table = run(folder / "all.npz").stdout
    check("MSE Ext" in table and "VPT" in table and "backward" in table, "the table")
    run(folder / "all.npz", "--require", f"vpt={got['vpt']},ext_mse=1")
    bad = run(folder / "all.npz", "--require", f"vpt={got['vpt'] + 1}", code=3)
    check("required at least" in bad.stderr and bad.stdout == table, "--require")
    run(folder / "all.npz", "--require", "ext_mse=0", code=3)
    run(folder / "all.npz", "--require", "beauty", code=2)

    # The same twice must be perfect, and a black frame must be said.
    np.savez(folder / "same.npz", truth=x[:2], prediction=x[:2])
    same = answer(folder / "same.npz", "--require", "vpt,rec_mse=0")
    check(same["rec_mse"] == 0 and same["ext_mse"] == 0 and same["vpt_per_trajectory"] == [70, 70],
          "a perfect prediction")
    dark = x[:2].copy()
    dark[1, 70] = 0
    np.savez(folder / "dark.npz", truth=dark, prediction=x[:2])
    got = answer(folder / "dark.npz", "--require", "vpt_forward=40")
    check(got["ext_mse"] is None and "trajectory 1, frame 70" in got["ext_mse_reason"], "ext_mse_reason")
    check(got["vpt_per_trajectory"] == [70, 10] and got["rec_mse"] == 0, "a black frame and the VPT")
    check("undefined" in run(folder / "dark.npz").stdout, "a black frame in the table")

    # One line each.
    broken = x[:2].copy()
    broken[1, 3, 2, 1, 0] = np.nan
    broken[1, 4, 0, 0, :] = np.inf
    np.savez(folder / "nan.npz", truth=x[:2], prediction=broken)
    complaint("4 values that are not finite, the first a NaN at (1, 3, 2, 1, 0)", folder / "nan.npz")
    np.savez(folder / "shape.npz", truth=x[:2], prediction=x[:2, :, :3])
    complaint("(2, 130, 3, 6, 3)", folder / "shape.npz")
    np.savez(folder / "steps.npz", truth=x[:2], prediction=x[:2, :129])
    complaint("129 frames", folder / "steps.npz")
    np.savez(folder / "few.npz", truth=x[:2, :60], prediction=x[:2, :60])
    complaint("the truth has 60 frames", folder / "few.npz")
    complaint("has no array", "--truth", folder / "same.npz:x", "--prediction", folder / "same.npz")
    complaint("", folder / "not-there.npz")
    complaint("--prediction is missing", "--truth", folder / "truth.npy", code=2)
    complaint("not both", folder / "same.npz", "--truth", folder / "truth.npy", code=2)
    complaint("wants F.npz", code=2)
    complaint("--split is for --frames plain", folder / "same.npz", "--frames", "no-overlap", "--split",
              7, code=2)
    complaint("did you mean", folder / "same.npz", "--treshold", 1, code=2)
    complaint("split is -1", folder / "same.npz", "--split", -1)

sys.exit(plumb.failures > 0)
