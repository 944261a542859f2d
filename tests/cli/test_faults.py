# SPDX-License-Identifier: MIT
"""One allocation or one I/O call fails, each in a run of its own: the command ends with exit code 1, one line and no partial file, or it
did without what it asked for, and its results are the same. Under AddressSanitizer nothing leaks.

make test lets a few of them fail, make test-long (PLUMB_LONG) every one. By hand, for one command:

    PLUMB_LONG=1 python3 -m pytest -c tests/pytest.ini tests/cli/test_faults.py -k train
"""
import json
import os
import random
import re
import shutil
import subprocess

import numpy as np
import pytest

from paths import BUILD, LONG, PLUMB, SANITIZE, SOURCE
from program import numbers

FAULTY, FAIL_IO = BUILD / "tests/plumb_faulty", BUILD / "tests/fail_io"
FEW = 1 if SANITIZE else 4  # of each kind and command
STUDY = """name: small
defaults: {preset: tiny, steps: 2}
runs: [{model: hgn++, world: mass-spring}]
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
"""
COMMANDS = {
    "measure": ["{in}/model.npz", "--centres", "20", "--resamples", "20", "--items", "{out}/items.jsonl", "--json"],
    "surprise": ["{in}/surprise.npz", "-k", "3", "--resamples", "20", "--items", "{out}/items.jsonl", "--json"],
    "forecast": ["{in}/frames.npz", "--split", "10", "--items", "{out}/items.jsonl", "--json"],
    "probe": ["{in}/model.npz", "--world", "mass-spring", "--ood", "energy", "--centres", "20", "--resamples", "20", "--json"],
    "probe-table": ["{in}/rows.csv", "--linear-only", "--no-controls", "--resamples", "20", "--json"],
    "probe-folder": ["{in}/arrays", "--cut", "10", "--linear-only", "--no-controls", "--resamples", "20", "--json"],
    "forecast-states": ["{in}/states.npz", "--world", "mass-spring", "--resamples", "20", "--json"],
    "dynamics": ["{in}/states.npz", "--linear-only", "--resamples", "20", "--json"],
    "compare": ["{in}/a.json", "{in}/b.json", "--resamples", "20", "--flips", "20", "--json"],
    "simulate": ["mass-spring", "--count", "2", "--steps", "8", "--out", "{out}/x.npz", "--json"],
    "simulate-tfrecord": ["mass-spring", "--count", "2", "--steps", "8", "--compress", "--out", "{out}/x.tfrecord", "--json"],
    "simulate-h5": ["mass-spring", "--count", "2", "--steps", "8", "--out", "{out}/x.h5", "--json"],
    "convert": ["{in}/data.npz", "{out}/x.tfrecord", "--json"],
    "convert-tfrecord": ["{in}/data.tfrecord", "{out}/x.npz", "--compress", "--json"],
    "train": ["hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "20", "--out", "{out}/run", "--json"],
    "train-data": ["hgn++", "--data", "{in}/long.npz", "--preset", "tiny", "--steps", "2", "--out", "{out}/run", "--json"],
    "evaluate": ["{out}/copy", "--count", "2", "--steps", "10", "--measured", "4", "--method", "pr", "--json"],
    "convert-shards": ["{in}/shards/", "{out}/x.npz", "--json"],
    "surprise-table": ["{in}/losses.pth", "--metadata", "{in}/table.csv", "--json"],
    "train-again": ["hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "2", "--out", "{out}/copy", "--force", "--json"],
    "report-folder": ["{in}/runs", "--films", "0", "--out", "{out}/x.html", "--json"],
    "report": ["{in}/frames.npz", "--out", "{out}/x.html", "--json"],
    "report-run": ["{in}/run", "--films", "2", "--steps", "10", "--out", "{out}/x.html", "--json"],
    "sweep": ["{in}/study.yaml", "--out", "{out}/sweep", "--json"],
    "show": ["{in}/data.npz", "--out", "{out}/x.png", "--json"],
}
every_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(scope="module")
def inputs(shared):
    rng = np.random.default_rng(1)
    radius, phase = rng.uniform(0.5, 1.5, (2, 6, 1))
    angle = 0.2 * np.arange(20) + phase
    truth = np.stack([radius * np.cos(angle), -radius * np.sin(angle)], -1)
    np.savez(shared / "model.npz", latent=truth @ np.array([[0.8, 0.6], [-0.6, 0.8]]), truth=truth)
    np.savez(shared / "states.npz", latent=1.01 * truth, encoded=truth, truth=truth, prediction=1.01 * truth)
    (shared / "rows.csv").write_text("trajectory,latent,q\n" + "".join(
        f"{i},{x:.17g},{y:.17g}\n" for i, one in enumerate(truth) for x, y in one))
    (shared / "arrays").mkdir()
    np.save(shared / "arrays/latent.npy", truth.reshape(-1, 2))
    np.savez(shared / "arrays/truth.npz", truth.reshape(-1, 2))
    for name in "ab":
        (shared / f"{name}.json").write_text(json.dumps({"vpt_per_trajectory": list(rng.uniform(size=20))}))
    frames = rng.uniform(0, 1, (3, 20, 4, 4, 1))
    np.savez(shared / "frames.npz", truth=frames, prediction=frames + 0.01 * rng.normal(0, 1, frames.shape))
    np.savez(shared / "surprise.npz", surprise=rng.uniform(0, 1, (12, 4)), feature=rng.normal(0, 1, (12, 4, 3)))
    (shared / "study.yaml").write_text(STUDY)
    for out, steps in (("data.npz", 8), ("data.tfrecord", 8), ("long.npz", 40)):
        subprocess.run([PLUMB, "simulate", "mass-spring", "--count", "2", "--steps", str(steps), "--out", shared / out], check=True,
                       capture_output=True)
    subprocess.run([PLUMB, "train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "2", "--out", shared / "run"],
                   check=True, capture_output=True)
    (shared / "shards").mkdir()
    for i in range(3):
        subprocess.run([PLUMB, "simulate", "rooms/freeform", "--count", "1", "--image", "16", "--published", "--seed", str(i), "--out",
                        shared / f"shards/x{i}.tfrecord"], check=True, capture_output=True)
        (shared / f"shards/x{i}.tfrecord").rename(shared / f"shards/x.tfrecord-0000{i}-of-00003")
    for i in range(3):
        shutil.copytree(shared / "run", shared / f"runs/run{i}")
    shutil.copy(SOURCE / "fuzz/corpus/pth/torch-1.13-names", shared / "losses.pth")
    (shared / "table.csv").write_text("file_name,SceneIndex,type,condition\n" + "".join(
        f"a{i}.mp4,{i // 4},{i // 2 % 2 + 1}_{('Possible', 'Impossible')[i % 2]},solid\n" for i in range(8)))
    return shared


class Place:
    """The folders of one run: what it writes, and its temporary files."""

    def __init__(self, folder, inputs):
        self.inputs, self.out, self.temporary = inputs, folder / "out", folder / "tmp"

    def prepare(self, name):
        for path in (self.out, self.temporary):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        if name in ("evaluate", "train-again"):
            shutil.copytree(self.inputs / "run", self.out / "copy")

    def command(self, name):
        return [name.split("-")[0], *(word.format(**{"in": self.inputs, "out": self.out}) for word in COMMANDS[name])]

    def files(self):
        return {path.relative_to(self.out): path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

    def run(self, name, before, environment):
        self.prepare(name)
        # One thread, so that calls come in the same order.
        done = subprocess.run([*before, *self.command(name), *(() if name.split("-")[0] in ("convert", "show", "compare") else ("--threads", "1"))],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                              env={**os.environ, "TMPDIR": str(self.temporary), "OPENBLAS_NUM_THREADS": "1", **environment})
        return done


def without_times(data):
    return re.sub(rb'"seconds[a-z_]*": [-0-9.e]+', b'"seconds": 0', data)


def result(done):
    """What was printed, without times."""
    text = without_times(done.stdout.encode())
    try:
        return numbers(json.loads(text))
    except ValueError:
        return text


class Plain:
    """The run in which nothing fails, and what was there before it and after it."""

    def __init__(self, place, name, before, environment):
        place.prepare(name)
        self.old = place.files()
        self.done = place.run(name, before, environment)
        assert self.done.returncode == 0, self.done.stderr
        self.new = place.files()


def problem(place, name, done, plain):
    """What is wrong with a run in which something failed; None if nothing is."""
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        return None  # the call was one of its own
    if done.returncode not in (0, 1):
        return f"exit {done.returncode}: {done.stderr[-3000:]}"
    files = place.files()
    partial = [str(path) for path in files if ".part" in str(path)] + os.listdir(place.temporary)
    if partial:
        return f"{partial} is left"
    if done.returncode == 0:
        # Without OpenBLAS there is no kappa; the result says so.
        same = result(done) == result(plain.done) or '"canonical_why": "OpenBLAS is not on this machine' in done.stdout
        return None if same else f"exit 0, but other results: {done.stdout} {done.stderr}"
    word = name.split("-")[0]
    progress = re.compile(r"sweep: |train: step |.* % after ")
    lines = [line for line in done.stderr.splitlines() if not progress.match(line) and line not in plain.done.stderr]
    if len(lines) != 1 or not re.fullmatch(f"plumb {word}: .*[^ :]", lines[0]):
        return f"it says {done.stderr!r}"
    if word in ("train", "sweep"):
        return None  # a run that was begun may stay; it can be resumed
    # A file may be there if it is complete and only what came after it failed.
    wrong = [str(path) for path in {*files, *plain.old}
             if files.get(path) != plain.old.get(path) and without_times(files.get(path, b"")) != without_times(plain.new.get(path, b""))]
    return f"{wrong} is wrong: {lines[0]}" if wrong else None


def check_all(place, name, plain, faults):
    """faults: pairs of words and what runs the command with that fault."""
    problems = []
    for what, before, environment in faults:
        found = problem(place, name, place.run(name, before, environment), plain)
        if found:
            problems.append(f"{name}, {what}: {found}")
    print(f"{name}: {len(faults)} faults")
    assert not problems, f"{len(problems)} of {len(faults)}:\n" + "\n".join(problems)


def choose(count, first=0):
    every = range(first, count)
    step = int(os.environ.get("PLUMB_FAULT_STEP", "1"))
    return every[::step] if LONG else sorted(random.Random(count).sample(every, min(FEW, len(every))))


@every_command
def test_an_allocation_that_fails_is_a_failure(name, inputs, tmp_path):
    place, counts = Place(tmp_path, inputs), tmp_path / "counts"
    plain = Plain(place, name, [FAULTY], {"PLUMB_COUNT_ALLOC": str(counts)})
    count = max(int(line) for line in counts.read_text().split())
    assert count > 5
    check_all(place, name, plain, [(f"allocation {i}", [FAULTY], {"PLUMB_FAIL_ALLOC": str(i)}) for i in choose(count)])


def start_up(folder):
    """Calls of the loader, before the program itself begins."""
    log = folder / "log"
    done = subprocess.run([FAIL_IO, "-1", log, PLUMB, "--version"], capture_output=True)
    if done.returncode == 77:
        pytest.skip("the kernel does not pass on system calls")
    return next(i for i, line in enumerate(log.read_text().splitlines()) if line.startswith("write"))


@every_command
def test_an_io_call_that_fails_is_a_failure(name, inputs, tmp_path):
    place, log = Place(tmp_path, inputs), tmp_path / "log"
    first = start_up(tmp_path)
    plain = Plain(place, name, [FAIL_IO, "-1", log, PLUMB], {})
    calls = log.read_text(errors="replace").splitlines()
    check_all(place, name, plain, [(f"call {i} ({calls[i]})", [FAIL_IO, str(i), log, PLUMB], {}) for i in choose(len(calls), first)])


def test_a_run_is_not_overwritten_because_its_directory_cannot_be_listed(inputs, tmp_path):
    place, log = Place(tmp_path, inputs), tmp_path / "log"
    start_up(tmp_path)
    place.prepare("evaluate")
    # The lock has the number of the last process.
    old = {path: data for path, data in place.files().items() if path.name != "lock"}
    run = ["train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "1", "--out", place.out / "copy"]
    done = subprocess.run([FAIL_IO, "-1", log, PLUMB, *run], capture_output=True, text=True)
    assert done.returncode == 1 and "a run exists already" in done.stderr
    listings = [i for i, line in enumerate(log.read_text(errors="replace").splitlines()) if line.startswith("getdents")]
    assert listings
    for i in listings:
        done = subprocess.run([FAIL_IO, str(i), log, PLUMB, *run], capture_output=True, text=True)
        assert done.returncode == 1 and place.files().items() >= old.items(), done.stderr
