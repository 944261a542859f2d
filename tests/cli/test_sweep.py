# SPDX-License-Identifier: MIT
"""plumb sweep as a user runs it: what is refused and where, what is run, skipped, resumed and recorded, and that a kill at any
moment loses nothing."""
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from paths import LONG, PLUMB, SANITIZE
from processes import SLOW, start, wait_until
from program import Program

plumb = Program("sweep")
HEAD = "defaults: {preset: tiny, steps: 6}\n"
EVALUATE = "evaluate: {count: 2, steps: 10, measured: 4, method: pr}\n"
GOOD = HEAD + """runs:
  - model: hgn++
    world: [mass-spring, pendulum]
    seed: [1, 2]
    variants:
      plain: {}
      light: {beta: 0.5}
""" + EVALUATE
# The study that is carried out; half of it under a sanitizer.
WORLDS = ("pendulum",) if SANITIZE else ("mass-spring", "pendulum")
STUDY = GOOD.replace("[mass-spring, pendulum]", f"[{', '.join(WORLDS)}]")
NAMES = sorted(f"hgn++-{world}-{variant}-s{seed}" for world in WORLDS for variant in ("plain", "light")
               for seed in (1, 2))
COUNT = len(NAMES)


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch):
    for name in ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT", "SLURM_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True, scope="module")
def studies_can_be_read(shared):
    (shared / "good.yaml").write_text(STUDY)
    probe = subprocess.run([PLUMB, "sweep", "good.yaml", "--out", "x", "--slurm"], capture_output=True, text=True, cwd=shared)
    if "libyaml" in probe.stderr:
        pytest.skip(probe.stderr)


@pytest.fixture
def study(inside):
    """Writes a study file into the working directory."""
    def write(text, name="study.yaml"):
        (inside / name).write_text(text)
        return name
    return write


@pytest.fixture(scope="module")
def whole(shared):
    """The good study, done without interruption: its directory, and what was printed."""
    said = Program("sweep").answer(shared / "good.yaml", "--out", shared / "whole", "--workers", 2)
    return shared / "whole", said


def lines(out):
    return [json.loads(line) for line in (Path(out) / "results.jsonl").read_text().splitlines()]


def weights(out, name):
    return (Path(out) / name / "weights.safetensors").read_bytes()


# ---- what is refused ----

BAD = [
    (GOOD.replace("world:", "wrold:"), 4, 'no "wrold" in runs; the nearest is "world"'),
    (GOOD.replace("evaluate:", "evalute:"), 9, 'the nearest is "evaluate"'),
    (GOOD.replace("hgn++", "hgn+", 1), 3, 'the nearest is "hgn++"'),
    (GOOD.replace("pendulum", "pendulm"), 4, "pendulum"),
    (GOOD.replace("beta: 0.5", "bta: 0.5"), 8, 'the nearest is "beta"'),
    (GOOD.replace("beta: 0.5", "beta: -1"), 8, "beta takes a number from 0"),
    (GOOD.replace("beta: 0.5", "integrator: leap_frg"), 3, "leap_frg"),
    (GOOD.replace("beta: 0.5", "objective: eblo"), 8, "did you mean elbo?"),
    (GOOD.replace("beta: 0.5", "beta: [1, 2]"), 8, "one value"),
    (GOOD.replace("beta: 0.5", "world: pendulum"), 8, 'beside "set"'),
    (GOOD.replace("tiny", "tny"), 1, "did you mean tiny?"),
    (GOOD.replace("steps: 6", "steps: many"), 1, "steps takes a whole number"),
    (GOOD.replace("seed: [1, 2]", "seed: [1, 1]"), 5, "twice"),
    (GOOD.replace("seed: [1, 2]", "seed: 1\n    seed: 2"), 6, "twice, first in line 5"),
    (GOOD.replace("seed: [1, 2]", "seed: {log: [1, 2]}"), 5, "a value or a list"),
    (GOOD.replace("seed: [1, 2]", "set: {beta: {log: [0.1, 1]}}"), 3, '"draw: N"'),
    (GOOD.replace("seed: [1, 2]", "draw: 2\n    set: {beta: {lgo: [0.1, 1]}}"), 6, 'the nearest is "log"'),
    (GOOD.replace("seed: [1, 2]", "draw: 2\n    set: {beta: {log: [0, 1]}}"), 6, "greater than 0"),
    (GOOD.replace("seed: [1, 2]", "draw: 2"), 3, "nothing is drawn"),
    (GOOD.replace("seed: [1, 2]", "data: x.h5"), 5, "a world is given too"),
    (GOOD.replace("world: [mass-spring, pendulum]", "data: x.h5"), 4, "x.h5"),
    (GOOD.replace("method: pr", "method: rp"), 9, "both or pr"),
    (GOOD.replace("method: pr", "symplectic: maybe"), 9, '"symplectic" takes on or off'),
    (GOOD.replace("count: 2", "count: 1"), 9, "from 2 to"),
    (GOOD.replace("seed: [1, 2]", "set: {batch: 3, replicas: 2}"), 3, "batch=3"),
    (GOOD + "a: &x 1\n", 10, "anchor"),
    (GOOD + "a: [1\n", 11, "not YAML"),
    (GOOD + "---\nb: 1\n", 10, "second document"),
    (HEAD + "runs:\n  - {model: hgn++, world: pendulum}\n  - {model: hgn++, world: pendulum}\n", 4, "two runs are called"),
    (HEAD + "runs:\n  - {model: hgn++, world: pendulum, seed: [" + ",".join(map(str, range(200))) + "], set: {beta: ["
     + ",".join(map(str, range(1, 101))) + "]}}\n", 3, "more than 10000"),
    (GOOD.replace("seed: [1, 2]", "set: [beta, 2]"), 5, "set must be a map of settings"),
    (HEAD + "runs:\n  - {model: hgn++, world: pendulum}\nevaluate: [count, 2]\n", 4, '"evaluate" takes a map'),
    ("", 1, "a study is a map"), ("runs: 3\n", 1, "list"), ("- 1\n", 1, "a map")]


