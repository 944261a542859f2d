# SPDX-License-Identifier: MIT
"""Runs the programs in turn on one core and compares; bench/train starts it."""
import argparse
import sys

from results import ROOT, keep, machine, run, take_turns, times_the_better, write_table

ROWS = [(64, 2, 0), (64, 8, 4), (32, 2, 0), (32, 16, 4), (16, 2, 0), (16, 16, 4)]
GROWTH = [(64, 1, 4), (64, 8, 4), (64, 32, 4), (64, 2, 10), (64, 2, 30), (64, 2, 0), (64, 32, 0), (32, 8, 4), (16, 8, 4)]
TARGET = 3.0
PEERS = {"torch": "PyTorch", "torch-compiled": "compiled", "jax": "JAX"}


def number(programs, name):
    return f"{programs[name]['cpu']:.4f}" if name in programs else "failed"


def table(rows):
    out = ["| channels | batch | frames | plumb s | " + " | ".join(f"{text} s" for text in PEERS.values())
           + " | times the better | GFLOP/s | of the sgemm peak |", "|" + "---|" * 10]
    for (c, b, f), r in rows.items():
        rate = r["plumb"]["gflop"] / r["plumb"]["cpu"]
        peers = " | ".join(number(r, name) for name in PEERS)
        out.append(f"| {c} | {b} | {f or 60} | {number(r, 'plumb')} | {peers} | {times_the_better(r)[0]:.2f} | {rate:.0f} "
                   f"| {rate / r['plumb']['peak']:.2f} |")
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--rows", help="16,16,4:64,2,0")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    plumb = [str(ROOT / "build/release/bench/bench-train")]
    torch = [sys.executable, str(ROOT / "bench/train_torch.py")]
    commands = {"plumb": plumb, "torch": torch, "torch-compiled": torch + ["--compile"],
                "jax": [sys.executable, str(ROOT / "bench/train_jax.py")]}
    wanted = [tuple(map(int, row.split(","))) for row in args.rows.split(":")] if args.rows else ROWS[1::2] if args.quick else ROWS
    rows = {}
    print("channels,batch,frames," + ",".join(f"{name}_cpu" for name in commands) + ",ratio,gflop,peak")
    for row in wanted:
        rows[row] = r = take_turns(commands, args.repeats, *row, args.seconds)
        print(f"{row[0]},{row[1]},{row[2] or 60}," + ",".join(number(r, name) for name in commands)
              + f",{times_the_better(r)[0]:.3f},{r['plumb']['gflop']:.3f},{r['plumb']['peak']:.1f}", flush=True)
    least = min(times_the_better(r)[0] for r in rows.values())
    versions = " and ".join(sorted({r[p]["version"] for r in rows.values() for p in PEERS if p in r}))
    lines = [f"{machine()}; {versions}.", ""] + table(rows)
    lines += ["", f"Least: {least:.2f} times the better peer; the target is {TARGET:g}."]
    whole = not (args.no_growth or args.quick or args.rows)
    if whole:
        lines += ["", "| channels | batch | frames decoded | s a step | block MiB | peak resident MiB |", "|---|---|---|---|---|---|"]
        for row in GROWTH:
            r = run(plumb, *row, args.seconds)
            lines.append(f"| {row[0]} | {row[1]} | {row[2] or 60} | {r['cpu']:.4f} | {r['block_mib']:.0f} | {r['rss_mib']:.0f} |")
    print("\n".join(lines), file=sys.stderr)
    if not args.quick:
        keep("train", {f"{c} channels, batch {b}, {f or 60} frames": {n: (v["cpu"], v.get("version", "")) for n, v in r.items()}
                       for (c, b, f), r in rows.items()})
    if whole:
        write_table("train", lines)


if __name__ == "__main__":
    main()
