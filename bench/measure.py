# SPDX-License-Identifier: MIT
"""plumb measure against the published method in Python, in one run, one core each. Started by bench/measure.

Only the standard library here: NumPy and scikit-learn belong to the peer.
"""
import argparse
import csv
import ctypes
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
DATA = ROOT / "build" / "bench-data"

# name: (what it is, kind, latents, trajectories of 60 points, the order the peer ends at)
PROBLEMS = {
    "linear-8": ("two bodies, Gaussian 8x8 matrix", "linear", 8, 5, 1),
    "linear-8-all": ("two bodies, Gaussian 8x8 matrix, 100 trajectories", "linear", 8, 100, 1),
    "identity-32-all": ("two bodies, identity, 12 noise pairs, 100 trajectories", "identity", 32, 100, 1),
    "pendulum-4-all": ("pendulum, (q, p + 0.8 q^3), 1 noise pair, 100 trajectories", "pendulum-cubic", 4, 100, 5),
    "quadratic-32": ("mass-spring, (q, p + 3 q^2), 15 noise pairs", "quadratic", 32, 5, 2),
    "cubic-32": ("mass-spring, (q, p + 6 q^3), 15 noise pairs", "cubic", 32, 5, 3),
}
SCALING = {
    "cubic-2": ("mass-spring, (q, p + 6 q^3)", "cubic", 2, 5, 3),
    "cubic-4": ("mass-spring, (q, p + 6 q^3), 1 noise pair", "cubic", 4, 5, 3),
    "cubic-8": ("mass-spring, (q, p + 6 q^3), 3 noise pairs", "cubic", 8, 5, 3),
    "cubic-16": ("mass-spring, (q, p + 6 q^3), 7 noise pairs", "cubic", 16, 5, 3),
    "cubic-32": PROBLEMS["cubic-32"],
}
ROWS = PROBLEMS | SCALING
QUICK = ("linear-8", "quadratic-32", "cubic-4")
SEED = 1

# What plumb set out to reach, in times the peer: geometric mean, and every row.
TARGETS = {"converged": (100, 10), "reference": (10, 1)}

