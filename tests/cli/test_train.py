# SPDX-License-Identifier: MIT
"""plumb train as a user runs it, with a toy model: what it writes, what it says, and that it can be stopped."""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from program import Program  # noqa: E402

os.environ["PLUMB"], plain = os.environ["PLUMB_TOY"], os.environ["PLUMB"]
toy = Program("train")
folder = Path(tempfile.mkdtemp())
QUICK = ("--world", "mass-spring", "--set", "batch=2")


def check(right, what):
    toy.check(right, what)


def files(run):
    return sorted(p.name for p in run.iterdir())


# ---- a whole run ----
run = folder / "run"
answer = toy.answer("toy", *QUICK, "--steps", 200, "--out", run)
check(list(answer)[:5] == ["model", "steps", "loss", "seconds", "run"], f"keys {list(answer)}")
check(answer["model"] == "toy" and answer["steps"] == 200 and answer["run"] == str(run), f"answer {answer}")
check(0 < answer["loss"] < 1 and answer["finished"] is True, f"answer {answer}")
check(files(run) == ["config.json", "events.out.tfevents.plumb", "lock", "log.jsonl", "optimizer.safetensors", "results.json",
                     "weights.safetensors"], f"files {files(run)}")
config = json.loads((run / "config.json").read_text())
check(config["model"] == "toy" and config["preset"] == "cpu", f"config {config}")
check(config["training"]["steps"] == 200 and config["training"]["batch"] == 2, f"config {config}")
check(config["settings"]["flavour"] == "sweet" and config["data"]["world"] == "mass-spring", f"config {config}")
log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
check([line["step"] for line in log] == list(range(10, 201, 10)), f"steps {[line['step'] for line in log]}")
check(list(log[0]) == ["step", "loss", "spread", "rate", "seconds"], f"line {log[0]}")
check(log[-1]["loss"] == answer["loss"] < log[0]["loss"], "the last line is the answer, and less than the first")
check(all(a["seconds"] <= b["seconds"] for a, b in zip(log, log[1:])), "seconds grow")
results = json.loads((run / "results.json").read_text())
check(results["train"]["loss"] == answer["loss"], f"results {results}")
weights = (run / "weights.safetensors").read_bytes()

# The same again, for people, on other threads: the same bytes.
done = toy.run("toy", *QUICK, "--steps", 200, "--out", folder / "again", "--threads", 3)
progress = [line for line in done.stderr.splitlines() if not line.startswith("train: step ")]  # lines come after a second
check("200 steps, loss" in done.stdout and not progress, f"prints {done.stdout!r}, {done.stderr!r}")
check((folder / "again/weights.safetensors").read_bytes() == weights, "threads change the weights")

# In two parts: by a limit on the steps of a constant rate, and by going on.
constant = (*QUICK, "--set", "decay=constant")
toy.run("toy", *constant, "--steps", 60, "--out", folder / "one")
toy.run("toy", *constant, "--steps", 35, "--out", folder / "two")
toy.run("toy", "--resume", "--steps", 60, "--out", folder / "two")
check((folder / "two/weights.safetensors").read_bytes() == (folder / "one/weights.safetensors").read_bytes(), "35 + 25 are not 60")
before = (folder / "two/optimizer.safetensors").read_bytes()
again = toy.answer("--resume", "--out", folder / "two")  # nothing left to do
check(again["steps"] == 60 and (folder / "two/optimizer.safetensors").read_bytes() == before, f"done, and yet {again}")

# A file of data.
subprocess.run([plain, "simulate", "pendulum", "--count", "3", "--steps", "9", "--out", folder / "p.npz"], check=True, capture_output=True)
answer = toy.answer("toy", "--data", folder / "p.npz", "--steps", 4, "--out", folder / "file")
check(answer["steps"] == 4, f"answer {answer}")
subprocess.run([plain, "simulate", "pendulum", "--count", "3", "--steps", "9", "--seed", "2", "--force", "--out", folder / "p.npz"],
               check=True, capture_output=True)
toy.complaint("was trained on other data", "--resume", "--out", folder / "file")
toy.complaint("has 9 frames a trajectory, a clip of this model 12", "toy", "--data", folder / "p.npz", "--set", "length=12",
              "--out", folder / "x")

