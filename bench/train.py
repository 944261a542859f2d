# SPDX-License-Identifier: MIT
"""Runs the three programs in turn on one core and compares; bench/train starts it."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = [(64, 2, 0), (64, 8, 4), (32, 2, 0), (32, 16, 4), (16, 2, 0), (16, 16, 4)]
GROWTH = [(64, 1, 4), (64, 8, 4), (64, 32, 4), (64, 2, 10), (64, 2, 30), (64, 2, 0), (64, 32, 0), (32, 8, 4), (16, 8, 4)]
TARGET = 2.0


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1")
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    # Debian's OpenBLAS does not know recent processors and would run kernels of 2004.
    env["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512f" in flags else "Haswell"
    return env


def run(command, row, seconds):
    core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    done = subprocess.run(core + command + [str(v) for v in row] + [str(seconds)], env=environment(),
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def best(results):
    return min(results, key=lambda r: r["cpu"])


def table(rows, peers):
    out = ["| channels | batch | frames | plumb s | PyTorch s | JAX s | times the better | GFLOP/s | of the sgemm peak |",
           "|---|---|---|---|---|---|---|---|---|"]
    for (c, b, f), r in rows.items():
        rate = r["plumb"]["gflop"] / r["plumb"]["cpu"]
        out.append(f"| {c} | {b} | {f or 60} | {r['plumb']['cpu']:.4f} | {r['torch']['cpu']:.4f} | {r['jax']['cpu']:.4f} "
                   f"| {r['ratio']:.2f} | {rate:.0f} | {rate / r['plumb']['peak']:.2f} |")
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    commands = {"plumb": [str(ROOT / "build/release/bench/bench-train")],
                "torch": ["/usr/bin/python3", str(ROOT / "bench/train_torch.py")],
                "jax": [str(ROOT / "build/bench-jax/bin/python"), str(ROOT / "bench/train_jax.py")]}
    rows = {}
    print("channels,batch,frames,plumb_cpu,torch_cpu,jax_cpu,ratio,gflop,peak")
    for row in ROWS[1::2] if args.quick else ROWS:
        seen = {name: [] for name in commands}
        for _ in range(args.repeats):
            for name, command in commands.items():
                seen[name].append(run(command, row, args.seconds))
        r = {name: best(results) for name, results in seen.items()}
        r["ratio"] = min(r["torch"]["cpu"], r["jax"]["cpu"]) / r["plumb"]["cpu"]
        rows[row] = r
        print(f"{row[0]},{row[1]},{row[2] or 60},{r['plumb']['cpu']:.4f},{r['torch']['cpu']:.4f},{r['jax']['cpu']:.4f},"
              f"{r['ratio']:.3f},{r['plumb']['gflop']:.3f},{r['plumb']['peak']:.1f}", flush=True)
    least = min(r["ratio"] for r in rows.values())
    lines = table(rows, commands)
    lines += ["", f"Least: {least:.2f} times the better peer; the target is {TARGET:g}."]
    if not args.no_growth and not args.quick:
        lines += ["", "| channels | batch | frames decoded | s a step | block MiB | peak resident MiB |", "|---|---|---|---|---|---|"]
        for row in GROWTH:
            r = run(commands["plumb"], row, args.seconds)
            lines.append(f"| {row[0]} | {row[1]} | {row[2] or 60} | {r['cpu']:.4f} | {r['block_mib']:.0f} | {r['rss_mib']:.0f} |")
    print("\n".join(lines), file=sys.stderr)
    if args.quick:
        return
    readme = ROOT / "bench/README.md"
    text = readme.read_text()
    start, end = "<!-- train:begin -->", "<!-- train:end -->"
    if start in text:
        head, rest = text.split(start)
        readme.write_text(head + start + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


main()