# axis: [(value, kind, latents, trajectories, highest order)]
GROWTH = {
    "latents": [(d, "cubic", d, 5, 5) for d in (2, 4, 8, 16, 32)],
    "order at 8 latents": [(o, "noisy", 8, 5, o) for o in (1, 2, 3, 4, 5)],
    "order at 16 latents": [(o, "noisy", 16, 5, o) for o in (1, 2, 3, 4)],
    "points": [(60 * k, "cubic", 8, k, 5) for k in (5, 50, 500)],
}
GROWTH_QUICK = {
    "latents": GROWTH["latents"][:3],
    "order at 8 latents": GROWTH["order at 8 latents"][:3],
    "points": GROWTH["points"][:2],
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def stop(text):
    say(f"bench: {text}")
    sys.exit(2)


class Failed(Exception):
    pass


# Tells its process number, leaves, and becomes the program when told to go.
LAUNCHER = 'exec 3<&0; (read go <&3; exec "$@" 3<&-) & echo $!'


class Child:
    """One run of a program on one core: what it printed, how long it took, how much it held.

    Linux counts into a program's peak memory what its parent held when it forked, and this interpreter holds more
    than plumb. So a small shell forks the program and leaves; it is ours to wait for, because we adopt orphans.
    """

    def __init__(self, command, core, limit=None):
        env = dict(os.environ, **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")})
        with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
                ["sh", "-c", LAUNCHER, "sh", *map(str, command)], env=env, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors,
                preexec_fn=lambda: os.sched_setaffinity(0, {core})) as shell:
            pid = int(shell.stdout.readline())
            shell.wait()
            timer = threading.Timer(limit or threading.TIMEOUT_MAX, os.kill, (pid, signal.SIGKILL))
            timer.start()
            started = time.perf_counter()
            try:
                shell.stdin.write("go\n")
                shell.stdin.flush()
                self.out = shell.stdout.read()
                _, status, usage = os.wait4(pid, 0)
            except BaseException:
                os.kill(pid, signal.SIGKILL)
                raise
            finally:
                self.wall = time.perf_counter() - started
                timer.cancel()
            self.code = os.waitstatus_to_exitcode(status)
            self.kb, self.cpu = usage.ru_maxrss, usage.ru_utime + usage.ru_stime
            self.late = limit is not None and self.code == -signal.SIGKILL and self.wall >= limit
            if self.code and not self.late:
                errors.seek(0)
                say(errors.read().rstrip())


def problem(kind, latents, trajectories):
    """The files of a problem, made when they are not there yet."""
    DATA.mkdir(parents=True, exist_ok=True)
    base = DATA / f"{kind}-{latents}-{trajectories}"
    source = BENCH / "problems.py"
    at = Path(f"{base}.at.npy")
    if not at.exists() or at.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([sys.executable, "-I", str(source), kind, str(latents), str(trajectories), str(SEED), str(base)],
                       check=True)
    return f"{base}.npz", str(at)


# With one thread on a core of its own, wall and CPU time are the same. Where another program took the core away,
# CPU time is the truth, and a ratio of wall times would flatter the shorter run. So the lesser counts, for both.


def run_peer(files, core):
    child = Child([sys.executable, "-I", BENCH / "peer.py", *files], core)
    if child.code:
        raise Failed(f"the peer ended with exit code {child.code}")
    result = json.loads(child.out)
    cpu = result.pop("cpu")
    result["wall"] = result["seconds"]
    for key in ("search", "jacobian", "seconds"):
        result[key] = min(result[key], cpu[key])
    result["process"] = min(child.wall - result["warm_up"], child.cpu - cpu["warm_up"])
    result["kb"], result["share"] = child.kb, child.cpu / child.wall
    return result


def run_plumb(plumb, files, mode, core, max_order=5, limit=None):
    child = Child([plumb, "measure", files[0], "--json", "--published", "--mode", mode, "--batch", "0", "--threads", "1",
                   "--max-order", str(max_order), "--points-at", files[1]], core, limit)
    if child.late:
        raise Failed(f"over {limit:g}")
    if child.code:
        raise Failed(f"plumb measure --mode {mode} ended with exit code {child.code}")
    result = json.loads(child.out)
    result["wall"] = result["seconds"]
    result["seconds"] = min(result["seconds"], child.cpu)
    result["process"] = min(child.wall, child.cpu)
    result["kb"], result["share"] = child.kb, child.cpu / child.wall
    return result


class Runs:
    """The repeats of one program on one row."""

    def __init__(self):
        self.all = []

    def add(self, result):
        self.all.append(result)

    def first(self, key):
        return self.all[0][key]

    def least(self, key):
        return min(run[key] for run in self.all)

    def middle(self, key):
        return statistics.median(run[key] for run in self.all)

    def most(self, key):
        return max(run[key] for run in self.all)


def disagreements(name, order, peer, reference):
    """Reference mode must repeat the peer; a row must still be the problem it says it is."""
    found = []
    if peer["order"] != order:
        found.append(f"{name}: the peer ends at order {peer['order']}, the row is meant for {order}")
    if reference["order"] != peer["order"]:
        found.append(f"{name}: order {peer['order']} by the peer, {reference['order']} by plumb")
    elif not math.isclose(reference["alpha"], peer["alpha"], rel_tol=1e-9):
        found.append(f"{name}: alpha {peer['alpha']!r} by the peer, {reference['alpha']!r} by plumb")
    if not abs(reference["r2"] - peer["r2"]) <= 1e-9:
        found.append(f"{name}: R2 {peer['r2']!r} by the peer, {reference['r2']!r} by plumb")
    if not abs(reference["sym"] - peer["sym"]) <= 1e-9 + 1e-6 * abs(peer["sym"]):
        found.append(f"{name}: Sym {peer['sym']!r} by the peer, {reference['sym']!r} by plumb")
    return found


def run_row(name, opts):
    what, kind, latents, trajectories, order = ROWS[name]
    files = problem(kind, latents, trajectories)
    runs = {"peer": Runs(), "converged": Runs(), "reference": Runs()}
    done, repeats = 0, opts.repeats or 1
    while done < repeats:
        runs["peer"].add(run_peer(files, opts.core))
        for mode in TARGETS:
            runs[mode].add(run_plumb(opts.plumb, files, mode, opts.core))
        done += 1
        if not opts.repeats:  # short rows are noisier, and cheap to repeat
            seconds = runs["peer"].first("seconds")
            repeats = 2 if opts.quick else 7 if seconds < 1 else 5 if seconds < 5 else 3
    peer, converged, reference = runs["peer"], runs["converged"], runs["reference"]
    for who, r in runs.items():
        if r.most("share") < 0.9 and r.least("process") > 0.5:
            say(f"bench: {name}: {who} never had more than {r.most('share'):.0%} of its core; times are less certain")
    row = {"row": name, "problem": what, "latents": latents, "points": 60 * trajectories,
           "features": peer.first("features"), "repeats": repeats,
           "peer_search": peer.least("search"), "peer_jacobian": peer.least("jacobian")}
    for who, r in runs.items():
        row |= {f"{who}_seconds": r.least("seconds"), f"{who}_seconds_median": r.middle("seconds"),
                f"{who}_wall": r.least("wall"),
                f"{who}_process": r.least("process"), f"{who}_process_median": r.middle("process"),
                f"{who}_mb": r.most("kb") / 1024}
        for key in ("order", "alpha", "r2", "sym", "symetric"):
            row[f"{who}_{key}"] = r.first(key)
    for mode in TARGETS:
        row[f"{mode}_ratio"] = row["peer_seconds"] / row[f"{mode}_seconds"]
        row[f"{mode}_ratio_median"] = row["peer_seconds_median"] / row[f"{mode}_seconds_median"]
        row[f"{mode}_process_ratio"] = row["peer_process"] / row[f"{mode}_process"]
    return row, disagreements(name, order, peer.all[0], reference.all[0])


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def judge(rows):
    """[(target in words, what was reached, met)]"""
    verdicts = []
    for mode, (mean, every) in TARGETS.items():
        ratios = {row["row"]: row[f"{mode}_ratio"] for row in rows}
        slowest = min(ratios, key=ratios.get)
        reached = geomean(ratios.values())
        verdicts.append((f"{mode}: geometric mean at least {mean}x", f"{reached:.3g}x", reached >= mean))
        what = f"at least {every}x on every row" if every > 1 else "slower on no row"
        verdicts.append((f"{mode}: {what}", f"{ratios[slowest]:.3g}x on {slowest}", ratios[slowest] >= every))
    return verdicts


def run_growth(opts):
    lines = []
    for axis, cases in (GROWTH_QUICK if opts.quick else GROWTH).items():
        for value, kind, latents, trajectories, max_order in cases:
            files = problem(kind, latents, trajectories)
            for mode in TARGETS:
                line = {"axis": axis, "value": value, "mode": mode, "latents": latents, "points": 60 * trajectories,
                        "order": "", "features": "", "seconds": "", "mb": ""}
                runs = Runs()
                try:
                    while len(runs.all) < (1 if opts.quick else 3) and (not runs.all or runs.first("seconds") < 30):
                        runs.add(run_plumb(opts.plumb, files, mode, opts.core, max_order, opts.limit))
                    order = runs.first("order")
                    line |= {"order": order, "features": math.comb(latents + order, order) - 1,
                             "seconds": runs.least("seconds"), "mb": runs.most("kb") / 1024}
                except Failed as why:
                    line["seconds"] = str(why)
                say(f"bench: growth, {axis} {value}, {mode}: {show(line['seconds'])} s, {show(line['mb'])} MB")
                lines.append(line)
    return lines


def show(x):
    if not isinstance(x, float):
        return str(x)
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(map(str, line)) + " |" for line in lines])


