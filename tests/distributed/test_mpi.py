# SPDX-License-Identifier: MIT
"""Several ranks are one training with the bits of one process, and one study; a rank that dies ends the job in seconds, with one
line and a checkpoint that goes on. Skipped where plumb was built without MPI, or mpirun cannot start two ranks."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUMB, TOY = os.environ["PLUMB"], os.environ["PLUMB_TOY"]
SLOW = 5 if os.environ.get("PLUMB_SANITIZE") else 1
failures = 0
environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}  # what Open MPI keeps is not ours


def check(condition, what):
    global failures
    if not condition:
        print("FAILED:", what)
        failures += 1


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def mpirun(ranks, program, *arguments, **how):
    return subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks), program, *map(str, arguments)], capture_output=True,
                          text=True, env=environment, timeout=300, **how)


def own(text):
    """What plumb itself had to say; the rest is mpirun's."""
    return [line for line in text.splitlines() if line.startswith("plumb ")]


if not json.loads(subprocess.run([PLUMB, "doctor", "--json"], capture_output=True, text=True, check=True).stdout)["mpi"]:
    skip("this build has no MPI; libopenmpi-dev brings it")
if not shutil.which("mpirun"):
    skip("there is no mpirun; openmpi-bin brings it")
if subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], capture_output=True, env=environment, timeout=120).returncode:
    skip("mpirun cannot start two ranks here")
folder = Path(tempfile.mkdtemp(prefix="plumb-mpi-"))
os.chdir(folder)

# ---- the same bits ----
for program, name, settings in ((PLUMB, "hgn", ("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 6, "--set", "replicas=4")),
                                (TOY, "toy", ("toy", "--world", "mass-spring", "--preset", "tiny", "--steps", 11, "--set", "replicas=7",
                                              "--set", "batch=9"))):
    subprocess.run([program, "train", *map(str, settings), "--out", f"{name}1"], check=True, capture_output=True)
    for ranks in (2, 4):
        out = f"{name}{ranks}"
        done = mpirun(ranks, program, "train", *settings, "--out", out, "--json")
        check(done.returncode == 0 and json.loads(done.stdout)["finished"], f"{ranks} ranks: {done.returncode} {done.stdout} {done.stderr[-300:]}")
        for file in ("weights.safetensors", "optimizer.safetensors", "config.json"):
            check(Path(out, file).read_bytes() == Path(f"{name}1", file).read_bytes(), f"{out}/{file}: other bits than in one process")
# Stopped by one kind, gone on by the other.
part = ("toy", "--world", "mass-spring", "--preset", "tiny", "--steps", 11, "--set", "replicas=7", "--set", "batch=9", "--set", "pause=20000")
done = mpirun(2, TOY, "train", *part, "--out", "part", "--minutes", 0.002, "--json")
check(done.returncode == 0 and not json.loads(done.stdout)["finished"], f"a time limit: {done.stdout} {done.stderr[-300:]}")
mpirun(4, TOY, "train", "--resume", "--out", "part", "--minutes", 0.001)
subprocess.run([TOY, "train", "--resume", "--out", "part"], check=True, capture_output=True)
check(Path("part/weights.safetensors").read_bytes() == Path("toy1/weights.safetensors").read_bytes(), "stopped and resumed: other bits")

# ---- what is wrong is said once ----
for words, code, arguments in (("some would have nothing to do", 2, ("toy", "--world", "mass-spring", "--preset", "tiny", "--set", "replicas=2", "--out", "x")),
                               ('no model "tyo"', 2, ("tyo", "--world", "mass-spring", "--out", "x")),
                               ("a run is there already", 1, (*part, "--out", "toy1")),
                               ("there is no such run", 1, ("--resume", "--out", "nothing")),
                               ("the toy refuses", 2, (*part, "--set", "refuse=3", "--out", "y"))):
    done = mpirun(4, TOY, "train", *arguments)
    check(done.returncode == code and len(own(done.stderr)) == 1 and words in own(done.stderr)[0],
          f"{words}: exit {done.returncode}, {own(done.stderr)}")
check(not Path("x").exists(), "a refused run left a directory")


# ---- signals, and ranks that die ----
def descendants(pid):
    try:
        kids = [int(k) for task in Path(f"/proc/{pid}/task").iterdir() for k in (task / "children").read_text().split()]
    except OSError:
        return []
    return kids + [k for kid in kids for k in descendants(kid)]


def rank_process(pid, rank):
    for kid in descendants(pid):
        try:
            if f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in Path(f"/proc/{kid}/environ").read_bytes():
                return kid
        except OSError:
            pass
    return None


def start(ranks, out, *more):
    process = subprocess.Popen(["mpirun", "--oversubscribe", "-n", str(ranks), TOY, "train", "toy", "--world", "mass-spring", "--preset", "tiny",
                                "--set", "replicas=4", "--set", "pause=2000", "--steps", "1000000", "--out", out, *more],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    end = time.time() + 60
    while time.time() < end and (not Path(out, "log.jsonl").exists() or Path(out, "log.jsonl").read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    return process


process = start(2, "usr1")
process.send_signal(signal.SIGUSR1)  # mpirun passes it on
out, err = process.communicate(timeout=60)
check(process.returncode == 75 and len(own(err)) == 1 and "which is saved" in own(err)[0], f"SIGUSR1: {process.returncode} {own(err)}")
for ranks, victim in ((2, 1), (4, 2), (2, 0)):
    out = f"dies{ranks}{victim}"
    process = start(ranks, out)
    os.kill(rank_process(process.pid, victim), signal.SIGKILL)
    begun = time.time()
    _, err = process.communicate(timeout=60)
    took = time.time() - begun
    check(process.returncode != 0 and took < 15 * SLOW, f"rank {victim} of {ranks} died: exit {process.returncode} after {took:.1f} s")
    check(len(own(err)) == 1 and f"rank {victim} is gone" in own(err)[0] and "--resume" in own(err)[0], f"rank {victim} of {ranks}: {own(err)}")
    done = subprocess.run([TOY, "train", "--resume", "--out", out, "--minutes", "0.002", "--json"], capture_output=True, text=True)
    check(done.returncode == 0 and json.loads(done.stdout)["steps"] > 0, f"after rank {victim} died: {done.stderr}")

# ---- a study ----
Path("study.yaml").write_text("""defaults: {preset: tiny, steps: 4}
runs:
  - {model: hgn++, world: [mass-spring, pendulum], seed: [1, 2, 3]}
  - {model: hgn++, world: pendulum, variants: {wild: {rate: 1000, clip: 0, steps: 30}}}
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
""")
subprocess.run([PLUMB, "sweep", "study.yaml", "--out", "alone", "--workers", "2"], capture_output=True)
for ranks in (2, 4):
    done = mpirun(ranks, PLUMB, "sweep", "study.yaml", "--out", f"ranks{ranks}", "--json")
    said = json.loads(done.stdout)
    check(done.returncode == 1 and (said["done"], said["failed"], said["left"]) == (6, 1, 0), f"a study on {ranks} ranks: {said}")
    check(len(own(done.stderr)) == 1 and len({word.split(" on rank ")[1] for word in done.stderr.splitlines() if " on rank " in word}) == ranks,
          f"{ranks} ranks: not all had work: {done.stderr}")
    for run in sorted(Path("alone").glob("hgn*")):
        check((run / "weights.safetensors").read_bytes() == Path(f"ranks{ranks}", run.name, "weights.safetensors").read_bytes(), f"{run.name}: bits")

os.chdir("/")
shutil.rmtree(folder)
print("all is well" if not failures else f"{failures} failed")
sys.exit(failures > 0)
