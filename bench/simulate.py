# SPDX-License-Identifier: MIT
"""plumb's worlds against the published generator's method in Python, in one run, on one core. Started by
bench/simulate. The same trajectories come out of both, and that is checked."""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy

import generator
from measure import cpu, geomean, say, show, stop, table

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
STEPS = 256
TARGET, STREAM_TARGET = 100, 10.0
SIMPLE = ("mass-spring", "mass-spring+c", "pendulum", "pendulum+c", "matching-pennies", "rock-paper-scissors")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        stop(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def compile_pace(build):
    run("cmake", "--build", build, "--target", "bench-pace")
    return build / "bench/bench-pace"


def run_world(world, opts, pace, folder):
    file = folder / "x.npz"
    run(opts.build / "bin/plumb", "simulate", world, "--count", opts.items, "--steps", STEPS, "--out", file, "--force",
        "--threads", 1)
    with np.load(file) as z:
        data = {k: z[k] for k in z.files}
    python, narrow, plumb, off, frames_off = [], [], [], 0.0, 0
    for item in range(opts.items):
        p = {k: data[k][item] for k in data if data[k].ndim and k not in ("frames", "world")}
        for times, dtype in ((narrow, np.float32), (python, np.float64)):
            started = time.process_time()
            x, frames = generator.trajectory(world, data["state"][item, 0], p, STEPS, float(data["dt"]), dtype)
            times.append(time.process_time() - started)
        # The double pendulum is chaotic: what is the same at the start is compared.
        until = 100 if world.startswith("double") else STEPS
        size = np.abs(data["state"][item, :until]).max()
        off = max(off, np.abs(x[:until] - data["state"][item, :until]).max() / size)
        frames_off = max(frames_off, (frames[:until] != data["frames"][item, :until]).mean())
        plumb.append(json.loads(run(pace, "make", world, STEPS, opts.seconds)))
    row = {"world": world, "frames": STEPS, "python_ms": 1e3 * min(python), "python_median_ms": 1e3 * statistics.median(python),
           "plumb_ms": 1e3 * min(r["seconds"] for r in plumb),
           "plumb_median_ms": 1e3 * statistics.median(r["median"] for r in plumb),
           "state_off": off, "pixels_off": frames_off}
    row["ratio"] = row["python_ms"] / row["plumb_ms"]
    row["ratio_median"] = row["python_median_ms"] / row["plumb_median_ms"]
    row["python_float32_ms"] = 1e3 * min(narrow)
    row["ratio_float32"] = row["python_float32_ms"] / row["plumb_ms"]
    return row


def run_stream(worlds, opts, pace, cores):
    rows = []
    for world in worlds:
        os.sched_setaffinity(0, cores)
        got = [json.loads(run(pace, "stream", world, len(cores), opts.batches)) for _ in range(opts.repeats)]
        best = min(got, key=lambda r: r["ms"])
        rows.append({"world": world, "threads": len(cores), "batch_ms": best["ms"],
                     "batch_median_ms": statistics.median(r["ms"] for r in got)})
        say(f"bench: stream of {world}: {best['ms']:.3g} ms a batch")
    return rows


def report(line, rows, streams, met):
    out = [line, "", f"One trajectory of {STEPS} frames of 32 x 32 x 3, milliseconds of one core: the fastest (the "
           "median).", "",
           table(["world", "Python", "plumb", "times faster", "Python drawing in float32", "times faster", "states off",
                  "bytes off"],
                 [[r["world"], f"{show(r['python_ms'])} ({show(r['python_median_ms'])})",
                   f"{show(r['plumb_ms'])} ({show(r['plumb_median_ms'])})",
                   f"{show(r['ratio'])} ({show(r['ratio_median'])})", show(r["python_float32_ms"]),
                   show(r["ratio_float32"]), f"{r['state_off']:.0e}", f"{100 * r['pixels_off']:.2g} %"] for r in rows]), "",
           f"A batch of the stream, 32 windows of 64 frames, on {streams[0]['threads']} cores, milliseconds: the best "
           "of the repeats (the median).", "",
           table(["world", "batch"], [[r["world"], f"{show(r['batch_ms'])} ({show(r['batch_median_ms'])})"]
                                      for r in streams]), "",
           table(["target", "reached", "met"], [[a, b, "yes" if c else "**no**"] for a, b, c in met]), ""]
    return "\n".join(out)


def write(text, model):
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", model.lower())).strip("-")
    file = BENCH / "results" / f"{slug}-simulate.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# plumb's worlds against the published method: {model}\n\n{text}")
    readme = BENCH / "README.md"
    begin, end = "<!-- simulate:begin -->", "<!-- simulate:end -->"
    head, _, rest = readme.read_text().partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        stop(f"{readme} has lost its markers {begin} and {end}")
    readme.write_text(f"{head}{begin}\n{text}{end}{tail}")
    say(f"bench: wrote {file.relative_to(ROOT)} and the table in bench/README.md")


