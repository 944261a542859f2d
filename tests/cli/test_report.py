# SPDX-License-Identifier: MIT
"""plumb report as a user runs it: pages and figures of runs, directories, records and arrays; and what it refuses."""
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from paths import SANITIZE, SOURCE
from program import Program

plumb, report = Program(), Program("report")
SAMPLES = [SOURCE / f"examples/latents/{name}.npz" for name in ("good", "bad", "cheat")]
GOOD = SAMPLES[0]
RECORD = {"r2": 0.99, "sym": 0.01, "symetric": 1}


def verdicts(path):
    return re.findall(r'class="verdict (\w*)"', path.read_text())


@pytest.fixture
def page(tmp_path):
    return tmp_path / "x.html"


@pytest.fixture(scope="module")
def runs(shared):
    """Two short runs; the first is evaluated."""
    (shared / "runs").mkdir()
    for name, steps in (("one", 30), ("two", 20)):
        plumb.run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", steps, "--out", shared / "runs" / name)
    plumb.run("evaluate", shared / "runs/one", "--count", 2, "--steps", 20, "--measured", 6, *(["--method", "pr"] if SANITIZE else []))
    return shared / "runs"


# ---- arrays ----

@pytest.mark.slow
def test_the_samples_get_the_known_verdicts_on_a_page_without_addresses(page):
    answer = report.answer(*SAMPLES, "--out", page)
    assert list(answer)[:2] == ["file", "figures"] and answer["file"] == str(page)
    assert verdicts(page) == ["yes", "no", "no"]
    text = page.read_text()
    assert not re.search(r'(src|href)="?(https?:|//)', text) and "@import" not in text


def test_momenta_of_a_lagrangian_model_are_used(page, tmp_path):
    # Mass 1 + 3 q^2: (q, p) is the true phase space, (q, v) with v = p / mass is not, and the latents hold (q, v).
    rng = np.random.default_rng(2)
    radius, phase = rng.uniform(0.5, 1.5, (2, 100, 1))
    t = 0.1 * np.arange(60)
    q, p = radius * np.cos(t + phase), -radius * np.sin(t + phase)
    arrays = {"latent": np.stack([q, p / (1 + 3 * q ** 2)], -1), "truth": np.stack([q, p], -1)}
    np.savez(tmp_path / "velocities.npz", **arrays)
    np.savez(tmp_path / "momenta.npz", **arrays, momenta=p[..., None])
    report.run(tmp_path / "velocities.npz", tmp_path / "momenta.npz", "--out", page)
    assert verdicts(page) == ["no", "yes"]


@pytest.mark.slow
def test_the_same_input_gives_the_same_page(page, tmp_path):
    def text(path):
        return re.sub(r"seconds[^<]*", "", path.read_text())

    report.run(*SAMPLES, "--out", page)
    report.run(*SAMPLES, "--out", tmp_path / "again.html", "--threads", 1)
    assert text(tmp_path / "again.html") == text(page)


