# SPDX-License-Identifier: MIT
"""The main commands where the environment is against them: signals ignored, files closed, little stack and memory, a full disk, a
directory that cannot be written. Each ends with the right exit code, says at most one line, and leaves no partial file."""
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from paths import BUILD, LONG, PLUMB, SANITIZE
from program import numbers, without_cost

STUDY = """name: small
defaults: {preset: tiny, steps: 2}
runs: [{model: hgn++, world: mass-spring}]
evaluate: {count: 2, steps: 10, measured: 4, method: pr}
"""
EVALUATE = ("--count", "2", "--steps", "10", "--measured", "4", "--method", "pr")


def make_inputs(folder):
    """Files for all commands; ten trajectories of a spring."""
    rng = np.random.default_rng(1)
    radius, phase = rng.uniform(0.5, 1.5, (2, 10, 1))
    angle = 0.2 * np.arange(30) + phase
    truth = np.stack([radius * np.cos(angle), -radius * np.sin(angle)], -1)
    np.savez(folder / "model.npz", latent=truth @ np.array([[0.8, 0.6], [-0.6, 0.8]]), truth=truth)
    frames = rng.uniform(0, 1, (3, 20, 4, 4, 1))
    np.savez(folder / "frames.npz", truth=frames, prediction=frames + 0.01 * rng.normal(0, 1, frames.shape))
    np.savez(folder / "surprise.npz", surprise=rng.uniform(0, 1, (12, 4)), feature=rng.normal(0, 1, (12, 4, 3)))
    (folder / "study.yaml").write_text(STUDY)
    plumb = [PLUMB, "simulate", "mass-spring", "--count", "2", "--steps", "8", "--out", folder / "data.npz"]
    subprocess.run(plumb, check=True, capture_output=True)
    subprocess.run([PLUMB, "train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "2", "--out", folder / "run"],
                   check=True, capture_output=True)


class Case:
    """A command; `writes` is what it makes in the folder `out`, or in its copy of the run."""

    def __init__(self, name, *arguments, writes=None):
        self.name, self.arguments, self.writes = name, arguments, writes

    def command(self, inputs, out):
        fill = {"in": os.fsdecode(os.fsencode(inputs)), "out": os.fsdecode(os.fsencode(out))}
        return [PLUMB, self.name, *(word.format(**fill) for word in self.arguments)]


CASES = [
    Case("measure", "{in}/model.npz", "--published", "--json"),
    Case("measure", "{in}/model.npz", "--centres", "20", "--resamples", "20", "--items", "{out}/items.jsonl", writes="items.jsonl"),
    Case("surprise", "{in}/surprise.npz", "-k", "3", "--items", "{out}/items.jsonl", writes="items.jsonl"),
    Case("forecast", "{in}/frames.npz", "--split", "10", "--items", "{out}/items.jsonl", writes="items.jsonl"),
    Case("simulate", "mass-spring", "--count", "2", "--steps", "8", "--out", "{out}/x.npz", writes="x.npz"),
    Case("simulate", "mass-spring", "--count", "2", "--steps", "8", "--out", "{out}/x.tfrecord", writes="x.tfrecord"),
    Case("simulate", "mass-spring", "--count", "2", "--steps", "8", "--out", "{out}/x.h5", writes="x.h5"),
    Case("convert", "{in}/data.npz", "{out}/x.h5", writes="x.h5"),
    Case("convert", "{in}/data.npz", "{out}/x.npz", "--compress", writes="x.npz"),
    Case("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "2", "--out", "{out}/run", writes="run"),
    Case("evaluate", "{out}/copy", *EVALUATE, writes="copy"),
    Case("report", "{in}/frames.npz", "--out", "{out}/x.html", writes="x.html"),
    Case("report", "{in}/run", "--films", "2", "--steps", "10", "--out", "{out}/x.html", writes="x.html"),
    Case("sweep", "{in}/study.yaml", "--out", "{out}/sweep", writes="sweep"),
    Case("show", "{in}/data.npz", "--out", "{out}/x.png", writes="x.png"),
    Case("show", "{in}/data.npz", "--out", "{out}/x.svg", writes="x.svg"),
    Case("doctor"),
    Case("worlds", "--json"),
]
if SANITIZE and not LONG:
    # One case of each command: a sanitizer takes several times as long.
    CASES = [case for i, case in enumerate(CASES) if case.name not in {other.name for other in CASES[:i]}]
IDS = [f"{case.name}-{case.writes or 'prints'}-{i}" for i, case in enumerate(CASES)]
WRITERS = [case for case in CASES if case.writes]
every_case = pytest.mark.parametrize("case", CASES, ids=IDS)
every_writer = pytest.mark.parametrize("case", WRITERS, ids=[i for i, case in zip(IDS, CASES) if case.writes])


@pytest.fixture(scope="module")
def inputs():
    """Not below the build, which another user may not be allowed to read."""
    with tempfile.TemporaryDirectory(prefix="plumb-environment-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        make_inputs(folder)
        yield folder


@pytest.fixture
def out(tmp_path, inputs):
    folder = tmp_path / "out"
    folder.mkdir()
    shutil.copytree(inputs / "run", folder / "copy")
    return folder


def run(case, inputs, out, before=None, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run(case.command(inputs, out), preexec_fn=before, timeout=300, cwd=inputs, **how)


def all_files(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(os.fsencode(folder)) for name in names)


def check_no_part(folder):
    parts = [path for path in all_files(folder) if b".part" in path or os.path.basename(path).startswith(b"tmp")]
    assert not parts


def check_done(case, done, out):
    assert done.returncode == 0, done.stderr
    assert not case.writes or (out / case.writes).exists()
    check_no_part(out)


def check_one_line(case, done):
    """One line that names the command, beside progress and cost: "50 % after 10 s", "50 KB will be written", and of a sweep how each run ended."""
    lines = [line for line in without_cost(done.stderr.decode(errors="replace")) if not line.startswith("sweep: ")]
    assert len(lines) == 1 and lines[0].startswith(f"plumb {case.name}: "), done.stderr


# ---- what must not matter ----

@every_case
def test_nobody_else_can_read_what_is_written_under_umask_077(case, inputs, out):
    old = {path for path in all_files(out)}
    check_done(case, run(case, inputs, out, lambda: os.umask(0o077)), out)
    for path in all_files(out):
        if path not in old:
            assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0, path
    for name in ("run", "sweep"):
        assert not (out / name).exists() or stat.S_IMODE((out / name).stat().st_mode) & 0o077 == 0


def ignore_signals():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


@every_case
def test_ignored_signals_do_not_matter(case, inputs, out):
    check_done(case, run(case, inputs, out, ignore_signals), out)


@every_case
def test_a_stack_of_256_kb_is_enough(case, inputs, out):
    if SANITIZE:
        pytest.skip("a sanitizer needs more")
    check_done(case, run(case, inputs, out, lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 18, 1 << 18))), out)


@every_case
def test_512_mb_of_address_space_are_enough(case, inputs, out):
    if SANITIZE:
        pytest.skip("a sanitizer needs more")
    check_done(case, run(case, inputs, out, lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))), out)


