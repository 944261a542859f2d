# SPDX-License-Identifier: MIT
"""Runs the programs in turn on one core and compares; bench/predrnn starts it."""
import argparse
import sys

from results import ROOT, keep, machine, take_turns, times_the_better, write_table

# what, side of a frame, patch, layers, hidden, kernel, batch
ROWS = [("train", 32, 2, 4, 24, 3, 2), ("train", 32, 2, 4, 24, 3, 8), ("train", 64, 4, 4, 128, 3, 2),
        ("watch", 32, 2, 4, 24, 3, 16), ("watch", 64, 4, 4, 128, 3, 8)]
WORDS = {"train": "training step", "watch": "prediction"}
TARGET = 3.0
PEERS = {"torch": "PyTorch", "torch-compiled": "compiled", "jax": "JAX"}


def number(programs, name):
    return f"{programs[name]['cpu']:.3g}" if name in programs else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers", default=",".join(PEERS), help="which of " + ",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch = [sys.executable, str(ROOT / "bench/predrnn_peer.py")]
    commands = {"plumb": [str(ROOT / "build/release/bench/bench-predrnn")], "torch": torch, "torch-compiled": torch + ["--compile"],
                "jax": [sys.executable, str(ROOT / "bench/predrnn_jax.py")]}
    commands = {name: command for name, command in commands.items() if name == "plumb" or name in args.peers.split(",")}
    lines = ["| what | frames | patch | layers x hidden | batch | plumb s | " + " | ".join(f"{text} s" for text in PEERS.values())
             + " | times the better |", "|" + "---|" * 10]
    print("what,image,patch,layers,hidden,kernel,batch," + ",".join(f"{name}_cpu" for name in commands) + ",ratio")
    rows = {}
    for row in [r for r in ROWS if r[1] == 32] if args.quick else ROWS:
        rows[row] = r = take_turns(commands, args.repeats, *row, args.rounds)
        what, image, patch, layers, hidden, _, batch = row
        ratio = times_the_better(r)[0]
        print(",".join(map(str, row)) + "," + ",".join(number(r, name) for name in commands) + f",{ratio:.2f}", flush=True)
        lines.append(f"| {WORDS[what]} | {image} x {image} | {patch} | {layers} x {hidden} | {batch} | {number(r, 'plumb')} | "
                     + " | ".join(number(r, name) for name in PEERS) + f" | {ratio:.2f} |")
    versions = " and ".join(sorted({r[p]["version"] for r in rows.values() for p in PEERS if p in r}))
    least = min(times_the_better(r)[0] for r in rows.values())
    lines = [f"{machine()}; {versions}.", ""] + lines + ["", f"Least: {least:.2f} times the better peer; the target is {TARGET:g}."]
    print("\n".join(lines), file=sys.stderr)
    if not args.quick:
        keep("predrnn", {f"{w}, {i} x {i}, {n} x {h}, batch {b}": {k: (v["cpu"], v.get("version", "")) for k, v in r.items()}
                         for (w, i, _, n, h, _, b), r in rows.items()})
        write_table("predrnn", lines)


if __name__ == "__main__":
    main()