@pytest.mark.parametrize("text, line, words", BAD, ids=[f"{i}: {words[:30]}" for i, (_, _, words) in enumerate(BAD)])
def test_a_wrong_study_is_refused_with_its_line_before_anything_runs(text, line, words, study):
    done = plumb.run(study(text, "bad.yaml"), "--out", "bad", code=1)
    assert done.stdout == "" and done.stderr.count("\n") == 1 and f"bad.yaml:{line}: " in done.stderr and words in done.stderr
    assert not Path("bad").exists()


@pytest.mark.parametrize("value", ["[1]", "[[1]]", "{a: 1}", "{a: [1]}", "3", "", "~"])
def test_a_value_of_another_kind_is_one_line_at_every_key(value, study):
    """A list where a map should be has no names to compare. The model does not exist, so nothing runs."""
    block = {"model": "nope", "world": "pendulum", "data": "x.h5", "preset": "tiny", "steps": 3, "seed": 1, "draw": 2, "draw_seed": 1,
             "set": "{beta: 1}", "variants": "{a: {beta: 1}}"}
    for key in block:
        for depth in (f"runs: [{{model: nope, {key}: {value}}}]", f"defaults: {{model: nope, {key}: {value}}}\nruns: [{{model: nope}}]",
                      f"runs: [{{model: nope, world: pendulum, set: {{beta: {value}}}, variants: {{a: {value}}}}}]"):
            done = plumb.run(study(depth + "\n", "bad.yaml"), "--out", "bad", code=1)
            assert done.stderr.count("\n") == 1
    for key in ("name", "defaults", "runs", "evaluate", "other"):
        done = plumb.run(study(f"{key}: {value}\nruns: [{{model: nope, world: pendulum}}]\n", "bad.yaml"), "--out", "bad", code=1)
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", ["good.yaml", "good.yaml good.yaml --out x", "good.yaml --out x --workers 0",
                                       "good.yaml --out x --array", "good.yaml --out x --worker"])
def test_wrong_usage_is_one_line(arguments, study):
    study(GOOD, "good.yaml")
    assert plumb.run(*arguments.split(), code=2).stderr.count("\n") == 1


def test_a_missing_study_is_one_line(inside):
    said = plumb.run("nothing.yaml", "--out", "x", code=1).stderr
    assert "nothing.yaml" in said and said.count("\n") == 1


# ---- a study ----

def test_the_protocol_of_an_evaluation_is_a_key_and_others_still_count(inside):
    (inside / "p.yaml").write_text(
        "name: p\nruns:\n  - model: hgn++\n    world: mass-spring\n    preset: tiny\n    steps: 2\n"
        "evaluate: {measured: 10, protocol: paper, count: 2, steps: 5, method: pr, mask: none, points: 5, average: median}\n")
    plumb.run("p.yaml", "--out", "p")
    (record,) = lines(inside / "p")
    assert record["evaluate"]["protocol"] == "paper" and record["evaluate"]["forecast"]["n"] == 2
    assert record["evaluate"]["pr"]["mode"] == "reference" and record["evaluate"]["pr"]["fits"] == 2
    assert record["evaluate"]["vpt"] == record["evaluate"]["vpt_median"]

