# SPDX-License-Identifier: MIT
"""Weak scaling: each replica has the same eight clips, so a perfect machine takes as long for two as for one. Seconds a step are the
median over pieces of the log after the first, of several trainings in turn."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# ---- what many ranks would give, by arithmetic ----
CORES = 32  # of a machine, which share its network
MEMORY = 4e9  # bytes a second between ranks of one machine, each; assumed
NETWORKS = (("1 GbE", 0.118e9, 50e-6), ("10 GbE", 1.18e9, 20e-6), ("25 GbE", 2.9e9, 10e-6), ("InfiniBand HDR100", 12e9, 1.5e-6))
MODELS = (("paper", 882561, 2, 0.344), ("cpu", 168605, 8, 0.016))  # parameters, clips per replica, measured seconds of one core for them


def messages(ranks, machines, parameters, bandwidth, latency):
    """Seconds per step: every rank sends (R - 1) / R of a gradient and as much of the sum; all of it goes through
    memory, and what leaves a machine shares its network.
    2 (R - 1) messages one after another, and two short messages from all to all in log2 R rounds."""
    if ranks == 1:
        return 0.0
    each = ranks / machines
    leaving = each * 2 * (ranks - each) / ranks * 4 * parameters
    staying = 2 * (ranks - 1) / ranks * 4 * parameters / MEMORY
    if machines == 1:
        latency = 1e-6
    return staying + leaving / bandwidth + (2 * (ranks - 1) + 2 * (ranks - 1).bit_length()) * latency


def model():
    for name, parameters, clips, compute in MODELS:
        print(f"\n{name}: {parameters} parameters, {4 * parameters / 1e6:.2f} MB per gradient, {clips} clips per replica in {compute} s\n")
        print("| network | " + " | ".join(f"{r} ranks" for r in (8, 32, 64, 128, 256)) + " | 256 replicas, one rank per machine |")
        print("|---|" + "---|" * 6)
        for network, bandwidth, latency in NETWORKS:
            row = []
            for ranks in (8, 32, 64, 128, 256):
                step = messages(ranks, max(1, ranks // CORES), parameters, bandwidth, latency)
                row.append(f"{compute / (compute + step):.2f}")
            step = messages(256 // CORES, 256 // CORES, parameters, bandwidth, latency)
            print(f"| {network} | " + " | ".join(row) + f" | {compute / (compute + step):.2f} |")


if "--model" in sys.argv:
    model()
    sys.exit()

plumb, quick = sys.argv[1], "--quick" in sys.argv[2:]
steps, rounds = (60, 2) if quick else (200, 3)
environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ranks = bool(shutil.which("mpirun")) and json.loads(subprocess.run([plumb, "doctor", "--json"], capture_output=True, check=True).stdout)["mpi"]
if not os.access(plumb, os.X_OK):
    sys.exit("bench/scale: build first: cmake --preset release && cmake --build --preset release")

# One stage of full horizon, so that all steps cost the same.
SETTINGS = ["hgn++", "--world", "mass-spring", "--preset", "cpu", "--steps", str(steps), "--set", "curriculum_targets=", "--set", "curriculum_deadlines=",
            "--set", "trajectories=32", "--set", "log_steps=5", "--set", "checkpoint_steps=0"]


def seconds(replicas, how, folder):
    run = [plumb, "train", *SETTINGS, "--set", f"replicas={replicas}", "--set", f"batch={8 * replicas}", "--force", "--out", folder]
    run += ["--threads", str(replicas if how == "threads" else 1)]  # "one core": two replicas in turn
    if how == "ranks":
        run = ["mpirun", "-n", str(replicas), *run]
    subprocess.run(run, check=True, capture_output=True, env=environment)
    log = [json.loads(line) for line in Path(folder, "log.jsonl").read_text().splitlines()]
    return [(b["seconds"] - a["seconds"]) / (b["step"] - a["step"]) for a, b in zip(log, log[1:])]


cases = [(1, "threads"), (2, "one core"), (2, "threads")] + ([(2, "ranks")] if ranks else [])
pieces = {case: [] for case in cases}
with tempfile.TemporaryDirectory() as folder:
    for turn in range(rounds):
        for case in cases:
            pieces[case] += seconds(*case, folder)
            print(f"scale: round {turn + 1} of {rounds}, {case[0]} {case[1]}: {1e3 * statistics.median(pieces[case]):.1f} ms per step", file=sys.stderr)
    parameters = json.loads(subprocess.run([plumb, "train", *SETTINGS[:3], "--preset", "cpu", "--plan"], capture_output=True,
                                           check=True).stdout)["parameters"]
if not ranks:
    print("scale: no MPI here, so no ranks", file=sys.stderr)


def part(case, share):
    return sorted(pieces[case])[int(share * (len(pieces[case]) - 1))]


print("replicas,as,ms_a_step,best_tenth_ms,efficiency,best_tenth_efficiency,times_one_core,best_tenth_times_one_core,parameters,load")
for case in cases:
    row = []
    for reference in (1, "threads"), (2, "one core"):
        row += [part(reference, share) / part(case, share) if case[0] == 2 else float("nan") for share in (0.5, 0.1)]
    print(f"{case[0]},{case[1]},{1e3 * part(case, 0.5):.2f},{1e3 * part(case, 0.1):.2f}," + ",".join(f"{x:.3f}" for x in row)
          + f",{parameters},{os.getloadavg()[0]:.1f}")