# ---- what is wrong is named, and nothing is left behind ----
for words, code, arguments in (
        ("takes one model, not 0", 2, ("--out", folder / "x")),
        ("takes one model, not 2", 2, ("toy", "toy", "--out", folder / "x")),
        ("--out is missing", 2, ("toy", *QUICK)),
        ('no model "tou"; the nearest is "toy"', 2, ("tou", *QUICK, "--out", folder / "x")),
        ("a world or a file of data must be given", 2, ("toy", "--out", folder / "x")),
        ("--world and --data cannot both", 2, ("toy", *QUICK, "--data", "f.h5", "--out", folder / "x")),
        ("--resume and --force cannot both", 2, ("toy", "--resume", "--force", "--out", folder / "x")),
        ('no world "mass-sprung"; the nearest is "mass-spring"', 2, ("toy", "--world", "mass-sprung", "--out", folder / "x")),
        ('there is no setting "bach"; the nearest is "batch"', 2, ("toy", *QUICK, "--set", "bach=3", "--out", folder / "x")),
        ("a setting is name=value", 2, ("toy", *QUICK, "--set", "batch", "--out", folder / "x")),
        ("batch takes a whole number from 1 to 65536, not 0", 2, ("toy", *QUICK, "--set", "batch=0", "--out", folder / "x")),
        ('rate takes a number, not "fast"', 2, ("toy", *QUICK, "--set", "rate=fast", "--out", folder / "x")),
        ("flavour takes plain, bitter or sweet, not \"swet\"; did you mean sweet?", 2,
         ("toy", *QUICK, "--set", "flavour=swet", "--out", folder / "x")),
        ('there is no preset "cpy", only paper, cpu, tiny, cpu-angles, cpu-state or cpu-constants; did you mean cpu?', 2, ("toy", *QUICK, "--preset", "cpy", "--out", folder / "x")),
        ("replicas=4 is more than batch=2", 2, ("toy", *QUICK, "--set", "replicas=4", "--out", folder / "x")),
        ("frames=2 is fewer than the 5 of a clip", 2, ("toy", *QUICK, "--set", "frames=2", "--out", folder / "x")),
        ("do not fit into memory", 2, ("toy", *QUICK, "--set", "trajectories=1000000000", "--out", folder / "x")),
        ("minutes is -1", 2, ("toy", *QUICK, "--minutes", "-1", "--out", folder / "x")),
        ("no-such-file.npz", 1, ("toy", "--data", folder / "no-such-file.npz", "--out", folder / "x")),
        ("there is no such run; begin one without --resume", 1, ("toy", "--resume", "--out", folder / "x")),
        ("a run is there already; go on with --resume, or begin anew with --force", 1, ("toy", *QUICK, "--out", run)),
        ("a run is a directory", 1, ("toy", *QUICK, "--out", folder / "p.npz")),
        ("cannot be made", 1, ("toy", *QUICK, "--out", folder / "no/such/place")),
        ("was begun with batch=2, not 3", 2, ("--resume", "--set", "batch=3", "--out", run)),
        ("was begun with steps=200, over which its rate falls", 2, ("--resume", "--steps", 300, "--out", run)),
        ("was begun with the preset cpu, not tiny", 2, ("--resume", "--preset", "tiny", "--out", run)),
):
    toy.complaint(words, *arguments, code=code)
    check(not (folder / "x").exists(), f"{arguments} leaves a directory")
check((run / "weights.safetensors").read_bytes() == weights, "the run was touched")
(folder / "home").mkdir()
(folder / "home/letter.txt").write_text("dear")
toy.complaint("holds other files and no run", "toy", *QUICK, "--out", folder / "home")
toy.complaint("holds other files and no run", "toy", *QUICK, "--force", "--out", folder / "home")
check(files(folder / "home") == ["letter.txt"], f"somebody's directory now has {files(folder / 'home')}")

# --force begins anew; another file of the user's stays.
(run / "notes.txt").write_text("mine")
toy.run("toy", *QUICK, "--steps", 4, "--force", "--out", run)
check("notes.txt" in files(run) and len((run / "log.jsonl").read_text().splitlines()) == 1, "--force")

# ---- damage ----
good = {p.name: p.read_bytes() for p in run.iterdir()}


def damaged(name, data, words, code=1):
    if data is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(data)
    toy.complaint(words, "--resume", "--out", run, code=code)
    (run / name).write_bytes(good[name])


flipped = bytearray(good["optimizer.safetensors"])
flipped[-100] ^= 1
damaged("optimizer.safetensors", flipped, "optimizer.safetensors: is damaged, its checksum is wrong; put the right file back")
damaged("optimizer.safetensors", good["optimizer.safetensors"][:-9], "optimizer.safetensors: ")
damaged("optimizer.safetensors", b"hello, world", "optimizer.safetensors: ")
damaged("optimizer.safetensors", None, "optimizer.safetensors: is missing, so the run cannot go on")
damaged("optimizer.safetensors", good["weights.safetensors"], 'has no tensor "value"')
other = (folder / "one/optimizer.safetensors").read_bytes()
damaged("optimizer.safetensors", other, "was made with other settings than config.json has")
damaged("config.json", None, "config.json: is missing")
damaged("config.json", good["config.json"][:-20], "config.json: ")
damaged("config.json", b"{}\n", "config.json: names no model")
damaged("config.json", good["config.json"].replace(b'"rate"', b'"rat"'), 'there is no setting "rat"; the nearest is "rate"')
damaged("config.json", good["config.json"].replace(b'"rate": 0.02, ', b""), '"training" has no "rate"')
damaged("config.json", good["config.json"].replace(b'"rate": 0.02', b'"rate": -1'), "rate takes a number from 0 to 1000, not -1")
damaged("config.json", good["config.json"].replace(b'"model": "toy"', b'"model": "tpy"'), 'no model "tpy"; the nearest is "toy"')
damaged("config.json", good["config.json"].replace(b'"noise": 0.1', b'"noise": 0.2'), "was made with other settings")
for name in ("weights.safetensors", "log.jsonl", "events.out.tfevents.plumb", "results.json"):  # what can be made anew is
    (run / name).unlink()
    toy.run("--resume", "--out", run)
    check((run / name).exists(), f"{name} is not there again")