@every_case
def test_a_path_need_not_be_utf8(case, inputs, tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe\x80"))
    folder.mkdir()
    (folder / "out").mkdir()
    shutil.copytree(inputs, folder / "in")
    shutil.copytree(inputs / "run", folder / "out/copy")
    done = run(case, folder / "in", folder / "out")
    check_done(case, done, folder / "out")
    if "--json" in case.arguments:
        json.loads(done.stdout)


@every_case
@pytest.mark.parametrize("closed", [(0,), (2,), (0, 2)] if LONG else [(0, 2)])
def test_a_closed_stdin_or_stderr_does_not_matter(case, closed, inputs, out):
    def close():
        for fd in closed:
            os.close(fd)
    done = run(case, inputs, out, close)
    check_done(case, done, out)
    assert 2 not in closed or done.stderr == b""


# ---- what must fail ----

@every_case
def test_a_closed_stdout_is_a_failure_and_no_result_goes_into_a_file(case, inputs, out):
    done = run(case, inputs, out, lambda: os.close(1))
    assert done.returncode == 1 and done.stdout == b""
    check_one_line(case, done)
    check_no_part(out)


@every_case
def test_with_everything_closed_it_fails(case, inputs, out):
    done = run(case, inputs, out, lambda: [os.close(fd) for fd in range(3)])
    assert done.returncode == 1
    check_no_part(out)


@every_case
def test_a_full_device_as_stdout_is_a_failure(case, inputs, out):
    with open("/dev/full", "w") as full:
        done = run(case, inputs, out, stdout=full)
    assert done.returncode == 1
    check_one_line(case, done)
    check_no_part(out)


def snapshot(folder):
    return {path: Path(os.fsdecode(path)).read_bytes() for path in all_files(folder)}


def check_failed(case, done, before, out):
    """Exit 1 and one line; no file is new, and the old ones have their contents. A run or a sweep that was begun may stay: it can be
    resumed or overwritten; none of its files may be partial."""
    assert done.returncode == 1, (done.returncode, done.stderr)
    check_one_line(case, done)
    check_no_part(out)
    after = snapshot(out)
    assert before.items() <= after.items()
    new = [os.fsdecode(path) for path in after if path not in before]
    assert all(f"/{case.writes}/" in path for path in new) if case.name in ("train", "sweep") else not new, new


@every_writer
@pytest.mark.parametrize("size", [0, 100, 500, 1000, 3000, 10000] if LONG else [0, 3000])
def test_a_file_that_may_not_grow_is_a_failure(case, size, inputs, out):
    before = snapshot(out)
    done = run(case, inputs, out, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    if size and done.returncode == 0:
        # A small file fits.
        assert all(path in before or os.path.getsize(path) <= size for path in all_files(out)) or case.name == "evaluate"
        return check_done(case, done, out)
    check_failed(case, done, before, out)


def can_mount():
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0 if shutil.which("unshare") else False


@every_writer
@pytest.mark.parametrize("pages", [0, 1, 2, 3, 5, 8, 13] if LONG else [0, 3])
def test_a_full_disk_is_a_failure(case, pages, inputs, tmp_path):
    """On a small file system in memory, which only the program and the shell around it see. Its pages have 4 kB; the copy of the run has
    its own."""
    if not can_mount():
        pytest.skip("mounting is not permitted")
    out, seen = tmp_path / "out", tmp_path / "seen"
    out.mkdir()
    size = 4096 * (pages + 1) + (sum(-(-path.stat().st_size // 4096) * 4096 for path in (inputs / "run").iterdir()) if case.name == "evaluate" else 0)
    prepare = f"cp -r {inputs}/run {out}/copy &&" if case.name == "evaluate" else ""
    # One page is the root's own; what is left is filled but for `pages`.
    script = f"""mount -t tmpfs -o size={size},nr_inodes=100 tmpfs {out} && {prepare} head -c 4096 /dev/zero >{out}/filler || exit 99
        "$@"
        code=$?
        rm -f {out}/filler
        cp -r {out} {seen}
        exit $code"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *case.command(inputs, out)], capture_output=True, timeout=300,
                          stdin=subprocess.DEVNULL, cwd=inputs, env={**os.environ, "TMPDIR": "/tmp"})
    if done.returncode == 99:
        pytest.skip("mounting is not permitted")
    if pages and done.returncode == 0:
        return check_done(case, done, seen)
    before = {}
    if case.name == "evaluate":
        before = {os.fsencode(seen / "copy" / path.name): path.read_bytes() for path in (inputs / "run").iterdir()}
    check_failed(case, done, before, seen)


@every_writer
def test_a_directory_that_cannot_be_written_is_a_failure_or_is_not_needed(case, inputs):
    """As another user if this is root, whom no permission stops."""
    with tempfile.TemporaryDirectory(prefix="plumb-environment-") as name:
        Path(name).chmod(0o755)
        out = Path(name) / "out"
        shutil.copytree(inputs / "run", out / "copy")
        for path in (out / "copy", out):
            path.chmod(0o555)
        nobody = 65534

        def become_another():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(nobody)
                os.setuid(nobody)
        if subprocess.run([PLUMB, "--version"], preexec_fn=become_another, capture_output=True).returncode:
            pytest.skip("another user cannot start the program")
        before = snapshot(out)
        done = run(case, inputs, out, become_another)
        for path in (out, out / "copy"):
            path.chmod(0o755)
        if case.name == "evaluate":  # it needs no directory to write to: the result is printed
            check_one_line(case, done)
            assert done.returncode == 0 and b"cannot be written" in done.stderr and snapshot(out) == before
        else:
            check_failed(case, done, before, out)


def test_the_same_numbers_in_every_environment(inputs, out):
    """Not only the exit code: results do not change."""
    case = CASES[0]
    plain = numbers(json.loads(run(case, inputs, out).stdout))
    for before in (ignore_signals, lambda: os.umask(0o077), lambda: os.close(0), lambda: os.close(2)):
        assert numbers(json.loads(run(case, inputs, out, before).stdout)) == plain


@pytest.mark.parametrize("name", ["calibration", "datasets", "models", "symetric", "voe"])
def test_golden_cases_that_do_not_exist_are_a_failure(name, tmp_path):
    program = BUILD / f"tests/test-golden-{name}"
    done = subprocess.run([program], env={**os.environ, "PLUMB_GOLDEN": str(tmp_path / "none")}, capture_output=True, text=True)
    assert done.returncode == 1 and "none" in done.stdout
