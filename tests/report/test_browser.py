# SPDX-License-Identifier: MIT
"""The page in a real browser: nothing on the console, every figure has size, the slider moves the film, nothing
comes from the network; in the light and in the dark. Screenshots are kept in the build, under artefacts/."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["PLUMB_SOURCE"], "tests", "support"))
from browser import Browser, find_browser  # noqa: E402
from program import Program  # noqa: E402

chromium = find_browser()
if not chromium:
    print("no Chromium here (Debian: apt-get install chromium): the page was not looked at")
    sys.exit(77)
try:
    import numpy as np
except ImportError:
    print("NumPy is not here (Debian: python3-numpy): there is nothing to draw")
    sys.exit(77)

plumb = Program("report")
check = plumb.check
folder = Path(tempfile.mkdtemp())
artefacts = Path(os.environ["PLUMB_BUILD"], "artefacts")
artefacts.mkdir(exist_ok=True)


def run(*words):
    done = subprocess.run([os.environ["PLUMB"], *map(str, words)], capture_output=True, text=True)
    check(done.returncode == 0, f"{words[:2]}: {done.stderr}")


def clips():
    """Tuples of four: a disc that moves on, and in the impossible ones jumps."""
    rng = np.random.default_rng(1)
    tuples, frames, size = 60, 12, 24
    y, x = np.mgrid[:size, :size]
    truth = np.zeros((tuples, 4, frames, size, size, 3), np.float32)
    prediction = np.zeros_like(truth)
    for i in range(tuples):
        row = rng.uniform(6, 18)
        for clip in range(4):
            for t in range(frames):
                at = 2 + 1.5 * t
                jump = 6 if clip > 1 and t > 6 else 0
                truth[i, clip, t, ..., 0] = np.exp(-((x - at - jump)**2 + (y - row)**2) / 6)
                prediction[i, clip, t, ..., 0] = np.exp(-((x - at)**2 + (y - row)**2) / 6)
    feature = rng.standard_normal((tuples, 4, 16))
    concept = np.array(["continuity", "solidity"])[np.arange(tuples) % 2]
    np.savez(folder / "clips.npz", truth=truth, prediction=prediction, feature=feature, concept=concept)


(folder / "runs").mkdir()
for name, steps in (("first", 400), ("second", 20)):
    run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", steps, "--out", folder / "runs" / name)
    run("evaluate", folder / "runs" / name, "--count", 2, "--steps", 60, "--measured", 8)
# Models that were judged elsewhere: records alone.
with open(folder / "results.jsonl", "w") as file:
    for i in range(6):
        file.write(json.dumps({"run": f"sweep/model {i}", "model": "hgn", "vpt_forward": 40 * i, "vpt": 40 * i, "vpt_ci": [35 * i, 45 * i],
                               "rec_mse": 1e-6, "ext_mse": 1e-3 / (i + 1),
                               "pr": {"r2": 0.7 + 0.05 * i, "sym": 0.5 / (i + 1), "symetric": int(i > 4), "n": 1, "order": 2}}) + "\n")
clips()
samples = sorted((Path(os.environ["PLUMB_SOURCE"]) / "examples/latents").glob("*.npz"))
pages = {  # name: what it is of, and the figures that must be there
    "run": ([folder / "runs/first"], {"phase-space", "trajectory", "film", "error", "traversal", "loss"}),
    "runs": ([folder / "runs", "--films", 2], {"models", "phase-space"}),
    "models": ([folder / "results.jsonl"], {"models", "correlation"}),
    "samples": (samples, {"phase-space", "trajectory"}),
    "clips": ([folder / "clips.npz"], {"concepts", "surprise", "uniformity", "example"}),
}
SIZES = """[...document.querySelectorAll('figure')].map(f => [f.dataset.name || f.id, f.offsetWidth, f.offsetHeight,
    f.querySelector('svg, i') ? f.querySelector('svg, i').getBoundingClientRect().height : 0])"""
FILM = "[...document.querySelectorAll('#rollout i')].map(i => i.style.backgroundPosition).join()"
WIDE = "document.documentElement.scrollWidth <= window.innerWidth"


def complaints(browser, wanted):
    """What is wrong with the page that was opened."""
    found = [f"console: {text}" for text in browser.console]
    found += [f"fetched {url[:80]}" for url in browser.requests if not url.startswith(("file:", "data:"))]
    sizes = browser.evaluate(SIZES)
    names = {row[0] for row in sizes}
    found += [f"no figure {name}" for name in wanted - names]
    found += [f"{name} is {wide} x {high}, drawn {inner}" for name, wide, high, inner in sizes if wide < 100 or high < 40 or inner < 20]
    return found


with Browser(chromium, folder / "profile") as browser:
    for name, (sources, wanted) in pages.items():
        page = folder / f"{name}.html"
        answer = plumb.answer(*sources, "--out", page)
        check(answer["file"] == str(page) and wanted <= set(answer["figures"]), f"{name}: {answer}")
        for scheme in ("light", "dark"):
            browser.open(page, scheme)
            for line in complaints(browser, wanted):
                check(False, f"{name}, {scheme}: {line}")
            check(browser.evaluate(WIDE), f"{name}: wider than the window")
            paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            check(("255, 255, 255" in paper) == (scheme == "light"), f"{name}, {scheme}: paper {paper}")
            (artefacts / f"report-{name}-{scheme}.png").write_bytes(browser.screenshot())
    # The slider, by its own event and by the keyboard.
    browser.open(folder / "run.html", "light")
    before = browser.evaluate(FILM)
    browser.evaluate("(s => { s.value = 40; s.dispatchEvent(new Event('input')) })(document.querySelector('#rollout input'))")
    moved = browser.evaluate(FILM)
    check(before != moved, f"the slider does not move the film: {before}")
    check(browser.evaluate("document.querySelector('#rollout output').textContent") != "frame 0", "the frame number stays")
    browser.evaluate("document.querySelector('#rollout input').focus()")
    browser.press("ArrowRight")
    check(browser.evaluate(FILM) != moved, "the keyboard does not move the film")
    browser.evaluate("document.querySelector('#rollout button').click()")
    now = browser.evaluate(FILM)
    time.sleep(0.5)
    check(browser.evaluate(FILM) != now, "play does not play")

    # Is the check awake? A page with a fault of each kind.
    (folder / "faulty.html").write_text("<figure data-name=x style='width:5px;height:5px'></figure><script>fetch('http://127.0.0.1:9/');"
                                        "console.error('planted');</script>")
    browser.open(folder / "faulty.html", "light")
    time.sleep(0.3)
    found = "\n".join(complaints(browser, {"y"}))
    check(all(word in found for word in ("planted", "127.0.0.1", "no figure y", "x is 5")), f"planted faults were not seen: {found}")

if not plumb.failures:
    print(f"all is well; screenshots are in {artefacts}")
shutil.rmtree(folder, ignore_errors=True)
sys.exit(bool(plumb.failures))
