# SPDX-License-Identifier: MIT
"""A job array of plumb sweep on a real Slurm: one node, its daemons started here as this user, in a folder of their own. Skipped, with
the reason, where Slurm or munge is not installed, or its daemons do not start."""
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUMB = os.environ["PLUMB"]


def skip(why):
    print("skipped:", why)
    sys.exit(77)


for program in ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue"):
    if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
        skip(f"there is no {program}; slurm-wlm and munge bring it")
if os.geteuid() != 0:
    skip("slurmd starts jobs as their user, and only root may")
if os.environ.get("PLUMB_SANITIZE"):
    skip("once is enough, without sanitizers")
os.environ["PATH"] += ":/usr/sbin"
folder = Path(tempfile.mkdtemp(prefix="plumb-slurm-"))
folder.chmod(0o755)
daemons = []


def port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def start(*arguments):
    log = open(folder / f"{Path(arguments[0]).name}.log", "wb")
    daemons.append(subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL))


def end():
    for daemon in reversed(daemons):
        daemon.terminate()
        try:
            daemon.wait(timeout=10)
        except subprocess.TimeoutExpired:
            daemon.kill()
    shutil.rmtree(folder, ignore_errors=True)


def give_up(why):
    said = " | ".join(p.read_text(errors="replace")[-200:].replace("\n", " ") for p in sorted(folder.glob("*.log")))
    end()
    skip(f"{why}: {said}")


host = socket.gethostname().split(".")[0]
for name in ("state", "spool", "run", "munge"):
    (folder / name).mkdir(mode=0o755)
(folder / "munge").chmod(0o755)
key = folder / "munge/key"
key.write_bytes(os.urandom(128))
key.chmod(0o600)
(folder / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={getpass.getuser()}
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={port()}
SlurmdPort={port()}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=30
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
""")
os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
start("munged", "--foreground", "--force", "--socket", f"{folder}/munge/socket", "--key-file", str(key), "--log-file", f"{folder}/munge/log",
      "--pid-file", f"{folder}/munge/pid", "--seed-file", f"{folder}/munge/seed")
time.sleep(1)
start("slurmctld", "-D", "-f", os.environ["SLURM_CONF"])
time.sleep(1)
start("slurmd", "-D", "-f", os.environ["SLURM_CONF"], "-N", host)
limit = time.time() + 40
while time.time() < limit:
    state = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True)
    if state.returncode == 0 and state.stdout.strip() in ("idle", "mixed", "allocated"):
        break
    if any(daemon.poll() is not None for daemon in daemons):
        give_up("a daemon of Slurm ended")
    time.sleep(0.5)
else:
    give_up(f"no node came up in 40 s ({state.stdout.strip()} {state.stderr.strip()})")

failures = 0


def check(condition, what):
    global failures
    if not condition:
        print("FAILED:", what)
        failures += 1


os.chdir(folder)
Path("study.yaml").write_text("""defaults: {preset: tiny, steps: 300}
runs:
  - {model: hgn++, world: [mass-spring, pendulum], seed: [1, 2]}
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
""")
try:
    subprocess.run([PLUMB, "sweep", "study.yaml", "--out", "runs", "--slurm", "--tasks", "2", "--cores", "1", "--minutes", "5"], check=True,
                   capture_output=True)
    job = subprocess.run(["sbatch", "--parsable", "runs/sweep.slurm"], capture_output=True, text=True, check=True).stdout.strip()
    limit = time.time() + 60
    while time.time() < limit and not list(Path("runs").glob("hgn*/log.jsonl")):
        time.sleep(0.1)
    # As Slurm does two minutes before the end: the batch shell hears it, the task saves and is queued again.
    subprocess.run(["scancel", "--batch", "--signal=USR1", f"{job}_0"], check=True)
    limit = time.time() + 15
    seen = ""
    while time.time() < limit and "Requeue" not in seen and "Restarts=1" not in seen:
        seen = subprocess.run(["scontrol", "show", "job", f"{job}_0"], capture_output=True, text=True).stdout.replace("Requeue=1", "")
        time.sleep(0.2)
    check("Restarts=1" in seen, f"not queued again: {seen[:400]}")
    # A job that was queued again waits two minutes before it starts; what is left is done at once, by hand.
    limit = time.time() + 60
    while time.time() < limit and subprocess.run(["squeue", "-h", "-j", job, "-t", "R"], capture_output=True, text=True).stdout.strip():
        time.sleep(0.2)
    subprocess.run(["scancel", job])
    done = subprocess.run([PLUMB, "sweep", "study.yaml", "--out", "runs", "--json"], capture_output=True, text=True)
    said = json.loads(done.stdout)
    check(said["skipped"] >= 2 and said["skipped"] + said["done"] == 4, f"what the array left: {said}")
    log = Path(f"plumb-{job}_0.log").read_text()
    check("task 0 of 2, start 1" in log and "stopped" in log, f"the log: {log}")
except subprocess.CalledProcessError as failed:
    check(False, f"{failed.cmd}: {failed.stderr}")
end()
print("all is well" if not failures else f"{failures} failed")
sys.exit(failures > 0)