def cpu():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.M)
    flags = flags.group(1).split() if flags else []
    level = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))
                  if flag in flags), "no vector extension known here")
    return (model.group(1).strip() if model else os.uname().machine), level


def machine(opts):
    model, level = cpu()
    peer = json.loads(Child([sys.executable, "-I", BENCH / "peer.py", "--versions"], opts.core).out)
    try:
        plumb = json.loads(Child([opts.plumb, "doctor", "--json"], opts.core).out)
    except json.JSONDecodeError:
        stop(f"{opts.plumb} doctor --json: no JSON")
    if plumb.get("blas_remedy"):
        say(f"bench: WARNING: plumb's OpenBLAS runs kernels for an older processor; set "
            f"OPENBLAS_CORETYPE={plumb['blas_remedy']}")
    if plumb.get("build_type", "Release") != "Release":
        say(f"bench: WARNING: this plumb is a {plumb['build_type']} build; its times say little")
    return {"cpu": model, "line": (
        f"{model}, {level}, one core. plumb {plumb.get('version', '?')}, {plumb.get('build_type', '?')} by "
        f"{plumb.get('compiler', '?')}, code for {plumb.get('instructions', '?')}, "
        f"{plumb.get('blas_version', '?')} with {plumb.get('blas', '?')} kernels. Python {peer['python']}, "
        f"scikit-learn {peer['scikit-learn']}, SciPy {peer['scipy']}, NumPy {peer['numpy']} with OpenBLAS "
        f"{peer['blas_version']}, {peer['blas_kernel']} kernels.")}


