# SPDX-License-Identifier: MIT
"""Weak scaling: each replica has the same clips, so a perfect machine takes as long for two as for one. Seconds a step are the median
over pieces of the log after the first, of several trainings in turn. Neighbours are loops that use one core each."""
import argparse
import contextlib
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


# What is trained: arguments, clips per replica, steps, and steps of one piece of the log. One stage of full horizon, so that all steps
# of hgn++ cost the same.
TRAININGS = {
    "hgn++": (["--world", "mass-spring", "--preset", "cpu", "--set", "curriculum_targets=", "--set", "curriculum_deadlines=",
               "--set", "trajectories=32"], 8, 200, 5),
    "predrnn": (["--world", "rooms/freeform", "--preset", "cpu", "--set", "trajectories=16"], 4, 40, 2),
    "plato": (["--world", "rooms/freeform", "--preset", "cpu", "--set", "trajectories=16"], 4, 40, 2),
    "bodies": (["--world", "two-body", "--preset", "points", "--set", "trajectories=100"], 32, 2000, 50),
}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@contextlib.contextmanager
def neighbours(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seconds(plumb, model, case, folder, share):
    replicas, how = case
    arguments, clips, steps, piece = TRAININGS[model]
    steps = max(4 * piece, int(steps * share))
    run = [plumb, "train", model, *arguments, "--steps", str(steps), "--set", f"replicas={replicas}", "--set", f"batch={clips * replicas}",
           "--set", f"log_steps={piece}", "--set", "checkpoint_steps=0", "--force", "--out", folder]
    run += ["--threads", str(replicas if how == "threads" else 1)]  # "one core": two replicas in turn
    if how == "ranks":
        run = ["mpirun", "-n", str(replicas), *run]
    done = subprocess.run(run, capture_output=True, env=ENVIRONMENT, text=True)
    if done.returncode:
        sys.exit(f"bench/scale: {' '.join(run)}: {done.stderr.strip()}")
    log = [json.loads(line) for line in Path(folder, "log.jsonl").read_text().splitlines()]
    # A piece with a validation has that in its time.
    return [(b["seconds"] - a["seconds"]) / (b["step"] - a["step"]) for a, b in zip(log, log[1:]) if "validation" not in b]


def part(pieces, share):
    return sorted(pieces)[int(share * (len(pieces) - 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plumb")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--models", default=",".join(TRAININGS))
    parser.add_argument("--neighbours", default="0", help="numbers of busy neighbours, as 0,1,2")
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    if not os.access(args.plumb, os.X_OK):
        sys.exit("bench/scale: build first: cmake --preset release && cmake --build --preset release")
    share, rounds = (0.3, 2) if args.quick else (1.0, 3)
    doctor = json.loads(subprocess.run([args.plumb, "doctor", "--json"], capture_output=True, check=True).stdout)
    ranks = bool(shutil.which("mpirun")) and doctor["mpi"]
    if not ranks:
        print("scale: no MPI here, so no ranks", file=sys.stderr)
    print("model,neighbours,replicas,as,ms_a_step,best_tenth_ms,efficiency,best_tenth_efficiency,times_one_core,best_tenth_times_one_core,load")
    for model in args.models.split(","):
        for count in map(int, args.neighbours.split(",")):
            cases = [(1, "threads"), (2, "one core"), (2, "threads")] + ([(2, "ranks")] if ranks else [])
            pieces = {case: [] for case in cases}
            with tempfile.TemporaryDirectory() as folder, neighbours(count):
                for turn in range(args.rounds or rounds):
                    for case in cases:
                        pieces[case] += seconds(args.plumb, model, case, folder, share)
                        print(f"scale: {model}, {count} neighbours, round {turn + 1}, {case[0]} {case[1]}: "
                              f"{1e3 * statistics.median(pieces[case]):.1f} ms per step", file=sys.stderr)
            for case in cases:
                row = []
                for reference in (1, "threads"), (2, "one core"):
                    row += [part(pieces[reference], s) / part(pieces[case], s) if case[0] == 2 else float("nan") for s in (0.5, 0.1)]
                print(f"{model},{count},{case[0]},{case[1]},{1e3 * part(pieces[case], 0.5):.2f},{1e3 * part(pieces[case], 0.1):.2f},"
                      + ",".join(f"{x:.3f}" for x in row) + f",{os.getloadavg()[0]:.1f}", flush=True)


if "--model" in sys.argv:
    model()
else:
    main()
