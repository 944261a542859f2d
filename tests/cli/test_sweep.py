# SPDX-License-Identifier: MIT
"""plumb sweep as a user runs it: what is refused and where, what is run, skipped, resumed and recorded, and that a kill at any
moment loses nothing."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUMB = os.environ["PLUMB"]
SLOW = 4 if os.environ.get("PLUMB_SANITIZE") else 1
failures = 0
for name in ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT", "SLURM_RESTART_COUNT"):
    os.environ.pop(name, None)


def check(condition, what):
    global failures
    if not condition:
        print("FAILED:", what)
        failures += 1


def plumb(*arguments, code=0, **how):
    done = subprocess.run([PLUMB, *map(str, arguments)], capture_output=True, text=True, timeout=300, **how)
    check(done.returncode == code, f"{arguments}: exit {done.returncode}, not {code}: {done.stderr[-300:]}")
    return done


def lines(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


HEAD = "defaults: {preset: tiny, steps: 6}\n"
JUDGE = "evaluate: {count: 2, steps: 10, measured: 4, method: pr}\n"
GOOD = HEAD + """runs:
  - model: hgn++
    world: [mass-spring, pendulum]
    seed: [1, 2]
    variants:
      plain: {}
      light: {beta: 0.5}
""" + JUDGE

folder = Path(tempfile.mkdtemp(prefix="plumb-sweep-"))
os.chdir(folder)
probe = plumb("sweep", "nothing.yaml", "--out", "x", code=1)
check("nothing.yaml" in probe.stderr and probe.stderr.count("\n") == 1, f"a missing study: {probe.stderr!r}")
Path("good.yaml").write_text(GOOD)
probe = subprocess.run([PLUMB, "sweep", "good.yaml", "--out", "x", "--slurm"], capture_output=True, text=True)
if "libyaml" in probe.stderr:
    print(probe.stderr)
    sys.exit(77)

# ---- what is refused, with the line and the nearest word ----
for text, line, words in (
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
        (GOOD.replace("method: pr", "symplectic: yes"), 9, "symplectic takes on or off"),
        (GOOD.replace("count: 2", "count: 1"), 9, "from 2 to"),
        (GOOD.replace("seed: [1, 2]", "set: {batch: 3, replicas: 2}"), 3, "batch=3"),
        (GOOD + "a: &x 1\n", 10, "anchor"),
        (GOOD + "a: [1\n", 11, "not YAML"),
        (GOOD + "---\nb: 1\n", 10, "second document"),
        (HEAD + "runs:\n  - {model: hgn++, world: pendulum}\n  - {model: hgn++, world: pendulum}\n", 4, "two runs are called"),
        (HEAD + "runs:\n  - {model: hgn++, world: pendulum, seed: [" + ",".join(map(str, range(200))) + "], set: {beta: ["
         + ",".join(map(str, range(1, 101))) + "]}}\n", 3, "more than 10000"),
        ("", 1, "a study is a map"), ("runs: 3\n", 1, "list"), ("- 1\n", 1, "a map")):
    Path("bad.yaml").write_text(text)
    done = plumb("sweep", "bad.yaml", "--out", "bad", code=1)
    check(done.stdout == "" and done.stderr.count("\n") == 1 and f"bad.yaml:{line}: " in done.stderr and words in done.stderr,
          f"wanted line {line} and {words!r}, got {done.stderr!r}")
    check(not Path("bad").exists(), "something ran before the study was checked")
for arguments in (("good.yaml",), ("good.yaml", "good.yaml", "--out", "x"), ("good.yaml", "--out", "x", "--workers", "0"),
                  ("good.yaml", "--out", "x", "--array"), ("good.yaml", "--out", "x", "--worker")):
    done = plumb("sweep", *arguments, code=2)
    check(done.stderr.count("\n") == 1, f"{arguments}: {done.stderr!r}")

# ---- a study, whole ----
done = json.loads(plumb("sweep", "good.yaml", "--out", "whole", "--workers", 2, "--json").stdout)
check((done["runs"], done["done"], done["skipped"], done["failed"], done["left"]) == (8, 8, 0, 0, 0), f"a study: {done}")
whole = {record["run"]: record for record in lines(Path("whole"))}
names = [f"hgn++-{world}-{variant}-s{seed}" for world in ("mass-spring", "pendulum") for variant in ("plain", "light") for seed in (1, 2)]
check(sorted(whole) == sorted(names) and len(lines(Path("whole"))) == 8, f"names: {sorted(whole)}")
record = whole["hgn++-pendulum-light-s2"]
check(record["set"] == {"steps": "6", "beta": "0.5", "seed": "2"} and record["world"] == "pendulum", f"settings: {record['set']}")
check(record["evaluate"]["pr"]["r2"] <= 1 and record["train"]["steps"] == 6, "a record without its results")
plumb("train", "hgn++", "--world", "pendulum", "--preset", "tiny", "--steps", 6, "--set", "beta=0.5", "--set", "seed=2", "--out", "alone")
check(Path("alone/weights.safetensors").read_bytes() == Path("whole/hgn++-pendulum-light-s2/weights.safetensors").read_bytes(),
      "a run of a study is not the run that plumb train makes")
before = Path("whole/results.jsonl").read_bytes()
done = json.loads(plumb("sweep", "good.yaml", "--out", "whole", "--json").stdout)
check(done["skipped"] == 8 and done["done"] == 0 and Path("whole/results.jsonl").read_bytes() == before, f"done runs are done again: {done}")

# Other settings under the same name are refused; another evaluation is made.
Path("other.yaml").write_text(GOOD.replace("beta: 0.5", "beta: 0.25"))
done = plumb("sweep", "other.yaml", "--out", "whole", code=2)
check("was begun with beta=0.5" in done.stderr and "0.25" in done.stderr, f"other settings: {done.stderr}")
Path("other.yaml").write_text(GOOD.replace("method: pr", "method: pr, symplectic: on"))
done = json.loads(plumb("sweep", "other.yaml", "--out", "whole", "--workers", 2, "--json").stdout)
check(done["done"] == 8 and len(lines(Path("whole"))) == 16, f"another evaluation: {done}")

# ---- failures ----
Path("wild.yaml").write_text(HEAD + """runs:
  - {model: hgn++, world: mass-spring, variants: {wild: {rate: 1000, clip: 0, steps: 30}}}
  - {model: hgn++, world: mass-spring, seed: [1]}