def test_a_study_runs_every_combination_and_records_it(whole):
    out, said = whole
    assert (said["runs"], said["done"], said["skipped"], said["failed"], said["left"]) == (COUNT, COUNT, 0, 0, 0)
    records = {record["run"]: record for record in lines(out)}
    assert sorted(records) == NAMES and len(lines(out)) == COUNT
    record = records["hgn++-pendulum-light-s2"]
    assert record["set"] == {"steps": "6", "beta": "0.5", "seed": "2"} and record["world"] == "pendulum"
    assert record["evaluate"]["pr"]["r2"] <= 1 and record["train"]["steps"] == 6


def test_a_run_of_a_study_is_the_run_that_plumb_train_makes(whole, inside):
    Program("train").run("hgn++", "--world", "pendulum", "--preset", "tiny", "--steps", 6, "--set", "beta=0.5", "--set", "seed=2", "--out", "alone")
    assert weights(inside, "alone") == weights(whole[0], "hgn++-pendulum-light-s2")


def test_done_runs_are_skipped_and_other_settings_are_refused(whole, study):
    out = whole[0]
    before = (out / "results.jsonl").read_bytes()
    said = plumb.answer(study(STUDY), "--out", out)
    assert said["skipped"] == COUNT and said["done"] == 0 and (out / "results.jsonl").read_bytes() == before
    done = plumb.run(study(STUDY.replace("beta: 0.5", "beta: 0.25")), "--out", out, code=2)
    assert "was started with beta=0.5" in done.stderr and "0.25" in done.stderr
    # Another evaluation of the same runs is made.
    said = plumb.answer(study(STUDY.replace("method: pr", "method: pr, symplectic: on")), "--out", out, "--workers", 2)
    assert said["done"] == COUNT and len(lines(out)) == 2 * COUNT


def test_a_study_goes_on_from_records_alone(whole, study, inside):
    study(STUDY)
    # Another test evaluates the runs once more, with other options; those lines come later.
    records = (whole[0] / "results.jsonl").read_text().splitlines(keepends=True)[:COUNT]
    half = [line for line in records if json.loads(line)["run"] != NAMES[0]]
    # The last line is incomplete, as after a kill.
    (inside / "earlier.jsonl").write_text("".join(half) + records[0][:100])
    go = ("study.yaml", "--out", "new", "--done", "earlier.jsonl")
    plan = plumb.answer(*go, "--plan")
    assert plan["left"] == 1
    assert sorted(run["state"] for run in plan["runs"]) == ["done"] * (COUNT - 1) + ["new"]
    result = plumb.answer(*go)
    assert (result["skipped"], result["done"], result["failed"]) == (COUNT - 1, 1, 0)
    # Only the missing run was trained; the lines of the others are the same text.
    assert sorted(p.name for p in Path("new").glob("hgn*")) == [NAMES[0]]
    assert sorted(json.loads(line)["run"] for line in Path("new/results.jsonl").read_text().splitlines()) == NAMES
    assert set(half) <= set(Path("new/results.jsonl").read_text().splitlines(keepends=True))
    assert weights(Path("new"), NAMES[0]) == weights(whole[0], NAMES[0])
    # The same command again has nothing to do and adds no line.
    assert plumb.answer(*go)["skipped"] == COUNT
    assert len(Path("new/results.jsonl").read_text().splitlines()) == COUNT


@pytest.mark.parametrize("change, words", [
    (lambda line: line["set"].update(steps="7"), "steps=7, but the study has 6"),
    (lambda line: line["set"].update(pairs="7"), "settings, but the study gives it"),
    (lambda line: line.update(preset="cpu"), "preset=cpu, but the study has tiny"),
    (lambda line: line.update(options="0" * 32), "options=0000"),
])
def test_records_of_other_settings_are_rejected_with_their_line(change, words, whole, study, inside):
    study(STUDY)
    line = json.loads((whole[0] / "results.jsonl").read_text().splitlines()[0])
    change(line)
    (inside / "other.jsonl").write_text("\n" + json.dumps(line) + "\n")
    plumb.refused("other.jsonl:2", "study.yaml", "--out", "new", "--done", "other.jsonl", "--plan")
    plumb.refused(words, "study.yaml", "--out", "new", "--done", "other.jsonl")
    plumb.refused("missing.jsonl", "study.yaml", "--out", "new", "--done", "missing.jsonl")
    assert not Path("new").exists()


