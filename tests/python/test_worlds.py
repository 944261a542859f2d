# SPDX-License-Identifier: MIT
"""Worlds from Python: the program's data files, batches in any cut, loaders and sequences."""
import pickle

import package  # noqa: F401
import numpy as np
import plumb
import pytest

from program import Program


@pytest.fixture(scope="module")
def world():
    return plumb.world("two-body")


@pytest.fixture(scope="module")
def whole(world):
    return world.batch(5, 6, seed=2, threads=3)


def test_the_published_worlds_are_listed():
    assert len(plumb.worlds()) >= 13 and "pendulum+c" in plumb.worlds()


ROOMS = ("rooms/freeform", "rooms/solidity")
TRAJECTORIES = [name for name in plumb.worlds() if not name.startswith("rooms/")]


def test_a_world_has_its_kind():
    assert {plumb.world(name).kind for name in TRAJECTORIES} == {"trajectory"}
    assert [plumb.world(name).kind for name in ROOMS] == ["room", "probe"]


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_a_batch_has_frames_states_and_parameters(name):
    world = plumb.world(name)
    batch = world.batch(2, steps=3, seed=5)
    assert batch.frames.shape == (2, 3, *world.image) and batch.frames.dtype == np.uint8 and batch.frames.any()
    assert batch.state.shape == (2, 3, 2 * world.n) and np.isfinite(batch.state).all()
    assert len(world.state_names) == 2 * world.n and len(world.canonical_names) == 2 * world.canonical_n
    assert list(batch.parameters) == list(world.parameters) and len(batch) == 2


@pytest.mark.parametrize("name", ["pendulum+c", "pendulum-torque"])
def test_a_batch_is_what_the_program_writes(tmp_path, name):
    path, world = tmp_path / "x.npz", plumb.world(name)
    Program("simulate").run(name, "--count", 3, "--steps", 7, "--seed", 9, "--first", 4, "--out", path)
    batch = world.batch(3, 7, seed=9, first=4).to_dict()
    with np.load(path) as file:
        for name in ("frames", "state", "canonical", "derivative", "energy") + ("action",) * (world.actions > 0):
            assert np.array_equal(file[name], batch[name]), name


def test_any_cut_and_any_number_of_threads_give_the_same_items(world, whole):
    part = world.batch(2, 6, seed=2, first=3, threads=1)
    assert np.array_equal(whole.frames[3:], part.frames) and np.array_equal(whole.state[3:], part.state)
    assert np.allclose(whole.energy, whole.energy[:, :1]), "energy is not conserved"
    assert world.batch(0, 6).frames.shape == (0, 6, 32, 32, 3)
    assert world.batch(1, 2, image=64).frames.shape == (1, 2, 64, 64, 3)


def test_a_dataset_is_a_sequence(world, whole):
    data = world.dataset(5, 6, seed=2)
    assert len(data) == 5 and np.array_equal(data[-1]["state"], whole.state[4])
    assert sum(1 for _ in data) == 5
    with pytest.raises(IndexError, match="item 5 of 5"):
        data[5]
    assert np.array_equal(pickle.loads(pickle.dumps(data))[0]["frames"], data[0]["frames"])


def test_a_loader_gives_one_batch_after_the_other(world):
    with world.loader(batch=3, window=4, seed=2) as loader:
        first, second = next(loader), next(loader)
        assert np.array_equal(first.frames, world.batch(3, 4, seed=2).frames)
        assert np.array_equal(second.state, world.batch(3, 4, seed=2, first=3).state)
    assert next(loader, None) is None, "a closed loader goes on"


def test_a_batch_without_a_copy_is_read_only(world):
    with world.loader(batch=2, window=4, copy=False, states=False) as loader:
        batch = next(loader)
        assert not batch.frames.flags.writeable and not hasattr(batch, "state")


def test_a_world_is_an_iterable_of_batches(world):
    for count, batch in enumerate(world):
        if count == 2:
            break
    assert batch.frames.shape == (32, 64, 32, 32, 3)


def test_failures_have_a_kind_of_their_own(world):
    with pytest.raises(plumb.RangeError, match="pendulum"):
        plumb.world("pendulun")
    with pytest.raises(plumb.RangeError):
        world.batch(1, 2, image=33)
    with pytest.raises(TypeError, match="did you mean image"):
        world.batch(1, 2, images=33)
    with pytest.raises(ValueError, match="steps"):
        world.batch(1, 0)
    with pytest.raises(plumb.RangeError):
        world.loader(batch=-1)


# ---- rooms ----

@pytest.mark.parametrize("name", ROOMS)
def test_a_batch_of_a_room_is_what_the_program_writes(name, tmp_path):
    room, path = plumb.world(name), tmp_path / "x.npz"
    clips = () if room.clips == 1 else (room.clips,)
    assert room.n == 0 and room.steps == 15 and room.image == (64, 64, 3) and room.state_names == []
    batch = room.batch(2, seed=9, first=4, image=32, threads=2)
    assert batch.frames.shape == (2, *clips, 15, 32, 32, 3) and batch.mask.shape == (2, *clips, 15, 32, 32)
    Program("simulate").run(name, "--count", 2, "--seed", 9, "--first", 4, "--image", 32, "--out", path)
    with np.load(path) as file:
        for field, array in batch.to_dict().items():
            assert file[field].dtype == array.dtype and np.array_equal(file[field], array), field
    assert np.array_equal(room.dataset(3, seed=9, first=4, image=32)[1]["frames"], batch.frames[1])


@pytest.mark.parametrize("name", ROOMS)
def test_what_a_room_cannot_do_is_rejected(name):
    with pytest.raises(plumb.RangeError, match="15 frames"):
        plumb.world(name).batch(1, 20)
    with pytest.raises(plumb.RangeError, match="backward"):
        plumb.world(name).batch(1, backward=True)


def test_rooms_have_concepts_and_events():
    assert plumb.world("rooms/solidity").concept == "solidity" and plumb.world("pendulum").concept is None
    assert plumb.world("rooms/freeform").event_names[5] == "curtain"
    with pytest.raises(plumb.RangeError, match="no room"):
        plumb.world("rooms/kitchen")


def test_rooms_impossible_is_found_and_not_listed():
    assert "rooms/impossible" not in plumb.worlds()
    impossible = plumb.world("rooms/impossible").batch(6, seed=2, image=16)
    probes = plumb.world("rooms/continuity").batch(2, seed=2, image=16)
    assert np.array_equal(impossible.frames[5], probes.frames[1, 2:])


def test_a_loader_gives_clips_of_a_room_and_rejects_probes():
    with plumb.world("rooms/freeform").loader(batch=2, window=15, seed=3, world_options={"image": 16}) as stream:
        batch = next(stream)
        assert np.array_equal(batch.frames, plumb.world("rooms/freeform").batch(2, seed=3, image=16).frames)
        assert np.allclose(batch.time[0], 0.06 * np.arange(15))
    with pytest.raises(plumb.RangeError, match="4 clips"):
        plumb.world("rooms/solidity").loader(batch=2, window=15)