check((run / "weights.safetensors").read_bytes() == good["weights.safetensors"], "the weights are others")
(run / "weights.safetensors").write_bytes(b"x")
toy.run("--resume", "--out", run)
check((run / "weights.safetensors").read_bytes() == good["weights.safetensors"], "damaged weights are not mended")
(run / "log.jsonl").write_bytes(good["log.jsonl"] + b"rubbish\n" + b'{"step": 99}')
toy.run("--resume", "--out", run)
check((run / "log.jsonl").read_bytes() == good["log.jsonl"], "rubbish in the log stays")

# ---- numbers that are none ----
toy.complaint(f'step 13: the gradient of "b" is not finite; the last good checkpoint is step 10 in {folder / "nan"}', "toy", *QUICK,
              "--steps", 50, "--set", "save=5", "--set", "poison=13", "--out", folder / "nan")
toy.run("--resume", "--set", "poison=-1", "--out", folder / "nan")

# ---- signals, locks, limits ----
slow = ("toy", *QUICK, "--steps", "100000", "--set", "pause=2000", "--set", "save=0")


def start(*arguments, **how):
    return subprocess.Popen([os.environ["PLUMB"], "train", *map(str, arguments)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)


def wait_for(run, lines):
    end = time.time() + 60
    while time.time() < end and (not (run / "log.jsonl").exists() or (run / "log.jsonl").read_bytes().count(b"\n") < lines):
        time.sleep(0.02)


# SIGTERM and SIGUSR1 ask a batch system to start it again; Ctrl-C ends it as Ctrl-C ends anything.
for number, sign, code in ((signal.SIGTERM, "term", 75), (signal.SIGUSR1, "usr1", 75), (signal.SIGINT, "int", -signal.SIGINT)):
    process = start(*slow, "--out", folder / sign)
    wait_for(folder / sign, 3)
    if number == signal.SIGTERM:
        toy.complaint(f"process {process.pid} is training into it", "--resume", "--out", folder / sign)
        toy.complaint(f"process {process.pid} is training into it", *slow, "--force", "--out", folder / sign)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    err = [line for line in err.splitlines() if "steps/s" not in line]
    check(process.returncode == code and out == "" and len(err) == 1 and "stopped at step" in err[0] and "--resume" in err[0],
          f"{sign}: {process.returncode}, {out!r}, {err}")
    step = int(err[0].split("step ")[1].split(",")[0])
    toy.complaint("steps", "--resume", "--out", folder / sign, "--steps", step + 7, code=2)
    # As one that was never stopped: the same settings, ended by a limit at the same step.
    answer = toy.answer("--resume", "--minutes", 0.002, "--out", folder / sign)
    check(answer["steps"] >= step and answer["finished"] is False, f"after {sign} at {step}: {answer}")

# The bar on a terminal.
leader, follower = pty.openpty()
process = subprocess.Popen([os.environ["PLUMB"], "train", *slow[:-6], "--set", "pause=20000", "--steps", "80", "--out", str(folder / "tty")],
                           stderr=follower, stdout=subprocess.PIPE)
os.close(follower)
shown = b""
while True:
    try:
        part = os.read(leader, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
check(process.wait() == 0, "training at a terminal")
check(b"\rtrain [" in shown and b"steps/s" in shown and b" left" in shown and b"loss" in shown, f"the bar is {shown[-200:]!r}")
# And plain lines elsewhere.
done = toy.run(*slow[:-6], "--set", "pause=20000", "--steps", "80", "--out", folder / "plain")
check("train: step " in done.stderr and "\r" not in done.stderr, f"lines {done.stderr!r}")

# ---- lists ----
done = toy.run("toy", "--settings")
check("flavour" in done.stdout and "rate" in done.stdout and "plain|bitter|sweet" in done.stdout, f"prints {done.stdout!r}")
answer = toy.answer("toy", "--settings")
rows = {row["name"]: row for row in answer["settings"]}
check(rows["noise"]["tiny"] == "0.5" and rows["rate"]["cpu"] == "0.02" and rows["flavour"]["paper"] == "plain", f"rows {rows}")
toy.complaint("the nearest is", "tou", "--settings", code=2)

shutil.rmtree(folder)
print("failures:", toy.failures)
sys.exit(toy.failures > 0)
