# SPDX-License-Identifier: MIT
"""Simulated worlds whose exact states are known. Item I of world W with seed S is always the same, for any batch or
thread."""
import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ._arrays import numbers, options_struct, whole_number
from ._native import Handle, _check, call, lib, types
from ._options import with_options


KINDS = ("trajectory", "room", "probe")
ROOM_STEPS, ROOM_OBJECTS, ROOM_OBJECT_SIZE, ROOM_CUTS, ROOM_EVENTS = 15, 8, 21, 2, 12
# Arrays of rooms: name in data files, and member of plumb_world_item.
ROOM_MEMBERS = {"frames": "frames", "mask": "mask", "camera_pose": "camera", "objects": "objects", "cut": "cut",
                "blocks": "event_counts"}


class Batch:
    """Items as arrays. Trajectories: frames (count, steps, height, width, channels) uint8; state, canonical,
    derivative, energy and time as doubles; parameters by name; action (count, steps, a) in driven worlds. Rooms: frames,
    mask, camera_pose, objects, and cut (probes) or blocks (free scenes), as in data files; probes have an axis of four
    clips after the first."""

    def __init__(self, arrays, parameters=None, world=None):
        self.__dict__.update(arrays)
        self.parameters = parameters or {}
        self.world = world  # its World, or None
        self._names = list(arrays)

    def to_dict(self):
        """All arrays by name, with the parameters, as in a data file."""
        return {**{name: getattr(self, name) for name in self._names}, **self.parameters}

    def __len__(self):
        return len(getattr(self, self._names[0]))

    def __repr__(self):
        return "<Batch: " + ", ".join(f"{n} {getattr(self, n).shape}" for n in self._names) + ">"