def report(where, rows, verdicts, bad, growth):
    """The Markdown of a run."""
    out = [where["line"], ""]
    if bad:
        out += ["**The numbers do not agree:**", ""] + [f"- {line}" for line in bad] + [""]
    for part, text in ((PROBLEMS, "Seconds for the measure alone, arrays in memory: the fastest turn (the median)."),
                       (SCALING, "The same along the number of latents, 300 points, a map of order 3.")):
        some = [row for row in rows if row["row"] in part]
        if some:
            timed = lambda r, who: f"{show(r[f'{who}_seconds'])} ({show(r[f'{who}_seconds_median'])})"
            out += [text, "", table(
                ["problem", "latents", "points", "features", "Python", "of it search, Jacobian", "plumb converged",
                 "times faster", "plumb reference", "times faster"],
                [[r["problem"], r["latents"], r["points"], r["features"], timed(r, "peer"),
                  f"{show(r['peer_search'])}, {show(r['peer_jacobian'])}", timed(r, "converged"),
                  show(r["converged_ratio"]), timed(r, "reference"), show(r["reference_ratio"])] for r in some]), ""]
    if rows:
        out += [table(["target", "reached", "met"],
                      [[what, got, "yes" if met else "**no**"] for what, got, met in verdicts]), ""]
        out += ["The whole command, start to exit, with reading files and importing modules; and its peak memory.", "",
                table(["row", "Python s", "plumb converged s", "times faster", "plumb reference s", "times faster",
                       "Python MB", "plumb converged MB", "plumb reference MB"],
                      [[r["row"], show(r["peer_process"]), show(r["converged_process"]),
                        show(r["converged_process_ratio"]), show(r["reference_process"]),
                        show(r["reference_process_ratio"]), show(r["peer_mb"]), show(r["converged_mb"]),
                        show(r["reference_mb"])] for r in rows]), ""]
        out += ["What came out. Python and reference mode must agree; converged mode solves the same problems to the "
                "end, and may choose another order.", "",
                table(["row", "order", "alpha", "R2", "R2 off", "Sym", "Sym off", "converged: order", "alpha", "R2",
                       "Sym"],
                      [[r["row"], r["peer_order"] if r["peer_order"] == r["reference_order"]
                        else f"**{r['peer_order']} and {r['reference_order']}**",
                        f"{r['peer_alpha']:.3g}", f"{r['peer_r2']:.9f}",
                        f"{abs(r['reference_r2'] - r['peer_r2']):.0e}", f"{r['peer_sym']:.4g}",
                        f"{abs(r['reference_sym'] - r['peer_sym']):.0e}", r["converged_order"],
                        f"{r['converged_alpha']:.3g}", f"{r['converged_r2']:.9f}", f"{r['converged_sym']:.4g}"]
                       for r in rows]), ""]
    if growth:
        out += ["plumb alone: how time and peak memory grow. The time is for all orders up to the last one tried.", "",
                table(["along", "value", "mode", "last order", "features", "seconds", "MB"],
                      [[g["axis"], g["value"], g["mode"], g["order"], g["features"], show(g["seconds"]), show(g["mb"])]
                       for g in growth]), ""]
    return "\n".join(out)


