# SPDX-License-Identifier: MIT
"""Rooms as a user runs them: simulate, show, audit, convert to Physical Concepts and back, score."""
import gzip
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests/support"))
from program import Program  # noqa: E402

plumb = Program()
check, run, answer, complaint = plumb.check, plumb.run, plumb.answer, plumb.complaint
ROOMS = ["freeform", "continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"]
folder = Path(tempfile.mkdtemp())


def load(path):
    with np.load(path) as z:
        return {k: z[k] for k in z.files}


def pairs_balance(x):
    """The guarantee again, in NumPy: at every time, frames and frame pairs."""
    for t in range(x.shape[1]):
        for before in (0, 1):
            if t < before:
                continue
            seen = [x[c, t - before:t + 1].tobytes() for c in range(4)]
            if sorted(seen[:2]) != sorted(seen[2:]):
                return False
    return True


# worlds
listed = {w["name"]: w for w in answer("worlds")}
for room in ROOMS:
    w = listed.get("rooms/" + room)
    check(w and w["image"] == [64, 64, 3] and w["dt"] == 0.06 and w["n"] == 0, f"rooms/{room} in plumb worlds: {w}")
check(all(f"rooms/{r}" in run("worlds").stdout for r in ROOMS), "the table of plumb worlds has the rooms")

# simulate
for room in ROOMS:
    file = folder / f"{room}.npz"
    got = answer("simulate", "rooms/" + room, "--count", 4, "--seed", 9, "--out", file)
    check((got["world"], got["count"], got["steps"], got["seed"]) == ("rooms/" + room, 4, 15, 9), f"{room}: {got}")
    data = load(file)
    clips = () if room == "freeform" else (4,)
    check(data["frames"].shape == (4, *clips, 15, 64, 64, 3) and data["frames"].dtype == np.uint8, f"{room}: frames")
    check(data["mask"].shape == (4, *clips, 15, 64, 64), f"{room}: mask")
    check(data["objects"].shape == (4, *clips, 15, 8, 21), f"{room}: objects")
    check(data["camera_pose"].shape == (4, *clips, 15, 6) and data["camera_pose"].dtype == np.float32, f"{room}: pose")
    check(data["world"].tobytes().decode() == "rooms/" + room, f"{room}: world")
    if not clips:
        check(data["blocks"].shape == (4, 12) and (data["blocks"].sum(1) >= 2).all(), "blocks of free scenes")
        continue
    check(data["cut"].shape == (4, 2), f"{room}: cut")
    names = {bytes(row).rstrip(b"\0").decode() for row in data["concept"]}
    check(names == {room.replace("-", "_")}, f"{room}: concept {names}")
    for i in range(4):
        check(pairs_balance(data["frames"][i]) and pairs_balance(data["mask"][i]), f"{room}: tuple {i} balances")
        check((data["frames"][i, :2] != data["frames"][i, 2:]).any(), f"{room}: tuple {i} has a violation")

again = folder / "again.npz"
run("simulate", "rooms/freeform", "--count", 4, "--seed", 9, "--threads", 3, "--out", again)
check(again.read_bytes() == (folder / "freeform.npz").read_bytes(), "three threads write the same file")

complaint("15 frames", "simulate", "rooms/solidity", "--steps", 20, "--out", folder / "x.npz", code=2)
complaint("backward", "simulate", "rooms/solidity", "--backward", "--out", folder / "x.npz", code=2)
complaint("no room", "simulate", "rooms/liquidity", "--out", folder / "x.npz", code=2)
complaint("multiple of 4", "simulate", "rooms/solidity", "--image", 63, "--out", folder / "x.npz")
check(not (folder / "x.npz").exists(), "a refusal leaves no file")

