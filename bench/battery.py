# SPDX-License-Identifier: MIT
"""Judges many planted models of 26 systems by kappa, and prints how often it is right.

    bench/battery --seed 1 --cases 1200 --out battery.jsonl     judge; continues where it stopped
    bench/battery --report battery.jsonl ...                    tables of one or more files
    bench/battery --report battery.jsonl --figure battery.svg   and a figure of verdicts and errors by number of trajectories
    bench/battery --nested --seed 1 --cases 80 --out nested.jsonl   each case with 1000 trajectories, and with the first of them
    bench/battery --seed 1 --only 17 --save case.npz            write one case
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
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


def first_trajectories(case, count):
    """The same case with fewer trajectories."""
    constants = {name: value[:count] for name, value in case.constants.items()}
    return replace(case, count=count, latent=case.latent[:count], truth=case.truth[:count], constants=constants)


def variants(options, number):
    """The case of this number, or all its sizes."""
    case = cases.make(options.seed, number, max(cases.COUNTS) if options.nested else options.count)
    if case is None: return []
    return [first_trajectories(case, count) for count in cases.COUNTS] if options.nested else [case]


def run(options):
    done = set()
    if os.path.exists(options.out):
        done = {json.loads(line)["number"] for line in open(options.out)}
    with tempfile.TemporaryDirectory() as folder, open(options.out, "a") as out:
        for number, case in ((n, c) for n in range(options.first, options.first + options.cases) if n not in done
                             for c in variants(options, n)):
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


# ---- figure ----

LEFT, TOP, WIDTH, HEIGHT, GAP = 70, 40, 340, 260, 110
LEAST_POWER = -7  # of ten, of the errors
COLOURS = {"right": "#4c9f70", "null": "#c9c9c9", "wrong": "#c0392b"}


def text(x, y, words, anchor="middle", size=14, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {more}>{words}</text>'


def verdict_bars(records):
    """One bar for each number of trajectories: the shares of right, null and wrong verdicts."""
    parts = [text(LEFT + WIDTH / 2, TOP - 16, "verdicts on cases that have an answer")]
    step = WIDTH / len(cases.COUNTS)
    for i, count in enumerate(cases.COUNTS):
        said = [classify(r) for r in records if r["count"] == count]
        share = {"right": said.count("right"), "null": said.count("null"), "wrong": said.count("rejected") + said.count("accepted")}
        total, y = max(sum(share.values()), 1), TOP + HEIGHT
        for name, number in share.items():
            high = HEIGHT * number / total
            y -= high
            parts.append(f'<rect x="{LEFT + i * step + 8:.1f}" y="{y:.1f}" width="{step - 16:.1f}" height="{high:.1f}" fill="{COLOURS[name]}"/>')
            if number: parts.append(text(LEFT + (i + 0.5) * step, y + high / 2 + 5 if high > 14 else y - 3, number, size=12))
        parts.append(text(LEFT + (i + 0.5) * step, TOP + HEIGHT + 20, count))
    parts.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 44, "trajectories"))
    for i, name in enumerate(("right", "null", "wrong")):
        x = LEFT + (10, 90, 240)[i]
        parts.append(f'<rect x="{x}" y="{TOP + HEIGHT + 58}" width="14" height="14" fill="{COLOURS[name]}"/>')
        parts.append(text(x + 20, TOP + HEIGHT + 70, {"null": "not determined"}.get(name, name), "start"))
    return parts


def error_curves(records):
    """Median and 90 % quantile of |kappa - true kappa|, on a logarithmic axis."""
    left = LEFT + WIDTH + GAP
    parts = [text(left + WIDTH / 2, TOP - 16, "error of kappa: median, and 90 % of cases")]
    place = lambda error: TOP + HEIGHT * np.log10(np.clip(error, 10.0**LEAST_POWER, 1)) / LEAST_POWER
    for power in range(LEAST_POWER, 1):
        y = place(10.0**power)
        parts.append(f'<path d="M{left} {y:.1f}H{left + WIDTH}" stroke="#ddd"/>' + text(left - 8, y + 5, f"1e{power}" if power else "1", "end"))
    step = WIDTH / len(cases.COUNTS)
    for quantile, colour in ((0.5, "#2a7fb8"), (0.9, "#e08214")):
        points = []
        for i, count in enumerate(cases.COUNTS):
            error = [abs(r["kappa"] - r["kappa_true"]) for r in records
                     if r["count"] == count and r["kappa_true"] is not None and r.get("kappa") is not None]
            if error: points.append((left + (i + 0.5) * step, place(np.quantile(error, quantile))))
        parts.append(f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        parts.append(text(points[0][0] + 10, points[0][1] - 8, "median" if quantile == 0.5 else "90 %", "start", 12, f'fill="{colour}"'))
    parts += [text(left + (i + 0.5) * step, TOP + HEIGHT + 20, count) for i, count in enumerate(cases.COUNTS)]
    return parts + [text(left + WIDTH / 2, TOP + HEIGHT + 44, "trajectories")]


def draw(path, records):
    width, height = LEFT + 2 * WIDTH + GAP + 30, TOP + HEIGHT + 90
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
             f'<rect width="{width}" height="{height}" fill="white"/>', *verdict_bars(records), *error_curves(records), "</svg>"]
    Path(path).write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumb", default=os.environ.get("PLUMB", "build/release/bin/plumb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--out", default="battery.jsonl")
    parser.add_argument("--report", nargs="+", metavar="F.jsonl")
    parser.add_argument("--figure", metavar="F.svg")
    parser.add_argument("--nested", action="store_true", help="each case with all numbers of trajectories")
    parser.add_argument("--count", type=int, help="of trajectories, for every case; default: random")
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--save", metavar="F.npz")
    options = parser.parse_args()
    if options.report:
        report(options.report)
        if options.figure: draw(options.figure, [json.loads(line) for path in options.report for line in open(path)])
    elif options.only is not None:
        case = cases.make(options.seed, options.only)
        if case is None: sys.exit("this system has too few pairs for the map: no such case")
        save(case, options.save)
        print(case.name, "expected", case.expected, "kappa", case.kappa)
    else: run(options)


if __name__ == "__main__": main()