def test_a_failed_record_is_tried_again(whole, study, inside):
    study(STUDY)
    line = json.loads((whole[0] / "results.jsonl").read_text().splitlines()[0])
    del line["evaluate"]
    line["failed"] = "NaN"
    (inside / "failed.jsonl").write_text(json.dumps(line) + "\n")
    assert plumb.answer("study.yaml", "--out", "new", "--done", "failed.jsonl", "--plan")["left"] == COUNT


def test_a_failed_run_is_recorded_shown_and_tried_again_only_with_retry(study, inside):
    name = study(HEAD + """runs:
  - {model: hgn++, world: mass-spring, variants: {wild: {learning_rate: 1000, clip_norm: 0, steps: 30}}}
  - {model: hgn++, world: mass-spring, seed: [1]}
""" + EVALUATE)
    done = plumb.run(name, "--out", "wild", code=1)
    assert "1 of 2 runs failed" in done.stderr.splitlines()[-1]
    records = {record["run"]: record for record in lines("wild")}
    assert "is not finite" in records["hgn++-mass-spring-wild"]["failed"] and records["hgn++-mass-spring-wild"]["final"]
    assert "evaluate" in records["hgn++-mass-spring-s1"]
    count = len(lines("wild"))
    plumb.run(name, "--out", "wild", code=1)
    assert len(lines("wild")) == count, "what failed for good is tried again"
    plumb.run(name, "--out", "wild", "--retry", code=1)
    assert len(lines("wild")) == count + 1, "--retry does not try again"
    # The page, also with a line that was cut.
    for cut in (b"", b'{"run": "hgn++-mass-spr'):
        with open("wild/results.jsonl", "ab") as file:
            file.write(cut)
        Program("report").run("wild", "--out", "wild.html")
        page = Path("wild.html").read_text()
        assert "This run failed: step" in page and ">failed<" in page and "hgn++-mass-spring-s1" in page
    plumb.run(name, "--out", "wild", "--retry", code=1)
    assert len(lines("wild")) == count + 2, "a cut line stays"


def test_draws_are_in_range_and_the_same_for_every_world(study):
    name = study("""runs:
  - model: hgn++
    world: [mass-spring, pendulum]
    preset: tiny
    draw: 3
    set:
      learning_rate: {log: [1e-4, 1e-2]}
      pairs: {integer: [1, 3]}
      beta: {uniform: [0.5, 1]}
      integrator: {choose: [leap_frog, so4]}
""" + EVALUATE)
    plan = plumb.answer(name, "--out", "draw", "--plan")
    assert not Path("draw").exists() and plan["left"] == 6 and plan["core_seconds"] > 0 and plan["seconds"] > 0
    assert [run["name"] for run in plan["runs"]] == [f"hgn++-{world}-d{d}" for world in ("mass-spring", "pendulum") for d in (1, 2, 3)]
    plumb.run(name, "--out", "draw", "--workers", 2)
    drawn = {record["run"]: record["set"] for record in lines("draw")}
    assert all(drawn[f"hgn++-mass-spring-d{d}"] == drawn[f"hgn++-pendulum-d{d}"] for d in (1, 2, 3))
    assert len({one["learning_rate"] for one in drawn.values()}) == 3
    assert all(1e-4 <= float(one["learning_rate"]) <= 1e-2 and one["pairs"] in "123" and one["integrator"] in ("leap_frog", "so4")
               for one in drawn.values())


# ---- signals and kills ----

