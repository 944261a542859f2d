# SPDX-License-Identifier: MIT
"""Runs programs in turn on one core, and keeps what they took: one CSV file per machine in bench/results, one line per program and row
of a benchmark, with date and commit. bench/compare reads it."""
import csv
import datetime
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench/results"
FIELDS = ["date", "commit", "benchmark", "row", "program", "version", "seconds", "load"]


def machine():
    """What the processor calls itself, with the instruction set that plumb uses and the number of cores."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*:\s*(.*)", text)
    name = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", "", name.group(1) if name else os.uname().machine)
    family, model = (re.search(rf"{what}\s*:\s*(\d+)", text) for what in ("cpu family", "model"))
    exact = f" family {family.group(1)} model {model.group(1)}" if family and model else ""
    instructions = "AVX2 alone" if os.environ.get("BENCH_INSTRUCTIONS") == "avx2" else "AVX-512" if "avx512f" in text.split() else "AVX2" if "avx2" in text.split() else "no AVX2"
    return f"{' '.join(name.split())}{exact}, {instructions}, {os.cpu_count()} cores"


def file_of(name):
    return FOLDER / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".csv")


def commit():
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def keep(benchmark, rows):
    """rows: {row: {program: (seconds, version)}}. Appends them to the file of this machine."""
    path = file_of(machine())
    path.parent.mkdir(exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        when, load = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), f"{os.getloadavg()[0]:.1f}"
        for row, programs in rows.items():
            for program, (seconds, version) in programs.items():
                writer.writerow([when, commit(), benchmark, row, program, version, f"{seconds:.6g}", load])


def environment():
    """One thread, for every library. BENCH_INSTRUCTIONS=avx2 keeps all of them from AVX-512."""
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if env.get("BENCH_INSTRUCTIONS") == "avx2":
        env.update(ONEDNN_MAX_CPU_ISA="AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2", ATEN_CPU_CAPABILITY="avx2", OPENBLAS_CORETYPE="Haswell")
        env["XLA_FLAGS"] += " --xla_cpu_max_isa=AVX2"
    return env


def run(command, *arguments):
    """The last line of a program's output, which is JSON. None if it failed, with its last words on stderr."""
    core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    done = subprocess.run(core + command + [str(v) for v in arguments], env=environment(), capture_output=True, text=True)
    if done.returncode:
        print(f"bench: {' '.join(command)}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", file=os.sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def take_turns(commands, repeats, *arguments):
    """The fastest of each program, of `repeats` turns: {program: its JSON}. A program that fails is left out."""
    best = {}
    for _ in range(repeats):
        for name, command in commands.items():
            got = run(command, *arguments)
            if got and (name not in best or got["cpu"] < best[name]["cpu"]):
                best[name] = got
    return best


def times_the_better(programs):
    """The fastest peer over plumb, and its name."""
    peer = min((p for p in programs if p != "plumb"), key=lambda p: programs[p]["cpu"])
    return programs[peer]["cpu"] / programs["plumb"]["cpu"], peer


def write_table(marker, lines):
    """Replaces what is between <!-- marker:begin --> and its end in bench/README.md."""
    readme = ROOT / "bench/README.md"
    start, end = f"<!-- {marker}:begin -->", f"<!-- {marker}:end -->"
    text = readme.read_text()
    head, rest = text.split(start)
    readme.write_text(head + start + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])