""" + JUDGE)
done = plumb("sweep", "wild.yaml", "--out", "wild", code=1)
check("1 of 2 runs failed" in done.stderr.splitlines()[-1], f"a failure: {done.stderr}")
records = {record["run"]: record for record in lines(Path("wild"))}
check("is not finite" in records["hgn++-mass-spring-wild"]["failed"] and records["hgn++-mass-spring-wild"]["final"]
      and "evaluate" in records["hgn++-mass-spring-s1"], f"records: {records.keys()}")
count = len(lines(Path("wild")))
plumb("sweep", "wild.yaml", "--out", "wild", code=1)
check(len(lines(Path("wild"))) == count, "what failed for good is tried again")
plumb("sweep", "wild.yaml", "--out", "wild", "--retry", code=1)
check(len(lines(Path("wild"))) == count + 1, "--retry does not try again")

# ---- the page, also with a line that was cut ----
for cut in (b"", b'{"run": "hgn++-mass-spr'):
    with open("wild/results.jsonl", "ab") as file:
        file.write(cut)
    plumb("report", "wild", "--out", "wild.html")
    page = Path("wild.html").read_text()
    check("This run failed: step" in page and ">failed<" in page and "hgn++-mass-spring-s1" in page, "a failure is not on the page")
plumb("sweep", "wild.yaml", "--out", "wild", "--retry", code=1)
check(len(lines(Path("wild"))) == count + 2, "a cut line stays")

# ---- draws ----
Path("draw.yaml").write_text("""runs:
  - model: hgn++
    world: [mass-spring, pendulum]
    preset: tiny
    draw: 3
    set:
      rate: {log: [1e-4, 1e-2]}
      pairs: {integer: [1, 3]}
      beta: {uniform: [0.5, 1]}
      integrator: {choose: [leap_frog, so4]}
