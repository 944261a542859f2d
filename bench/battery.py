# SPDX-License-Identifier: MIT
"""Judges many planted models of 26 systems by kappa, and prints how often it is right.

    bench/battery --seed 1 --cases 1200 --out battery.jsonl     judge; continues where it stopped
    bench/battery --report battery.jsonl ...                    tables of one or more files
    bench/battery --seed 1 --only 17 --save case.npz            write one case
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import battery_cases as cases

KEEP = ["kappa", "kappa_ci", "kappa_constants", "kappa_constants_ci", "canonical", "canonical_why", "r2_state", "r2_latent",
        "kappa_score", "verdict", "flow_verdict", "seconds"]


def save(case, path):
    arrays = {"latent": case.latent.astype(np.float32), "truth": case.truth.astype(np.float32)}
    np.savez(path, **arrays, **case.constants)


def judge(plumb, case, folder):
    path = Path(folder) / "case.npz"
    save(case, path)
    extra = ["--constants", ",".join(case.constants)] if case.constants else []
    done = subprocess.run([plumb, "measure", path, "--json", "--threads", "1", "--max-order", "1", *extra],
                          capture_output=True, text=True)
    if done.returncode: return {"failed": done.stderr.strip()}
    record = json.loads(done.stdout)
    return {key: record.get(key) for key in KEEP}


def run(options):
    done = set()
    if os.path.exists(options.out):
        done = {json.loads(line)["number"] for line in open(options.out)}
    with tempfile.TemporaryDirectory() as folder, open(options.out, "a") as out:
        for number in range(options.first, options.first + options.cases):
            if number in done: continue
            case = cases.make(options.seed, number)
            if case is None: continue
            line = {"number": number, "seed": options.seed, "name": case.name, "kind": case.kind, "system": case.system,
                    "count": case.count, "n": case.truth.shape[2] // 2, "expected": case.expected,
                    "kappa_true": None if np.isnan(case.kappa) else case.kappa, "undetermined": case.undetermined}
            line |= judge(options.plumb, case, folder)
            out.write(json.dumps(line) + "\n")
            out.flush()


def classify(r):
    """right, wrong, null, or (of what the data do not determine) answered, and open where it is not counted."""
    said = r.get("canonical")
    if "failed" in r: return "failed"
    if r["undetermined"]: return "open" if said is None else "answered"
    if r["expected"] is None: return "near bar"
    # No map fits all trajectories of this kind: it must not be accepted, and null is as good as wrong.
    if said is None: return "right" if r["kind"] == "partly-right" else "null"
    return "right" if said == r["expected"] else "rejected" if r["expected"] else "accepted"


def is_covered(r):
    """The interval of the kappa that decides, and whether kappa is near; None where there is no true value."""
    value = r.get("kappa_constants")
    ci = r.get("kappa_constants_ci") if value is not None else r.get("kappa_ci")
    value = r.get("kappa") if value is None else value
    if r["kappa_true"] is None or value is None or not ci: return None
    return ci[0] - 1e-3 <= r["kappa_true"] <= ci[1] + 1e-3, abs(value - r["kappa_true"]) <= 0.05


def row(name, some):
    counts = {}
    for r in some: counts[classify(r)] = counts.get(classify(r), 0) + 1
    answer = sum(counts.get(k, 0) for k in ("right", "rejected", "accepted", "null"))
    pairs = [c for c in map(is_covered, some) if c is not None]
    error = [abs(r["kappa"] - r["kappa_true"]) for r in some if r["kappa_true"] is not None and r.get("kappa") is not None]
    flow = sum(1 for r in some if r["expected"] == 1 and r.get("flow_verdict") == "not learnt")
    covers, near = (np.mean([p[i] for p in pairs]) if pairs else np.nan for i in (0, 1))
    return (f"| {name} | {answer} | {counts.get('rejected', 0)} | {counts.get('accepted', 0)} | {counts.get('null', 0)} | "
            f"{counts.get('answered', 0)} of {counts.get('answered', 0) + counts.get('open', 0)} | {covers:.3f} | {near:.3f} | "
            f"{np.median(error) if error else np.nan:.4f} | {flow} | {counts.get('failed', 0)} |")


def report(paths):
    records = [json.loads(line) for path in paths for line in open(path)]
    head = ("| | with an answer | right rejected | wrong accepted | null | undetermined answered | interval covers | within 0.05 | "
            "median error | flow wrong | failed |")
    print(head + "\n" + "|---" * 11 + "|")
    print(row("all", records))
    print(row("without ripples", [r for r in records if r["kind"] != "ripple"]))
    for count in cases.COUNTS: print(row(f"{count} trajectories", [r for r in records if r["count"] == count]))
    for n in sorted({r["n"] for r in records}): print(row(f"{n} pairs", [r for r in records if r["n"] == n]))
    for kind in cases.KINDS: print(row(kind, [r for r in records if r["kind"] == kind]))
    print("\nNot right:")
    for r in records:
        what, covered = classify(r), is_covered(r)
        if what not in ("right", "open", "near bar") or (covered and not covered[0]):
            true = "-" if r["kappa_true"] is None else f"{r['kappa_true']:.4f}"
            said = "-" if r.get("kappa") is None else f"{r['kappa']:.4f}"
            ci = r.get("kappa_ci") or [np.nan, np.nan]
            print(f"{what}{'' if not covered or covered[0] else ' (not covered)'}: {r['name']} true {true} kappa {said} "
                  f"[{ci[0]:.3f}, {ci[1]:.3f}] {r.get('canonical_why') or r.get('failed')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=os.environ.get("PLUMB", "build/release/bin/plumb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--out", default="battery.jsonl")
    parser.add_argument("--report", nargs="+", metavar="F.jsonl")
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--save", metavar="F.npz")
    options = parser.parse_args()
    if options.report: report(options.report)
    elif options.only is not None:
        case = cases.make(options.seed, options.only)
        if case is None: sys.exit("this system has too few pairs for the map: no such case")
        save(case, options.save)
        print(case.name, "expected", case.expected, "kappa", case.kappa)
    else: run(options)


if __name__ == "__main__": main()
