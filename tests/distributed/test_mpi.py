# SPDX-License-Identifier: MIT
"""Several ranks are one training with the bits of one process, and one study; a rank that dies ends the job in seconds, with one
line and a checkpoint that goes on. Skipped where plumb was built without MPI, or mpirun cannot start two ranks."""
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from paths import PLUMB, TOY
from processes import log_lines, start, wait_until
from program import Program, without_cost

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}  # what Open MPI keeps is not ours
QUICK = ("--world", "mass-spring", "--preset", "tiny")
TOY_RUN = ("toy", *QUICK, "--steps", 11, "--set", "replicas=7", "--set", "batch=9")
HGN_RUN = ("hgn++", *QUICK, "--steps", 6, "--set", "replicas=4")
BODIES_RUN = ("bodies", *QUICK, "--steps", 6, "--set", "replicas=4", "--set", "objects=1", "--set", "pixels=on", "--set", "pixels_share=0.5")
PART = (*TOY_RUN, "--set", "pause=20000")


def mpirun(ranks, program, *arguments):
    return subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks), program, *map(str, arguments)], capture_output=True,
                          text=True, env=ENVIRONMENT, timeout=300)


def messages(text):
    """What plumb itself says, but for what the work will take; the rest is mpirun's."""
    return [line for line in without_cost(text) if line.startswith("plumb ")]


@pytest.fixture(autouse=True, scope="module")
def ranks_can_be_started():
    if not Program().answer("doctor")["mpi"]:
        pytest.skip("this build has no MPI; libopenmpi-dev brings it")
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun; openmpi-bin brings it")
    if subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], capture_output=True, env=ENVIRONMENT, timeout=120).returncode:
        pytest.skip("mpirun cannot start two ranks here")


@pytest.fixture(scope="module")
def alone(shared):
    """The same runs in one process."""
    for program, name, settings in ((PLUMB, "hgn", HGN_RUN), (PLUMB, "bodies", BODIES_RUN), (TOY, "toy", TOY_RUN)):
        Program("train", path=program).run(*settings, "--out", shared / name)
    return shared


# ---- the same bits ----

@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name, program, settings", [("hgn", PLUMB, HGN_RUN), ("bodies", PLUMB, BODIES_RUN), ("toy", TOY, TOY_RUN)],
                         ids=["hgn", "bodies", "toy"])
def test_ranks_train_to_the_bits_of_one_process(alone, ranks, name, program, settings, tmp_path):
    done = mpirun(ranks, program, "train", *settings, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["finished"], done.stderr[-300:]
    for file in ("weights.safetensors", "optimizer.safetensors", "config.json"):
        assert (tmp_path / "out" / file).read_bytes() == (alone / name / file).read_bytes(), file


def test_a_run_may_be_stopped_on_some_ranks_and_resumed_on_others(alone, tmp_path):
    out = tmp_path / "part"
    done = mpirun(2, TOY, "train", *PART, "--out", out, "--minutes", 0.002, "--json")
    assert done.returncode == 0 and not json.loads(done.stdout)["finished"], done.stderr[-300:]
    mpirun(4, TOY, "train", "--resume", "--out", out, "--minutes", 0.001)
    Program("train", path=TOY).run("--resume", "--out", out)
    assert (out / "weights.safetensors").read_bytes() == (alone / "toy/weights.safetensors").read_bytes()


# ---- messages ----

@pytest.mark.parametrize("words, code, arguments", [
    ("some would have nothing to do", 2, ("toy", *QUICK, "--set", "replicas=2", "--out", "x")),
    ('no model "tyo"', 2, ("tyo", "--world", "mass-spring", "--out", "x")),
    ("a run exists already", 1, (*PART, "--out", "toy")),
    ("there is no such run", 1, ("--resume", "--out", "nothing")),
    ("the toy refuses", 2, (*PART, "--set", "refuse=3", "--out", "y"))], ids=lambda value: value if isinstance(value, str) else "")
def test_a_mistake_is_said_once_by_all_ranks(alone, words, code, arguments, monkeypatch):
    monkeypatch.chdir(alone)
    done = mpirun(4, TOY, "train", *arguments)
    assert done.returncode == code and len(messages(done.stderr)) == 1 and words in messages(done.stderr)[0], done.stderr
    assert not Path("x").exists()


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


def start_training(ranks, out):
    process = start("mpirun", "--oversubscribe", "-n", ranks, TOY, "train", "toy", *QUICK, "--set", "replicas=4", "--set", "pause=2000",
                    "--steps", 1000000, "--out", out, env=ENVIRONMENT)
    assert wait_until(lambda: log_lines(out) >= 3)
    return process


def test_sigusr1_saves_and_exits_75(tmp_path):
    process = start_training(2, tmp_path / "out")
    process.send_signal(signal.SIGUSR1)  # mpirun passes it on
    _, err = process.communicate(timeout=300)
    assert process.returncode == 75 and len(messages(err)) == 1 and "which is saved" in messages(err)[0], err


@pytest.mark.parametrize("ranks, victim", [(2, 1), (4, 2), (2, 0)])
def test_a_rank_that_dies_ends_the_job_with_one_line_and_a_checkpoint(ranks, victim, tmp_path):
    out = tmp_path / "out"
    process = start_training(ranks, out)
    os.kill(rank_process(process.pid, victim), signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode != 0
    assert len(messages(err)) == 1 and f"rank {victim} is gone" in messages(err)[0] and "--resume" in messages(err)[0], err
    assert Program("train", path=TOY).answer("--resume", "--out", out, "--minutes", "0.002")["steps"] > 0


# ---- a study ----

def test_ranks_share_the_runs_of_a_study(inside):
    Path("study.yaml").write_text("""defaults: {preset: tiny, steps: 4}
runs:
  - {model: hgn++, world: [mass-spring, pendulum], seed: [1, 2, 3]}
  - {model: hgn++, world: pendulum, variants: {wild: {learning_rate: 1000, clip_norm: 0, steps: 30}}}
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
""")
    Program("sweep").run("study.yaml", "--out", "alone", "--workers", 2, code=1)
    for ranks in (2, 4):
        done = mpirun(ranks, PLUMB, "sweep", "study.yaml", "--out", f"ranks{ranks}", "--json")
        said = json.loads(done.stdout)
        assert done.returncode == 1 and (said["done"], said["failed"], said["left"]) == (6, 1, 0)
        assert len(messages(done.stderr)) == 1
        assert len({word.split(" on rank ")[1] for word in done.stderr.splitlines() if " on rank " in word}) == ranks, "a rank had no work"
        for run in sorted(Path("alone").glob("hgn*")):
            assert (run / "weights.safetensors").read_bytes() == Path(f"ranks{ranks}", run.name, "weights.safetensors").read_bytes(), run.name
