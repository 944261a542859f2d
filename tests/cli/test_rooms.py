# SPDX-License-Identifier: MIT
"""Rooms as a user runs them: simulate, show, audit, convert to Physical Concepts and back, score."""
import gzip
import json
import struct

import numpy as np
import pytest

from program import Program

plumb = Program()
run, answer, refused = plumb.run, plumb.answer, plumb.refused
ROOMS = ["freeform", "continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"]


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


@pytest.fixture(scope="module")
def files(shared):
    """A file of every room, and what simulate printed."""
    return {room: (shared / f"{room}.npz",
                   answer("simulate", "rooms/" + room, "--count", 4, "--seed", 9, "--out", shared / f"{room}.npz")) for room in ROOMS}


@pytest.fixture(scope="module")
def many(shared):
    """30 small tuples."""
    run("simulate", "rooms/solidity", "--count", 30, "--image", 32, "--out", shared / "many.npz")
    return shared / "many.npz"


def test_plumb_worlds_lists_the_rooms():
    listed = {w["name"]: w for w in answer("worlds")}
    table = run("worlds").stdout
    for room in ROOMS:
        w = listed["rooms/" + room]
        assert w["image"] == [64, 64, 3] and w["dt"] == 0.06 and w["n"] == 0, w
        assert f"rooms/{room}" in table


@pytest.mark.parametrize("room", ROOMS)
def test_a_file_has_frames_masks_objects_and_the_camera(files, room):
    path, got = files[room]
    assert (got["world"], got["count"], got["steps"], got["seed"]) == ("rooms/" + room, 4, 15, 9)
    data = load(path)
    clips = () if room == "freeform" else (4,)
    assert data["frames"].shape == (4, *clips, 15, 64, 64, 3) and data["frames"].dtype == np.uint8
    assert data["mask"].shape == (4, *clips, 15, 64, 64)
    assert data["objects"].shape == (4, *clips, 15, 8, 21)
    assert data["camera_pose"].shape == (4, *clips, 15, 6) and data["camera_pose"].dtype == np.float32
    assert data["world"].tobytes().decode() == "rooms/" + room
    if not clips:
        assert data["blocks"].shape == (4, 12) and (data["blocks"].sum(1) >= 2).all()


@pytest.mark.parametrize("room", ROOMS[1:])
def test_every_tuple_balances_and_has_a_violation(files, room):
    data = load(files[room][0])
    assert data["cut"].shape == (4, 2)
    assert {bytes(row).rstrip(b"\0").decode() for row in data["concept"]} == {room.replace("-", "_")}
    for i in range(4):
        assert pairs_balance(data["frames"][i]) and pairs_balance(data["mask"][i]), f"tuple {i}"
        assert (data["frames"][i, :2] != data["frames"][i, 2:]).any(), f"tuple {i} has no violation"