def test_the_histogram_of_distances_is_drawn_for_each_concept(tmp_path):
    rng = np.random.default_rng(5)
    n = 40
    arrays = {"surprise": rng.random((n, 4)), "feature": rng.normal(size=(n, 4, 3))}
    np.savez(tmp_path / "one.npz", **arrays)
    np.savez(tmp_path / "two.npz", **arrays, concept=np.array(["support", "cohesion"] * (n // 2)))
    texts = {}
    for name in ("one", "two"):
        report.run(tmp_path / f"{name}.npz", "--figure", "uniformity", "--out", tmp_path / f"{name}.svg")
        texts[name] = (tmp_path / f"{name}.svg").read_text()
        ElementTree.fromstring(texts[name])
    assert "support" in texts["two"] and "cohesion" in texts["two"]
    assert texts["two"].count("sphere p ") == 2 and "sphere p " not in texts["one"]


@pytest.mark.parametrize("name", ["phase-space", "trajectory"])
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_figure_is_a_picture(name, suffix, tmp_path):
    out = tmp_path / f"{name}.{suffix}"
    assert report.answer(GOOD, "--figure", name, "--out", out)["figures"] == [name]
    data = out.read_bytes()
    assert data[:4] == b"\x89PNG" if suffix == "png" else ElementTree.fromstring(data).tag.endswith("svg")


def test_the_figures_of_the_paper_are_drawn_by_name_and_are_not_on_the_page(runs, page, tmp_path):
    names = ["paper-1", "paper-2a", "paper-2b", "paper-3abc", "paper-3d", "paper-3e"]
    listed = report.run("--figures").stdout
    for name in names:
        assert re.search(rf"^{name} ", listed, re.M)
        out = tmp_path / f"{name}.svg"
        report.run(runs / "one", "--films", 2, "--steps", 80, "--figure", name, "--out", out)
        ElementTree.parse(out)
        assert "nan" not in out.read_text()
    assert not set(names) & set(report.answer(runs / "one", "--films", 2, "--steps", 80, "--out", page)["figures"])
    report.run(SOURCE / "zoo/hgn++-mass-spring", "--films", 2, "--steps", 80, "--figure", "paper-3e", "--out", tmp_path / "zoo.svg")
    assert "of rollouts of 200 steps" in (tmp_path / "zoo.svg").read_text()
    report.run("--figure", "paper-1", "--out", tmp_path / "alone.png")  # it needs no model


def test_figures_lists_them(tmp_path):
    done = report.run("--figures")
    assert "phase-space" in done.stdout and "Truth and prediction" in done.stdout
    report.run("--figure", "example", "--out", tmp_path / "example.svg")


# ---- runs ----

def test_a_run_that_was_not_evaluated_has_no_verdict(runs, page):
    report.run(runs / "two", "--steps", 30, "--out", page)
    assert "but not evaluated" in page.read_text() and verdicts(page) == [""]


def test_an_evaluated_run_has_its_figures_and_is_not_changed(runs, page):
    run = runs / "one"
    before = {p.name: p.read_bytes() for p in run.iterdir()}
    answer = report.answer(run, "--out", page)
    assert {"trajectory", "film", "error", "loss"} <= set(answer["figures"])
    assert {p.name: p.read_bytes() for p in run.iterdir()} == before
    assert "<h2 id=m0>one</h2>" in page.read_text() and "id=rollout" in page.read_text()


def test_a_page_without_videos(runs, page):
    answer = report.answer(runs / "one", "--films", 0, "--out", page)
    assert "film" not in answer["figures"] and "loss" in answer["figures"]


def test_a_directory_of_runs_has_an_overview(runs, page):
    report.run(runs, "--films", 2, "--steps", 30, "--out", page)
    assert page.read_text().count("<section>") == 2 and "id=overview" in page.read_text()


def test_a_name_is_escaped(runs, page):
    report.run(runs / "one", "--name", "a <name>", "--films", 0, "--out", page)
    assert "a &lt;name&gt;" in page.read_text()


# ---- records ----

def test_records_of_models_make_a_table_without_correlations_of_constants(page, tmp_path):
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps({"run": f"runs/m{i}", **RECORD, "vpt": 10 * i}) + "\n" for i in range(4)))
    answer = report.answer(lines, "--out", page)
    assert "models" in answer["figures"] and "m3" in page.read_text()
    assert "correlation" not in answer


def test_correlations_over_models_are_those_of_the_ranks(page, tmp_path):
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps({"run": f"m{i}", **RECORD, "kappa": k, "r2": -k, "vpt": 10 * i}) + "\n"
                             for i, k in enumerate((0.1, 0.3, 0.2, 0.9, 0.8))))
    answer = report.answer(lines, "--out", page)["correlation"]
    assert abs(answer["kappa"]["all"]["rho"] - 0.8) < 1e-12 and abs(answer["r2"]["all"]["rho"] + 0.8) < 1e-12
    assert "sym" not in answer
    assert answer["kappa"]["best"] == {"models": 0, "rho": None, "rho_ci": None}, "of one model there is no correlation"
    table = report.run(lines, "--out", page).stdout
    assert re.search(r"kappa +\+0\.80 .*n=5 +-", table) and re.search(r"r2 .* 0\.41$", table, re.M) and "absolute value" in table