class World:
    """One world, by name. Its attributes describe it: n, dt, image, summary, state_names ... `kind` is "trajectory",
    "room" or "probe"; `clips` is the number of clips per item, `steps` the fixed number of frames of a room, else 0;
    `actions` is the size of the action of a step, 0 if nothing drives the world."""

    def __init__(self, name):
        handle = ctypes.c_void_p()
        _check(lib.plumb_world_find(ctypes.byref(handle), str(name).encode()), None)
        self._handle = handle
        info = lib.plumb_world_get_info(handle).contents
        self.name, self.summary = info.name.decode(), info.summary.decode()
        self.n, self.canonical_n, self.dt = info.n, info.canonical_n, info.dt
        self.image = (info.height, info.width, info.channels)
        self.upright, self.reversible = info.upright, info.reversible
        self.state_names = [info.state_names[i].decode() for i in range(2 * self.n)]
        self.canonical_names = [info.canonical_names[i].decode() for i in range(2 * self.canonical_n)]
        self.angles = [info.angles[i] for i in range(self.canonical_n)]
        self.parameters = {info.parameters[i].name.decode(): info.parameters[i].count
                           for i in range(info.parameter_count)}
        self.kind, self.clips, self.steps = KINDS[info.kind], info.clips, info.steps
        self.concept = info.concept_name.decode() if info.concept_name else None
        self.event_names = [info.event_names[i].decode() for i in range(ROOM_EVENTS)] if info.event_names else []
        self.actions, self._parameter_total = info.actions, info.parameter_total

    def __repr__(self):
        return f"<World {self.name}: {self.summary}>"

    def __reduce__(self):
        return World, (self.name,)

    def _allocate(self, count, steps, opt):
        """Arrays for `count` items, by their names in data files."""
        image = opt.image or self.image[0]
        clips = () if self.clips == 1 else (self.clips,)
        frames = (*clips, steps, image, image, self.image[2])
        if self.kind == "trajectory":
            shapes = {"frames": (frames, np.uint8), "state": ((steps, 2 * self.n), np.float64),
                      "canonical": ((steps, 2 * self.canonical_n), np.float64),
                      "derivative": ((steps, 2 * self.n), np.float64), "energy": ((steps,), np.float64),
                      "time": ((steps,), np.float64), "parameters": ((self._parameter_total,), np.float64)}
            if self.actions:
                shapes["action"] = ((steps, self.actions), np.float64)
        else:
            shapes = {"frames": (frames, np.uint8), "mask": (frames[:-1], np.uint8),
                      "camera_pose": ((*clips, steps, 6), np.float32),
                      "objects": ((*clips, steps, ROOM_OBJECTS, ROOM_OBJECT_SIZE), np.float64)}
            if self.kind == "probe":
                shapes["cut"] = ((ROOM_CUTS,), np.int64)
            else:
                shapes["blocks"] = ((ROOM_EVENTS,), np.uint8)
        return {name: np.empty((count, *shape), dtype) for name, (shape, dtype) in shapes.items()}

    def _pack(self, arrays):
        flat, at, parameters = arrays.pop("parameters", None), 0, {}
        for name, count in self.parameters.items():
            parameters[name] = flat[:, at:at + count]
            at += count
        return Batch(arrays, parameters, self)

    @with_options("world_options", leave=("first",))
    def batch(self, count, steps=None, *, seed=0, first=0, threads=0, **options):
        """Items first .. first+count-1 of this seed, as arrays. `steps` is 60 by default, in rooms 15. Options are those
        of plumb_world_options: dt=0.05, image=64, stride=2, colors="six" ...; rooms have only image.

        >>> import plumb
        >>> batch = plumb.world("pendulum").batch(2, steps=5, seed=3)
        >>> batch.frames.shape, batch.state.shape
        ((2, 5, 32, 32, 3), (2, 5, 2))
        >>> plumb.world("rooms/solidity").batch(1, image=32).frames.shape
        (1, 4, 15, 32, 32, 3)
        """
        opt = options_struct("world_options", options)
        count, steps = whole_number(count, "count"), whole_number(steps, "steps") if steps is not None else self.steps or 60
        for name, value, least in (("count", count, 0), ("steps", steps, 1)):
            if value < least:
                raise ValueError(f"{name} is {value}, wanted at least {least}")
        _check(lib.plumb_world_check_options(self._handle, steps, ctypes.byref(opt)), None)
        arrays = self._allocate(count, steps, opt)
        members = ROOM_MEMBERS if self.kind != "trajectory" else {}

        def make(item):
            row = types["world_item"](**{members.get(name, name): array[item:].ctypes.data
                                         for name, array in arrays.items()})
            _check(lib.plumb_world_simulate(ctypes.byref(row), self._handle, seed, first + item, steps,
                                        ctypes.byref(opt)), None)

        workers = min(threads or lib.plumb_system_threads(), max(count, 1))
        with ThreadPoolExecutor(workers) as pool:
            try:
                for done in [pool.submit(make, item) for item in range(count)]:
                    done.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return self._pack(arrays)

    @with_options("world_options", leave=("first",))
    def simulate_from(self, state, parameters=None, steps=60, *, frames=False, **options):
        """Trajectories that start from given states (count, 2n), as a Batch. `parameters` is the dict of a batch, or an array
        (count, total); without it the constants are those of item 0. frames=True draws them too. Options as for batch.

        >>> import plumb
        >>> world = plumb.world("mass-spring")
        >>> batch = world.batch(2, steps=5)
        >>> again = world.simulate_from(batch.state[:, 0], batch.parameters, steps=5)
        >>> bool(abs(again.state - batch.state).max() < 1e-9)
        True
        """
        state = np.ascontiguousarray(state, np.float64)
        if state.ndim != 2 or state.shape[1] != 2 * self.n:
            raise ValueError(f"state has shape {state.shape}, wanted (count, {2 * self.n})")
        opt = options_struct("world_options", options)
        values = self._flat_parameters(parameters, len(state))
        arrays = self._allocate(len(state), steps, opt)
        if not frames:
            arrays.pop("frames")
        for item in range(len(state)):
            row = types["world_item"](**{name: array[item:].ctypes.data for name, array in arrays.items()})
            call(lib.plumb_world_simulate_from, ctypes.byref(row), self._handle, state[item].ctypes.data,
                 None if values is None else values[item].ctypes.data, steps, ctypes.byref(opt))
        return self._pack(arrays)

    def _flat_parameters(self, parameters, count):
        """Parameters as one array (count, total), or None."""
        if isinstance(parameters, dict):
            parameters = np.concatenate([np.reshape(np.asarray(parameters[name], np.float64), (count, -1))
                                         for name in self.parameters], -1) if self.parameters else None
        if parameters is None:
            return None
        parameters = np.ascontiguousarray(parameters, np.float64)
        if parameters.shape != (count, self._parameter_total):
            raise ValueError(f"parameters has shape {parameters.shape}, wanted ({count}, {self._parameter_total})")
        return parameters

    def quantities(self, state, parameters=None):
        """Physical quantities of published states (trajectories, steps, 2n), as targets for plumb.probe: velocity, force,
        energy, and in two-body worlds orbit. `parameters` is the dict of a batch, or an array (trajectories, total); without
        it the constants are those of item 0.

        >>> import plumb
        >>> world = plumb.world("two-body+c")
        >>> batch = world.batch(3, steps=5)
        >>> {name: array.shape for name, array in world.quantities(batch.state, batch.parameters).items()}
        {'velocity': (3, 5, 4), 'force': (3, 5, 4), 'energy': (3, 5, 1), 'orbit': (3, 5, 5)}
        """
        state = np.ascontiguousarray(state, np.float64)
        if state.ndim != 3 or state.shape[2] != 2 * self.n:
            raise ValueError(f"state has shape {state.shape}, wanted (trajectories, steps, {2 * self.n})")
        parameters = self._flat_parameters(parameters, len(state))
        out, quantity = {}, types["world_quantity"]()
        for index in range(lib.plumb_world_quantity_count(self._handle)):
            lib.plumb_world_quantity_at(ctypes.byref(quantity), self._handle, index)
            values = np.empty((*state.shape[:2], quantity.columns))
            for i in range(len(state)):
                _check(lib.plumb_world_quantity_compute(values[i].ctypes.data, self._handle, index, state[i].ctypes.data,
                                                        state.shape[1], None if parameters is None else parameters[i].ctypes.data), None)
            out[quantity.name.decode()] = values
        return out

    @with_options("world_options", leave=("first",))
    def dataset(self, items, steps=None, *, seed=0, first=0, **options):
        """A sequence of `items` dicts of arrays, made when asked for: give it to torch.utils.data.DataLoader
        as it is, with any number of workers.

        >>> import plumb
        >>> data = plumb.world("mass-spring").dataset(1000, steps=8)
        >>> len(data), data[999]["frames"].shape
        (1000, (8, 32, 32, 3))
        """
        return Dataset(self, items, steps, seed, first, options)

    @with_options("loader_options", leave=("world",))
    def loader(self, batch=32, window=64, *, states=True, copy=True, world_options=None, **options):
        """An endless iterator of batches, made ahead of their use by threads of the library. Options are those
        of plumb_loader_options: steps=256 (windows are cut out of so many), seed=1, first=0, ahead=2 ...
        With copy=False arrays are valid until the next batch only.

        >>> import plumb
        >>> with plumb.world("mass-spring").loader(batch=4, window=8) as loader:
        ...     next(loader).frames.shape
        (4, 8, 32, 32, 3)
        """
        return Loader(self, dict(options, batch=batch, window=window, states=states), world_options or {}, copy)

    def __iter__(self):
        return self.loader()


