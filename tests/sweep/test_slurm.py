# SPDX-License-Identifier: MIT
"""A job array of plumb sweep on a real Slurm: one node, its daemons started here as this user, in a folder of their own. Skipped,
with the reason, where Slurm or munge is not installed, or its daemons do not start."""
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from paths import SANITIZE
from processes import wait_until
from program import Program

plumb = Program("sweep")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


class Slurm:
    """One node and its daemons."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "run", "munge"):
            (folder / name).mkdir(mode=0o755)
        (folder / "munge").chmod(0o755)
        key = folder / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        conf = folder / "slurm.conf"
        conf.write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={getpass.getuser()}
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
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
        os.environ["SLURM_CONF"] = str(conf)
        self.start("munged", "--foreground", "--force", "--socket", f"{folder}/munge/socket", "--key-file", str(key), "--log-file",
                   f"{folder}/munge/log", "--pid-file", f"{folder}/munge/pid", "--seed-file", f"{folder}/munge/seed")
        self.start("slurmctld", "-D", "-f", str(conf))
        self.start("slurmd", "-D", "-f", str(conf), "-N", host)

    def start(self, *command):
        with open(self.folder / f"{command[0]}.log", "wb") as log:
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        time.sleep(1)

    def is_up(self):
        if any(daemon.poll() is not None for daemon in self.daemons):
            self.give_up("a daemon of Slurm ended")
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True)
        return state.returncode == 0 and state.stdout.strip() in ("idle", "mixed", "allocated")

    def give_up(self, why):
        said = " | ".join(p.read_text(errors="replace")[-200:].replace("\n", " ") for p in sorted(self.folder.glob("*.log")))
        pytest.skip(f"{why}: {said}")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


@pytest.fixture
def slurm(monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin")
    for program in PROGRAMS:
        if not shutil.which(program):
            pytest.skip(f"there is no {program}; slurm-wlm and munge bring it")
    if os.geteuid() != 0:
        pytest.skip("slurmd starts jobs as their user, and only root may")
    if SANITIZE:
        pytest.skip("once is enough, without sanitizers")
    folder = Path(tempfile.mkdtemp(prefix="plumb-slurm-"))  # a short path that others may read
    folder.chmod(0o755)
    monkeypatch.setenv("SLURM_CONF", "")
    monkeypatch.chdir(folder)
    cluster = Slurm(folder)
    try:
        if not wait_until(cluster.is_up, 40):
            cluster.give_up("no node came up in 40 s")
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def test_a_task_that_is_warned_saves_is_queued_again_and_nothing_is_lost(slurm):
    Path("study.yaml").write_text("""defaults: {preset: tiny, steps: 300}
runs:
  - {model: hgn++, world: [mass-spring, pendulum], seed: [1, 2]}
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
""")
    plumb.run("study.yaml", "--out", "runs", "--slurm", "--tasks", 2, "--cores", 1, "--minutes", 5)
    job = subprocess.run(["sbatch", "--parsable", "runs/sweep.slurm"], capture_output=True, text=True, check=True).stdout.strip()
    assert wait_until(lambda: list(Path("runs").glob("hgn*/log.jsonl")))
    # As Slurm does two minutes before the end: the batch shell gets the signal, the task saves and is queued again.
    subprocess.run(["scancel", "--batch", "--signal=USR1", f"{job}_0"], check=True)
    assert wait_until(lambda: "Restarts=1" in output_of("scontrol", "show", "job", f"{job}_0"), 15), "not queued again"
    # A job that was queued again waits two minutes before it starts; what is left is done at once, by hand.
    wait_until(lambda: not output_of("squeue", "-h", "-j", job, "-t", "R").strip())
    subprocess.run(["scancel", job])
    said = plumb.answer("study.yaml", "--out", "runs")
    assert said["skipped"] >= 2 and said["skipped"] + said["done"] == 4
    log = Path(f"plumb-{job}_0.log").read_text()
    assert "task 0 of 2, start 1" in log and "stopped" in log
