# SPDX-License-Identifier: MIT
"""How many clips a second plumb simulate makes of each room, into a file. Started by bench/rooms. Needs nothing but
Python. CSV on stdout: clips a second as the clock has it, and what the processor time allows on that many cores."""
import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["freeform", "continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"]
TARGET = 200


def turn(plumb, room, count, threads, file):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([plumb, "simulate", f"rooms/{room}", "--count", str(count), "--threads", str(threads), "--out", file,
                           "--force", "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return json.loads(done.stdout)["seconds"], cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plumb", default=str(ROOT / "build/release/bin/plumb"))
    parser.add_argument("--clips", type=int, default=1000, help="a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    opts = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for room in opts.rooms.split(","):
            clips = 1 if room == "freeform" else 4
            items = max(1, opts.clips // clips)
            turns = [turn(opts.plumb, room, items, opts.threads, os.path.join(folder, "x.npz")) for _ in range(opts.turns)]
            seconds, cpu = min(t[0] for t in turns), min(t[1] for t in turns)
            rows.append({"room": f"rooms/{room}", "threads": opts.threads, "clips": items * clips,
                         "clips_per_second": round(items * clips / seconds, 1),
                         "cpu_ms_per_clip": round(1e3 * cpu / (items * clips), 3),
                         "clips_per_second_if_alone": round(opts.threads * items * clips / cpu, 1)})
            print(f"bench: rooms/{room}: {rows[-1]['clips_per_second']} clips/s", file=sys.stderr)
    out = csv.DictWriter(sys.stdout, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
    slowest = min(rows, key=lambda r: r["clips_per_second"])
    print(f"bench: at least {TARGET} clips/s: {'met' if slowest['clips_per_second'] >= TARGET else 'not met'}, "
          f"{slowest['clips_per_second']} in {slowest['room']}", file=sys.stderr)


main()