class Dataset:
    """Items of a world as a sequence of dicts; see World.dataset."""

    def __init__(self, world, items, steps, seed, first, options):
        self.world, self.items, self.steps, self.seed, self.first = world, items, steps, seed, first
        if whole_number(items, "items") < 0:
            raise ValueError(f"items is {items}, wanted at least 0")
        self.options = options
        options_struct("world_options", options)
        self.steps = steps if steps is not None else world.steps or 60

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        index = index.__index__()
        if not -self.items <= index < self.items:
            raise IndexError(f"item {index} of {self.items}")
        one = self.world.batch(1, self.steps, seed=self.seed, first=self.first + index % self.items, threads=1,
                               **self.options)
        return {name: array[0] for name, array in one.to_dict().items()}

    def __repr__(self):
        return f"<Dataset: {self.items} trajectories of {self.steps} steps of {self.world.name}, seed {self.seed}>"


class Loader:
    """Batches, made ahead; see World.loader. Close it, or use it in a `with`."""

    def __init__(self, world, options, world_options, copy):
        opt = options_struct("loader_options", dict(options, world=world_options))
        self._handle = Handle(lib.plumb_loader_close)
        self._copy, self._opt, self._world = copy, opt, world
        _check(lib.plumb_loader_open(ctypes.byref(self._handle._as_parameter_), world._handle, ctypes.byref(opt)), None)

    def __iter__(self):
        return self

    def __next__(self):
        if not self._handle:
            raise StopIteration
        out = types["loader_batch"]()
        call(lib.plumb_loader_next, ctypes.byref(out), self._handle)
        count, window = self._opt.batch, self._opt.window
        image = self._opt.world.contents.image or self._world.image[0]
        shapes = {"frames": (count, window, image, image, self._world.image[2]),
                  "state": (count, window, 2 * self._world.n),
                  "canonical": (count, window, 2 * self._world.canonical_n), "time": (count, window)}
        arrays = {}
        for name, shape in shapes.items():
            address = getattr(out, name)
            if address:
                arrays[name] = self._array(address, shape, np.uint8 if name == "frames" else np.float64)
        return Batch(arrays)

    def _array(self, address, shape, kind):
        if self._copy:
            return numbers(address, shape, kind)
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        array = np.frombuffer((ctypes.c_char * size).from_address(address), kind).reshape(shape)
        array.flags.writeable = False
        return array

    def close(self):
        """Ends the threads; harmless when closed."""
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def world(name):
    """The world of this name: plumb.world("pendulum+c")."""
    return World(name)


def worlds():
    """The names of all worlds.

    >>> import plumb
    >>> "mass-spring" in plumb.worlds()
    True
    """
    return [lib.plumb_world_get_info(lib.plumb_world_at(i)).contents.name.decode()
            for i in range(lib.plumb_world_count())]