""" + JUDGE)
plan = json.loads(plumb("sweep", "draw.yaml", "--out", "draw", "--plan", "--json").stdout)
check(not Path("draw").exists() and plan["left"] == 6 and plan["core_seconds"] > 0 and plan["seconds"] > 0, f"a plan: {plan}")
check([run["name"] for run in plan["runs"]] == [f"hgn++-{world}-d{d}" for world in ("mass-spring", "pendulum") for d in (1, 2, 3)], "draws")
plumb("sweep", "draw.yaml", "--out", "draw", "--workers", 2)
drawn = {record["run"]: record["set"] for record in lines(Path("draw"))}
check(all(drawn[f"hgn++-mass-spring-d{d}"] == drawn[f"hgn++-pendulum-d{d}"] for d in (1, 2, 3)), "worlds were given other draws")
check(len({one["rate"] for one in drawn.values()}) == 3 and all(1e-4 <= float(one["rate"]) <= 1e-2 and one["pairs"] in "123"
      and one["integrator"] in ("leap_frog", "so4") for one in drawn.values()), f"draws: {drawn}")

# ---- signals, and one child that dies ----
Path("long.yaml").write_text(GOOD.replace("steps: 6", "steps: 400"))


def start(*arguments):
    return subprocess.Popen([PLUMB, "sweep", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def wait_for_children(process):
    end = time.time() + 60
    while time.time() < end and not children(process):
        time.sleep(0.01)


for number in (signal.SIGTERM, signal.SIGUSR1):
    process = start("long.yaml", "--out", number.name, "--workers", 2)
    wait_for_children(process)
    time.sleep(0.3 * SLOW)
    process.send_signal(number)
    begun = time.time()
    out, err = process.communicate(timeout=60)
    check(process.returncode == 75 and "stopped" in err.splitlines()[-1] and out == "" and time.time() - begun < 10 * SLOW,
          f"{number.name}: exit {process.returncode}, {err[-300:]}")
process = start("long.yaml", "--out", "orphan", "--workers", 2)
wait_for_children(process)
victim = children(process)[0]
os.kill(victim, signal.SIGKILL)
time.sleep(0.2)
process.kill()
process.communicate()
check(any("signal 9" in record.get("failed", "") and not record["final"] for record in lines(Path("orphan"))), "a child that died")

# ---- killed at any moment, all of it ----
random.seed(4)
kills = 0
for attempt in range(400):
    process = start("good.yaml", "--out", "killed", "--workers", 2)
    try:
        process.wait(timeout=random.uniform(0.02, 0.5) * SLOW)
        if process.returncode == 0:
            break
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        kills += 1
    process.communicate()
check(process.returncode == 0 and kills >= 3, f"it never ended: {kills} kills")
records = [record for record in lines(Path("killed")) if "failed" not in record]
check(sorted(record["run"] for record in records) == sorted(names), f"after {kills} kills: {sorted(r['run'] for r in records)}")
for name in names:
    check(Path("killed", name, "weights.safetensors").read_bytes() == Path("whole", name, "weights.safetensors").read_bytes(),
          f"{name}: other bits after a kill")

# ---- Slurm ----
plumb("sweep", "good.yaml", "--out", "array", "--slurm", "--tasks", 3, "--cores", 2, "--minutes", 30)
script = Path("array/sweep.slurm")
text = script.read_text()
check(os.access(script, os.X_OK) and all(f"#SBATCH --{word}" in text for word in ("array=0-2", "time=30", "requeue", "signal=B:USR1@")),
      f"the script: {text}")
check(subprocess.run(["bash", "-n", script]).returncode == 0, "the script is no script")
for task in (5, 6, 7):
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "3",
                   "SLURM_RESTART_COUNT": "2"}
    done = subprocess.run(["bash", script], capture_output=True, text=True, env=environment)
    check(done.returncode == 0 and f"task {task - 5} of 3, start 3" in done.stderr, f"task {task}: {done.stderr[-300:]}")
check(sorted(record["run"] for record in lines(Path("array"))) == sorted(names), "the tasks of an array do not make up the study")
# Its time is up: the signal comes to the shell, the program saves, and the job is queued again.
plumb("sweep", "long.yaml", "--out", "again", "--slurm", "--tasks", 1)
Path("bin").mkdir()
Path("bin/scontrol").write_text('#!/bin/sh\necho "$@" >queued\n')
Path("bin/scontrol").chmod(0o755)
environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_JOB_ID": "7"}
process = subprocess.Popen(["bash", "again/sweep.slurm"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
while not list(Path("again").glob("hgn*")) and process.poll() is None:
    time.sleep(0.02)
process.send_signal(signal.SIGUSR1)
out, err = process.communicate(timeout=60)
check(process.returncode == 0 and Path("queued").read_text() == "requeue 7_0\n", f"queued again: {process.returncode} {err[-300:]}")

os.chdir("/")
subprocess.run(["rm", "-r", str(folder)])
print("all is well" if not failures else f"{failures} failed")
sys.exit(failures > 0)