def test_a_study_has_the_best_model_of_each_world_beside_the_paper(page):
    records = [json.loads(line) for line in (SOURCE / "studies/hgn-family.jsonl").read_text().splitlines()]
    report.run(SOURCE / "studies/hgn-family.jsonl", "--out", page)
    text = page.read_text()
    table = text[text.index("id=best"):text.index("id=averages")]
    rows = re.findall(r"<tr[^>]*><td>([^<]*)</td><td>([^<]*)</td>(.*?)</tr>", table)
    for kind in ("hgn++", "hgn"):
        forward = []
        for world in {r["world"] for r in records}:
            group = [r for r in records if r["model"] == kind and r["world"] == world]
            best = max(group, key=lambda r: r["evaluate"]["vpt"])
            forward.append(best["evaluate"]["vpt_forward"])
            at = [i for i, row in enumerate(rows) if row[0] == world and row[1].startswith(f"{best['run']}, best of {len(group)} (VPT")]
            assert len(at) == 1, (kind, world)
            assert rows[at[0] + 1][:2] == (world, f"paper, {kind.upper()}")
        assert f"<li>{kind}: {sum(forward) / len(forward):.4g} frames forward" in text
    assert "(paper, 13 worlds: 267 and 178)" in text and "(paper, 13 worlds: 11 and 0)" in text


def test_a_still_picture_that_scores_as_well_is_named(page, tmp_path):
    records = [json.loads(line) for line in (SOURCE / "studies/hgn-family.jsonl").read_text().splitlines()[:2]]
    for still, record in zip((0, 499), records):
        record["evaluate"].update(vpt_mean_frame=still, vpt_last_frame=0)
        record["evaluate"]["forecast"]["vpt"] = 400 + still / 10
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    report.run(tmp_path / "two.jsonl", "--out", page)
    assert "; a still picture has 499" in page.read_text()
    records[1]["evaluate"].update(vpt_mean_frame=1)
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    report.run(tmp_path / "two.jsonl", "--out", tmp_path / "other.html")
    assert "a still picture has" not in (tmp_path / "other.html").read_text()


@pytest.mark.slow
def test_the_record_of_the_demo_is_a_page(page, tmp_path):
    (tmp_path / "demo.json").write_text(plumb.run("demo", "--json").stdout)
    report.run(tmp_path / "demo.json", "--out", page)
    assert sorted(verdicts(page)) == ["no", "no", "yes"]


# ---- what it refuses ----

@pytest.fixture
def old(page, tmp_path):
    """A page that is there already and must not change."""
    page.write_text("old")
    yield page
    assert page.read_text() == "old"
    assert not list(tmp_path.glob("*.part-*")), "a part of a file is left"


def test_wrong_usage_is_one_line(runs, old):
    report.refused("--out is missing", runs / "one", code=2)
    report.refused("needs a run", "--out", old, code=2)
    report.refused("is for one file", runs / "one", runs / "one", "--name", "x", "--out", old, code=2)


@pytest.mark.slow
def test_figures_that_cannot_be_made_are_one_line(tmp_path):
    report.refused("neither .svg nor .png", GOOD, "--figure", "phase-space", "--out", tmp_path / "x.pdf")
    report.refused("are missing", GOOD, "--figure", "film", "--out", tmp_path / "x.svg")
    report.refused("no figure", GOOD, "--figure", "flim", "--out", tmp_path / "x.svg")


def test_what_is_no_run_is_one_line(old, tmp_path):
    report.refused("no such file", tmp_path / "nowhere", "--out", old)
    (tmp_path / "empty").mkdir()
    report.refused("is not a run", tmp_path / "empty", "--out", old)


@pytest.mark.parametrize("text, words", [('{"r2": 1, "sym"', "results"), ('{"weather": "fine"}\n', "not one of plumb's"),
                                         ("", "has no record")], ids=["cut", "other", "empty"])
def test_what_is_no_record_is_one_line(text, words, old, tmp_path):
    (tmp_path / "results.jsonl").write_text(text)
    report.refused(words, tmp_path / "results.jsonl", "--out", old)


def test_damaged_results_and_missing_folders_are_one_line(runs, old, tmp_path):
    (runs / "two/results.json").write_text("{")
    report.refused("", runs / "two", "--out", old)
    (runs / "two/results.json").unlink()
    report.refused("", GOOD, "--out", tmp_path / "no/such/place.html")


# ---- latents and states of any kind ----

