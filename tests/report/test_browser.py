# SPDX-License-Identifier: MIT
"""The page in a real browser: nothing on the console, every figure has size, the slider moves the video, nothing comes from the
network; in light and in dark. Screenshots are kept in the build, under artefacts/."""
import json

import pytest

from browser import Browser, find_browser
from paths import BUILD, SANITIZE, SOURCE
from processes import wait_until
from program import Program

np = pytest.importorskip("numpy")
CHROMIUM = find_browser()
if not CHROMIUM:
    pytest.skip("no Chromium here (Debian: apt-get install chromium)", allow_module_level=True)

report = Program("report")
FIGURES = {  # of each page
    "run": {"phase-space", "trajectory", "film", "error", "traversal", "loss"},
    "runs": {"models", "phase-space"},
    "models": {"models", "correlation"},
    "samples": {"phase-space", "trajectory"},
    "clips": {"concepts", "surprise", "uniformity", "example"},
    "latents": {"motion", "probe"},
}
SIZES = """[...document.querySelectorAll('figure')].map(f => [f.dataset.name || f.id, f.offsetWidth, f.offsetHeight,
    f.querySelector('svg, i') ? f.querySelector('svg, i').getBoundingClientRect().height : 0])"""
VIDEO = "[...document.querySelectorAll('#rollout i')].map(i => i.style.backgroundPosition).join()"
FITS = "document.documentElement.scrollWidth <= window.innerWidth"
# Tables that are wider than the column of text, and cannot be scrolled.
WIDE = """[...document.querySelectorAll('table')].filter(t => t.offsetWidth > document.querySelector('main').clientWidth).map(t => [t.offsetWidth, t.innerText.slice(0, 80)])"""


def write_clips(path):
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
    np.savez(path, truth=truth, prediction=prediction, feature=feature, concept=concept)


def write_latents(path):
    """Springs in five latents, and rollouts that are late."""
    rng = np.random.default_rng(2)
    radius, phase, t = rng.uniform(0.5, 1.5, (20, 1)), rng.uniform(0, 6, (20, 1)), 0.15 * np.arange(60)
    truth, late = (np.stack([radius * np.cos(w * t + phase), -radius * np.sin(w * t + phase)], -1) for w in (1, 0.93))
    mix = rng.normal(size=(2, 5))
    np.savez(path, encoded=truth @ mix, latent=late @ mix, truth=truth, energy=(truth ** 2).sum(-1) / 2)


def write_records(path):
    """Models that were evaluated elsewhere: records alone."""
    with open(path, "w") as file:
        for i in range(6):
            file.write(json.dumps({
                "run": f"sweep/model {i}", "model": "hgn", "vpt_forward": 40 * i, "vpt": 40 * i, "vpt_ci": [35 * i, 45 * i], "rec_mse": 1e-6,
                "ext_mse": 1e-3 / (i + 1),
                "pr": {"r2": 0.7 + 0.05 * i, "sym": 0.5 / (i + 1), "symetric": int(i > 4), "n": 1, "order": 2}}) + "\n")


@pytest.fixture(scope="module")
def pages(shared):
    """A page of each kind: where it is, and what plumb report said."""
    (shared / "runs").mkdir()
    for name, steps in (("first", 400), ("second", 20)):
        run = shared / "runs" / name
        Program("train").run("hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", steps, "--out", run)
        Program("evaluate").run(run, "--count", 2, "--steps", 60, "--measured", 8, *(["--method", "pr"] if SANITIZE else []))
    write_records(shared / "results.jsonl")
    write_clips(shared / "clips.npz")
    write_latents(shared / "latents.npz")
    sources = {"run": [shared / "runs/first"], "runs": [shared / "runs", "--films", 2], "models": [shared / "results.jsonl"],
               "samples": sorted((SOURCE / "examples/latents").glob("*.npz")), "clips": [shared / "clips.npz"], "latents": [shared / "latents.npz"]}
    return {name: (shared / f"{name}.html", report.answer(*sources[name], "--out", shared / f"{name}.html")) for name in FIGURES}


