# SPDX-License-Identifier: MIT
"""Many threads, forks, new interpreters, and many calls: the same bits, and no memory that is kept."""
import ctypes
import gc
import json
import os
import subprocess
import sys
import threading

import package  # noqa: F401
import numpy as np
import plumb
import pytest

from paths import SANITIZE, SOURCE

pytestmark = pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer keeps memory of its own and does not go through a fork")


PATH = os.pathsep.join(str(SOURCE / folder) for folder in ("python", "tests/support"))
KEPT = []


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(one) for key, one in value.items() if key != "seconds"}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value


def work(seed):
    """What a worker measures, as text."""
    state = plumb.world("mass-spring").batch(12, steps=40, seed=seed).state
    results = plumb.measure(2 * state, state, resamples=50), plumb.probe(state, state), plumb.forecast(truth=state, prediction=1.01 * state)
    return json.dumps([without_seconds(one.to_dict()) for one in results], sort_keys=True)


@pytest.fixture(scope="module")
def alone():
    return [work(seed) for seed in range(4)]


def test_threads_side_by_side_give_the_same_bits(alone):
    found = [None] * 4

    def one(seed):
        found[seed] = work(seed)
    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone


def test_a_call_releases_the_interpreter():
    """While one thread measures, another counts. If it could not, it would count to nearly nothing."""
    state = plumb.world("mass-spring").batch(60, steps=60, seed=1).state
    counted, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            counted[0] += 1
    counter = threading.Thread(target=count)
    counter.start()
    worker = threading.Thread(target=lambda: [plumb.measure(2 * state, state, resamples=200, threads=1) for _ in range(10)])
    worker.start()
    worker.join()
    done.set()
    counter.join()
    assert counted[0] > 20


# A program of its own: a new interpreter must be able to import what it is to run.
WORKERS = """
import multiprocessing, sys
sys.path.insert(0, {folder!r})
from test_processes import work

if __name__ == "__main__":
    alone = [work(seed) for seed in range(4)]  # so the library has threads before the fork
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map_async(work, range(4)).get(timeout=300) == alone
    print("the same")
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_give_the_same_bits(how, tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS.format(folder=os.path.dirname(__file__)))
    done = subprocess.run([sys.executable, tmp_path / "workers.py", how], capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": PATH})
    assert done.stdout == "the same\n", done.stderr


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_of_a_data_loader_give_the_items_of_the_world(how):
    torch = pytest.importorskip("torch")
    world = plumb.world("mass-spring")
    loader = torch.utils.data.DataLoader(world.dataset(8, steps=4, seed=3), batch_size=4, num_workers=2, multiprocessing_context=how)
    frames = np.concatenate([batch["frames"].numpy() for batch in loader])
    assert (frames == world.batch(8, 4, seed=3).frames).all()


# ---- memory ----

RANDOM = np.random.default_rng(1)
STATE, FRAMES, SCORES = np.cumsum(RANDOM.normal(size=(6, 12, 2)), 1), RANDOM.random((4, 8, 4, 4, 1)), RANDOM.random((8, 4))
WORLD = plumb.world("mass-spring")


def fail():
    with pytest.raises(plumb.ShapeError):
        plumb.measure(STATE, STATE[:, :, :1])


CALLS = {
    "symetric": lambda: plumb.symetric(STATE, STATE, kappa=False, resamples=0, max_order=1),
    "forecast": lambda: plumb.forecast(truth=FRAMES, prediction=FRAMES, split=4, resamples=0),
    "states": lambda: plumb.forecast(truth=STATE, prediction=1.1 * STATE, resamples=0),
    "probe": lambda: plumb.probe(STATE, STATE, resamples=0, folds=3, shuffles=1, nonlinear=False),
    "surprise": lambda: plumb.surprise(SCORES, resamples=0),
    "compare": lambda: plumb.compare({"a": SCORES[:, 0], "b": SCORES[:, 1]}, resamples=10, flips=10),
    "batch": lambda: WORLD.batch(1, 2, threads=1), "a failure": fail, "a leak": lambda: KEPT.append(bytes(32)),
    "measure": lambda: plumb.measure(STATE, STATE, resamples=0), "dynamics": lambda: plumb.dynamics(STATE, STATE, STATE, resamples=0, nonlinear=False),
}
# These take longer: fewer of them, but for make test-long.
FEWER = {"measure": 100, "dynamics": 100, "probe": 500}


class MallocInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def in_use():
    """Bytes that malloc has given and nobody has freed. In a process with one heap, from which Python takes its objects too."""
    gc.collect()
    info = ctypes.CDLL(None).mallinfo2
    info.restype = MallocInfo
    found = info()
    return found.uordblks + found.hblkhd


def count_leaked(name, calls):
    for _ in range(calls // 10):
        CALLS[name]()
    before = in_use()
    for _ in range(calls):
        CALLS[name]()
    print(in_use() - before)


def leaked(name, calls):
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); from test_processes import count_leaked; count_leaked({name!r}, {calls})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=3000,
                          env={**os.environ, "PYTHONPATH": PATH, "MALLOC_ARENA_MAX": "1", "PYTHONMALLOC": "malloc"})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc before 2.33 cannot tell what is in use")
@pytest.mark.parametrize("name", CALLS)
def test_thousands_of_calls_leak_nothing(name):
    calls = 10000 if "PLUMB_LONG" in os.environ else FEWER.get(name, 2000)
    found = leaked(name, calls)
    # The smallest object of Python has 16 bytes, the text of a record some thousand. The first hundreds of calls fill tables that stay.
    limit = 200000 if calls == 100 else 131072 + 8 * calls
    assert (found < limit) == (name != "a leak"), f"{found} bytes in {calls} calls"
