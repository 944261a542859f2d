# SPDX-License-Identifier: MIT
"""How long plumb evaluate takes for a video model: 250 tuples of each of the paper's five concepts, of which a fifth are
observations and 1000 are judged, with all scorers. Started by bench/evaluate. Needs nothing but Python. CSV on stdout.
With --other a second program is timed in turn with the first, so that both meet the same load."""
import argparse
import csv
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = ["continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"]
TARGET = 10.0


def turn(plumb, model, threads):
    probes = [word for name in CONCEPTS for word in ("--probes", f"rooms/{name}")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([plumb, "evaluate", model, *probes, "--threads", str(threads), "--no-save", "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    return answer["seconds"], after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, len(answer["surprise"]["tested"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plumb", default=str(ROOT / "build/release/bin/plumb"))
    parser.add_argument("--other", help="another program, for example of an earlier version")
    parser.add_argument("--model", default=str(ROOT / "zoo/predrnn-rooms"))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    opts = parser.parse_args()
    print(f"bench: load {os.getloadavg()[0]:.1f} at the start", file=sys.stderr)
    programs = [opts.plumb] + ([opts.other] if opts.other else [])
    turns = {program: [] for program in programs}
    for _ in range(opts.turns):
        for program in programs:
            turns[program].append(turn(program, opts.model, opts.threads))
    rows = []
    for program, got in turns.items():
        cpu = min(t[1] for t in got)
        rows.append({"program": program, "tuples": got[0][2], "threads": opts.threads, "seconds": round(min(t[0] for t in got), 2),
                     "cpu_seconds": round(cpu, 2), "seconds_if_alone": round(cpu / opts.threads, 2)})
    out = csv.DictWriter(sys.stdout, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
    took = rows[0]["seconds_if_alone"]
    print(f"bench: at most {TARGET:.0f} s: {'met' if took <= TARGET else 'not met'}, {took} s by processor time", file=sys.stderr)


main()
