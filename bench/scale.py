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

plumb, quick = sys.argv[1], "--quick" in sys.argv[2:]
steps, rounds = (60, 2) if quick else (200, 3)
environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ranks = bool(shutil.which("mpirun")) and json.loads(subprocess.run([plumb, "doctor", "--json"], capture_output=True, check=True).stdout)["mpi"]
if not os.access(plumb, os.X_OK):
    sys.exit("bench/scale: build first: cmake --preset release && cmake --build --preset release")

# One stage of full horizon, so that all steps cost the same.
SETTINGS = ["hgn++", "--world", "mass-spring", "--preset", "cpu", "--steps", str(steps), "--set", "horizons=", "--set", "deadlines=",
            "--set", "trajectories=32", "--set", "log=10", "--set", "save=0"]


def seconds(replicas, how, folder):
    run = [plumb, "train", *SETTINGS, "--set", f"replicas={replicas}", "--set", f"batch={8 * replicas}", "--force", "--out", folder]
    run += ["--threads", str(replicas if how == "threads" else 1)]
    if how == "ranks":
        run = ["mpirun", "-n", str(replicas), *run]
    subprocess.run(run, check=True, capture_output=True, env=environment)
    log = [json.loads(line) for line in Path(folder, "log.jsonl").read_text().splitlines()]
    return [(b["seconds"] - a["seconds"]) / (b["step"] - a["step"]) for a, b in zip(log, log[1:])]


cases = [(1, "threads"), (2, "threads")] + ([(2, "ranks")] if ranks else [])
pieces = {case: [] for case in cases}
with tempfile.TemporaryDirectory() as folder:
    for turn in range(rounds):
        for case in cases:
            pieces[case] += seconds(*case, folder)
            print(f"scale: round {turn + 1} of {rounds}, {case[0]} {case[1]}: {1e3 * statistics.median(pieces[case]):.1f} ms a step", file=sys.stderr)
    parameters = json.loads(subprocess.run([plumb, "train", *SETTINGS[:3], "--preset", "cpu", "--plan"], capture_output=True,
                                           check=True).stdout)["parameters"]
if not ranks:
    print("scale: no MPI here, so no ranks", file=sys.stderr)
one = statistics.median(pieces[1, "threads"])
print("replicas,as,ms_a_step,efficiency,parameters,load")
for replicas, how in cases:
    step = statistics.median(pieces[replicas, how])
    print(f"{replicas},{how},{1e3 * step:.2f},{one / step:.3f},{parameters},{os.getloadavg()[0]:.1f}")
