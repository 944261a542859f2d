# SPDX-License-Identifier: MIT
"""Time and memory of `plumb measure`: the whole command, from start to exit, with reading of the file.

    bench/verdict                   the small sizes, and 10,000 x 200 x 64 of 1 GB, which is written to a temporary file first
    bench/verdict --small           the small sizes alone
    bench/verdict --threads 2
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def springs(rng, trajectories, steps, n=2):
    """n oscillators (trajectories, steps, 2n)."""
    radius, phase = rng.uniform(0.5, 1.5, (trajectories, 1, n)), rng.uniform(0, 2 * np.pi, (trajectories, 1, n))
    angle = phase + 0.1 * np.arange(steps)[None, :, None] * (1 + 0.618 * np.arange(n))
    return np.concatenate([radius * np.cos(angle), -radius * np.sin(angle)], 2)


def sheared(rng, truth, latents):
    """A bent canonical map, padded with pairs that are 0: a right model."""
    n = truth.shape[2] // 2
    q, p = truth[..., :n], truth[..., n:]
    out = np.zeros((*truth.shape[:2], latents))
    out[..., :n], out[..., latents // 2:latents // 2 + n] = q, p + 0.5 * np.tanh(q)
    return out


def features(rng, truth, latents):
    """tanh of random lines: every latent moves, and none is like another."""
    weights = rng.normal(size=(truth.shape[2], latents))
    return np.tanh(truth @ weights + rng.normal(size=latents))


def write(path, make, trajectories, steps, latents):
    rng = np.random.default_rng(1)
    truth = springs(rng, trajectories, steps)
    np.savez(path, latent=make(rng, truth, latents), truth=truth)


ROWS = [("padded", sheared, (100, 60, 32)), ("tanh features", features, (100, 60, 32)),
        ("padded", sheared, (10000, 200, 64)), ("tanh features", features, (10000, 200, 64))]


def run(plumb, path, threads, options):
    """Seconds of wall and CPU time, the largest resident size in bytes, and the record."""
    with tempfile.TemporaryFile("w+") as out:
        started = os.times()
        process = subprocess.Popen([plumb, "measure", path, "--json", "--threads", str(threads), *options], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        wall = os.times().elapsed - started.elapsed
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode: sys.exit(f"bench/verdict: plumb measure {path} failed")
        out.seek(0)
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, json.load(out)


def processor():
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    flags = Path("/proc/cpuinfo").read_text()
    return f"{names[0] if names else 'unknown'}, {'AVX-512' if 'avx512f' in flags else 'AVX2' if 'avx2' in flags else 'no AVX2'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=os.environ.get("PLUMB", "build/release/bin/plumb"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", help="for the file of 1 GB; default: that of temporary files")
    parser.add_argument("options", nargs="*", help="more options of plumb measure, after --")
    args = parser.parse_args()
    print(f"{processor()}; {args.threads} thread{'s' * (args.threads > 1)}, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| latents | trajectories x steps x latents | wall s | CPU s | peak MB | of the input | verdict |\n" + "|---" * 7 + "|")
    for name, make, (trajectories, steps, latents) in ROWS:
        if args.small and trajectories > 100: continue
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            path = Path(folder) / "latents.npz"
            # In a process of its own: Linux counts into a program's peak what its parent held.
            writer = multiprocessing.Process(target=write, args=(path, make, trajectories, steps, latents))
            writer.start()
            writer.join()
            size = path.stat().st_size
            turns = [run(args.plumb, path, args.threads, args.options) for _ in range(args.turns)]
        wall, cpu, peak = (min(turn[i] for turn in turns) for i in range(3))
        print(f"| {name} | {trajectories} x {steps} x {latents} | {wall:.2f} | {cpu:.2f} | {peak / 1e6:.0f} | {peak / size:.2f} | "
              f"{turns[0][3]['verdict']} |", flush=True)


if __name__ == "__main__":
    main()