def test_three_threads_write_the_same_file(files, tmp_path):
    run("simulate", "rooms/freeform", "--count", 4, "--seed", 9, "--threads", 3, "--out", tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == files["freeform"][0].read_bytes()


def test_what_a_room_cannot_do_is_refused_without_a_file(tmp_path):
    out = tmp_path / "x.npz"
    refused("15 frames", "simulate", "rooms/solidity", "--steps", 20, "--out", out, code=2)
    refused("backward", "simulate", "rooms/solidity", "--backward", "--out", out, code=2)
    refused("no room", "simulate", "rooms/liquidity", "--out", out, code=2)
    refused("multiple of 4", "simulate", "rooms/solidity", "--image", 63, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize("room", ROOMS)
def test_show_draws_one_strip_or_four(files, room, tmp_path):
    got = answer("show", files[room][0], "--item", 1, "--out", tmp_path / "film.png")
    png = (tmp_path / "film.png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (got["width"], got["height"])
    assert got["height"] > 400 or room == "freeform"


# ---- audit ----

@pytest.mark.parametrize("room", ROOMS[1:])
def test_the_audit_finds_every_concept_clean(files, room):
    got = answer("audit", files[room][0])
    assert got["clean"] and got["splice"]["frames"]["pairs_hold"] == 4 and got["splice"]["mask"]["pairs_hold"] == 4, got


def test_no_shortcut_classifier_beats_chance_on_thirty_tuples(many):
    got = answer("audit", many, "--require", "clean")
    assert got["judged"] == 30 and got["frame"]["accuracy"] == 0.5 and got["pair"]["accuracy"] == 0.5, got
    assert "clean" in run("audit", many).stdout


def test_a_planted_leak_is_found(many, tmp_path):
    leaky = load(many)
    leaky["frames"] = leaky["frames"].copy()
    leaky["frames"][:, 2:, :, 0, 0] = 255
    np.savez(tmp_path / "leaky.npz", **leaky)
    got = json.loads(run("audit", tmp_path / "leaky.npz", "--require", "clean", "--json", code=3).stdout)
    assert not got["clean"] and got["frame"]["leak"] and got["splice"]["frames"]["frames_hold"] == 0, got
    assert "LEAK" in run("audit", tmp_path / "leaky.npz").stdout


def test_what_cannot_be_audited_is_one_line(files, tmp_path):
    refused("expected u1 (4, steps", "audit", files["freeform"][0])
    refused("takes one file", "audit", code=2)
    refused("none.npz", "audit", tmp_path / "none.npz")


# ---- Physical Concepts ----

@pytest.mark.parametrize("room", ["freeform", "object-persistence"])
def test_physical_concepts_and_back_keeps_every_byte(files, room, tmp_path):
    where, back = tmp_path / "pc" / room.replace("-", "_"), tmp_path / "back.npz"
    where.mkdir(parents=True)
    shard = where / "data.tfrecord-00000-of-00001"
    got = answer("convert", files[room][0], shard, "--published")
    assert got["records"] == 4 and shard.read_bytes()[:2] == b"\x1f\x8b", "GZIP records"
    assert [f.name for f in where.iterdir()] == [shard.name], "something lies beside the shard"
    answer("convert", where, back)
    one, two = load(files[room][0]), load(back)
    for key in ("frames", "mask", "camera_pose", "world"):
        assert one[key].tobytes() == two[key].tobytes(), key
    if room != "freeform":
        assert answer("audit", where)["clean"], "audit of a folder of shards"
    # Damage is named by its record.
    plain = gzip.decompress(shard.read_bytes())
    (tmp_path / "cut.tfrecord").write_bytes(plain[:-9])
    refused("record 3 is cut short", "convert", tmp_path / "cut.tfrecord", back, "--force")
    (tmp_path / "bent.tfrecord").write_bytes(plain[:-200] + bytes([plain[-200] ^ 1]) + plain[-199:])
    refused("record 3: the checksum of the data", "convert", tmp_path / "bent.tfrecord", back, "--force")


def test_a_shard_needs_the_published_layout(many, tmp_path):
    refused("ends in none", "convert", many, tmp_path / "x.tfrecord-00000-of-00001")


# ---- scores ----

@pytest.mark.parametrize("name, accuracy", [("oracle", 1), ("constant", 0)])
def test_an_oracle_scores_1_and_a_constant_predictor_0(files, name, accuracy, tmp_path):
    probes = load(files["continuity"][0])
    oracle = np.concatenate([probes["frames"][:, :2]] * 2, axis=1)
    prediction = oracle if name == "oracle" else np.full_like(oracle, 90)
    np.savez(tmp_path / "scores.npz", truth=probes["frames"], prediction=prediction, concept=probes["concept"])
    got = answer("surprise", tmp_path / "scores.npz", "--scorer", "plain")
    assert got["scorers"]["plain"]["accuracy"] == accuracy
    assert got["concepts"][0]["name"] == "continuity"
