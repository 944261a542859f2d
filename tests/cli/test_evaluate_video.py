# SPDX-License-Identifier: MIT
"""Models of films as a user trains and judges them: predrnn and plato on the rooms, at the smallest size."""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from program import Program  # noqa: E402

plumb = Program()
check = plumb.check
folder = Path(tempfile.mkdtemp())
FEW = ("--tuples", 10, "-k", 3, "--films", 4)
CONCEPTS = ["continuity", "directional_inertia", "object_persistence", "solidity", "unchangeableness"]

for model in "predrnn", "plato":
    run = folder / model
    answer = plumb.answer("train", model, "--preset", "tiny", "--world", "rooms/freeform", "--out", run)
    check(answer["model"] == model and answer["finished"] is True, f"answer {answer}")

    answer = plumb.answer("evaluate", run, *FEW)
    check(answer["model"] == model and answer["steps"] == 20, f"{model}: {list(answer)}")
    check(list(answer["mse"]) == ["free", *CONCEPTS], f"{model}: mse of {list(answer['mse'])}")
    check(answer["mse"]["free"]["model"] > 0 and "oracle" not in answer["mse"]["free"], f"{answer['mse']['free']}")
    for name, right in ("copy", 0), ("oracle", 1):
        check(answer["references"][name]["scorers"]["plain"]["accuracy"] == right, f"{model}: {name} is not {right}")
    check(0 <= answer["surprise"]["scorers"]["knn"]["accuracy"] <= 1, f"{model}: no knn")
    check([c["name"] for c in answer["concepts"]] == CONCEPTS, f"{model}: concepts {answer['concepts']}")
    for scorers in answer["overall"], answer["concepts"][0]["scorers"]:
        check({"accuracy", "relative_surprise"} <= scorers["plain"].keys() and "knn" in scorers, f"{model}: {scorers}")
    saved = json.loads((run / "results.json").read_text())["evaluate"]
    check(saved["surprise"]["scorers"] == answer["surprise"]["scorers"], f"{model}: results.json has other numbers")

# The table for people, with a bar that it does not reach.
run = folder / "predrnn"
done = plumb.run("evaluate", run, *FEW, "--require", "accuracy=1", code=3)
for words in ("accuracy, % of tuples", "copy", "oracle", "40 of 40 tuples are ties", "published, on other clips", "surprise of a frame"):
    check(words in done.stdout, f"no {words!r} in the table")
plumb.complaint("knows accuracy", "evaluate", run, "--require", "beauty=1", code=2)

# The model of the impossible, and a file that plumb surprise reads.
plumb.run("train", "predrnn", "--preset", "tiny", "--world", "rooms/impossible", "--out", folder / "naive")
answer = plumb.answer("evaluate", run, *FEW, "--naive", folder / "naive", "--save", folder / "scores.npz")
check("accuracy" in answer["surprise"]["scorers"]["naive"], "no naive scorer")
again = plumb.answer("surprise", folder / "scores.npz", "-k", 3)
check(again["scorers"]["plain"]["accuracy"] == answer["surprise"]["scorers"]["plain"]["accuracy"], "plumb surprise differs")

# Before it has learnt anything, the error is what changes in the clips it is shown: less in calm ones, and where the camera stands. Threads change no bit.
def first(name, *how):
    return plumb.answer("train", "predrnn", "--preset", "tiny", "--world", "rooms/freeform", "--set", "trajectories=64", "--set", "batch=32",
                        "--steps", 1, *how, "--out", folder / name)["loss"]


any_clips = first("any")
plumb.check(first("calm", "--set", "calm=1e-4") < 0.8 * any_clips, "calm clips are not shown more often")
plumb.check(first("still", "--set", "still=0.12") < 0.8 * any_clips, "cameras that move are shown")
plumb.check(first("settle", "--set", "still=0.12", "--set", "settle=2") == any_clips, "they are not shown before it settles")
first("calm-1", "--set", "calm=1e-4", "--threads", 1)
plumb.check((folder / "calm/weights.safetensors").read_bytes() == (folder / "calm-1/weights.safetensors").read_bytes(), "threads change the choice of clips")

# Clips from a file, in the layout of Physical Concepts too.
plumb.run("simulate", "rooms/freeform", "--count", 6, "--image", 16, "--out", folder / "free.npz")
plumb.run("train", "predrnn", "--preset", "tiny", "--data", folder / "free.npz", "--out", folder / "filed")
plumb.run("simulate", "rooms/solidity", "--count", 10, "--image", 16, "--out", folder / "solid.npz")
answer = plumb.answer("evaluate", folder / "filed", *FEW, "--probes", folder / "solid.npz")
check(list(answer["mse"]) == ["solidity"], f"mse {list(answer['mse'])}")
answer = plumb.answer("evaluate", folder / "filed", *FEW, "--probes", folder / "solid.npz", "--world", "rooms/freeform")
check(answer["mse"]["free"]["clips"] == 4, f"free clips of a world that is named: {answer['mse']}")

# In two parts and on other threads: the same bits, with sampling, layer norm and the second version too.
SET = ("--set", "decay=constant", "--set", "sampling=reverse", "--set", "layer_norm=on", "--set", "decouple=0.1")
for model, more in ("predrnn", SET), ("plato", SET[:2]):
    start = ("train", model, "--preset", "tiny", "--world", "rooms/freeform", *more)
    plumb.run(*start, "--steps", 16, "--threads", 1, "--out", folder / f"{model}-whole")
    plumb.run(*start, "--steps", 7, "--out", folder / f"{model}-parts")
    plumb.run("train", "--resume", "--steps", 16, "--threads", 2, "--out", folder / f"{model}-parts")
    whole, parts = ((folder / f"{model}-{name}/weights.safetensors").read_bytes() for name in ("whole", "parts"))
    check(whole == parts, f"{model}: a run that goes on is another one")

# What goes wrong is one line.
plumb.complaint("k is 50", "evaluate", run, "--tuples", 10, code=2)
plumb.complaint("15 frames a clip", "train", "predrnn", "--world", "rooms/freeform", "--set", "frames=20", "--out", folder / "x", code=2)
plumb.complaint("rooms/", "train", "predrnn", "--world", "rooms/attic", "--out", folder / "x", code=2)
plumb.complaint("has no masks", "train", "plato", "--world", "pendulum", "--out", folder / "x", code=2)
plumb.complaint("has no masks", "evaluate", folder / "plato", *FEW, "--world", "pendulum", code=2)
plumb.complaint("by --probes", "evaluate", run, "--data", folder / "free.npz", code=2)
check(not (folder / "x").exists() or not list((folder / "x").glob("*.safetensors")), "a refused run left weights")

shutil.rmtree(folder)
sys.exit(1 if plumb.failures else 0)
