# SPDX-License-Identifier: MIT
"""Run directories from Python, and Ctrl-C in the middle of work."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402

support.begin()
import numpy as np  # noqa: E402
import plumb  # noqa: E402

check = support.Checks()
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "run")
done = subprocess.run([os.environ["PLUMB"], "train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", "10",
                       "--out", path], capture_output=True, text=True)
check(done.returncode == 0, f"plumb train: {done.stderr}")
run = plumb.load_run(path)
check(run.model == "hgn++" and run.world == "mass-spring" and run.results["train"]["steps"] == 10, f"{run} {run.results}")
check([line["step"] for line in run.log][-1:] == [10], f"log {run.log}")
roll = run.rollout(count=2, steps=70)
check(roll.latent.shape[:2] == roll.frames.shape[:2] == (2, 70) and roll.prediction.dtype == np.float32, f"{roll}")
check(np.isfinite(roll.prediction).all(), "a prediction that is not finite")
truth = plumb.world("mass-spring")
check(roll.truth.shape == (2, 70, 2 * truth.n), "truth")
check(not np.array_equal(run.rollout(count=2, steps=70, backward=True).latent, roll.latent), "backward is forward")
check(np.array_equal(run.rollout(count=2, steps=70, threads=1).latent, roll.latent), "threads change a rollout")
roll.save(os.path.join(folder.name, "rollout.npz"))
done = subprocess.run([os.environ["PLUMB"], "measure", os.path.join(folder.name, "rollout.npz"), "--json"], capture_output=True)
check(done.returncode == 0, "plumb measure does not read a saved rollout")
judged = run.evaluate(count=2, steps=20, measured=4, mlp=False, symetric={"resamples": 0})
check(judged.model == "hgn++" and judged.pr["r2_ci"] is None and judged.vpt >= 0, f"{judged}")
check.raises(plumb.FileError, "a run directory is what plumb train writes", plumb.load_run, folder.name)
check.raises(OSError, "config.json", plumb.load_run, os.path.join(folder.name, "nowhere"))
check.raises(plumb.PlumbError, "nowhere", run.rollout, world="nowhere")
check.raises(TypeError, "no option", run.rollout, cout=2)
with open(os.path.join(path, "config.json"), "w") as file:
    file.write("{")
check.raises(plumb.FormatError, "config.json", plumb.load_run, path)

# Ctrl-C: a call of half a minute or so ends at once, and the next one works.
truth = np.random.default_rng(1).standard_normal((400, 60, 16))
begun = time.monotonic()
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    plumb.symetric(truth, truth**3, mode="reference", max_order=3, threads=1, kappa=False)
    check(time.monotonic() - begun < 0.5, "Ctrl-C was not heard")
except KeyboardInterrupt:
    check(time.monotonic() - begun < 10, f"Ctrl-C took {time.monotonic() - begun:.1f} s")
    deadline = time.monotonic() + 10
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    check(threading.active_count() == 1, "Ctrl-C left the work running")
small = truth[:20, :, :2]
check(plumb.symetric(small, small).passes, "after Ctrl-C")

# Others go on meanwhile: the interpreter's lock is free.
ticks = []
thread = threading.Thread(target=lambda: [ticks.append(time.sleep(0.01)) for _ in range(20)])
thread.start()
plumb.symetric(truth[:100, :, :8], truth[:100, :, :8]**3, mode="reference", threads=1, max_order=2, kappa=False)
check(len(ticks) > 0, "the lock is held")
thread.join()
print("all is well" if not check.failures else f"{check.failures} failed")
sys.exit(bool(check.failures))