def main():
    args = argparse.ArgumentParser(prog="bench/simulate", description="plumb's worlds against the published "
                                   "generator's method in Python, in one run, on one core. CSV on stdout.")
    args.add_argument("--quick", action="store_true", help="fewer items and repeats; writes no files")
    args.add_argument("--worlds", metavar="A,B", help="only these; writes no files")
    args.add_argument("--build", type=Path, default=ROOT / "build/release", help="a built tree (build/release)")
    args.add_argument("--core", type=int, help="the core to run on (the last one allowed)")
    opts = args.parse_args()
    opts.items, opts.seconds, opts.batches, opts.repeats = (2, 0.3, 50, 1) if opts.quick else (5, 1.0, 200, 5)
    opts.build = opts.build.resolve()
    if not os.access(opts.build / "bin/plumb", os.X_OK):
        stop(f"{opts.build}/bin/plumb: no such program; build it (cmake --preset release) or give --build")
    allowed = sorted(os.sched_getaffinity(0))
    core = max(allowed) if opts.core is None else opts.core
    worlds = opts.worlds.split(",") if opts.worlds else generator.WORLDS
    doctor = json.loads(run(opts.build / "bin/plumb", "doctor", "--json"))
    if doctor["build_type"] != "Release":
        say(f"bench: WARNING: this plumb is a {doctor['build_type']} build; its times say little")
    model, level = cpu()
    line = (f"{model}, {level}. plumb {doctor['version']}, {doctor['build_type']} by {doctor['compiler']}. Python "
            f"{sys.version.split()[0]}, SciPy {scipy.__version__}, NumPy {np.__version__}.")
    say(f"bench: {line}")
    say(f"bench: load {os.getloadavg()[0]:.2f}, core {core}")
    rows, bad = [], []
    with tempfile.TemporaryDirectory() as folder:
        pace = compile_pace(opts.build)
        os.sched_setaffinity(0, {core})
        for world in worlds:
            row = run_world(world, opts, pace, Path(folder))
            rows.append(row)
            say(f"bench: {world}: Python {show(row['python_ms'])} ms, plumb {show(row['plumb_ms'])} ms, "
                f"{show(row['ratio'])}x, {show(row['ratio_float32'])}x in float32; states off by {row['state_off']:.0e}")
            if not (row["state_off"] < 1e-4 and row["pixels_off"] < 1e-3):
                bad.append(f"{world}: states differ by {row['state_off']:.1e}, {row['pixels_off']:.1e} of the bytes")
        streams = run_stream([w for w in worlds if w in SIMPLE] or worlds[:1], opts, pace, allowed[-2:])
    for block in (rows, streams):
        out = csv.DictWriter(sys.stdout, block[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(block)
        print()
    slowest, worst = min(rows, key=lambda r: r["ratio"]), max(streams, key=lambda r: r["batch_ms"])
    met = [(f"at least {TARGET}x on every world", f"{show(slowest['ratio'])}x on {slowest['world']}",
            slowest["ratio"] >= TARGET),
           (f"a batch of a simple world in under {STREAM_TARGET:g} ms",
            f"{show(worst['batch_ms'])} ms on {worst['world']}", worst["batch_ms"] < STREAM_TARGET)]
    for what, got, yes in met:
        say(f"bench: {'met   ' if yes else 'MISSED'} {what}: {got}")
    say(f"bench: geometric mean {show(geomean([r['ratio'] for r in rows]))}x")
    if not (opts.quick or opts.worlds):
        write(report(line, rows, streams, met), model)
    for text in bad:
        say(f"bench: DISAGREE {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