def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def start_sweep(*arguments):
    return start(PLUMB, "sweep", *arguments, start_new_session=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_stops_a_study_with_exit_75(number, study):
    process = start_sweep(study(GOOD.replace("steps: 6", "steps: 400")), "--out", "out", "--workers", 2)
    assert wait_until(lambda: children(process))
    time.sleep(0.3 * SLOW)
    process.send_signal(number)
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 75 and "stopped" in err.splitlines()[-1] and out == ""


def test_a_child_that_dies_is_recorded(study):
    process = start_sweep(study(GOOD.replace("steps: 6", "steps: 400")), "--out", "orphan", "--workers", 2)
    assert wait_until(lambda: children(process))
    os.kill(children(process)[0], signal.SIGKILL)
    assert wait_until(lambda: Path("orphan/results.jsonl").exists() and lines("orphan"))
    process.kill()
    process.communicate()
    assert any("signal 9" in record.get("failed", "") and not record["final"] for record in lines("orphan"))


def kill_until_done(name):
    """Kills a study at random moments until it ends by itself; returns how often. Each start is given more time than the one before, so
    that it ends on a machine of any speed."""
    longest, kills = 0.15, 0
    while True:
        longest *= 1.1 if LONG else 1.3
        process = start_sweep(name, "--out", "killed", "--workers", 2)
        try:
            process.communicate(timeout=random.uniform(0.02, longest) * SLOW)
            assert process.returncode == 0
            return kills
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
            process.communicate()


def test_a_study_killed_at_any_moment_ends_with_the_same_bits(whole, study):
    random.seed(4)
    name, kills = study(STUDY), 0
    # make test-long kills it again and again, until there were a hundred kills.
    while kills < (100 if LONG else 3):
        kills += kill_until_done(name)
        assert sorted(record["run"] for record in lines("killed") if "failed" not in record) == NAMES
        for run in NAMES:
            assert weights("killed", run) == weights(whole[0], run), f"{run}: other bits after {kills} kills"
        shutil.rmtree("killed")
    print(kills, "kills")


def test_a_study_runs_where_the_end_of_children_is_not_reported(study):
    """SIGCHLD ignored, which survives exec: waitpid then fails, and must not be waited for."""
    process = start(PLUMB, "sweep", study(STUDY), "--out", "unreported", "--workers", 2,
                    preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 0, err
    assert sorted(record["run"] for record in lines("unreported")) == NAMES


def test_it_can_be_stopped_there_too(study):
    process = start(PLUMB, "sweep", study(GOOD.replace("steps: 6", "steps: 4000")), "--out", "unreported", "--workers", 2,
                    preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert wait_until(lambda: children(process))
    time.sleep(0.3 * SLOW)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=1200)
    assert process.returncode == 75


@pytest.mark.parametrize("term", [signal.SIG_DFL, signal.SIG_IGN], ids=["SIGTERM heard", "SIGTERM ignored"])
def test_children_end_with_a_sweep_that_is_killed(term, study):
    name = study(GOOD.replace("steps: 6", "steps: 100000"))
    process = start(PLUMB, "sweep", name, "--out", "killed-parent", "--workers", 2, start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGTERM, term))
    assert wait_until(lambda: len(children(process)) == 2)
    orphans = children(process)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans), 120), "a child outlives its parent"


def test_a_name_cannot_add_a_line_to_the_script(study):
    plumb.refused("control character", study('name: "a\\ntouch injected"\n' + STUDY), "--out", "x", "--slurm")
    # The name of the file is that of the study where it has none.
    plumb.refused("control character", study(STUDY, "a\ntouch injected\n.yaml"), "--out", "x", "--slurm")


# ---- Slurm ----

def test_the_slurm_script_asks_for_an_array_whose_tasks_make_up_the_study(study):
    plumb.run(study(STUDY), "--out", "array", "--slurm", "--tasks", 3, "--cores", 2, "--minutes", 30)
    script = Path("array/sweep.slurm")
    text = script.read_text()
    assert os.access(script, os.X_OK)
    assert all(f"#SBATCH --{word}" in text for word in ("array=0-2", "time=30", "requeue", "signal=B:USR1@"))
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    for task in (5, 6, 7):
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "3",
                       "SLURM_RESTART_COUNT": "2"}
        done = subprocess.run(["bash", script], capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and f"task {task - 5} of 3, start 3" in done.stderr
    assert sorted(record["run"] for record in lines("array")) == NAMES


def test_a_slurm_task_whose_time_is_up_saves_and_is_queued_again(study, inside):
    # The signal comes to the batch shell.
    plumb.run(study(GOOD.replace("steps: 6", "steps: 400")), "--out", "again", "--slurm", "--tasks", 1)
    Path("bin").mkdir()
    Path("bin/scontrol").write_text('#!/bin/sh\necho "$@" >queued\n')
    Path("bin/scontrol").chmod(0o755)
    environment = {**os.environ, "PATH": f"{inside}/bin:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_JOB_ID": "7"}
    process = start("bash", "again/sweep.slurm", env=environment)
    assert wait_until(lambda: list(Path("again").glob("hgn*")) or process.poll() is not None)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 0 and Path("queued").read_text() == "requeue 7_0\n", err