def write(where, text):
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", where["cpu"].lower())).strip("-")
    file = BENCH / "results" / f"{slug}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# plumb measure against the published method: {where['cpu']}\n\n{text}")
    readme = BENCH / "README.md"
    begin, end = "<!-- measure:begin -->", "<!-- measure:end -->"
    head, _, rest = readme.read_text().partition(begin)
    _, _, tail = rest.partition(end)
    if not rest or end not in rest:
        stop(f"{readme} has lost its markers {begin} and {end}")
    readme.write_text(f"{head}{begin}\n{text}{end}{tail}")
    say(f"bench: wrote {file.relative_to(ROOT)} and the table in bench/README.md")


def main():
    args = argparse.ArgumentParser(prog="bench/measure", description="plumb measure against the published method "
                                   "in Python: one run, one core each, taking turns. CSV on stdout.")
    args.add_argument("--quick", action="store_true", help="a few small rows, two repeats; writes no files")
    args.add_argument("--rows", metavar="A,B", help="only these rows, or `none`; writes no files. " + ", ".join(ROWS))
    args.add_argument("--plumb", metavar="PATH", default=str(ROOT / "build/release/bin/plumb"),
                      help="the program to measure (build/release/bin/plumb)")
    args.add_argument("--repeats", type=int, metavar="N", help="turns a row (3 to 7 by its length)")
    args.add_argument("--core", type=int, help="the core to run on (the last one allowed)")
    args.add_argument("--limit", type=float, default=600, metavar="S", help="give up a growth run after this (600)")
    args.add_argument("--no-growth", action="store_true", help="leave out plumb's growth table")
    args.add_argument("--write", action="store_true", help="write the tables even if the run was not a full one")
    opts = args.parse_args()
    if opts.repeats is not None and opts.repeats < 1:
        stop("--repeats: at least 1")
    allowed = os.sched_getaffinity(0)
    opts.core = max(allowed) if opts.core is None else opts.core
    if opts.core not in allowed:
        stop(f"--core {opts.core}: not among {sorted(allowed)}")
    if not os.access(opts.plumb, os.X_OK):
        stop(f"{opts.plumb}: no such program; build it (cmake --preset release) or give --plumb PATH")
    opts.plumb = os.path.abspath(opts.plumb)
    names = list(QUICK if opts.quick else ROWS)
    if opts.rows:
        names = [] if opts.rows == "none" else opts.rows.split(",")
        for name in names:
            if name not in ROWS:
                stop(f"--rows: no row called {name}; there are {', '.join(ROWS)}")

    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0):  # PR_SET_CHILD_SUBREAPER: adopt orphans
        stop("this kernel does not let a process adopt orphans")
    where = machine(opts)
    say(f"bench: {where['line']}")
    say(f"bench: load {os.getloadavg()[0]:.2f}, core {opts.core}")
    rows, bad = [], []
    for name in names:
        try:
            row, found = run_row(name, opts)
        except Failed as why:
            bad.append(f"{name}: {why}")
            say(f"bench: FAILED {bad[-1]}")
            continue
        rows.append(row)
        bad += found
        say(f"bench: {name}: peer {show(row['peer_seconds'])} s, converged {show(row['converged_seconds'])} s "
            f"({show(row['converged_ratio'])}x), reference {show(row['reference_seconds'])} s "
            f"({show(row['reference_ratio'])}x)")
        for line in found:
            say(f"bench: DISAGREE {line}")
    growth = [] if opts.no_growth else run_growth(opts)

    for block in (rows, growth):
        if block:
            out = csv.DictWriter(sys.stdout, block[0].keys(), lineterminator="\n")
            out.writeheader()
            out.writerows(block)
            print()
    verdicts = judge(rows) if rows else []
    for what, got, met in verdicts:
        say(f"bench: {'met   ' if met else 'MISSED'} {what}: {got}")
    full = not (opts.quick or opts.rows or opts.no_growth)
    if not full:
        where["line"] += " **Not a full run.**"
    if full or opts.write:
        write(where, report(where, rows, verdicts, bad, growth))
    if bad:
        say("bench: DISAGREEMENT: plumb and the peer did not both compute the same numbers")
        for line in bad:
            say(f"bench:   {line}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