@pytest.fixture(scope="module")
def latents(shared):
    """Springs in five latents: encoded, and rolled out 7 % too slow."""
    rng = np.random.default_rng(6)
    radius, phase = rng.uniform(0.5, 1.5, (20, 1)), rng.uniform(0, 6.28, (20, 1))
    t, mix = 0.15 * np.arange(60), rng.normal(size=(2, 5))
    truth, late = (np.stack([radius * np.cos(w * t + phase), -radius * np.sin(w * t + phase)], -1) for w in (1, 0.93))
    encoded = truth @ mix + 0.01 * rng.normal(size=(20, 60, 5))
    encoded[:, :3] = np.nan
    np.savez(shared / "odd.npz", latent=late @ mix, encoded=encoded, truth=truth, energy=(truth ** 2).sum(-1) / 2)
    np.savez(shared / "states.npz", truth=truth, prediction=late)
    np.savez(shared / "probe.npz", latent=truth @ mix, truth=truth)
    return shared


def headings(page):
    return re.findall(r"<h3>([^<]*)", page.read_text())


def test_arrays_of_an_odd_number_of_latents_are_probed_and_their_motion_is_judged(latents, page):
    report.run(latents / "odd.npz", "--out", page)
    text = page.read_text()
    assert verdicts(page) == ["no"] and "It does not move as the world does" in text and "Motion, out-of-step" in text
    assert headings(page)[:2] == ["Motion", "Probes"] and "truth[1]" in text and "energy" in text
    assert "How the error of the state grows" in headings(page) and "What can be read out of the latents" in headings(page)


def test_the_page_has_doubts_about_the_arrays_what_drives_the_world_and_the_flow(latents, page, tmp_path):
    late, encoded, truth = (np.load(latents / "odd.npz")[name][:, 3:] for name in ("latent", "encoded", "truth"))
    driving = np.random.default_rng(2).normal(size=(20, 57, 1))
    np.savez(tmp_path / "x.npz", latent=encoded, encoded=late, truth=truth, action=driving)  # exchanged
    report.run(tmp_path / "x.npz", "--out", page)
    text = page.read_text()
    assert "<b>Note</b>: the state is read better out of the rollout" in text and "An action drives the world" in text
    assert "<th>action alone</th>" in text and "<tr><td>area</td>" in text
    report.run(latents / "odd.npz", "--out", page)
    text = page.read_text()
    assert "<b>Note</b>" not in text and "An action drives" not in text and "action alone" not in text


def test_predicted_states_have_their_errors(latents, page):
    report.run(latents / "states.npz", "--out", page)
    got = Program("forecast").answer(latents / "states.npz")
    assert headings(page) == ["Predicted states", "How the error of the state grows"] and verdicts(page) == [""]
    assert f">{got['vrmse']:.4g} <" in page.read_text() and f"right for {got['vpt']:.4g} of 60 steps" in page.read_text()


@pytest.mark.parametrize("command, file, name", [("dynamics", "odd.npz", "motion"), ("probe", "probe.npz", "probe"), ("forecast", "states.npz", "motion")])
def test_records_of_probes_and_motion_are_pages_with_a_figure(latents, page, tmp_path, command, file, name):
    (tmp_path / "x.json").write_text(json.dumps(Program(command).answer(latents / file)))
    answer = report.answer(tmp_path / "x.json", "--out", page)
    assert set(answer["figures"]) - {"example"} == {name}
    report.run(tmp_path / "x.json", "--figure", name, "--out", tmp_path / "x.svg")
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


def test_a_comparison_is_a_page(page, tmp_path):
    rng = np.random.default_rng(1)
    for name, mean in (("a", 1), ("b", 0), ("c", 0.5)):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(3, 40)) + mean)
    record = Program("compare").answer(*(tmp_path / f"{name}.npy" for name in "abc"))
    (tmp_path / "x.json").write_text(json.dumps(record))
    assert set(report.answer(tmp_path / "x.json", "--out", page)["figures"]) - {"example"} == {"compare"}
    text = page.read_text()
    assert verdicts(page) == [] and "a - b" in text and f"{record['models'][0]['mean']:.4g}" in text and f"{record['pairs'][1]['p_adjusted']:.4g}" in text


def test_a_record_without_values_makes_a_page_without_figures(page, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"targets": [{"name": "q"}], "dims": 3, "groups": []}\n')
    assert set(report.answer(tmp_path / "x.jsonl", "--out", page)["figures"]) <= {"example"}
    assert "never changes" in page.read_text()