# show
for room in ROOMS:
    got = answer("show", folder / f"{room}.npz", "--item", 1, "--out", folder / "film.png")
    png = (folder / "film.png").read_bytes()
    check(struct.unpack(">II", png[16:24]) == (got["width"], got["height"]), f"{room}: size of the picture")
    check(got["height"] > 400 or room == "freeform", f"{room}: four strips")

# audit
for room in ROOMS[1:]:
    got = answer("audit", folder / f"{room}.npz")
    check(got["clean"] and got["splice"]["frames"]["pairs_hold"] == 4 and got["splice"]["mask"]["pairs_hold"] == 4,
          f"{room}: {got}")
many = folder / "many.npz"
run("simulate", "rooms/solidity", "--count", 30, "--image", 32, "--out", many)
got = answer("audit", many, "--require", "clean")
check(got["judged"] == 30 and got["frame"]["accuracy"] == 0.5 and got["pair"]["accuracy"] == 0.5, f"audit: {got}")
check("clean" in run("audit", many).stdout, "audit says clean")
leaky = load(many)
leaky["frames"] = leaky["frames"].copy()
leaky["frames"][:, 2:, :, 0, 0] = 255
np.savez(folder / "leaky.npz", **leaky)
done = run("audit", folder / "leaky.npz", "--require", "clean", "--json", code=3)
got = json.loads(done.stdout)
check(not got["clean"] and got["frame"]["leak"] and got["splice"]["frames"]["frames_hold"] == 0, f"leak: {got}")
check("LEAK" in run("audit", folder / "leaky.npz").stdout, "the table names the leak")
complaint("a tuple is bytes", "audit", folder / "freeform.npz")
complaint("takes one file", "audit", code=2)
complaint("none.npz", "audit", folder / "none.npz")

# Physical Concepts and back
for room in ("freeform", "object-persistence"):
    where = folder / "pc" / room.replace("-", "_")
    where.mkdir(parents=True)
    shard = where / "data.tfrecord-00000-of-00001"
    got = answer("convert", folder / f"{room}.npz", shard, "--published")
    check(got["records"] == 4 and shard.read_bytes()[:2] == b"\x1f\x8b", f"{room}: GZIP records")
    check([f.name for f in where.iterdir()] == [shard.name], "nothing beside the shard")
    back = folder / "back.npz"
    answer("convert", where, back, "--force")
    one, two = load(folder / f"{room}.npz"), load(back)
    for key in ("frames", "mask", "camera_pose", "world"):
        check(one[key].tobytes() == two[key].tobytes(), f"{room}: {key} through Physical Concepts")
    plain = gzip.decompress(shard.read_bytes())
    (folder / "cut.tfrecord").write_bytes(plain[:-9])
    complaint("record 3 is cut short", "convert", folder / "cut.tfrecord", back, "--force")
    (folder / "bent.tfrecord").write_bytes(plain[:-200] + bytes([plain[-200] ^ 1]) + plain[-199:])
    complaint("record 3: the checksum of the data", "convert", folder / "bent.tfrecord", back, "--force")
complaint("ends in none", "convert", many, folder / "x.tfrecord-00000-of-00001")
check(answer("audit", folder / "pc/object_persistence")["clean"], "audit of a folder of shards")

# From clips to scores: an oracle and a constant predictor.
probes = load(folder / "continuity.npz")
oracle = np.concatenate([probes["frames"][:, :2]] * 2, axis=1)
for name, prediction, accuracy in (("oracle", oracle, 1), ("constant", np.full_like(oracle, 90), 0)):
    np.savez(folder / "scores.npz", truth=probes["frames"], prediction=prediction, concept=probes["concept"])
    got = answer("surprise", folder / "scores.npz", "--scorer", "plain")
    check(got["scorers"]["plain"]["accuracy"] == accuracy, f"{name}: {got['scorers']['plain']}")
    check(got["concepts"][0]["name"] == "continuity", f"{name}: concept {got['concepts'][0]['name']}")

shutil.rmtree(folder)
sys.exit(bool(plumb.failures))