@pytest.fixture(scope="module")
def browser(shared):
    with Browser(CHROMIUM, shared / "profile") as open_browser:
        yield open_browser


def faults(browser, wanted):
    """What is wrong with the page that was opened."""
    found = [f"console: {text}" for text in browser.console]
    found += [f"fetched {url[:80]}" for url in browser.requests if not url.startswith(("file:", "data:"))]
    sizes = browser.evaluate(SIZES)
    found += [f"no figure {name}" for name in wanted - {row[0] for row in sizes}]
    found += [f"{name} is {wide} x {high}, drawn {inner}" for name, wide, high, inner in sizes if wide < 100 or high < 40 or inner < 20]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", FIGURES)
def test_a_page_shows_its_figures_without_faults(pages, browser, name, scheme):
    path, answer = pages[name]
    assert answer["file"] == str(path) and FIGURES[name] <= set(answer["figures"])
    browser.open(path, scheme)
    assert not faults(browser, FIGURES[name])
    assert browser.evaluate(FITS), "wider than the window"
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ("255, 255, 255" in paper) == (scheme == "light"), paper
    (BUILD / "artefacts").mkdir(exist_ok=True)
    (BUILD / f"artefacts/report-{name}-{scheme}.png").write_bytes(browser.screenshot())


@pytest.mark.parametrize("width", [1200, 800, 400])
@pytest.mark.parametrize("name", FIGURES)
def test_no_page_is_wider_than_the_window(pages, browser, name, width):
    browser.set_width(width)
    browser.open(pages[name][0], "light")
    assert browser.evaluate(FITS) and not browser.evaluate(WIDE)


def test_slider_keyboard_and_play_move_the_video(pages, browser):
    browser.open(pages["run"][0], "light")
    before = browser.evaluate(VIDEO)
    browser.evaluate("(s => { s.value = 40; s.dispatchEvent(new Event('input')) })(document.querySelector('#rollout input'))")
    moved = browser.evaluate(VIDEO)
    assert before != moved, "the slider"
    assert browser.evaluate("document.querySelector('#rollout output').textContent") != "frame 0", "the frame number stays"
    browser.evaluate("document.querySelector('#rollout input').focus()")
    browser.press("ArrowRight")
    assert browser.evaluate(VIDEO) != moved, "the keyboard"
    browser.evaluate("document.querySelector('#rollout button').click()")
    now = browser.evaluate(VIDEO)
    assert wait_until(lambda: browser.evaluate(VIDEO) != now), "play"


def test_tracks_follow_the_slider(shared, browser):
    report.run("bodies-double-pendulum", "--films", 2, "--steps", 60, "--out", shared / "objects.html")
    browser.open(shared / "objects.html", "light")
    assert not faults(browser, {"phase-space", "trajectory", "film", "error"})
    paths = "[...document.querySelectorAll('#rollout path')].map(p => p.getAttribute('d'))"
    browser.evaluate("(s => { s.value = 30; s.dispatchEvent(new Event('input')) })(document.querySelector('#rollout input'))")
    drawn = browser.evaluate(paths)
    assert len(drawn) == 4 and drawn[:2] == drawn[2:] and all(path.count("L") == 24 and path.count("M") == 1 for path in drawn)
    browser.evaluate("(s => { s.value = 5; s.dispatchEvent(new Event('input')) })(document.querySelector('#rollout input'))")
    assert all(path.count("L") == 5 for path in browser.evaluate(paths))


def test_planted_faults_are_seen(browser, tmp_path):
    page = tmp_path / "faulty.html"
    page.write_text("<figure data-name=x style='width:5px;height:5px'></figure><script>fetch('http://127.0.0.1:9/');"
                    "console.error('planted');</script>")
    browser.open(page, "light")
    found = []

    def all_are_seen():
        found.extend(faults(browser, {"y"}))
        return all(any(word in fault for fault in found) for word in ("planted", "127.0.0.1", "no figure y", "x is 5"))
    assert wait_until(all_are_seen), "\n".join(found)
